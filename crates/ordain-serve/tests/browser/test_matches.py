"""The page for matches."""

from conftest import golden, live, question
from playwright.sync_api import expect


def test_yes_no_unsure(serve, opened):
    page = opened(serve("match"))
    pairs = []
    for key, said in [("y", "yes"), ("n", "no"), ("s", "cannot say")]:
        cells = page.locator(".compare thead th")
        left, right = cells.nth(1).inner_text(), cells.nth(2).inner_text()
        assert (left, right) not in pairs
        pairs.append((left, right))
        page.keyboard.press(key)
        live(page, rf"{left} and {right}: {said}\. .*Next: .*")
    expect(page.locator(".pairs .yes")).to_contain_text(f"{pairs[0][0]} – {pairs[0][1]}")
    expect(page.locator(".pairs .no")).to_contain_text(f"{pairs[1][0]} – {pairs[1][1]}")
    page.reload()
    question(page)
    for left, right in reversed(pairs):
        page.keyboard.press("u")
        live(page, rf"Taken back: {left} and {right}: .*")
        expect(page.locator(".compare thead th").nth(1)).to_have_text(left)
    page.keyboard.press("r")
    live(page, rf"Done again: {pairs[0][0]} and {pairs[0][1]}: yes\.")


def test_both_records_field_by_field(serve, opened):
    page = opened(serve("match"))
    rows = page.locator(".compare tbody tr")
    assert rows.count() >= 3
    # what differs is said by a word, not only by a colour
    assert {"same", "differs", "missing"} & set(page.locator(".verdict").all_inner_texts())
    assert any(text.startswith(("for", "against")) for text in page.locator(".speaks small").all_inner_texts())
    page.keyboard.press("b")
    expect(page.locator(".weight")).to_have_count(0)
    expect(page.locator(".chance")).to_have_text("")


def test_another_pair_is_looked_at(serve, opened):
    page = opened(serve("match"))
    row = page.locator(".pairs button:enabled:not([aria-current])").first
    left, right = row.locator(".name").inner_text().split(" – ")
    row.click()
    expect(page.locator(".compare thead th").nth(1)).to_have_text(left)
    expect(page.locator(".compare thead th").nth(2)).to_have_text(right)
    page.keyboard.press("n")
    live(page, rf"{left} and {right}: no\..*")


def test_what_is_read_aloud(serve, opened):
    page = opened(serve("match"))
    page.keyboard.press("y")
    live(page, r".*: yes\..*")
    golden("matches", page)
