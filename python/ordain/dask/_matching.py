"""Matchers on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import dask

from .. import _ordain, matching
from .._base import Callback
from .._input import columns_of
from ._base import _Far, _of_frame, _refuse_split
from ._pool import _Data, _Pool
from ._workers import _take_problems

if TYPE_CHECKING:
    from typing_extensions import Self


class MatchMap(_Far):
    """`ordain.MatchMap` on several machines: linear, with sums that need no samples.

    Features of edges stay on the workers; who may be matched, and what is right, is known where the fit runs. `client`
    is a `dask.distributed.Client`, by default the one of this process. After `fit`, `local_` is the ordinary estimator,
    whose file is byte for byte that of a fit on one machine.
    """

    _kind = matching.MatchMap
    _unit: ClassVar[str] = "problem"
    _take = staticmethod(_take_problems)
    _needed: ClassVar[tuple[str, ...]] = ("matched", "problem", "left", "right")

    def fit(
        self,
        X: Any,
        y: Any = "matched",
        problem: Any = None,
        left: Any = None,
        right: Any = None,
        *,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        shuffle: str | None = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from a dask DataFrame of edges with columns `y`, `problem`, `left` and `right`, or from dask arrays.

        Every problem has to be whole in one partition; with `shuffle="problem"` rows of a frame are exchanged until
        that is so, and the model is the one of that order of rows. `eval_set` is another frame, or a tuple of arrays
        `(X, y, problem, left, right)`, to choose on.
        """
        given = {"matched": y, "problem": problem, "left": left, "right": right}
        return self._learn(X, given, ignore, eval_set, shuffle, callbacks)

    def _check_columns(self, X: Any, given: dict[str, Any]) -> None:
        for what in self._needed:
            name = what if given[what] is None else given[what]
            if not isinstance(name, str):
                raise ValueError(f"{what}: expected the name of a column of X, found {type(name).__name__}")
            if name not in X.columns:
                raise ValueError(f"{what}: expected a column {name!r} of X, found none")

    def fit_files(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        matched: str | None = None,
        problem: str | None = None,
        left: str | None = None,
        right: str | None = None,
        ignore: Iterable[str] = (),
        features: Iterable[str] | None = None,
        valid: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from tables of edges that every worker can read: CSV, TSV, Parquet or Feather, as in `ordain fit`.

        `files` are names or patterns such as `"edges-*.parquet"`, in the order of the set; each is read by one worker.
        Other arguments name columns.
        """
        roles = {"matched": matched, "problem": problem, "left": left, "right": right}
        return self._learn_files(files, roles | {"ignore": ignore, "features": features}, valid, callbacks)

    def predict(self, X: Any) -> Any:
        """1 for each edge of the best matching of its problem, 0 for the others: lazily, a dask Series of a frame."""
        return self._of_edges(X, "predict", "matched", "i1")

    def predict_proba(self, X: Any) -> Any:
        """The probability of each edge to be matched: lazily, a dask Series of a frame."""
        return self._of_edges(X, "predict_proba", "probability", "f8")

    def _of_edges(self, X: Any, ask: str, name: str, dtype: str) -> Any:
        local = self._fitted()
        if not columns_of(X):
            raise ValueError(f"X: expected a dask DataFrame of edges, found {type(X).__name__}; local_ takes arrays")
        problems = X[local.columns_.get("problem", "problem")]
        _refuse_split(list(problems.to_delayed()), "problem", "problem", "items of a problem are matched together")
        model = dask.delayed(local._model.to_bytes())
        return X.map_partitions(_of_frame, model, self._kind, ask, name, dtype, meta=(name, dtype))

    def _known(self, data: _Data) -> Any:
        return data.problems()

    def _away(
        self,
        settings: list[tuple[str, str]],
        data: _Data,
        known: Any,
        runs: list[tuple[int, int]],
        run: dict[str, Any],
        pool: _Pool,
    ) -> tuple[Any, BaseException | None]:
        of = (self._kind._method, settings, data.columns, known, runs, data.valid_from, run, pool)
        return _ordain.fit_problems_away(*of)
