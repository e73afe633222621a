"""Whatever a person holds labels of items in, as the lists that the compiled half takes."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from . import _ordain
from ._input import Ints

Lists: TypeAlias = "tuple[Ints, Ints]"


@dataclass
class Labels:
    """Of each row the labels that apply and those that are unknown: where lists begin, and numbers of labels."""

    names: list[str] | None
    width: int
    yes: Lists
    unknown: Lists | None
    listed: bool = False

    def named(self, known: list[str] | None = None) -> list[str]:
        """The names of the labels; columns without names have those of `known`, or their numbers."""
        if self.names is not None:
            return self.names
        if known is not None and len(known) != self.width:
            raise ValueError(f"Y: expected {len(known)} columns, one for each label of the model, found {self.width}")
        return [str(j) for j in range(self.width)] if known is None else known

    def lacks(self, known: list[str]) -> list[str]:
        """Labels of `known` that no column is named after; a list of names has no columns to lack."""
        return [] if self.listed else sorted(set(known) - set(self.named(known)))


def labels(Y: Any, n: int, what: str = "Y") -> Labels:
    """Labels of `n` rows.

    `Y` is an array, a sparse matrix or a frame of 0, 1 and NaN (unknown), with a column for each label; or a list with,
    for each row, the names of its labels. Names are numbered by first appearance, those of a set in alphabetical order.
    """
    if hasattr(Y, "tocsr"):
        return _sparse(Y, n, what)
    if hasattr(Y, "columns") and hasattr(Y, "to_numpy"):
        gaps = hasattr(Y, "iloc") and any(kind.kind in "biuf" and not isinstance(kind, np.dtype) for kind in Y.dtypes)
        values = Y.to_numpy(dtype=np.float64, na_value=np.nan) if gaps else Y.to_numpy()  # pandas' own kinds, with NA
        return _dense(values, [str(name) for name in Y.columns], n, what)
    if hasattr(Y, "to_list"):
        return _listed(Y.to_list(), n, what)
    if hasattr(Y, "__arrow_c_stream__"):
        rows, names, *_ = _ordain.read_arrow(Y, [], [], [])
        return _dense(rows, names, n, what)
    if hasattr(Y, "__array__"):
        array = np.asarray(Y)
        if array.ndim == 1 and array.dtype.kind == "O":
            return _listed(array.tolist(), n, what)
        return _dense(array, None, n, what)
    if isinstance(Y, Iterable) and not isinstance(Y, (str, bytes, dict)):
        return _listed(list(Y), n, what)
    raise ValueError(f"{what}: expected an array of 0 and 1, or a list of labels for each row, found {Y!r:.80}")


def _checked(labels: Labels, rows: int, n: int, what: str) -> Labels:
    if rows != n:
        raise ValueError(f"{what}: expected {n} rows, one for each row of X, found {rows} (inconsistent numbers)")
    if labels.width == 0:
        raise ValueError(f"{what}: expected at least one label, found none")
    if labels.names is not None and len(set(labels.names)) < labels.width:
        twice = next(name for name in labels.names if labels.names.count(name) > 1)
        raise ValueError(f"{what}: expected each label once, found {twice!r} twice")
    return labels


def _wrong(what: str, row: int, column: int, names: list[str] | None, found: Any) -> ValueError:
    label = "" if names is None else f" (label {names[column]!r})"
    return ValueError(f"{what}[{row}, {column}]{label}: expected 0, 1 or NaN (unknown), found {found}")


def _dense(array: Any, names: list[str] | None, n: int, what: str) -> Labels:
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array!r}\n")
    if array.ndim != 2:
        raise ValueError(
            f"{what}: expected an array with a column for each label, found shape {array.shape}; "
            "one label for each row is [[label] for label in y]"
        )
    if array.dtype.kind not in "biuf":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what}: expected 0, 1 or NaN (unknown): {error}") from error
    yes = array == 1
    gaps = np.isnan(array) if array.dtype.kind == "f" else np.zeros_like(yes)
    wrong = ~(yes | gaps | (array == 0))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise _wrong(what, row, column, names, array[row, column])
    of = Labels(names, array.shape[1], _lists(yes), _lists(gaps) if gaps.any() else None)
    return _checked(of, array.shape[0], n, what)


def _lists(mask: Any) -> Lists:
    starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1, dtype=np.int64))])
    return starts.astype(np.int64), np.nonzero(mask)[1].astype(np.int64)


def _sparse(Y: Any, n: int, what: str) -> Labels:
    Y = Y.tocsr()
    if not Y.has_canonical_format:
        Y = Y.copy()
        Y.sum_duplicates()
    values, columns = Y.data, Y.indices.astype(np.int64)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    yes = values == 1
    gaps = np.isnan(values) if values.dtype.kind == "f" else np.zeros_like(yes)
    wrong = np.flatnonzero(~(yes | gaps | (values == 0)))
    if len(wrong):
        raise _wrong(what, rows[wrong[0]], columns[wrong[0]], None, values[wrong[0]])

    def lists(mask: Any) -> Lists:
        counts = np.bincount(rows[mask], minlength=Y.shape[0])
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), columns[mask]

    return _checked(Labels(None, int(Y.shape[1]), lists(yes), lists(gaps) if gaps.any() else None), Y.shape[0], n, what)


def _listed(rows: list[Any], n: int, what: str) -> Labels:
    numbers: dict[str, int] = {}
    starts, columns = [0], []
    for row, item in enumerate(rows):
        if isinstance(item, (str, bytes)) or not isinstance(item, Iterable):
            raise ValueError(f"{what}[{row}]: expected a list of labels, found {item!r}; one label alone is [label]")
        words = [_name(label, what, row) for label in item]
        if len(set(words)) < len(words):
            twice = next(word for word in words if words.count(word) > 1)
            raise ValueError(
                f"{what}[{row}]: expected each label once, found {twice!r} twice; columns of 0 and 1 are for an array"
            )
        words = sorted(words) if isinstance(item, AbstractSet) else words
        columns += [numbers.setdefault(word, len(numbers)) for word in words]
        starts.append(len(columns))
    of = Labels(list(numbers), len(numbers), (np.array(starts, np.int64), np.array(columns, np.int64)), None, True)
    return _checked(of, len(rows), n, what)


def _name(label: Any, what: str, row: int) -> str:
    """The name of a label: the text of whatever stands for it."""
    if label is None or isinstance(label, (bool, np.bool_)) or label != label or str(label) == "":
        raise ValueError(f"{what}[{row}]: expected names of labels, found {label!r}")
    return str(label)


def joined(labels: Labels, more: Labels) -> Labels:
    """Labels of training and validation rows as one."""
    names = labels.names
    if (names is None) != (more.names is None) or (labels.width != more.width and names is None):
        raise ValueError(f"eval_set: expected the {labels.width} labels of Y, found {more.width} others")
    place = np.arange(more.width)
    if names is not None and more.names is not None:
        extra = [name for name in more.names if name not in set(names)]
        lacks = more.lacks(names)
        if (extra and not labels.listed) or lacks:
            raise ValueError(
                f"eval_set: expected the labels of Y, found {(lacks or extra)[0]!r} in one of the two alone"
            )
        names = names + extra
        number = {name: j for j, name in enumerate(names)}
        place = np.array([number[name] for name in more.names], dtype=np.int64)

    def both(a: Lists | None, b: Lists | None) -> Lists | None:
        if a is None and b is None:
            return None
        empty = [(np.zeros(len(of.yes[0]), np.int64), np.zeros(0, np.int64)) for of in (labels, more)]
        (starts, first), (ends, second) = a or empty[0], b or empty[1]
        return np.concatenate([starts, ends[1:] + len(first)]), np.concatenate([first, place[second]])

    width = labels.width if names is None else len(names)
    yes = both(labels.yes, more.yes) or labels.yes
    return Labels(names, width, yes, both(labels.unknown, more.unknown), labels.listed)
