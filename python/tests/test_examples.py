"""The examples and the documents run as they stand."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["rank_letor", "tag_and_ask", "match_points"])
def test_example(name, tmp_path):
    pytest.importorskip("matplotlib")
    environment = os.environ | {"MPLBACKEND": "Agg"}
    script = HERE / "examples" / f"{name}.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert f"wrote {name}.png" in done.stdout


def test_rank_letor_reads_files(tmp_path, data):
    pytest.importorskip("matplotlib")
    from conftest import write_letor

    write_letor(tmp_path / "train.txt", *data)
    command = [sys.executable, HERE / "examples" / "rank_letor.py", "train.txt", "train.txt"]
    environment = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


ROOT = HERE.parent
PAGES = [ROOT / "README.md", HERE / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def scripts(page):
    """The blocks of Python of a page: line, code, and what a block `text output` right below says that it prints."""
    found = re.finditer(
        r"^```python\n(?P<code>.*?)^```\n(?:\n?^```text output\n(?P<output>.*?)^```$)?",
        page.read_text(),
        flags=re.S | re.M,
    )
    text = page.read_text()
    return [(text[: block.start()].count("\n") + 1, block["code"], block["output"]) for block in found]


def alike(expected, found):
    """Whether two texts are the same but for the last digits of numbers, which may differ from machine to machine."""
    number = r"(\d+\.?\d*(?:e[-+]?\d+)?)"
    texts = [re.split(number, text)[::2] for text in (expected, found)]
    numbers = [re.findall(number, text) for text in (expected, found)]
    near = (abs(float(a) - float(b)) <= 1e-6 * abs(float(a)) for a, b in zip(*numbers, strict=False))
    return texts[0] == texts[1] and len(numbers[0]) == len(numbers[1]) and all(near)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_the_documents_runs_and_prints_what_they_say(page, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for line, code, output in scripts(page):
        capsys.readouterr()
        exec(compile("\n" * line + code, str(page), "exec"), {})
        printed = capsys.readouterr().out
        at = f"{page.relative_to(ROOT)}:{line}"
        if output is None:
            assert not printed, f"{at}: say below, in a block `text output`, that it prints\n{printed}"
        else:
            assert alike(output, printed), f"{at}: the document says\n{output}\nand it prints\n{printed}"


def test_no_block_of_python_is_forgotten():
    """Other blocks are the business of crates/ordain-cli/tests/cli/docs.rs; it leaves these two kinds to this file."""
    for page in PAGES:
        text = page.read_text()
        assert len(scripts(page)) == len(re.findall(r"^```python$", text, flags=re.M)), page
        outputs = sum(output is not None for _, _, output in scripts(page))
        assert outputs == len(re.findall(r"^```text output$", text, flags=re.M)), page
    assert sum(len(scripts(page)) for page in PAGES) >= 6


def test_outputs_that_differ_are_told_apart():
    assert alike("a 0.12345678 [1, 2]\n", "a 0.12345679 [1, 2]\n")
    for a, b in (("0.98", "0.85"), ("a 1", "b 1"), ("1", "-1"), ("[1 2]", "[1 2 3]")):
        assert not alike(a, b)


@pytest.mark.parametrize(
    "module", ["metrics", "ranking", "tagging", "matching", "datasets", "model_selection", "_structure"]
)
def test_code_in_docstrings_runs(module):
    result = doctest.testmod(importlib.import_module(f"ordain.{module}"))
    assert result.failed == 0
