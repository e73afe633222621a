#!/usr/bin/env python3
"""Draws docs/serve.png: the page of `ordain serve`, with labels of sentences. It needs Chromium on the path, the package playwright, and
target/debug/ordain (or the program in ORDAIN_BIN)."""

import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
ORDAIN = os.environ.get("ORDAIN_BIN", str(ROOT / "target" / "debug" / "ordain"))
SIGHTS = {
    "sea": "The sea lies as flat as a table.",
    "boat": "Two boats are tied to the quay, and a third one comes in.",
    "evening": "The lamps are lit, and the last light goes behind the hills.",
    "dog": "A dog sleeps where the nets are dried.",
    "people": "A few people stand about and wait for the fish.",
    "rain": "It rains a little, as it has all day.",
    "mountain": "Far off a mountain still has snow on it.",
    "market": "On the square they take the market down.",
}


def write(path):
    """Write sentences with labels; a label goes with some others, so that answers tell something."""
    draw = random.Random(4)
    with path.open("w") as file:
        file.write(f"id,text,{','.join(f'word{j}' for j in range(len(SIGHTS)))},labels\n")
        for i in range(120):
            coast = draw.random() < 0.5
            chance = {"sea": 0.9, "boat": 0.8, "dog": 0.5, "mountain": 0.1, "market": 0.15} if coast else {"sea": 0.05, "boat": 0.05}
            seen = [name for name in SIGHTS if draw.random() < chance.get(name, 0.4)] or ["rain"]
            text = " ".join(SIGHTS[name] for name in seen)
            counts = [round((name in seen) + draw.gauss(0, 0.6), 2) for name in SIGHTS]
            file.write(f'{i + 1},"{text}",{",".join(map(str, counts))},{";".join(seen)}\n')


def main():
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        path = Path(name)
        write(path / "sentences.csv")
        fit = ["fit", "cstar", "sentences.csv", "--ignore", "text", "--set", "lambda=0.1", "--set", "core=3", "--quiet"]
        subprocess.run([ORDAIN, *fit, "-o", "harbour.ordain"], cwd=path, check=True)
        serve = ["serve", "harbour.ordain", "--items", "sentences.csv", "--show", "text", "--bind", "127.0.0.1:0", "--token", "none"]
        server = subprocess.Popen([ORDAIN, *serve], cwd=path, stderr=subprocess.PIPE, text=True)
        try:
            line = next(line for line in server.stderr if "http://" in line)
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1200, "height": 720})
            page.goto(line[line.index("http://") :].strip())
            heading = page.locator(".asked h2")
            for key in "yn":
                expect(heading).to_have_text(re.compile(r"\?$"))
                asked = heading.inner_text()
                page.keyboard.press(key)
                expect(heading).not_to_have_text(asked)
            page.screenshot(path=ROOT / "docs" / "serve.png")
            browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
