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


@pytest.mark.parametrize("page", ["README.md", "../README.md"])
def test_code_of_the_readme_runs(page):
    blocks = re.findall(r"```python\n(.*?)```", (HERE / page).read_text(), flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})


@pytest.mark.parametrize(
    "module", ["metrics", "ranking", "tagging", "matching", "datasets", "model_selection", "_structure"]
)
def test_code_in_docstrings_runs(module):
    result = doctest.testmod(importlib.import_module(f"ordain.{module}"))
    assert result.failed == 0
