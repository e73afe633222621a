#!/usr/bin/env python3
"""Draws docs/serve.png: the page of `ordain demo serve`. It needs Chromium on the path, the package playwright, and target/debug/ordain
(or the program in ORDAIN_BIN)."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
ORDAIN = os.environ.get("ORDAIN_BIN", str(ROOT / "target" / "debug" / "ordain"))


def main():
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        demo = ["demo", "serve", "--out", "harbour", "--bind", "127.0.0.1:0"]
        server = subprocess.Popen([ORDAIN, *demo], cwd=name, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            line = next(line for line in server.stderr if "http://" in line)
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1200, "height": 640})
            page.goto(line[line.index("http://") :].strip())
            heading = page.locator(".asked h2")
            expect(heading).to_have_text(re.compile(r"\?$"))
            expect(page.locator(".picture.ready")).to_be_visible()
            asked = heading.inner_text()
            page.keyboard.press("y")
            expect(heading).not_to_have_text(asked)
            expect(heading).to_have_text(re.compile(r"\?$"))
            page.screenshot(path=ROOT / "docs" / "serve.png")
            browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
