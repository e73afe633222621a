"""Cross-validation by query, and scorers that know their queries. Both work with scikit-learn, which they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.metadata_routing import MetadataRequest

from . import metrics
from ._input import Ints, columns_of, ids, queries_of


class QueryKFold(BaseCrossValidator):  # type: ignore[misc, unused-ignore]
    """`n_splits` folds that leave every query whole: query i, by first appearance, is tested in fold i mod `n_splits`.

    The queries are `qid=`, or `groups=` as scikit-learn calls them, or the column `qid` of a frame. With `shuffle=True`
    the queries are permuted first. Without, the folds are those of `ordain compare --cv`.

    >>> import numpy as np
    >>> from ordain import QueryKFold
    >>> [test.tolist() for _, test in QueryKFold(2).split(np.zeros((4, 1)), qid=["a", "b", "a", "c"])]
    [[0, 2, 3], [1]]
    """

    # with metadata routing on, qid comes by itself
    __metadata_request__split = {"qid": True, "groups": True}

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, seed: int = 0) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.seed = seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, qid: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """The rows to train on and to test on, fold by fold."""
        qid = groups if qid is None else qid
        qid = queries_of(X) if qid is None else qid
        if qid is None:
            raise ValueError("QueryKFold: expected qid=, groups=, or a frame with a column named qid, found none")
        yield from _folds(self, X, qid, "qid")


class ProblemKFold(BaseCrossValidator):  # type: ignore[misc, unused-ignore]
    """`n_splits` folds that leave every problem of matching whole: problem i, by first appearance, is tested in fold i
    mod `n_splits`. The problems are `problem=`, or `groups=`, or the column `problem` of a frame.

    >>> import numpy as np
    >>> from ordain import ProblemKFold
    >>> [test.tolist() for _, test in ProblemKFold(2).split(np.zeros((4, 1)), problem=["a", "b", "a", "c"])]
    [[0, 2, 3], [1]]
    """

    # with metadata routing on, problem comes by itself
    __metadata_request__split = {"problem": True, "groups": True}

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, seed: int = 0) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.seed = seed

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, problem: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None, problem: Any = None) -> Iterator[tuple[Ints, Ints]]:
        """The rows to train on and to test on, fold by fold."""
        problem = groups if problem is None else problem
        if problem is None and "problem" in columns_of(X):
            problem = X["problem"]
        if problem is None:
            raise ValueError("ProblemKFold: expected problem=, groups=, or a frame with a column problem, found none")
        yield from _folds(self, X, problem, "problem")


def _folds(by: Any, X: Any, values: Any, what: str) -> Iterator[tuple[Ints, Ints]]:
    """The folds of a splitter that leaves units whole."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    _, first, of = np.unique(np.asarray(ids(values, what, n)), return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    if not 2 <= by.n_splits <= len(first):
        units = "queries" if what == "qid" else "problems"
        raise ValueError(f"n_splits: expected 2 to {len(first)}, the number of {units}, found {by.n_splits}")
    if by.shuffle:
        number = np.random.default_rng(by.seed).permutation(len(first))[number]
    fold = number[of] % by.n_splits
    for k in range(by.n_splits):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


class QueryScorer:
    """A scorer for `scoring=`: the mean over queries of a metric. It asks for `qid`, or takes a column of that name."""

    def __init__(self, metric: str, convention: str = "standard", **rules: Any) -> None:
        self.metric = metric
        self.convention = convention
        self.rules = rules

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """The metric of the scores of an estimator."""
        known = {} if qid is None else {"qid": qid}
        qid = queries_of(X) if qid is None else qid
        if qid is None:
            raise ValueError(
                f"{self!r}: expected qid, found none: with sklearn.set_config(enable_metadata_routing=True) pass "
                "params={'qid': qid}; without it X is a frame with a column named qid"
            )
        scores = estimator.predict(X, **known) if _takes_qid(estimator) else estimator.predict(X)
        if "score" in columns_of(scores):  # the answer of a ranker whose output is set to a frame
            scores = scores["score"]
        return metrics.mean(self.metric, y, scores, qid, convention=self.convention, **self.rules)

    def get_metadata_routing(self) -> Any:
        """What scikit-learn should hand over."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="qid", alias=True)
        return request

    def __repr__(self) -> str:
        said = "".join(f", {rule}={value!r}" for rule, value in self.rules.items())
        return f"QueryScorer({self.metric!r}, {self.convention!r}{said})"


def _takes_qid(estimator: Any) -> bool:
    """Whether its `predict` takes queries: a ranker of ordain, or a pipeline that ends in one."""
    from .ranking import Ranker

    if hasattr(estimator, "steps"):
        from sklearn import get_config

        return bool(get_config().get("enable_metadata_routing")) and _takes_qid(estimator.steps[-1][1])
    inner = getattr(estimator, "best_estimator_", estimator)
    return isinstance(inner, Ranker)


def ndcg_scorer(k: int | None = 10, convention: str = "standard", **rules: Any) -> QueryScorer:
    """A scorer of NDCG at `k` (`None`: whole lists) under a convention, for `cross_val_score` and `GridSearchCV`."""
    return QueryScorer("ndcg" if k is None else f"ndcg@{k}", convention, **rules)


def query_scorer(metric: str, convention: str = "standard", **rules: Any) -> QueryScorer:
    """A scorer of any metric by its name, such as `"map"` or `"p@5"`."""
    return QueryScorer(metric, convention, **rules)


__all__ = ["ProblemKFold", "QueryKFold", "QueryScorer", "ndcg_scorer", "query_scorer"]
