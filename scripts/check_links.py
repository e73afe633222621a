#!/usr/bin/env python3
"""Checks that every relative link and every `path` in the Markdown files points at something that is there."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
files = subprocess.run(["git", "ls-files", "*.md"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
broken = []
for name in files:
    text = (root / name).read_text(encoding="utf-8")
    headings = {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", text, re.M)}
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        if path and not (root / name).parent.joinpath(path).exists():
            broken.append(f"{name}: {target}")
        elif not path and anchor not in headings:
            broken.append(f"{name}: #{anchor}")
    for target in re.findall(r"`((?:crates|docs|scripts)/[\w./-]+)`", text):
        if not (root / target).exists():
            broken.append(f"{name}: {target}")
print("\n".join(broken) or f"{len(files)} Markdown files, all links lead somewhere")
sys.exit(1 if broken else 0)
