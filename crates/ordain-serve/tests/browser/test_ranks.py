"""The page for rankings."""

from conftest import golden, live, question
from playwright.sync_api import expect


def document(page):
    """Return the document in question."""
    return page.locator(".docs [aria-current] .name").inner_text()


def test_grades_reorder_the_list(serve, opened):
    page = opened(serve("rank"))
    graded = []
    for grade in [1, 4, 0, 3]:
        name = document(page)
        page.keyboard.press(str(grade))
        live(page, rf"{name}: {grade}\. Between .* and .*\. Next: .*")
        assert document(page) != name
        graded.append((grade, name))
    names = page.locator(".docs .name").all_inner_texts()
    assert names[:4] == [name for _, name in sorted(graded, reverse=True)]
    expect(page.locator(".metric")).to_contain_text("NDCG@10 of the model so far:")
    page.reload()
    question(page)
    for grade, name in reversed(graded):
        page.keyboard.press("u")
        live(page, rf"Taken back: {name}: {grade}\.")
    expect(page.locator(".docs .judged")).to_have_count(0)
    page.keyboard.press("r")
    live(page, rf"Done again: {graded[0][1]}: 1\.")
    # no grade above the best one
    page.keyboard.press("9")
    page.keyboard.press("s")
    live(page, r".*: skipped\..*")


def test_another_document_and_another_grade(serve, opened):
    page = opened(serve("rank"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    name = document(page)
    assert name == page.locator(".docs .name").nth(2).inner_text()
    page.keyboard.press("2")
    live(page, rf"{name}: 2\..*")
    expect(page.locator(".docs .name").first).to_have_text(name)
    page.locator(".docs button").first.click()
    expect(page.locator(".grade").nth(2)).to_have_attribute("aria-pressed", "true")
    page.locator(".grade").nth(4).click()
    live(page, rf"{name}: 4\..*")
    expect(page.locator(".docs .judged")).to_have_count(1)


def test_what_is_read_aloud(serve, opened):
    page = opened(serve("rank"))
    page.keyboard.press("3")
    live(page, r".*: 3\..*")
    golden("ranks", page)
