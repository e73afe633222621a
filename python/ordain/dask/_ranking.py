"""Rankers on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import dask
import numpy as np

from .. import ranking
from .._base import Callback
from .._input import columns_of
from ._base import _Far, _of_frame, _of_rows, _refuse_split
from ._workers import _take_queries

if TYPE_CHECKING:
    from typing_extensions import Self


class _Ranker(_Far):
    """A ranker whose rows are on workers of Dask: the parameters are those of the ranker on one machine.

    `client` is a `dask.distributed.Client`, by default the one of this process. After `fit`, `local_` is the ordinary
    estimator, whose file is byte for byte that of a fit on one machine.
    """

    _unit: ClassVar[str] = "query"
    _take = staticmethod(_take_queries)
    _needed: ClassVar[tuple[str, ...]] = ("label", "query")
    _optional: ClassVar[tuple[str, ...]] = ("weight",)

    def fit(
        self,
        X: Any,
        y: Any = "label",
        qid: Any = "qid",
        *,
        sample_weight: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        shuffle: str | None = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from a dask DataFrame with columns `y` and `qid`, or from dask arrays `X`, `y` and `qid`.

        Every query has to be whole in one partition; with `shuffle="qid"` rows of a frame are exchanged until that is
        so, and the model is the one of that order of rows. `eval_set` is another frame, or a tuple of arrays, to choose
        on.
        """
        given = {"label": y, "query": qid, "weight": sample_weight}
        return self._learn(X, given, ignore, eval_set, shuffle, callbacks)

    def fit_files(
        self,
        files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        label: str | None = None,
        qid: str | None = None,
        docid: str | None = None,
        weight: str | None = None,
        ignore: Iterable[str] = (),
        features: Iterable[str] | None = None,
        valid: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from files that every worker can read: LETOR text, CSV, TSV, Parquet or Feather, as in `ordain fit`.

        `files` are names or patterns such as `"train-*.parquet"`, in the order of the set; each is read by one worker,
        so that there should be a few for each worker. Other arguments name columns of tables, as in `ordain fit`.
        """
        roles = {"label": label, "query": qid, "id": docid, "weight": weight, "ignore": ignore, "features": features}
        return self._learn_files(files, roles, valid, callbacks)

    def predict(self, X: Any, qid: Any = None) -> Any:
        """The score of each row, lazily: a dask Series of a frame, a dask array of an array.

        Where a score depends on the query (`scale="query"`, `"minmax"`), every query has to be whole in one partition.
        """
        local = self._fitted()
        model = dask.delayed(local._model.to_bytes())
        why = "this model scales by query"
        by_query = bool(local._model.by_query)
        if columns_of(X):
            if by_query:
                _refuse_split(list(X[local.columns_.get("query", "qid")].to_delayed()), "qid", "query", why)
            return X.map_partitions(_of_frame, model, self._kind, "predict", "score", "f8", meta=("score", "f8"))
        X = X.rechunk({1: -1})
        queries: list[Any] = [None] * len(X.chunks[0])
        if qid is not None:
            queries = qid.rechunk((X.chunks[0],)).to_delayed().ravel().tolist()
            if by_query:
                _refuse_split(queries, "qid", "query", why)
        import dask.array as da

        take, of = dask.delayed(_of_rows), (self._kind, "predict", "f8")
        rows = zip(X.to_delayed().ravel().tolist(), queries, X.chunks[0], strict=True)
        return da.concatenate(
            [da.from_delayed(take(x, [q], model, *of), shape=(n,), dtype=np.float64) for x, q, n in rows]
        )


class RankSVM(_Ranker):
    """`ordain.RankSVM` on several machines: linear, with the squared hinge."""

    _kind = ranking.RankSVM


class RankMatch(_Ranker):
    """`ordain.RankMatch` on several machines."""

    _kind = ranking.RankMatch


class Dorm(_Ranker):
    """`ordain.Dorm` on several machines, with `ties="average"`."""

    _kind = ranking.Dorm


class ListNet(_Ranker):
    """`ordain.ListNet` on several machines."""

    _kind = ranking.ListNet
