"""Linking two tables."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from conftest import told

import ordain


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two made-up registers."""
    folder = tmp_path_factory.mktemp("people")
    told("make", "linkage", "-o", folder, "--records", 300, "--known", 60)
    return folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def columns(path: Path) -> dict[str, list[str | None]]:
    table = rows(path)
    return {name: [row[name] or None for row in table] for name in table[0]}


def test_frames_and_files_give_what_the_command_gives(people: Path) -> None:
    truth = {(row["left"], row["right"]) for row in rows(people / "truth.csv")}
    known = [(row["left"], row["right"]) for row in rows(people / "known.csv")]
    links = ordain.link(columns(people / "left.csv"), columns(people / "right.csv"), known=known)
    found = {pair for pair in zip(links.left, links.right, strict=False) if None not in pair}
    assert 2 * len(found & truth) / (len(found) + len(truth)) > 0.9
    assert set(known) <= found
    assert sum(links.known) == len(known)
    sure = ordain.link(columns(people / "left.csv"), columns(people / "right.csv"), known=known, min_probability=0.9)
    both = zip(sure.left, sure.right, sure.probability, strict=True)
    assert all(p >= 0.9 for a, b, p in both if a is not None and b is not None)
    assert set(known) <= set(zip(sure.left, sure.right, strict=True))
    assert (links.probability[1:] >= links.probability[:-1]).all()
    files = ordain.link(people / "left.csv", str(people / "right.csv"), known=people / "known.csv")
    assert (files.left, files.right) == (links.left, links.right)
    output = people / "links.csv"
    told("link", people / "left.csv", people / "right.csv", "--known", people / "known.csv", "-o", output)
    written = [(row["left"] or None, row["right"] or None) for row in rows(output)]
    assert written == list(zip(links.left, links.right, strict=True))


def test_what_is_wrong_is_said(people: Path) -> None:
    left, right = columns(people / "left.csv"), columns(people / "right.csv")
    with pytest.raises(ValueError, match="expected a table with the column 'key'"):
        ordain.link(left, right, known=[], id="key")
    with pytest.raises(ValueError, match="unknown left record"):
        ordain.link(left, right, known=[("nobody", "b1")])
    with pytest.raises(ValueError, match="unknown column of both tables"):
        ordain.link(left, right, known=[("a1", "b1")], block="sirname")
    with pytest.raises(ValueError, match="unknown comparison"):
        ordain.link(left, right, known=[("a1", "b1")], compare="given:jarow")
    with pytest.raises(ValueError, match="two partners"):
        ordain.link(left, right, known=[("a1", "b1"), ("a1", "b2")])
