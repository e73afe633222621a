"""Whatever a person holds data in, as the arrays that the compiled half takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from . import _ordain
from ._compat import DataConversionWarning

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
Doubles: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
# what columns are, such as "title:text", and the cells of each: texts, or vectors in rows (a row of NaN is missing)
Cells: TypeAlias = "list[tuple[str, list[list[str] | Floats]]]"
Rows: TypeAlias = "Floats | tuple[Ints, Ints, Floats, int] | Mixed"
Ids: TypeAlias = "Ints | list[str]"


# what float32 does not hold as it is
_WIDE = tuple(np.dtype(kind) for kind in (np.float64, np.int64, np.uint64, np.int32, np.uint32))


class Mixed(NamedTuple):
    """Rows of numbers, and columns that are none."""

    numbers: Floats
    cells: Cells


@dataclass
class Table:
    """Rows of features, their names where they have any, and the columns that are no features.

    `coarse` finds the columns whose values lose more than 1e-6 of their spread as float32.
    """

    rows: Rows
    names: list[str] | None
    shape: tuple[int, int]
    taken: Mapping[str, Any] = field(default_factory=dict)
    coarse: Callable[[], list[Any]] = list


def queries_of(X: Any) -> Any:
    """The column `qid` of a frame, without a look at the others; None where there is none."""
    return X["qid"] if "qid" in columns_of(X) else None


def _is_columns(X: Any) -> bool:
    """Whether it is a dict of columns; a sparse matrix may be a dict of values."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")


def columns_of(X: Any) -> list[Any]:
    """The names of the columns of a frame, or of a dict of columns; none of an array."""
    if _is_columns(X):
        return list(X)
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        return []  # it is not there yet
    names: Any = getattr(X, "column_names", None)  # pyarrow, whose columns are arrays
    return list(getattr(X, "columns", ()) if names is None else names)


def named(X: Any, given: Mapping[str, Any], ignore: Iterable[str] | str) -> tuple[dict[str, str], list[str]]:
    """The arguments that name a column of `X` instead of giving it, and the columns to leave out."""
    names = {what: value for what, value in given.items() if isinstance(value, str)}
    left = [ignore] if isinstance(ignore, str) else list(ignore)
    known = columns_of(X)
    for what, name in [*names.items(), *(("ignore", name) for name in left)]:
        if name not in known:
            found = f"columns {known[:8]!r}" if known else "an X without named columns"
            raise ValueError(f"{what}: expected a column of X, found {name!r} and {found}")
    return names, left


def table(X: Any, take: Iterable[str] = (), leave: Iterable[str] = (), inputs: Iterable[str] = ()) -> Table:
    """Features of an array, a sparse matrix, a data frame, a dict of columns, or anything that speaks Arrow.

    Columns of a frame whose names are in `take` are put aside, those in `leave` are left out. Dense float32 in rows is
    used as it stands. `inputs` are columns whose cells are no numbers, such as "title:text": they stand behind all
    others.
    """
    take, leave = tuple(take), tuple(leave)
    wanted = [(text, _input_columns(text)) for text in inputs if _kind(text) != "number"]
    if wanted:
        known = columns_of(X)
        if not known:
            found = f"an X of type {type(X).__name__}"
            raise ValueError(
                f"inputs: expected a frame of pandas, polars or pyarrow, or a dict of columns, found {found}"
            )
        absent = [name for _, names in wanted for name in names if name not in known]
        if absent:
            raise ValueError(f"inputs: expected columns of X, found {absent[0]!r} and columns {known[:8]!r}")
        return _mixed(X, take, leave, wanted)
    if _is_columns(X):
        return _columns(X, take, leave)
    if hasattr(X, "tocsr"):
        return _sparse(X)
    if _is_pandas(X):
        return _pandas(X.drop(columns=[name for name in leave if name in X.columns]) if leave else X, take)
    if hasattr(X, "__arrow_c_stream__"):
        rows, names, taken, coarse, _ = _ordain.read_arrow(X, list(take), list(leave), [])
        return _checked(Table(rows, names, (rows.shape[0], rows.shape[1]), taken, lambda: coarse))
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise ValueError("X: expected a table, found one that is not there yet: X.collect()")
    array = np.asarray(X)
    if array.dtype.kind in "cmM":
        kind = "Complex data" if array.dtype.kind == "c" else "Dates and times"
        raise ValueError(f"{kind} not supported\n{array!r}\n")
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead:\narray={array!r}.\nReshape your data either using "
            "array.reshape(-1, 1) if your data has a single feature or array.reshape(1, -1) if it is a single row."
        )
    rows = _float32(array)
    return _checked(Table(rows, None, (rows.shape[0], rows.shape[1]), coarse=lambda: _coarse(array)))


def _kind(text: str) -> str:
    """What an input is: "text" of "title:text[words=2]"."""
    return text.rsplit("[", 1)[0].rsplit(":", 1)[-1]


def _input_columns(text: str) -> list[str]:
    """The columns of an input: one, or two of "a,b:vectors"."""
    column = text.rsplit("[", 1)[0].rsplit(":", 1)[0]
    return column.split(",") if _kind(text) == "vectors" else [column]


def _mixed(X: Any, take: tuple[str, ...], leave: tuple[str, ...], wanted: list[tuple[str, list[str]]]) -> Table:
    """Features of a frame or of a dict some of whose columns are no numbers."""
    own = list(dict.fromkeys(name for _, names in wanted for name in names))
    if not _is_columns(X) and not _is_pandas(X) and hasattr(X, "__arrow_c_stream__"):
        rows, names, taken, coarse, texts = _ordain.read_arrow(X, list(take), list(leave), own)
        numbers = Table(rows, names, (rows.shape[0], rows.shape[1]), taken, lambda: coarse)
        cells: dict[str, list[str] | Floats] = dict(zip(own, texts, strict=True))
    else:
        rest = {name: X[name] for name in columns_of(X) if name not in own}
        n = len(X[own[0]])
        if _is_pandas(X) and any(name not in (*take, *leave) for name in rest):
            numbers = _pandas(X.drop(columns=[*own, *(name for name in leave if name in rest)]), take)
        else:
            numbers = _columns(rest, take, leave, n)
        cells = {name: _cells(X[name], name, numbers.shape[0]) for name in own}
    n = numbers.shape[0]
    if n == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={numbers.shape}) while a minimum of 1 is required.")
    columns = [(text, [cells[name] for name in names]) for text, names in wanted]
    names = [*(numbers.names or []), *(text.rsplit("[", 1)[0].rsplit(":", 1)[0] for text, _ in wanted)]
    shape = (n, numbers.shape[1] + len(columns))
    if isinstance(numbers.rows, tuple):
        raise ValueError("X: expected dense columns beside inputs=, found sparse ones")
    return _checked(Table(Mixed(numbers.rows, columns), names, shape, numbers.taken, numbers.coarse))


def _columns(X: Mapping[str, Any], take: tuple[str, ...], leave: tuple[str, ...], n: int | None = None) -> Table:
    """Features of a dict of columns; an array of two dimensions is a column for each place."""
    taken = {name: X[name] for name in take if name in X}
    names: list[str] = []
    parts: list[Any] = []
    for name, values in X.items():
        if name in taken or name in leave:
            continue
        array = np.asarray(values)
        if array.ndim not in (1, 2) or array.dtype.kind in "cmM":
            raise ValueError(f"X[{name!r}]: expected numbers, found {array.dtype} of {array.ndim} dimensions")
        names += [str(name)] if array.ndim == 1 else [f"{name}_{j}" for j in range(array.shape[1])]
        parts.append(array[:, None] if array.ndim == 1 else array)
        n = len(array) if n is None else n
        if len(array) != n:
            raise ValueError(f"X[{name!r}]: expected {n} rows, as in the other columns, found {len(array)}")
    rows = np.concatenate([_float32(part) for part in parts], axis=1) if parts else np.zeros((n or 0, 0), np.float32)

    def coarse() -> list[Any]:
        places = [part[:, [j]] for part in parts for j in range(part.shape[1])]
        return [name for name, part in zip(names, places, strict=True) if _coarse(part)]

    return Table(rows, names, (rows.shape[0], rows.shape[1]), taken, coarse)


def _cells(values: Any, name: str, n: int) -> list[str] | Floats:
    """The cells of a column as text, as they would stand in a file; vectors as rows of numbers."""
    if len(values) != n:
        raise ValueError(f"X[{name!r}]: expected {n} rows, as in the other columns, found {len(values)}")
    items = list(values) if isinstance(values, (list, tuple)) else None
    if items is None:
        array = np.asarray(values)
        if array.ndim == 2 and array.dtype.kind in "fiub":
            return _float32(array)
        if array.dtype.kind == "M":
            return ["" if day == "NaT" else day for day in array.astype("datetime64[D]").astype(str).tolist()]
        items = array.tolist() if array.ndim == 1 else list(array)
    if any(isinstance(item, (list, tuple, np.ndarray)) for item in items):
        return _vectors(items, name)
    return [_cell(item) for item in items]


def _cell(item: Any) -> str:
    """A cell as text: nothing as "", whole numbers without a point, dates as 1975-12-03."""
    if isinstance(item, str):
        return item
    if _is_gap(item):
        return ""
    if isinstance(item, bool):
        return "true" if item else "false"
    if hasattr(item, "isoformat"):
        return str(item.isoformat())[:10]
    if isinstance(item, float) and item.is_integer():
        return str(int(item))
    return str(item)


def _vectors(items: list[Any], name: str) -> Floats:
    """Vectors of one length, as rows; a row of NaN where there is none."""
    width = next(len(item) for item in items if isinstance(item, (list, tuple, np.ndarray)))
    out = np.full((len(items), width), np.nan, dtype=np.float32)
    for row, item in enumerate(items):
        if not isinstance(item, (list, tuple, np.ndarray)):
            if not _is_gap(item):
                raise ValueError(f"X[{name!r}][{row}]: expected a vector, found {item!r:.80}")
            continue
        one = np.asarray(item)
        if one.shape != (width,) or one.dtype.kind not in "fiub" or not np.isfinite(one).all():
            raise ValueError(f"X[{name!r}][{row}]: expected a vector of {width} finite numbers, found {item!r:.80}")
        out[row] = one
    return out


def _coarse(array: Any) -> list[int]:
    """The columns of an array that lose much as float32."""
    return _ordain.coarse_columns(array) if array.dtype in _WIDE and array.flags.aligned else []


def warn_coarse(names: list[Any], stacklevel: int) -> None:
    """Says which columns float32 does not hold well, and the way out."""
    if names:
        text = (
            f"X: {', '.join(repr(name) for name in names)} loses more than 1e-6 of its spread as float32: subtract a "
            "constant from it first, such as its least value"
        )
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "to_numpy")


def _float32(array: Any) -> Floats:
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(f"X: expected numbers, found {array.dtype} that is none: {error}") from error
    with np.errstate(over="ignore"):  # what does not fit is refused with its place
        return np.ascontiguousarray(array, dtype=np.float32)


def _checked(table: Table) -> Table:
    for what, n in zip(("sample", "feature"), table.shape, strict=True):
        if n == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.names is not None and len(set(table.names)) < len(table.names):
        twice = next(name for name in table.names if table.names.count(name) > 1)
        raise ValueError(f"expected each column name once, found {twice!r} twice")
    return table


def _pandas(X: Any, take: tuple[str, ...]) -> Table:
    taken = {name: X[name] for name in take if name in X.columns}
    X = X.drop(columns=list(taken)) if taken else X
    names = list(X.columns)
    words = [isinstance(name, str) for name in names]
    if any(words) and not all(words):
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(name).__name__ for name in names})} as feature name / column name types. "
            "If you want feature names to be stored and validated, you must convert them all to strings, "
            "by using X.columns = X.columns.astype(str) for example."
        )
    strange = next((n for n, kind in zip(names, X.dtypes, strict=True) if kind.kind in "cmM"), None)
    if strange is not None:
        raise ValueError(f"X: expected columns of numbers, found {strange!r} of {X.dtypes[strange]} (not supported)")
    try:
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X.to_numpy(dtype=np.float32, na_value=np.nan))
    except (TypeError, ValueError) as error:
        wrong = next((n for n, kind in zip(names, X.dtypes, strict=True) if kind.kind not in "fiub"), None)
        raise ValueError(
            f"X: expected columns of numbers, found {wrong!r} of {X.dtypes.get(wrong)}: {error}"
        ) from error

    def coarse() -> list[Any]:
        parts = (X.iloc[:, j] for j in range(len(names)))
        return [name for name, part in zip(names, parts, strict=True) if _coarse(_doubles(part)[:, None])]

    return _checked(Table(rows, names if names and all(words) else None, rows.shape, taken, coarse))


def _doubles(column: Any) -> Any:
    """The values of a column of pandas, without a copy where they are numpy's."""
    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind != "O"
    return column.to_numpy() if plain else column.to_numpy(dtype=np.float64, na_value=np.nan)


def _sparse(X: Any) -> Table:
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse array of {X.ndim} dimension(s) instead")
    X = X.tocsr()
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported\nfound a sparse matrix of complex numbers")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    with np.errstate(over="ignore"):
        data = np.ascontiguousarray(X.data, dtype=np.float32)
    rows = (X.indptr.astype(np.int64), X.indices.astype(np.int64), data, int(X.shape[1]))
    n, cols = int(X.shape[0]), int(X.shape[1])

    def coarse() -> list[int]:
        # a column that lacks a value has a 0, and so a wide spread
        whole = np.flatnonzero(np.bincount(X.indices, minlength=cols) == n).tolist()
        return [j for j in whole if _coarse(X[:, [j]].toarray())]

    return _checked(Table(rows, None, (n, cols), coarse=coarse))


def one_set(eval_set: Any) -> tuple[Any, ...]:
    """The parts of `eval_set`: a tuple, or a list of one tuple as other libraries have it."""
    if isinstance(eval_set, list) and all(isinstance(one, (tuple, list)) for one in eval_set):
        if len(eval_set) != 1:
            raise ValueError(f"eval_set: expected one set to choose on, found {len(eval_set)}")
        eval_set = eval_set[0]
    if not isinstance(eval_set, (tuple, list)):
        raise ValueError(f"eval_set: expected a tuple such as (X, y, qid), found {type(eval_set).__name__}")
    return tuple(eval_set)


FRAMES = ("pandas", "polars", "pyarrow")


def framed(columns: Mapping[str, Any], like: Any, library: str) -> Any:
    """Columns as a frame of a library; `"frame"` is the one that `like` is from, and pandas of arrays."""
    if library == "frame":
        own = type(like).__module__.split(".")[0]
        library = own if own in FRAMES else "pandas"
    try:
        if library == "polars":
            import polars

            return polars.DataFrame(dict(columns))
        if library == "pyarrow":
            import pyarrow  # type: ignore[import-untyped, unused-ignore]

            return pyarrow.table(dict(columns))
        import pandas
    except ImportError as error:
        raise ImportError(f"a frame of {library} needs that library: pip install {library}") from error
    return pandas.DataFrame(dict(columns), index=like.index if _is_pandas(like) else None)


def joined(data: Table, more: Table) -> Table:
    """Training and validation rows as one table, with the columns of the first."""
    if more.names != data.names and (more.names is None or data.names is None or set(more.names) != set(data.names)):
        raise ValueError("eval_set: expected the columns of X, found others")
    if more.shape[1] != data.shape[1]:
        raise ValueError(f"eval_set: expected {data.shape[1]} features, found {more.shape[1]}")
    shape = (data.shape[0] + more.shape[0], data.shape[1])
    if isinstance(data.rows, Mixed) and isinstance(more.rows, Mixed):
        return Table(_joined_cells(data, data.rows, more, more.rows), data.names, shape, coarse=data.coarse)
    if isinstance(data.rows, Mixed) or isinstance(more.rows, Mixed):
        raise ValueError("eval_set: expected the kinds of columns that X has, found others")
    if isinstance(data.rows, tuple) and isinstance(more.rows, tuple):
        (starts, columns, values, width), (ends, others, rest, _) = data.rows, more.rows
        starts = np.concatenate([starts, ends[1:] + starts[-1]])
        rows = (starts, np.concatenate([columns, others]), np.concatenate([values, rest]), width)
        return Table(rows, None, shape, coarse=data.coarse)
    if isinstance(data.rows, tuple) or isinstance(more.rows, tuple):
        raise ValueError("eval_set: expected dense features as in X, or sparse ones as in X, found the other")
    order = [more.names.index(name) for name in data.names] if more.names and data.names else slice(None)
    return Table(np.concatenate([data.rows, more.rows[:, order]]), data.names, shape, coarse=data.coarse)


def _joined_cells(data: Table, rows: Mixed, more: Table, others: Mixed) -> Mixed:
    """Training and validation rows, some of whose columns are no numbers."""
    width, known = rows.numbers.shape[1], more.names or []
    order = [known.index(name) for name in (data.names or [])[:width]]
    pairs = zip(rows.cells, others.cells, strict=True)
    cells = [(text, [_stacked(*two) for two in zip(a, b, strict=True)]) for (text, a), (_, b) in pairs]
    return Mixed(np.concatenate([rows.numbers, others.numbers[:, order]]), cells)


def _stacked(a: list[str] | Floats, b: list[str] | Floats) -> list[str] | Floats:
    """The cells of two lists of rows as one list."""
    if isinstance(a, list) and isinstance(b, list):
        return a + b
    if isinstance(a, list) or isinstance(b, list):
        raise ValueError("eval_set: expected the kinds of columns that X has, found others")
    return np.concatenate([a, b])


def column(y: Any, what: str, n: int, gaps: bool = False) -> Doubles:
    """One finite number for each row; with `gaps` it may be NaN."""
    if y is None:
        raise ValueError(f"expected {what}, found None: y should be a 1d array, one value for each row of X")
    if hasattr(y, "tocsr"):
        raise ValueError(f"{what}: expected a dense array, found a sparse matrix")
    array = np.asarray(y)
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{array!r}\n")
    if array.ndim == 2 and array.shape[1] == 1:
        text = (
            f"A column-vector {what} was passed when a 1d array was expected. Please change its shape to (n_samples,)."
        )
        warnings.warn(text, DataConversionWarning, stacklevel=4)
        array = array.reshape(-1)
    if array.ndim != 1:
        raise ValueError(f"{what} should be a 1d array, got an array of shape {array.shape} instead.")
    try:
        values = np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: expected numbers: {error}") from error
    if len(values) != n:
        raise ValueError(
            f"{what}: expected {n} values, one for each row of X, found {len(values)} (inconsistent numbers)"
        )
    wrong = np.isinf(values) if gaps else ~np.isfinite(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        kind = "NaN" if np.isnan(values[row]) else "infinity (inf)"
        raise ValueError(f"Input {what} contains {kind}: {what}[{row}]: expected a finite number, found {values[row]}")
    return values


def _is_gap(item: Any) -> bool:
    """Whether somebody meant that there is nothing: None, NaN, or pandas' NA, which is not even unlike itself."""
    try:
        return item is None or bool(item != item)
    except TypeError:
        return True


def ids(values: Any, what: str, n: int) -> Ids:
    """Ids of any type, one for each row: whole numbers as they are, everything else as its text."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if isinstance(values, (list, tuple)) and array.dtype.kind == "U":
        array = np.array(values, dtype=object)  # a gap among words is no word
    if array.ndim != 1 or len(array) != n:
        raise ValueError(f"{what}: expected {n} ids, one for each row of X, found shape {array.shape}")
    if array.dtype.kind in "ib" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array))[0])
            raise ValueError(f"{what}[{row}]: expected an id, found {array[row]}")
        if (array == np.floor(array)).all() and (np.abs(array) < 2**53).all():
            return array.astype(np.int64)
    items = array.tolist()
    for row, item in enumerate(items):
        if _is_gap(item):
            raise ValueError(f"{what}[{row}]: expected an id, found {item}")
    return [str(item) for item in items]


def both(a: Ids, b: Ids) -> Ids:
    """Ids of two lists of rows as one list."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return np.concatenate([a, b])
    return [str(x) for x in a] + [str(x) for x in b]


def sizes(group: Any, n: int) -> Ints:
    """The number of each row's query, given how many rows each query has."""
    counts = np.asarray(group)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError(f"group: expected the number of rows of each query, found {group!r:.80}")
    total = sum(counts.tolist())  # in Python, where no sum overflows
    if total != n:
        found = f"a sum of {total}; an id for each row is qid="
        raise ValueError(f"group: expected sizes that add up to the {n} rows of X, found {found}")
    return np.repeat(np.arange(1, len(counts) + 1, dtype=np.int64), counts)
