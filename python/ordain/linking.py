"""Linking two tables: who in the one is who in the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from . import _ordain
from ._input import Doubles, columns_of

__all__ = ["Links", "link"]


class Links(NamedTuple):
    """Records that belong together, and those that stay alone; the most doubtful first."""

    #: The id of the left record, or None.
    left: list[str | None]
    #: The id of the right record, or None.
    right: list[str | None]
    #: How likely it is that the two belong together, or that the one belongs to nobody.
    probability: Doubles
    #: Whether somebody said so.
    known: list[bool]
    #: The rules of blocking: their text, their pairs, and those of them that no rule before has.
    rules: list[tuple[str, int, int]]
    #: How many known matches are candidate pairs, and how many are known.
    reached: tuple[int, int]
    #: What each comparison is worth: by how much the log-odds of a link rise from 0 to 1.
    worth: list[tuple[str, float]]


def _text(value: Any) -> str | None:
    """A cell as text; None where there is nothing."""
    if value is None or value != value:  # NaN
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value)
    return None if text in ("NaT", "<NA>") else text


def _table(table: Any, id: str, what: str) -> Any:
    """A file as its name, anything else as ids and columns of text."""
    if isinstance(table, (str, os.PathLike)):
        return os.fspath(table)
    names = list(table) if isinstance(table, dict) else columns_of(table)
    if id not in names:
        raise ValueError(f"{what}: expected a table with the column {id!r}, found {names[:8]!r}")

    def column(name: str) -> list[str | None]:
        values = table[name]
        return [_text(value) for value in (values.to_pylist() if hasattr(values, "to_pylist") else values)]

    ids = column(id)
    if None in ids:
        raise ValueError(f"{what}: expected an id in every row, found none in row {ids.index(None)}")
    return ids, [(str(name), column(name)) for name in names if name != id]


def link(
    left: Any,
    right: Any,
    *,
    known: Any,
    id: str = "id",
    block: str | Iterable[str] = (),
    compare: str | Iterable[str] = (),
    right_many: bool = False,
    min_probability: float | None = None,
) -> Links:
    """Links the records of two tables.

    `left` and `right` are data frames, dicts of columns, or names of files; both have the column `id`, and columns of
    the same name are compared. `known` are pairs that are known: (left, right) or (left, right, matched), or the name
    of a table or of a file of answers. A match says that neither record matches any other.

    `block` are the rules by which pairs are looked at: `"surname"`, `"surname:3"` (its first letters),
    `"surname:soundex"`, several joined by `+`, or `"sort:surname:5"` (neighbours). `compare` says how columns are
    compared: `"surname:jaro,levenshtein"`; of exact, jaro, levenshtein, tokens, ngrams, number, date and frequency.
    Without them both follow from what the tables hold. With `right_many` several left records may belong to the same
    right one. Links that are less likely than `min_probability`, other than known ones, are dropped: their records stay
    alone.
    """
    pairs: Any = os.fspath(known) if isinstance(known, (str, os.PathLike)) else [_pair(pair) for pair in known]
    rules = [block] if isinstance(block, str) else list(block)
    kinds = [compare] if isinstance(compare, str) else list(compare)
    found = _ordain.link(
        _table(left, id, "left"), _table(right, id, "right"), id, pairs, rules, kinds, bool(right_many), min_probability
    )
    return Links(*found)


def _pair(pair: Sequence[Any]) -> tuple[str, str, bool]:
    if len(pair) not in (2, 3):
        raise ValueError(f"known: expected (left, right) or (left, right, matched), found {pair!r}")
    return _text(pair[0]) or "", _text(pair[1]) or "", bool(pair[2]) if len(pair) == 3 else True
