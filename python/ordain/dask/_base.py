"""What all estimators on a cluster share."""

from __future__ import annotations

import glob
import os
import uuid
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import dask
import numpy as np

from .. import _ordain
from .._base import _NO_COLUMNS
from .._input import Table, columns_of, ids, named
from ._pool import SHUFFLES, _client, _Data, _Pool, _release
from ._workers import _aligned, _read

if TYPE_CHECKING:
    from typing_extensions import Self


class _Far:
    """An estimator whose rows are on workers of Dask: the parameters are those of the estimator on one machine.

    `client` is a `dask.distributed.Client`, by default the one of this process. After `fit`, `local_` is the ordinary
    estimator, whose file is byte for byte that of a fit on one machine.
    """

    _kind: ClassVar[Any]
    # what a unit is called, what makes a block of rows, and the arguments of `fit` that have a value for each row
    _unit: ClassVar[str]
    _take: ClassVar[Callable[..., Any]]
    _needed: ClassVar[tuple[str, ...]]
    _optional: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *, client: Any = None, **settings: Any) -> None:
        self.client = client
        self._local = self._kind(**settings)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters."""
        return {"client": self.client, **self._local.get_params(deep=deep)}

    def set_params(self, **params: Any) -> Self:
        """Changes parameters."""
        if "client" in params:
            self.client = params.pop("client")
        self._local.set_params(**params)
        return self

    def _learn(
        self, X: Any, given: dict[str, Any], ignore: Iterable[str], eval_set: Any, shuffle: str | None, callbacks: Any
    ) -> Self:
        """Learns from a frame or from arrays."""
        client, missing = _client(self.client), self._checked()
        word = SHUFFLES[self._unit]
        if shuffle not in (None, word):
            raise ValueError(f"shuffle: expected None or {word!r}, found {shuffle!r}")
        roles = _NO_COLUMNS | {"ignore": [ignore] if isinstance(ignore, str) else list(ignore)}
        if columns_of(X):
            names, left = named(X, given, ignore)
            roles |= names | {"ignore": left}
        first = self._partitions(X, given, roles, missing, shuffle)
        parts, valid = first, None
        if eval_set is not None:
            more = dict(given)
            if isinstance(eval_set, (tuple, list)):
                X, *rest = eval_set
                more |= dict(zip(self._needed, rest, strict=False))
            else:
                X = eval_set
            parts = first + self._partitions(X, more, roles, missing, shuffle)
            valid = len(first)
        names_of = [f"partition {n}" for n in range(len(first))]
        names_of += [f"partition {n} of eval_set" for n in range(len(parts) - len(first))]
        return self._fit(client, list(client.compute(parts)), names_of, valid, callbacks)

    def _partitions(
        self, X: Any, given: dict[str, Any], roles: dict[str, Any], missing: str, shuffle: Any
    ) -> list[Any]:
        """The blocks of a frame or of arrays, to be made by workers."""
        take = dask.delayed(type(self)._take, pure=False)
        if columns_of(X):
            self._check_columns(X, given)
            if shuffle is not None:
                X = X.shuffle(given[self._unit] or self._unit)
            none = [None] * len(given)
            return [take(part, *none, self._kind, roles, missing) for part in X.to_delayed()]
        if shuffle is not None:
            raise ValueError("shuffle: expected a dask DataFrame, found arrays")
        if not hasattr(X, "chunks"):
            raise ValueError(f"X: expected a dask DataFrame or a dask array, found {type(X).__name__}")
        X = X.rechunk({1: -1})
        lists = []
        for what in (*self._needed, *self._optional):
            values = given[what]
            if values is None and what in self._optional:
                lists.append([None] * len(X.chunks[0]))
                continue
            if not hasattr(values, "chunks"):
                raise ValueError(f"{what}: expected a dask array as X is one, found {type(values).__name__}")
            lists.append(values.rechunk((X.chunks[0],)).to_delayed().ravel().tolist())
        rows = zip(X.to_delayed().ravel().tolist(), *lists, strict=True)
        return [take(x, *values, self._kind, roles, missing) for x, *values in rows]

    def _check_columns(self, X: Any, given: dict[str, Any]) -> None:
        """Refuses a frame without the columns that are needed."""
        for what in self._needed:
            if not isinstance(given[what], str):
                raise ValueError(f"{what}: expected the name of a column of X, found {type(given[what]).__name__}")

    def _learn_files(self, files: Any, roles: dict[str, Any], valid: Any, callbacks: Any) -> Self:
        """Learns from files that workers read; `roles` are names of columns."""
        client, missing = _client(self.client), self._checked()
        for what in ("ignore", "features"):
            given = roles[what]
            roles[what] = [given] if isinstance(given, str) else None if given is None else list(given)
        roles = _NO_COLUMNS | roles
        train, held = _files(files), [] if valid is None else _files(valid)
        paths = train + held
        run = uuid.uuid4().hex
        # the largest first, each to whoever is free; a worker that a file were bound to might be lost
        sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in paths]
        blocks: list[Any] = [None] * len(paths)
        for n in sorted(range(len(paths)), key=lambda n: -sizes[n]):
            blocks[n] = client.submit(_read, self._unit, paths[n], roles, missing, key=f"ordain-file-{run}-{n}")
        return self._fit(client, blocks, paths, len(train) if held else None, callbacks)

    def _checked(self) -> str:
        """What missing values mean; refuses parameters that need all rows in one place."""
        local = self._local
        local._run(None)
        for name, usual in (("inputs", None), ("single_query", False)):
            if getattr(local, name, usual) != usual:
                raise ValueError(f"{name}: expected {usual!r} on several machines, found {getattr(local, name)!r}")
        return "error" if local.missing == "auto" else str(local.missing)

    def _fit(self, client: Any, blocks: list[Any], names: list[str], valid: int | None, callbacks: Any) -> Self:
        local = self._kind(**self._local.get_params(deep=False))
        settings, run = local._settings(), local._run(callbacks)
        held = list(blocks)
        try:
            data = _Data(client, self._unit, held, names, valid)
            # before shards stand in the place of blocks
            known = self._known(data)
            pool, runs = data.shards(held)
            model, raised = self._away(settings, data, known, runs, run, pool)
        finally:
            _release(held)
        columns = model.columns()
        local._take(model)
        numbered = local.facts_["features"]["numbered"]
        shape = (sum(int(sizes.sum()) for sizes in data.sizes), len(columns))
        self.local_ = local._keep(model, Table(None, None if numbered else columns, shape), raised)  # type: ignore[arg-type]
        return self

    def _known(self, data: _Data) -> Any:
        """What has to be known of all units where the fit runs."""
        return np.concatenate(data.sizes)

    def _away(
        self,
        settings: list[tuple[str, str]],
        data: _Data,
        known: Any,
        runs: list[tuple[int, int]],
        run: dict[str, Any],
        pool: _Pool,
    ) -> tuple[Any, BaseException | None]:
        """The fit itself."""
        of = (self._kind._method, settings, data.columns, known, data.weighted, runs, data.valid_from, run, pool)
        return _ordain.fit_away(*of)

    def _fitted(self) -> Any:
        if not hasattr(self, "local_"):
            return self._local._fitted()  # says that it is not fitted
        return self.local_


def _ids(part: Any, name: str) -> list[Any]:
    """The units of a part."""
    return sorted({str(one) for one in ids(np.asarray(part), name, len(part))})


def _refuse_split(parts: list[Any], name: str, unit: str, why: str) -> None:
    """Refuses a unit in two parts."""
    seen: dict[str, int] = {}
    for n, names in enumerate(dask.compute(*[dask.delayed(_ids)(part, name) for part in parts])):
        for one in names:
            if seen.setdefault(one, n) != n:
                raise ValueError(
                    f"{unit} {one!r} is in partitions {seen[one]} and {n}: {why}, so a {unit} has to be whole in one "
                    "of them"
                )


_models: dict[bytes, Any] = {}


def _local(model: bytes, kind: Any) -> Any:
    """The estimator of a model; the last one is kept."""
    if model not in _models:
        _models.clear()
        _models[model] = kind._of_model(_ordain.from_bytes(model))
    return _models[model]


def _of_frame(part: Any, model: bytes, kind: Any, ask: str, name: str, dtype: str) -> Any:
    """What a model says of the rows of a part of a frame."""
    import pandas

    said = getattr(_local(model, kind), ask)(part) if len(part) else np.empty(0, dtype=dtype)
    return pandas.Series(said, index=part.index, name=name)


def _of_rows(part: Any, more: list[Any], model: bytes, kind: Any, ask: str, dtype: str) -> Any:
    """The same of chunks of arrays."""
    return getattr(_local(model, kind), ask)(*map(_aligned, (part, *more))) if len(part) else np.empty(0, dtype=dtype)


def _files(given: Any) -> list[str]:
    """The files that names and patterns mean, with their whole paths."""
    found: list[str] = []
    for pattern in [given] if isinstance(given, (str, os.PathLike)) else given:
        text = os.path.abspath(os.fspath(pattern))
        some = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
        if not some:
            raise FileNotFoundError(f"{os.fspath(pattern)}: expected files of this pattern, found none")
        found += some
    if not found:
        raise ValueError("files: expected at least one file, found none")
    return found
