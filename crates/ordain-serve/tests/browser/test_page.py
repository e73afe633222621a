"""What the three pages have in common: the network, several people, sizes and colours, keys of one's own."""

import re

import pytest
from conftest import live, question
from playwright.sync_api import expect

TASKS = ["annotate", "match", "rank"]
KEY = {"annotate": "y", "match": "y", "rank": "2"}


def offline(page, yes):
    """Cut or join the network, and wait until requests of the page feel it: the browser says so before its parts have heard it."""
    page.context.set_offline(yes)
    page.wait_for_function("gone => fetch('api/v1/session').then(() => !gone, () => gone)", arg=yes)


@pytest.mark.parametrize("task", TASKS)
def test_offline_and_back(serve, opened, task):
    page = opened(serve(task), errors="net::ERR_INTERNET_DISCONNECTED")
    asked = question(page)
    offline(page, True)
    page.keyboard.press(KEY[task])
    expect(page.locator(".notice.offline")).to_contain_text("Offline: 1 answer not yet saved")
    expect(page.locator(".history")).to_contain_text("not yet saved")
    if task == "rank":  # the next document is at hand
        page.keyboard.press("1")
        expect(page.locator(".notice.offline")).to_contain_text("Offline: 2 answers not yet saved")
    offline(page, False)
    expect(page.locator(".notice.offline")).to_have_count(0)
    question(page, other_than=asked)
    assert len(page.server.answers()) == (2 if task == "rank" else 1)


def test_a_lost_reply_and_a_reload_write_nothing_twice(serve, opened):
    page = opened(serve("annotate"), errors="net::ERR_FAILED")
    keys = []

    def lose(route):
        keys.append(route.request.post_data_json["key"])
        route.fetch()  # the server has it, this page does not know
        route.abort()

    page.route("**/api/v1/answers", lose)
    page.reload()  # requests of the document that was there before may pass by the route
    asked = question(page)
    page.keyboard.press("y")
    expect(page.locator(".notice.offline")).to_contain_text("1 answer not yet saved")
    assert len(page.server.answers()) == 1
    with page.expect_request("**/api/v1/answers") as again:
        page.unroute("**/api/v1/answers")
        page.reload()
    assert again.value.post_data_json["key"] == keys[0]
    expect(page.locator(".notice.offline")).to_have_count(0)
    question(page, other_than=asked)
    assert len(page.server.answers()) == 1


def test_two_people(serve, browser_page):
    server = serve("annotate")
    pages = [browser_page(server) for _ in range(2)]
    for page, name in zip(pages, ["Ann", "Béa"], strict=True):
        question(page)
        page.locator("#person").click()
        page.get_by_label("Name").fill(name)
        with page.expect_navigation():
            page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator("#person")).to_have_text(name)
        question(page)
    ann, bea = pages
    for page, key in [(ann, "y"), (ann, "n"), (bea, "s"), (ann, "y")]:
        asked = question(page)
        page.keyboard.press(key)
        question(page, other_than=asked)
    assert sorted(answer["by"] for answer in server.answers()) == ["Ann", "Ann", "Ann", "Béa"]
    # each takes back their own answers only
    bea.keyboard.press("u")
    live(bea, r"Taken back: .*: skipped\.")
    bea.keyboard.press("u")
    live(bea, r"There is nothing to undo\.")
    assert [answer["by"] for answer in server.answers()] == ["Ann"] * 3
    # the next item of one is not that of the other
    for page in pages:
        before = page.locator("h1").inner_text()
        page.keyboard.press("Enter")
        expect(page.locator("h1")).not_to_have_text(before)
    assert ann.locator("h1").inner_text() != bea.locator("h1").inner_text()


def test_two_tabs_of_one_person(serve, browser_page):
    server = serve("annotate")
    one = browser_page(server, errors="409")
    title = one.locator("h1")
    question(one)
    two = one.context.new_page()
    two.goto(server.address)
    question(two)
    if two.locator("h1").inner_text() != title.inner_text():
        two.keyboard.press("l")
        two.locator("dialog select").select_option("doubtful")
        two.get_by_role("button", name=re.compile(rf"^{re.escape(title.inner_text().removeprefix('Item '))}\b")).click()
        expect(two.locator("h1")).to_have_text(title.inner_text())
    asked = question(one)
    one.keyboard.press("y")
    question(one, other_than=asked)
    two.keyboard.press("n")
    expect(two.locator(".notice.conflict")).to_be_visible()
    expect(two.locator(".asked h2")).to_have_text(question(one))
    assert len(server.answers()) == 1


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("width", "scheme"), [(375, "light"), (375, "dark"), (1200, "light"), (1200, "dark")])
def test_sizes_and_colours(serve, opened, task, width, scheme):
    page = opened(serve(task), viewport={"width": width, "height": 720}, color_scheme=scheme)
    page.keyboard.press(KEY[task])
    expect(page.locator(".history")).not_to_be_empty()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for button in page.locator("button:visible").all():
        box = button.bounding_box()
        assert box["height"] >= 43.5, button.inner_text()
        assert box["width"] >= 43.5 or width > 700, button.inner_text()
    # the answers are in sight without scrolling
    for button in page.locator(".answers button").all():
        box = button.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 720
    assert page.evaluate(CONTRAST) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 22, 26)"
    assert dark == (scheme == "dark")


# Texts whose contrast with what is behind them is below 4.5 : 1.
CONTRAST = """() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const bad = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.closest(".hidden")) continue;
    let behind = node;
    while (behind && parse(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const [a, b] = [getComputedStyle(node).color, getComputedStyle(behind ?? document.body).backgroundColor]
      .map((colour) => light(parse(colour)) + 0.05);
    if (Math.max(a, b) / Math.min(a, b) < 4.5) bad.push(`${node.className || node.tagName}: ${node.textContent}`);
  }
  return bad;
}"""


def test_forced_colours(serve, opened):
    page = opened(serve("annotate"), forced_colors="active")
    page.keyboard.press("1")
    pressed = page.locator(".tick[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    assert pressed.evaluate("(node) => getComputedStyle(node).outlineStyle") == "solid"


def test_keys_of_ones_own(serve, opened):
    page = opened(serve("annotate"))
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Help")
    change = dialog.get_by_role("button", name="Yes: change the key")
    change.click()
    change.press("n")
    expect(dialog.get_by_role("alert")).to_contain_text("n is taken: No")
    change.press("j")
    expect(change).to_have_text("j")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.locator(".answers .yes kbd")).to_have_text("j")
    page.reload()
    asked = question(page)
    page.keyboard.press("y")  # means nothing now
    page.keyboard.press("j")
    question(page, other_than=asked)
    assert [answer["answer"] for answer in page.server.answers()] == [True]
    # keys of one letter can be switched off: then only the others work
    page.locator("#help").click()
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator(".answers kbd:not(:empty)")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("1")
    page.keyboard.press("Control+z")
    live(page, r"Taken back: .*: yes\.")
    page.locator("#help").click()
    dialog.get_by_role("button", name="Keys as they were at first").click()
    expect(change).to_have_text("y")


def test_the_focus_goes_back_where_it_was(serve, opened):
    page = opened(serve("annotate"))
    skip = page.locator(".answers button").nth(2)
    asked = question(page)
    skip.click()
    question(page, other_than=asked)
    expect(skip).to_be_focused()
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    expect(skip).to_be_focused()


def test_a_wrong_token_is_asked_for_again(serve, browser_page):
    server = serve("annotate", token=True)
    address, _, token = server.address.partition("#token=")
    page = browser_page(server, address=address + "#token=wrong", errors="401")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Go on").click()
    question(page)
    assert "token" not in page.url


def test_the_answers_are_saved(serve, opened):
    page = opened(serve("annotate"))
    asked = question(page)
    page.keyboard.press("y")
    question(page, other_than=asked)
    page.keyboard.press("?")
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON lines").click()
    assert download.value.suggested_filename == "answers.jsonl"
    assert '"answer":true' in download.value.path().read_text()
