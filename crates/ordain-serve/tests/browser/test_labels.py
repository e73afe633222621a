"""The page for labels."""

import re

from conftest import golden, live, question
from playwright.sync_api import expect
from server import LABELS


def answered(page, count):
    """Wait until so many answers of this item stand in its history (five at most)."""
    expect(page.locator(".history")).to_have_text(re.compile("^Before: " + " · ".join(["[^·]+"] * count) + "$"))


def label(page):
    """Return the label in question."""
    return page.locator(".asked h2 strong").inner_text().removesuffix("?")


def test_one_key_answers_saves_and_asks_the_next(serve, opened):
    page = opened(serve("annotate"))
    first = label(page)
    page.keyboard.press("y")
    live(page, rf"{first}: yes\. .*Next: .*\?")
    second = label(page)
    assert second != first
    page.keyboard.press("n")
    live(page, rf"{second}: no\. .*Next: .*\?")
    third = label(page)
    page.keyboard.press("s")
    live(page, rf"{third}: skipped\. .*")
    assert label(page) not in [first, second, third]
    answered(page, 3)
    row = page.locator(f'.set li[data-key="{first}"]')
    expect(row).to_have_class("yes")
    expect(page.locator(f'.set li[data-key="{second}"]')).to_have_class("no")
    # a key that is held down, one with Ctrl and one in a text field are no answers
    asked = label(page)
    page.keyboard.down("Control")
    page.keyboard.press("s")
    page.keyboard.up("Control")
    page.locator("#search").press("y")
    page.locator("#search").press("Escape")
    page.keyboard.press("y")
    live(page, rf"{asked}: yes\. .*")
    answered(page, 4)


def test_undo_without_limit_and_across_a_reload(serve, opened):
    page = opened(serve("annotate"))
    asked = []
    for key in "ynysnyyn":
        asked.append(question(page))
        page.keyboard.press(key)
        question(page, other_than=asked[-1])
    page.reload()
    question(page)
    for at, last in enumerate(reversed(asked)):
        page.keyboard.press("u" if at % 2 else "Control+z")
        expect(page.locator(".asked h2")).to_have_text(last)
    page.keyboard.press("u")
    live(page, r"There is nothing to undo\.")
    page.reload()
    question(page)
    for at, _ in enumerate(asked):
        page.keyboard.press("r" if at % 2 else "Control+Shift+Z")
        live(page, rf"Done again: {asked[at].removeprefix('Is it ').removesuffix('?')}: .*")
    page.keyboard.press("r")
    live(page, r"There is nothing to redo\.")
    answered(page, 5)


def test_fifty_thousand_labels(serve, opened):
    page = opened(serve("annotate", labels=50000))
    page.keyboard.press("/")
    search = page.get_by_role("combobox")
    expect(search).to_be_focused()
    search.press_sequentially("label 48")
    found = page.get_by_role("option")
    expect(found).to_have_count(30)
    expect(page.locator("#found-says")).to_contain_text("30 of 1,000 labels")
    assert page.locator("li").count() <= 100
    search.press("ArrowDown")
    search.press("ArrowDown")
    expect(found.nth(2)).to_have_attribute("aria-selected", "true")
    chosen = found.nth(2).locator(".name").inner_text()
    search.press("Enter")
    expect(page.locator(f'.set li[data-key="{chosen}"]')).to_have_class("yes")
    search.fill("label 00123")
    expect(found).to_have_count(1)
    search.press("Shift+Enter")
    expect(page.locator('.set li[data-key="label 00123"]')).to_have_class("no")
    search.fill("no such label")
    expect(page.locator("#found-says")).to_have_text("No such label.")
    search.press("Escape")
    expect(search).not_to_be_focused()
    # accents and case do not matter, and what begins with it comes first
    search.fill("LÁBEL 4")
    expect(found).to_have_count(30)
    expect(found.first).to_contain_text("label 4")


def test_the_set_is_changed_by_numbers_and_by_touch(serve, opened):
    page = opened(serve("annotate"))
    rows = page.locator(".set li")
    first = rows.nth(0).locator(".name").inner_text()
    row = page.locator(f'.set li[data-key="{first}"]')
    page.keyboard.press("1")
    expect(row).to_have_class("yes")
    live(page, rf"{first}: yes\..*")
    number = row.locator("kbd").inner_text()
    page.keyboard.press(number)
    expect(row).to_have_class("no")
    live(page, rf"{first}: no\..*")
    row.get_by_role("button", name="yes").click()
    expect(row).to_have_class("yes")
    expect(row.get_by_role("button", name="yes")).to_have_attribute("aria-pressed", "true")
    live(page, rf"{first}: yes\..*")
    page.keyboard.press("Shift+" + row.locator("kbd").inner_text())
    expect(row).to_have_class("no")


def test_items_there_and_back(serve, opened):
    page = opened(serve("annotate"))
    title = page.locator("h1")
    first = title.inner_text()
    page.keyboard.press("Enter")
    expect(title).not_to_have_text(first)
    expect(page.locator(".asked h2")).to_be_focused()
    second = title.inner_text()
    page.keyboard.press("ArrowLeft")
    expect(title).to_have_text(first)
    page.keyboard.press("ArrowLeft")
    live(page, r"This is the first item of this visit\.")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text(second)
    page.keyboard.press("l")
    page.locator("dialog li button").nth(4).click()
    expect(title).not_to_have_text(second)
    third = title.inner_text()
    page.reload()
    expect(title).to_have_text(third)


def test_blind_hides_all_guesses(serve, opened):
    page = opened(serve("annotate"))
    expect(page.locator(".chance")).to_contain_text("%")
    page.keyboard.press("b")
    expect(page.locator(".chance")).to_have_text("")
    expect(page.locator(".set li")).to_have_count(0)
    asked = question(page)
    page.keyboard.press("y")
    question(page, other_than=asked)
    expect(page.locator(".set li")).to_have_count(1)
    expect(page.locator(".set li .state")).to_have_text("yes")
    expect(page.locator("#live")).not_to_contain_text("%")
    page.reload()
    expect(page.locator(".asked h2")).to_contain_text("?")
    expect(page.locator(".chance")).to_have_text("")


def test_what_is_read_aloud(serve, opened):
    page = opened(serve("annotate"))
    page.keyboard.press("y")
    answered(page, 1)
    golden("labels", page)


def test_a_model_that_has_learned_is_said(serve, opened):
    server = serve("annotate", more=["--learn", "12"])
    page = opened(server)
    # somebody else says of an item that is held out that nothing is on it: no model is right there, and the new one is not worse
    for name in LABELS:
        said = {"item": "5", "label": name, "answer": False, "asked": False}
        assert page.request.post(f"{server.base}api/v1/answers", data=said, headers={"X-Annotator": "Bob"}).ok
    server.hear("learned from the answers")
    expect(page.locator(".notice.learned")).to_have_count(0)
    asked = question(page)
    page.keyboard.press("y")
    question(page, other_than=asked)
    expect(page.locator(".notice.learned")).to_contain_text("The model has learned from the answers: from now on photos@")


def test_a_stop_is_suggested(serve, opened):
    # one control question that the model had right says at least .2065
    page = opened(serve("annotate", more=["--target", "0.2"]))
    for n in range(19):
        if n == 10:  # an item has twelve labels
            title = page.locator("h1").inner_text()
            page.keyboard.press("Enter")
            expect(page.locator("h1")).not_to_have_text(title)
        asked = question(page)
        page.keyboard.press("n")
        question(page, other_than=asked)
    expect(page.locator(".notice.enough")).to_have_count(0)
    asked = question(page)
    page.keyboard.press("y")
    question(page, other_than=asked)
    control = page.locator("#control")
    expect(control).to_contain_text("of 1 right")
    if "0 of 1" in control.inner_text():
        page.keyboard.press("u")
        expect(page.locator(".asked h2")).to_have_text(asked)
        page.keyboard.press("n")
    expect(control).to_contain_text("1 of 1 right")
    expect(page.locator(".notice.enough")).to_contain_text("You may stop here: the model was right in 1 of 1 control questions")
