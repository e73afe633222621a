"""Items as pictures, and data that would be markup if they were not text."""

import re

from conftest import live, question
from playwright.sync_api import expect
from server import MARKUP


def test_pictures_and_markup_are_shown_as_they_are(serve, opened):
    page = opened(serve("pictures"), errors="404")
    page.on("dialog", lambda dialog: dialog.dismiss() or page.evaluate("console.error('markup was run')"))
    seen = set()
    for _ in range(8):
        title = page.locator("h1").inner_text()
        assert re.fullmatch(r"Item <b>\d+</b>", title), title
        name = title.removeprefix("Item <b>").removesuffix("</b>")
        expect(page.locator(".show .text")).to_have_text(f"<script>alert({name})</script>")
        if int(name) % 4 == 3:
            expect(page.locator(".show")).to_contain_text("a & b 4.png cannot be shown")
            seen.add("none")
        else:
            image = page.locator(".picture.ready img")
            expect(image).to_have_attribute("alt", f"a & b {int(name) % 4 + 1}.png")
            assert image.evaluate("(image) => image.naturalWidth") == 24
            seen.add("picture")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).not_to_have_text(title)
    assert seen == {"none", "picture"}
    asked = question(page)
    assert asked in [f"Is it {MARKUP} sea?", "Is it </script><b>boat?"]
    page.keyboard.press("y")
    live(page, rf"{re.escape(asked.removeprefix('Is it ').removesuffix('?'))}: yes\..*")
    assert page.locator("main script, main b, .set img").count() == 0
