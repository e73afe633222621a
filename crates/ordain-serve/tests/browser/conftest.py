"""The real server, a real Chromium, and what every page is held to: no console message, and no request to anywhere else."""

import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from server import Server

HERE = Path(__file__).parent
# no more than an upper limit: everything waits for what is to come
expect.set_options(timeout=60_000)


def question(page, other_than=None):
    """Wait for a question, another one than that, and return it."""
    heading = page.locator(".asked h2")
    expect(heading).to_have_text(re.compile(r"\?$"))
    if other_than is not None:
        expect(heading).not_to_have_text(other_than)
        expect(heading).to_have_text(re.compile(r"\?$"))
    return heading.inner_text()


def live(page, words):
    """Wait until the live line says so."""
    expect(page.locator("#live")).to_have_text(re.compile(f"^{words}$"))


def golden(name, page):
    """Compare what a screen reader is told with the file of that name; UPDATE_GOLDEN=1 writes it."""
    path = HERE / f"{name}.aria.yml"
    told = page.locator("body").aria_snapshot() + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(told)
    assert told == path.read_text(), f"{path}: if this is meant, UPDATE_GOLDEN=1 writes it"


@pytest.fixture(scope="session")
def chromium():
    """Start the browser once."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"], timeout=120_000
        )
        yield browser
        browser.close()


@pytest.fixture
def serve(tmp_path):
    """Return what starts a server for a task; it ends with the test."""
    servers = []

    def start(task, **options):
        servers.append(Server(tmp_path, task, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def browser_page(chromium):
    """Return what opens the page of a server in a context of its own."""
    contexts, said, elsewhere = [], [], []

    def start(server, address=None, errors=None, **options):
        context = chromium.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        context.set_default_timeout(60_000)
        contexts.append(context)

        def hear(message):
            if not (errors and re.search(errors, message.text)):
                said.append(message.text)

        def went(request):
            if not request.url.startswith((server.base, "blob:" + server.base)):
                elsewhere.append(request.url)

        context.on("console", hear)
        context.on("weberror", lambda error: said.append(str(error.error)))
        context.on("requestfinished", went)
        page = context.new_page()
        page.server = server
        page.goto(address or server.address)
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert elsewhere == []


@pytest.fixture
def opened(browser_page):
    """Return what opens a page and waits for its first question."""

    def start(server, **options):
        page = browser_page(server, **options)
        question(page)
        return page

    return start
