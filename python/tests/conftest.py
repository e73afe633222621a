from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

# A shell that starts the tests in the background makes them ignore SIGINT; tests of interrupts need it.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Made(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


def made(queries: int = 40, documents: int = 25, features: int = 6, seed: int = 0) -> Made:
    """Rows of queries, shuffled, whose relevance is a noisy linear function of the features."""
    rng = np.random.default_rng(seed)
    n = queries * documents
    X = rng.normal(size=(n, features)).astype(np.float32)
    qid = rng.permutation(np.repeat(np.arange(100, 100 + queries), documents))
    truth = X @ rng.normal(size=features) + rng.normal(size=queries)[qid - 100]
    y = np.clip(np.round(truth / 2 + 0.5 * rng.normal(size=n)), 0, 4) + 0.0
    return Made(X, y, qid)


@pytest.fixture(scope="session")
def data() -> Made:
    return made()


def program() -> str:
    """The command line program, to compare with: ORDAIN_BIN, or the one that is built here."""
    built = Path(__file__).parents[2] / "target" / "release" / "ordain"
    found = os.environ.get("ORDAIN_BIN") or (str(built) if built.exists() else shutil.which("ordain"))
    if not found:
        pytest.skip("no `ordain` to compare with: cargo build --release, or ORDAIN_BIN")
    return found


def told(*words: object, **more: Any) -> str:
    """What the program prints."""
    done = subprocess.run([program(), *map(str, words)], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_letor(path: Path, X: np.ndarray, y: np.ndarray, qid: np.ndarray) -> None:
    """The rows as LETOR text, every float32 with all its digits."""
    with path.open("w") as out:
        for row, grade, query in zip(X, y, qid, strict=True):
            values = " ".join(f"{j}:{np.format_float_positional(x, unique=True)}" for j, x in enumerate(row, 1))
            out.write(f"{grade:g} qid:{query} {values}\n")
