"""Data as plain arrays: made up, or read from the files that the command line reads."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from . import _ordain
from ._base import _NO_COLUMNS
from ._input import Doubles, Floats, Ints, warn_coarse
from ._structure import _whole

PathLike: TypeAlias = "str | os.PathLike[str]"
Missing: TypeAlias = Literal["error", "zero", "mean", "nan"]
Ids: TypeAlias = np.ndarray[Any, Any]
Indicators: TypeAlias = np.ndarray[Any, np.dtype[np.int8]]


class Ranking(NamedTuple):
    """Queries with documents, a row for each document in the order of the file."""

    #: Features: float32 rows, or a CSR matrix of scipy where most are 0.
    X: Any
    #: The grade of each document; None where the file has none.
    y: Doubles | None
    #: The query of each document: whole numbers where all ids are, else text.
    qid: Ids
    #: The names of the columns; None where they are just 1, 2, ….
    feature_names: list[str] | None
    #: The id of each document, where the file has them.
    docid: Ids | None
    #: The weight of each document, where the file has them.
    weight: Doubles | None


class Multilabel(NamedTuple):
    """Items with labels, a row for each item in the order of the file."""

    #: Features: float32 rows, or a CSR matrix of scipy where most are 0.
    X: Any
    #: 1 where a label applies, else 0: int8; float32 with NaN where some are unknown; None where there are no labels.
    Y: Any
    #: The name of each column of `Y`.
    label_names: list[str]
    #: The names of the columns; None where they are just 1, 2, ….
    feature_names: list[str] | None
    #: The id of each item, where the file has them.
    item: Ids | None


class Matching(NamedTuple):
    """Problems of matching, a row for each edge, problem by problem."""

    #: Features, float32 rows.
    X: Floats
    #: 1 where an edge is matched, 0 where it is not, NaN where that is unknown.
    y: Doubles
    #: The problem of each edge: whole numbers where all ids are, else text.
    problem: Ids
    #: The left item of each edge.
    left: Ids
    #: The right item of each edge.
    right: Ids
    #: The names of the columns; None where they are just 1, 2, ….
    feature_names: list[str] | None


def make_orders(lists: int = 1200, *, link: float = 5.0, seed: int = 0) -> tuple[Floats, Doubles, Ints, list[str]]:
    """Made-up orders `(X, y, qid, items)` of eight items whose places depend on one another, for `QuadRank`.

    Each list has the items `item_1` to `item_8` with one feature, a score. The first three of an order are observed,
    with the grades 3, 2 and 1. `item_8` drives the odd items away and draws the even ones near, by `link`.
    """
    return _ordain.make_orders(_whole(lists, "lists", 1), _number(link, "link"), _whole(seed, "seed", 0))


def make_levels(
    n_queries: int = 20, n_documents: int = 100, *, side: float = 4.0, seed: int = 0
) -> tuple[Floats, Doubles, Ints]:
    """Made-up queries `(X, y, qid)` whose documents have three levels of relevance in the plane.

    `n_documents` is the number of each level. Their centres are the corners of a triangle with sides of `side` standard
    deviations: 2 overlaps, 4 hardly does.
    """
    queries, documents = _whole(n_queries, "n_queries", 1), _whole(n_documents, "n_documents", 1)
    _fits(queries * documents * 6)
    return _ordain.make_levels(queries, documents, _number(side, "side"), _whole(seed, "seed", 0))


def make_silhouettes(n_classes: int = 10, each: int = 20, *, side: int = 64, seed: int = 0) -> tuple[Floats, Ints]:
    """Made-up pictures `(pictures, y)` of silhouettes, white (1) on black (0), and the class of each.

    `pictures` has the shape `(n_classes * each, side, side)`. A class has an outline of its own; each picture of it has
    a turn, a lean and a size of its own.

    >>> from ordain import make_silhouettes
    >>> pictures, y = make_silhouettes(3, 2, side=32)
    >>> pictures.shape, y.tolist()
    ((6, 32, 32), [0, 0, 1, 1, 2, 2])
    """
    classes, of_each, side = _whole(n_classes, "n_classes", 1), _whole(each, "each", 1), _whole(side, "side", 1)
    _fits(classes * of_each * side * side)
    pixels, y = _ordain.make_silhouettes(classes, of_each, side, _whole(seed, "seed", 0))
    return pixels.reshape(-1, side, side), np.array(y, dtype=np.int64)


def make_videos(
    n_sequences: int = 347, n_classes: int = 10, *, n_frames: int = 5, side: int = 40, seed: int = 0
) -> tuple[Floats, Ints]:
    """Made-up sequences `(videos, y)` of frames in which a silhouette turns, leans and grows, and the class of each.

    `videos` has the shape `(n_sequences, side, side, n_frames)`: a tensor for each sequence, as `ordain features
    --tensor` takes them from an `.npy` file.
    """
    sequences, classes = _whole(n_sequences, "n_sequences", 1), _whole(n_classes, "n_classes", 1)
    frames, side = _whole(n_frames, "n_frames", 1), _whole(side, "side", 1)
    _fits(sequences * frames * side * side)
    pixels, y = _ordain.make_videos(classes, sequences, frames, side, _whole(seed, "seed", 0))
    videos = np.ascontiguousarray(pixels.reshape(sequences, frames, side, side).transpose(0, 2, 3, 1))
    return videos, np.array(y, dtype=np.int64)


def make_ranking(
    n_queries: int = 300,
    n_documents: int | tuple[int, int] = (10, 40),
    n_features: int = 20,
    *,
    n_grades: int = 4,
    noise: float = 1.0,
    seed: int = 0,
) -> tuple[Floats, Doubles, Ints]:
    """Made-up rankings `(X, y, qid)`: a linear score plus noise, cut into grades from 0, the higher the rarer.

    `n_documents` is the number of documents of a query, or the least and the largest. Features mislead as real ones
    do: each has its own unit, offset and spread, which change from query to query, every second one carries
    nothing, and the last one is constant.
    """
    least, most = n_documents if isinstance(n_documents, tuple) else (n_documents, n_documents)
    least = _whole(least, "n_documents", 1)
    most = _whole(most, "n_documents", least)
    _fits(_whole(n_queries, "n_queries", 1) * most * _whole(n_features, "n_features", 1))
    X, y, qid = _ordain.make_ranking(
        _whole(n_queries, "n_queries", 1),
        (least, most),
        _whole(n_features, "n_features", 1),
        _whole(n_grades, "n_grades", 1),
        _number(noise, "noise"),
        _whole(seed, "seed", 0),
    )
    return X, y, qid


def make_tagging(
    n_items: int = 3000, n_labels: int = 93, *, n_scenes: int = 6, noise: float = 0.9, seed: int = 0
) -> tuple[Floats, Indicators, list[str]]:
    """Made-up pictures with labels `(X, Y, label_names)`: `Y[i, j]` is 1 where label `j` is on item `i`, else 0.

    What is on an item depends on a scene that is not seen, so that labels say much about one another. Feature `j` is a
    detector of label `j`: 1 or -1, plus `noise`. Every item has a label and lacks one.
    """
    _fits(_whole(n_items, "n_items", 1) * _whole(n_labels, "n_labels", 2))
    X, Y, names = _ordain.make_tagging(
        _whole(n_items, "n_items", 1),
        _whole(n_labels, "n_labels", 2),
        _whole(n_scenes, "n_scenes", 1),
        _number(noise, "noise"),
        _whole(seed, "seed", 0),
    )
    return X, Y, names


def make_matching(
    n_problems: int = 200, n_records: int = 8, *, matched: float = 0.7, look_alikes: float = 0.6, seed: int = 0
) -> tuple[Floats, Doubles, Ids, Ids, Ids]:
    """Made-up record linkage `(X, y, problem, left, right)`, a row for each pair of records of two registers.

    A problem has about `n_records` people on either side, of whom the share `matched` is on both; `look_alikes` is
    the share of the others who are related to somebody on the other side. Features say how alike given name,
    surname, birth date, place and trade are; `y` is 1 where both records are of the same person, else 0.
    """
    _fits(_whole(n_problems, "n_problems", 1) * 4 * _whole(n_records, "n_records", 1) ** 2)
    X, y, problem, left, right, _, _ = _ordain.make_matching(
        _whole(n_problems, "n_problems", 1),
        _whole(n_records, "n_records", 1),
        _number(matched, "matched", 1.0),
        _number(look_alikes, "look_alikes", 1.0),
        _whole(seed, "seed", 0),
    )
    return X, y, _ids(*problem), _ids(*left), _ids(*right)


def make_registers(n_records: int = 5000, *, page: int | None = None, seed: int = 0) -> Matching:
    """Made-up registers of people with gaps and slips, a row for each pair of records that may be the same person.

    Either register has `n_records` records with given name, surname, street, suburb, postcode and birth date; 30 % of
    them have no partner, 12 % of the fields are empty and 15 % have a typo, a swap or an abbreviation. All is one
    problem of candidates that share a name, a place, a street or a birth date, or with `page` there are problems of
    about that many records on either side, with all their pairs. Features compare the fields (equal, Jaro,
    Levenshtein) and are NaN where either is empty; `y` is 1 where both records are of the same person, else 0.
    """
    _fits(_whole(n_records, "n_records", 1) * 24 * 16)
    X, y, problem, left, right, names, _ = _ordain.make_registers(
        n_records, None if page is None else _whole(page, "page", 1), _whole(seed, "seed", 0)
    )
    return Matching(X, y, _ids(*problem), _ids(*left), _ids(*right), names)


def _columns(**given: Any) -> dict[str, Any]:
    """Which columns of a table mean what, as the compiled half takes it."""
    lists = {name: given[name] for name in ("ignore", "features") if given.get(name) is not None}
    lists = {name: [value] if isinstance(value, str) else list(value) for name, value in lists.items()}
    return _NO_COLUMNS | {name: value for name, value in given.items() if value is not None} | lists


def read_letor(
    path: PathLike,
    *,
    label: str | None = None,
    query: str | None = None,
    id: str | None = None,
    weight: str | None = None,
    ignore: Sequence[str] = (),
    features: Sequence[str] | None = None,
    missing: Missing = "error",
    n_features: int | None = None,
) -> Ranking:
    """The queries of a file: LETOR / SVMlight text, or a table (CSV, TSV, Parquet, Feather), plain, gzip or zstd.

    Of tables: `label`, `query`, `id` and `weight` name the columns of these meanings; without them columns of the usual
    names are taken. `ignore` are columns to leave out, or `features` are the only ones to keep.

    `missing` says what becomes of values that are not there: an `"error"`, `"zero"`, the `"mean"` of their column,
    that mean with an `"indicator"` column beside it, or `"nan"`. A file of numbered features has columns up to the
    largest number in it; `n_features` makes them the columns 1 to `n_features`, so that files for training and for
    testing agree; those above are left out. A file that is wrong
    raises FormatError with the place.
    """
    wanted = None if n_features is None else _whole(n_features, "n_features", 1)
    columns = _columns(label=label, query=query, id=id, weight=weight, ignore=ignore, features=features)
    X, y, qid, names, docid, weights, coarse = _ordain.read_letor(
        os.fspath(path), columns, missing, wanted, _scipy() is not None
    )
    warn_coarse(coarse, 2)
    return Ranking(_features(X), y, _ids(*qid), names, None if docid is None else np.array(docid, dtype=str), weights)


def read_multilabel(
    path: PathLike,
    *,
    labels: PathLike | Sequence[str] | None = None,
    category: str | None = None,
    id: str | None = None,
    ignore: Sequence[str] = (),
    features: Sequence[str] | None = None,
    missing: Missing = "error",
) -> Multilabel:
    """The items of a file: ARFF, a table (CSV, TSV, Parquet, Feather), or text `label,label index:value…`.

    `labels` says where the labels are: an XML file of them for ARFF, the names of columns for tables, a file of
    names for text; without it they are looked for beside the file, and in the column `labels` of a table. Of tables
    only: `category` is the column whose value is the one label of an item, `id` the column of ids, `ignore` are
    columns to leave out, or `features` the only ones to keep. `missing` is as in `read_letor`.
    """
    if labels is None or isinstance(labels, (str, os.PathLike)):
        where = None if labels is None else os.fspath(labels)
    else:
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(labels)
        where = text.getvalue()
    X, Y, label_names, names, item, coarse = _ordain.read_multilabel(
        os.fspath(path),
        where,
        category,
        _columns(id=id, ignore=ignore, features=features),
        missing,
        _scipy() is not None,
    )
    warn_coarse(coarse, 2)
    return Multilabel(_features(X), Y, label_names, names, None if item is None else np.array(item, dtype=str))


def read_matching(
    path: PathLike,
    *,
    pairs: PathLike | None = None,
    features: Sequence[str] = (),
    problem: str | None = None,
    left: str | None = None,
    right: str | None = None,
    matched: str | None = None,
    ignore: Sequence[str] = (),
    split: Literal["train", "validate", "test"] | None = None,
    missing: Missing = "error",
) -> Matching:
    """The problems of a table: CSV, TSV, Parquet or Feather, plain, gzip or zstd.

    It is a table of edges (`problem,left,right,<features…>,matched`), of points of two sides
    (`problem,side,id,x,y`), or of points of frames (`frame,point,x,y`); `pairs` is then a table of the frames that
    belong together (`frame_a,frame_b,split`), of which `split` chooses some. `features` are made for every pair of
    points: `shape-context`, `shape-context-abs`, `coordinates`, `degree`, `descriptors`; without it the first, and
    descriptors if there are any. Of edges `problem`, `left`, `right` and `matched` name the columns of these meanings,
    and `ignore` are columns to leave out. `missing` is as in `read_letor`.
    """
    beside = None if pairs is None else os.fspath(pairs)
    wanted = features if isinstance(features, str) else ",".join(features)
    columns = _columns(problem=problem, left=left, right=right, matched=matched, ignore=ignore)
    X, y, problems, lefts, rights, names, coarse = _ordain.read_matching(
        os.fspath(path), beside, wanted, columns, split, missing
    )
    warn_coarse(coarse, 2)
    return Matching(X, y, _ids(*problems), _ids(*lefts), _ids(*rights), names)


def _fits(values: int) -> None:
    """Refuses data that no machine holds, before memory is asked for."""
    if values > 2**36:
        raise MemoryError(f"expected at most {2**36:,} values to make up, found {values:,}")


def _number(value: Any, what: str, most: float = math.inf) -> float:
    """A finite number from 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (0.0 <= number <= most and math.isfinite(number)):
        raise ValueError(
            f"{what}: expected a number from 0{f' to {most:g}' if most < math.inf else ''}, found {value!r}"
        )
    return number


def _ids(of: Ints, names: list[str]) -> Ids:
    """The id of each row: whole numbers where all ids are such as they would be written, else text."""
    try:
        numbers = np.array([int(name) for name in names], dtype=np.int64)
        if [str(number) for number in numbers.tolist()] == names:
            return numbers[of]
    except (ValueError, OverflowError):
        pass
    return np.array(names, dtype=str)[of]


def _scipy() -> Any:
    """The sparse matrices of scipy, where it is installed."""
    try:
        from scipy import sparse
    except ImportError:
        return None
    return sparse


def _features(X: Any) -> Any:
    """Features as they are, sparse ones as a matrix of scipy."""
    if not isinstance(X, tuple):
        return X
    data, indices, indptr, cols = X
    return _scipy().csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, cols), copy=False)


__all__ = [
    "Matching",
    "Multilabel",
    "Ranking",
    "make_levels",
    "make_matching",
    "make_orders",
    "make_ranking",
    "make_registers",
    "make_silhouettes",
    "make_tagging",
    "make_videos",
    "read_letor",
    "read_matching",
    "read_multilabel",
]
