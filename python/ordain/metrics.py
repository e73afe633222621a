"""Metrics of rankings, each under a named convention, because the tools disagree.

| convention | gain | discount at rank j | empty query | fewer than k documents | ties |
|---|---|---|---|---|---|
| `standard` | 2^r - 1 | 1/log2(1+j) | left out | as they are | averaged over the tied orders |
| `letor2` | 2^r - 1 | 1 for j <= 2, then 1/log2(j) | 0 | as they are | order of the rows |
| `letor4` | as letor2 | as letor2 | 0 | NDCG@k = 0 | order of the rows |
| `trec` | r | 1/log2(1+j) | 0 | as they are | document id, descending |
| `sklearn` | r | 1/log2(1+j) | 0 | as they are | averaged |
| `lightgbm`, `xgboost` | 2^r - 1 | 1/log2(1+j) | 1 | as they are | order of the rows |

Each rule can be changed by itself: `gain="exp"|"linear"`, `discount="log2"|"letor"`, `empty="skip"|"zero"|"one"`,
`short="keep"|"zero"`, `ties="average"|"input"|"id"`, `relevant_from=1`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _ordain
from ._base import Metric
from ._input import Doubles, column, ids


def per_query(
    metric: Metric,
    y: Any,
    score: Any,
    qid: Any = None,
    *,
    convention: str = "standard",
    docid: Any = None,
    **rules: Any,
) -> Doubles:
    """The value of each query, in order of first appearance; NaN where the convention leaves a query out.

    `metric` is a name such as `"ndcg@10"`, `"map"` or `"p@5"`, or a function of the relevance and the scores of one
    query. Without `qid` all rows are one query. `docid` is what `ties="id"` goes by, else the number of the row, from
    1. Cost O(n log n) per query.
    """
    n = len(y)
    y, score = column(y, "y", n), column(score, "score", n)
    names = None if docid is None else [str(one) for one in np.asarray(docid).tolist()]
    said = [(rule, str(value)) for rule, value in rules.items() if value is not None]
    return _ordain.measure(metric, y, score, None if qid is None else ids(qid, "qid", n), convention, said, names)


def mean(
    metric: Metric,
    y: Any,
    score: Any,
    qid: Any = None,
    *,
    convention: str = "standard",
    docid: Any = None,
    **rules: Any,
) -> float:
    """The mean of a metric over the queries that count; 0 where none does."""
    values = per_query(metric, y, score, qid, convention=convention, docid=docid, **rules)
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if len(counted) else 0.0


def _at(name: str, k: int | None) -> str:
    return name if k is None else f"{name}@{k}"


def ndcg(
    y: Any, score: Any, qid: Any = None, k: int | None = None, convention: str = "standard", **rules: Any
) -> float:
    """NDCG at `k`, or of whole lists: the discounted gain, relative to the best possible one.

    >>> from ordain.metrics import ndcg
    >>> round(ndcg([3, 2, 0, 1, 0, 2], [0.9, 0.5, 0.8, 0.7, 0.4, 0.3], k=3), 4)
    0.7217
    >>> round(ndcg([3, 2, 0, 1, 0, 2], [0.9, 0.5, 0.8, 0.7, 0.4, 0.3], k=3, convention="sklearn"), 4)
    0.6652
    """
    return mean(_at("ndcg", k), y, score, qid, convention=convention, **rules)


def dcg(y: Any, score: Any, qid: Any = None, k: int | None = None, convention: str = "standard", **rules: Any) -> float:
    """DCG at `k`, or of whole lists: the sum of gains, each discounted by its rank."""
    return mean(_at("dcg", k), y, score, qid, convention=convention, **rules)


def average_precision(y: Any, score: Any, qid: Any = None, convention: str = "standard", **rules: Any) -> float:
    """MAP: the mean over queries of the precision at the rank of each relevant document."""
    return mean("map", y, score, qid, convention=convention, **rules)


def precision(y: Any, score: Any, qid: Any = None, k: int = 10, convention: str = "standard", **rules: Any) -> float:
    """The share of relevant documents among the first `k`."""
    return mean(f"p@{k}", y, score, qid, convention=convention, **rules)


def recall(y: Any, score: Any, qid: Any = None, k: int = 10, convention: str = "standard", **rules: Any) -> float:
    """The share of the relevant documents that is among the first `k`."""
    return mean(f"recall@{k}", y, score, qid, convention=convention, **rules)


def reciprocal_rank(y: Any, score: Any, qid: Any = None, convention: str = "standard", **rules: Any) -> float:
    """MRR: one over the rank of the first relevant document."""
    return mean("mrr", y, score, qid, convention=convention, **rules)


def expected_reciprocal_rank(
    y: Any, score: Any, qid: Any = None, k: int = 10, convention: str = "standard", **rules: Any
) -> float:
    """ERR at `k`: one over the rank at which a reader who may be satisfied earlier stops."""
    return mean(f"err@{k}", y, score, qid, convention=convention, **rules)


def winner_takes_all(y: Any, score: Any, qid: Any = None, convention: str = "standard", **rules: Any) -> float:
    """WTA: whether the first document is one of the best."""
    return mean("wta", y, score, qid, convention=convention, **rules)


def break_even_point(y: Any, score: Any, qid: Any = None, convention: str = "standard", **rules: Any) -> float:
    """R-precision: the precision at the number of relevant documents."""
    return mean("bep", y, score, qid, convention=convention, **rules)


def kendall(y: Any, score: Any, qid: Any = None, convention: str = "standard", **rules: Any) -> float:
    """Kendall's tau between relevance and score."""
    return mean("kendall", y, score, qid, convention=convention, **rules)


def pairs(y: Any, score: Any, qid: Any = None, convention: str = "standard", **rules: Any) -> float:
    """The share of pairs of different relevance that stand in the right order."""
    return mean("pairs", y, score, qid, convention=convention, **rules)


__all__ = [
    "average_precision",
    "break_even_point",
    "dcg",
    "expected_reciprocal_rank",
    "kendall",
    "mean",
    "ndcg",
    "pairs",
    "per_query",
    "precision",
    "recall",
    "reciprocal_rank",
    "winner_takes_all",
]
