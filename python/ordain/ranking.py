"""Rankers: queries with documents to an ordering."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from . import _ordain, metrics
from ._base import Callback, Chooses, Estimator, Metric, _draws, _read
from ._folds import need_whole
from ._input import (
    Doubles,
    Ids,
    Ints,
    Table,
    both,
    column,
    columns_of,
    framed,
    ids,
    joined,
    named,
    one_set,
    sizes,
    table,
)

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "CCRF",
    "AdaRank",
    "AutoRanker",
    "BallRank",
    "Dorm",
    "FRank",
    "IsoRank",
    "ListNet",
    "QBRank",
    "QuadRank",
    "RankBoost",
    "RankMatch",
    "RankNet",
    "RankSVM",
    "SVMMap",
    "SortNet",
    "StructRank",
]


def _numbers(queries: Ids | None, n: int) -> Ints:
    """The number of each row's query, by first appearance."""
    if queries is None:
        return np.zeros(n, dtype=np.int64)
    _, first, of = np.unique(np.asarray(queries), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[of]


def _weights(sample_weight: Any, n: int) -> Doubles:
    """A weight of at least 0 for each row, some of them above."""
    weight = column(sample_weight, "sample_weight", n)
    if (weight < 0).any():
        row = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(f"sample_weight[{row}]: expected a weight of at least 0, found {weight[row]}")
    if not weight.any():
        raise ValueError("sample_weight: expected a weight above 0, found that every weight is zero")
    return weight


def _ranks(scores: Doubles, of: Ints) -> Ints:
    """The rank of each row within its query, 1 for the best; equal scores stand in the order of the rows."""
    order = np.lexsort((-scores, of))
    starts = np.flatnonzero(np.diff(of[order], prepend=-1))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order))) + 1
    return ranks


def _links(given: Any) -> dict[str, Any] | None:
    """Features of pairs: of a frame by its columns qid, doc_a and doc_b, of an array by two rows, which stand first."""
    if given is None:
        return None
    columns = columns_of(given)
    if not columns:
        array = np.asarray(given)
        if array.ndim != 2 or array.shape[1] < 3 or array.dtype.kind not in "iuf":
            raise ValueError(
                "links: expected a frame with the columns qid, doc_a, doc_b and features of pairs, or an array with two"
                f" rows of X and the features of a pair in each row, found {given!r:.80}"
            )
        rows, width = array[:, :2], array.shape[1] - 2
        if not (np.isfinite(rows).all() and (rows == np.floor(rows)).all() and (rows >= 0).all()):
            raise ValueError("links: expected numbers of rows of X, from 0, in the first two columns")
        first, second = (np.ascontiguousarray(rows[:, j], dtype=np.int64) for j in (0, 1))
        names = [f"pair_{j + 1}" for j in range(width)]
        values = np.ascontiguousarray(array[:, 2:], dtype=np.float64)
        return {"names": names, "query": None, "a": first, "b": second, "values": values}
    absent = [name for name in ("qid", "doc_a", "doc_b") if name not in columns]
    if absent:
        raise ValueError(
            f"links: expected the columns qid, doc_a and doc_b, found no {absent[0]} among {columns!r:.200}"
        )
    names = [name for name in columns if name not in ("qid", "doc_a", "doc_b")]
    n = len(np.asarray(given["qid"]))
    query, a, b = (ids(np.asarray(given[name]), f"links[{name!r}]", n) for name in ("qid", "doc_a", "doc_b"))
    values = np.empty((n, len(names)))
    for j, name in enumerate(names):
        values[:, j] = column(given[name], f"links[{name!r}]", n)
    return {"names": [str(name) for name in names], "query": query, "a": a, "b": b, "values": values}


_NOT_JUDGED = {"query": None, "winner": None, "loser": None, "weight": None, "clicks": None, "positions": None}


def _preferences(given: Any) -> dict[str, Any]:
    """Which of two documents is better: of a frame by its columns qid, winner and loser, of an array by two rows."""
    columns = columns_of(given)
    if not columns:
        array = np.asarray(given)
        if array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind not in "iuf":
            raise ValueError(
                "preferences: expected a frame with the columns qid, winner, loser and, if there are weights, weight,"
                " or an array with the better and the lesser row of X in each row, and a weight or none, found"
                f" {given!r:.80}"
            )
        rows = array[:, :2]
        if not (np.isfinite(rows).all() and (rows == np.floor(rows)).all() and (rows >= 0).all()):
            raise ValueError("preferences: expected numbers of rows of X, from 0, in the first two columns")
        ends = {name: np.ascontiguousarray(rows[:, j], dtype=np.int64) for j, name in enumerate(("winner", "loser"))}
        own = array[:, 2] if array.shape[1] == 3 else np.ones(len(array))
        return _NOT_JUDGED | ends | {"weight": np.ascontiguousarray(own, dtype=np.float64)}
    absent = [name for name in ("qid", "winner", "loser") if name not in columns]
    if absent:
        raise ValueError(
            f"preferences: expected the columns qid, winner and loser, found no {absent[0]} among {columns!r:.200}"
        )
    n = len(np.asarray(given["qid"]))
    names = ("qid", "winner", "loser")
    query, winner, loser = (ids(np.asarray(given[name]), f"preferences[{name!r}]", n) for name in names)
    weight = column(given["weight"], "preferences['weight']", n) if "weight" in columns else np.ones(n)
    return _NOT_JUDGED | {"query": query, "winner": winner, "loser": loser, "weight": weight}


def _clicks(clicks: Any, position: Any, n: int) -> dict[str, Any]:
    """How clicks are weighed, and the position of each row."""
    if not isinstance(clicks, str):
        raise ValueError(f"clicks: expected 'ips', as in 'ips,eta=1,clip=10', found {clicks!r:.80}")
    if position is None:
        raise ValueError("position: expected the position of each row in its list, from 1, beside clicks, found None")
    places = column(position, "position", n)
    wrong = np.flatnonzero((places != np.floor(places)) | (places < 1) | (places >= 2**32))
    if len(wrong):
        raise ValueError(f"position[{wrong[0]}]: expected a whole number from 1, found {places[wrong[0]]}")
    return _NOT_JUDGED | {"clicks": clicks, "positions": places.astype(np.int64).tolist()}


def _kinds(X: Any, values: Any, name: str, n: int) -> list[str]:
    """The values of a column that a cap goes by, as text; nothing where there is none."""
    given = values[name] if values is not None and name in values else None
    if given is None and name in columns_of(X):
        given = X[name]
    if given is None:
        raise ValueError(f"values: expected the column {name!r} of a cap, in X or in values, found neither")
    cells = np.asarray(given, dtype=object).tolist()
    if len(cells) != n:
        raise ValueError(f"values[{name!r}]: expected {n} values, one for each row of X, found {len(cells)}")
    return ["" if cell is None or cell != cell else str(cell) for cell in cells]


class Ranker(Estimator):
    """What all rankers share.

    `qid` says which query a row belongs to: any type, in any order. It is an argument, or a column named `qid` of a
    frame, or `group` gives the number of rows of each query. Without any of them a call that needs queries is refused,
    unless the estimator was made with `single_query=True`: then all rows are documents of one query.
    """

    _depth: ClassVar[int] = 4
    choose_by: Metric
    convention: str
    single_query: bool

    # with scikit-learn's metadata routing on, qid goes wherever it is needed without a word
    __metadata_request__fit = {"qid": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__score = {"qid": True}

    def _queries(self, table: Table, qid: Any, group: Any = None, needed: bool = True) -> Ids | None:
        """The query of each row."""
        n = table.shape[0]
        own = next(iter(table.taken.values()), None)
        given = [what for what, x in (("qid=", qid), ("group=", group), ("a column qid", own)) if x is not None]
        if len(given) > 1:
            raise ValueError(f"expected the queries of the rows once, found {' and '.join(given)}")
        if group is not None:
            return sizes(group, n)
        if given:
            return ids(own if qid is None else qid, "qid", n)
        if needed and not self.single_query:
            raise ValueError(
                f"{type(self).__name__} needs to know which query a row belongs to: give qid= (one id for each row), "
                "group= (sizes), or a frame with a column named qid; rows that are all documents of one query need "
                "single_query=True"
            )
        return None

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        init: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from rows `X` with relevance `y`, the higher the better.

        Of a frame `y` and `qid` may be names of columns, and `ignore` are columns to leave out; the model remembers
        them, so that `predict` takes a frame with the same columns.

        What is `"auto"` is chosen on the queries of `eval_set=(X, y, qid)`, else on every fifth query; linear models
        choose on all queries, in five parts, if fewer than 50 of these count. The model is
        then fitted on all of them (`refit=False`: on the training part alone). `callbacks` are called with the share of
        the work that is done and a word on it; a true answer stops the fit. Ctrl-C stops it too: the model is then the
        best so far, and KeyboardInterrupt goes on.

        `sample_weight` is a weight for each row. Methods of pairs weigh pairs of rows; the others weigh queries, all
        rows of which then have the same weight; those whose loss has no place for weights refuse them by name.

        `init` is a fitted ranker of the same class and columns whose weights the fit starts from: a convex fit comes to
        the same model in fewer steps, a network goes on from where it was. Kernels, trees and others refuse it.
        """
        return self._fit(X, y, qid, group, sample_weight, ignore, eval_set, callbacks, init=init)

    def _items(self, X: Any, n: int, items: Any) -> Ids | None:
        """The item of each row, of a ranker that knows items."""
        return None

    def _fit(
        self,
        X: Any,
        y: Any,
        qid: Any,
        group: Any,
        sample_weight: Any,
        ignore: Iterable[str],
        eval_set: Any,
        callbacks: Any,
        items: Any = None,
        links: Any = None,
        init_score: Any = None,
        judged: tuple[Any, Any, Any] = (None, None, None),
        init: Any = None,
    ) -> Self:
        if init is not None and not isinstance(init, Ranker):
            raise ValueError(f"init: expected None or a fitted ranker of ordain, found {init!r:.80}")
        begin = None if init is None else init._fitted()
        settings, run = self._settings(), self._run(callbacks)
        preferences, clicks, position = judged
        if preferences is not None and clicks is not None:
            raise ValueError("expected preferences= or clicks=, found both")
        if isinstance(position, str):
            ignore = [*ignore, position]
        if (preferences is not None or clicks is not None) and run["choose_by"] == "ndcg@10":
            run["choose_by"] = None  # pairs, which preferences tell
        need_whole("query", "QueryKFold", qid if isinstance(qid, str) else "qid")
        names, left = named(X, {"label": y, "query": qid, "weight": sample_weight, "id": items}, ignore)
        run["columns"] |= names | {"ignore": left}
        if "label" in names:
            y = X[names["label"]]
        if "weight" in names:
            sample_weight = X[names["weight"]]
        if "query" in names:
            qid = None
        roles = {"ignore": left, "inputs": run["columns"]["inputs"]}
        data = self._table(X, names | roles)
        if y is None and preferences is None:
            name = type(self).__name__
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None: expected the relevance of each row"
            )
        n = data.shape[0]
        grades = None if y is None else column(y, "y", n)
        queries = self._queries(data, qid, group)
        if (preferences is not None or clicks is not None) and eval_set is not None:
            raise ValueError("eval_set: expected none beside preferences or clicks, which choose on every fifth query")
        of_pairs = None if preferences is None else _preferences(preferences)
        if clicks is not None:
            of_pairs = _clicks(clicks, X[position] if isinstance(position, str) else position, n)
        if n == 1:
            raise ValueError("expected two rows of different relevance at least, found 1 sample")
        weight = None if sample_weight is None else _weights(sample_weight, n)
        start = None if init_score is None else column(init_score, "init_score", n)
        valid = None
        known = self._items(X, n, X[names["id"]] if "id" in names else items)
        if eval_set is not None:
            roles, eval_set = names | roles, one_set(eval_set)
            if known is not None:
                *most, more = eval_set if "id" not in names else (*eval_set, eval_set[0][names["id"]])
                eval_set, more = tuple(most), self._items(most[0], len(np.asarray(more)), more)
                known = None if more is None else both(known, more)
            if start is not None:
                *most, more = eval_set
                if not most:
                    raise ValueError("eval_set: expected (X, y, qid, init_score) beside init_score, found X alone")
                eval_set, rows = tuple(most), self._table(most[0], roles).shape[0]
                start = np.concatenate([start, column(more, "init_score of eval_set", rows)])
            if grades is None:
                raise ValueError("y: expected the relevance of each row beside eval_set, found None")
            data, grades, queries, weight = self._joined(data, grades, queries, weight, eval_set, roles)
            valid = n
        model, raised = _ordain.fit_rank(
            self._method,
            settings,
            data.rows,
            data.names,
            grades,
            queries,
            weight,
            valid,
            run,
            known,
            _links(links),
            start,
            of_pairs,
            begin,
        )
        return self._keep(model, data, raised)

    def _joined(
        self,
        data: Table,
        grades: Doubles,
        queries: Ids | None,
        weight: Doubles | None,
        eval_set: tuple[Any, ...],
        roles: dict[str, Any],
    ) -> tuple[Table, Doubles, Ids | None, Doubles | None]:
        """Training and validation rows as one table."""
        if len(eval_set) == 1 and "label" in roles:
            eval_set = (eval_set[0], roles["label"])
        if not 2 <= len(eval_set) <= 3:
            raise ValueError(
                f"eval_set: expected (X, y, qid), or (X, y) of frames with a column qid, found {eval_set!r:.80}"
            )
        if isinstance(eval_set[1], str):
            eval_set = (eval_set[0], eval_set[0][eval_set[1]], *eval_set[2:])
        more = self._table(eval_set[0], roles)
        rows, m = joined(data, more), more.shape[0]
        other = eval_set[2] if len(eval_set) == 3 and not isinstance(eval_set[2], str) else None
        of = self._queries(more, other)
        all_queries = None if queries is None or of is None else both(queries, of)
        if weight is not None:
            weight = np.concatenate([weight, np.ones(m)])
        return rows, np.concatenate([grades, column(eval_set[1], "y of eval_set", m)]), all_queries, weight

    def _table(self, X: Any, roles: Mapping[str, Any]) -> Table:
        """Features of a frame whose other columns have these roles; the queries are put aside."""
        leave = [roles[what] for what in ("label", "weight", "id") if what in roles]
        return table(X, (roles.get("query", "qid"),), [*leave, *roles.get("ignore", ())], roles.get("inputs", ()))

    def _asked(self, X: Any, qid: Any, needed: bool) -> tuple[Any, list[str] | None, Ids | None]:
        data = self._table(X, self.columns_)
        return data.rows, self._aligned(data), self._queries(data, qid, needed=needed)

    def predict(self, X: Any, qid: Any = None, *, output: str | None = None) -> Any:
        """The score of each row, in the order of the rows; within a query the highest comes first.

        `qid` is needed where a score depends on the query: with `scale="query"`, `scale="minmax"` or `blocks=True`.
        `output="frame"` gives a frame of the library that `X` is from, with the columns `query`, `rank` and `score`;
        `"pandas"`, `"polars"` and `"pyarrow"` name the library, `"array"` asks for an array whatever `set_output` said.
        """
        return self._predict(X, qid, output, None)

    def _predict(self, X: Any, qid: Any, output: str | None, known: dict[str, Any] | None) -> Any:
        model = self._fitted()
        library = self._output_of(output)
        if library is None:
            return model.scores(*self._asked(X, qid, model.by_query), self.n_threads, known)
        scores, of = self._scored(X, qid, known)
        names = self._given_queries(X, qid, len(of))
        return framed({"query": names, "rank": _ranks(scores, of), "score": scores}, X, library)

    def _given_queries(self, X: Any, qid: Any, n: int) -> list[Any]:
        """The query of each row, as it was given."""
        if qid is None:
            column = self.columns_.get("query", "qid")
            qid = X[column] if column in columns_of(X) else None
        return [0] * n if qid is None else np.asarray(qid).tolist()

    def answers(
        self, X: Any, qid: Any = None, *, top: int | None = None, probabilities: bool = False
    ) -> list[dict[str, Any]]:
        """The ranked list of each query, as the documents that `ordain predict --json` prints.

        `top` keeps the best documents; `probabilities` adds those of head places (`RankMatch` on whole lists).
        """
        return self._answers(X, qid, top, probabilities, None)

    def _answers(
        self, X: Any, qid: Any, top: int | None, probabilities: bool, known: dict[str, Any] | None
    ) -> list[dict[str, Any]]:
        model = self._fitted()
        return _read(model.answers(*self._asked(X, qid, model.by_query), top, probabilities, self.n_threads, known))

    def ruled(
        self, X: Any, qid: Any = None, *, rules: Any, items: Any = None, values: Any = None, top: int | None = None
    ) -> list[dict[str, Any]]:
        """The ranked list of each query under rules, as the documents that `predict --rules FILE --json` prints.

        `rules` is a dict with the lists `pins` ({"query", "document", "place"}), `exclusions` ({"query", "document"})
        and `caps` ({"column", "most", "first"}), or a path of a file with them. Documents are named by `items`, else
        by the number of their row, from 1; a rule without a query holds for all. Columns of caps are those of the
        frame `X`, or `values` gives them: {"brand": one value for each row}. `rules` of each list says whether the
        order is the best one (it is with caps on one column at most), and its `gap` if not.
        """
        model = self._fitted()
        if isinstance(rules, Mapping):
            book = _ordain.RuleBook.from_json(json.dumps(dict(rules)))
        elif isinstance(rules, (str, os.PathLike)):
            book = _ordain.RuleBook.read(rules)
        else:
            raise ValueError(f"rules: expected a dict or the path of a file, found {rules!r:.80}")
        rows, names, queries = self._asked(X, qid, True)
        n = self._table(X, self.columns_).shape[0]
        known = {"items": None if items is None else ids(items, "items", n), "pins": None, "links": None, "start": None}
        given = [_kinds(X, values, name, n) for name in book.columns]
        return _read(model.ruled(rows, names, queries, book, given, top, self.n_threads, known))

    def rank(self, X: Any, qid: Any = None) -> Ints:
        """The rank of each row within its query, 1 for the best; equal scores stand in the order of the rows."""
        return _ranks(*self._scored(X, qid))

    def top_k(self, X: Any, qid: Any = None, k: int = 10) -> dict[Any, Ints]:
        """For each query the rows of its `k` best documents, best first."""
        return self._top_k(X, qid, k, None)

    def _top_k(self, X: Any, qid: Any, k: int, known: dict[str, Any] | None) -> dict[Any, Ints]:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"k: expected a whole number above 0, found {k!r}")
        scores, of = self._scored(X, qid, known)
        order = np.lexsort((-scores, of))
        starts = np.flatnonzero(np.diff(of[order], prepend=-1))
        names = self._given_queries(X, qid, len(of))
        return {names[rows[0]]: rows[:k] for rows in np.split(order, starts[1:])}

    def _scored(self, X: Any, qid: Any, known: dict[str, Any] | None = None) -> tuple[Doubles, Ints]:
        """Scores, and the number of each row's query by first appearance."""
        model = self._fitted()
        rows, names, queries = self._asked(X, qid, True)
        scores: Doubles = model.scores(rows, names, queries, self.n_threads, known)
        return scores, _numbers(queries, len(scores))

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None) -> float:
        """The mean over queries of the metric `choose_by` (NDCG@10 where nothing was said) under `convention`.

        With `sample_weight` a query counts as much as the mean weight of its rows.
        """
        return self._score(X, y, qid, sample_weight, None)

    def _score(self, X: Any, y: Any, qid: Any, sample_weight: Any, known: dict[str, Any] | None) -> float:
        model = self._fitted()
        y = X[y] if isinstance(y, str) else y
        rows, names, queries = self._asked(X, qid, True)
        scores = model.scores(rows, names, queries, self.n_threads, known)
        n = len(scores)
        values = metrics.per_query(self.choose_by, column(y, "y", n), scores, queries, convention=self.convention)
        weights = np.ones(len(values))
        if sample_weight is not None:
            of = _numbers(queries, n)
            weights = np.bincount(of, _weights(sample_weight, n)) / np.bincount(of)
        counted = ~np.isnan(values) & (weights > 0)
        if not counted.any():
            warnings.warn("no query has a relevant document: the score is 0", UserWarning, stacklevel=2)
            return 0.0
        return float(np.average(values[counted], weights=weights[counted]))

    def explain(self, X: Any, qid: Any = None, *, above: int, below: int) -> dict[str, np.ndarray[Any, Any]]:
        """Why row `above` stands above row `below` of the same query: what each feature adds, the largest first.

        The contributions add up to the difference of the two scores.
        """
        return self._explain(X, qid, above, below, None)

    def _explain(
        self, X: Any, qid: Any, above: int, below: int, of_rows: dict[str, Any] | None
    ) -> dict[str, np.ndarray[Any, Any]]:
        model = self._fitted()
        rows, names, queries = self._asked(X, qid, model.by_query)
        for name, row in (("above", above), ("below", below)):
            if row < 0:
                raise ValueError(f"{name}: expected a row of X, counted from 0, found {row}")
        reasons = model.explain(rows, names, queries, above, below, of_rows)
        known = self.facts_["features"]["names"]
        columns = list(zip(*reasons, strict=True))
        named = np.array([known[j] for j in columns[0]], dtype=object)
        what = ("above", "below", "difference", "weight", "contribution")
        return {"feature": named} | {w: np.array(v, dtype=np.float64) for w, v in zip(what, columns[1:], strict=True)}

    def importances(self, X: Any, y: Any, qid: Any = None, *, draws: int = 3) -> dict[str, np.ndarray[Any, Any]]:
        """What each feature is worth on these data, the most important first.

        The values of a feature are exchanged between whole queries, and `loss` is by how much the metric `choose_by`
        falls: the mean over queries and over `draws` exchanges, with the ends of its 95 % interval over queries.
        `feature_importances_` then has these losses too, in the order of the columns.
        """
        return self._importances(X, y, qid, draws, None)

    def _importances(
        self, X: Any, y: Any, qid: Any, draws: int, known: dict[str, Any] | None
    ) -> dict[str, np.ndarray[Any, Any]]:
        model, draws = self._fitted(), _draws(draws)
        y = X[y] if isinstance(y, str) else y
        rows, names, queries = self._asked(X, qid, True)
        grades, by = column(y, "y", self._table(X, self.columns_).shape[0]), (self.choose_by, self.convention)
        return self._worth(model.importances(rows, names, queries, grades, by, draws, self.n_threads, known))

    def drift(self, X: Any, qid: Any = None) -> dict[str, np.ndarray[Any, Any]]:
        """The columns in which these data have left what the model has seen in training, the farthest first.

        `seen_least` and `seen_largest` are the ends of the range in training, `least` and `largest` those of `X`;
        `rows` have a value, `below` and `above` of them lie outside, in so many `queries`; `far` is how far outside
        the farthest is, in widths of the range, and `moved` the share of rows beyond a quartile of training, where
        that is three quarters or more. Nothing of a model that keeps no ranges.
        """
        model = self._fitted()
        return self._drift(model.drift(*self._asked(X, qid, model.by_query), self.n_threads))

    @property
    def coef_(self) -> Doubles:
        """The weights on scaled features; a model with a kernel has none."""
        return self._linear(self._fitted().weights)

    def _lines(self) -> list[tuple[str, str]]:
        facts = self.facts_
        lines = [("data", f"{facts['rows']} documents of {facts['queries']} queries"), *super()._lines()]
        weights = self._fitted().weights
        if weights is not None:
            best = np.argsort(-np.abs(weights), kind="stable")[:8]
            lines.append(("strongest", ", ".join(f"{facts['features']['names'][j]} {weights[j]:+.3g}" for j in best)))
        return lines


class PairRanker(Ranker):
    """A ranker that learns from pairs: by relevance, or by preferences or clicks in place of it."""

    __metadata_request__fit = {"qid": True, "items": True, "preferences": True, "clicks": True, "position": True}

    def _items(self, X: Any, n: int, items: Any) -> Ids | None:
        """The document of each row, by which preferences know it."""
        return None if items is None else ids(items, "items", n)

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        init: Any = None,
        items: Any = None,
        preferences: Any = None,
        clicks: str | None = None,
        position: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns as `Ranker.fit` does; a pair counts as much as the geometric mean of the weights of its two rows.

        With `preferences` no `y` is needed: a frame with the columns qid, winner, loser and, if there are weights,
        weight, whose documents are named by `items` (else by their number from 1), or an array with two rows of X
        (from 0), the better one first, and a weight or none. A pair then counts its own weight.

        With `clicks="ips"` (or `"ips,eta=1,clip=10"`) `y` is 1 for a click and `position` says where in its list,
        from 1, a row was shown; each query is one list. A clicked row is preferred to all above it that were not
        clicked and to the next one below, with the weight position**eta, at most clip. `facts_["preferences"]` says
        what came of it.
        """
        judged = (preferences, clicks, position)
        return self._fit(X, y, qid, group, sample_weight, ignore, eval_set, callbacks, items, judged=judged, init=init)


class TreeRanker(Ranker):
    """Rankers whose trees can be added to the scores of another model: `init_score`, a number for each row.

    A model that was fitted with `init_score` wants the scores of the same other model wherever it answers.
    """

    __metadata_request__fit = {"qid": True, "init_score": True}
    __metadata_request__predict = {"qid": True, "init_score": True}
    __metadata_request__score = {"qid": True, "init_score": True}

    def _start(self, X: Any, init_score: Any) -> dict[str, Any] | None:
        if init_score is None:
            return None
        n = self._table(X, self.columns_).shape[0]
        return {"items": None, "pins": None, "links": None, "start": column(init_score, "init_score", n)}

    def predict(self, X: Any, qid: Any = None, *, output: str | None = None, init_score: Any = None) -> Any:
        """As `Ranker.predict`; with the scores of the other model, of a model that was fitted with `init_score`."""
        return self._predict(X, qid, output, self._start(X, init_score))

    def answers(
        self,
        X: Any,
        qid: Any = None,
        *,
        top: int | None = None,
        probabilities: bool = False,
        init_score: Any = None,
    ) -> list[dict[str, Any]]:
        """As `Ranker.answers`, with `init_score` as in `predict`."""
        return self._answers(X, qid, top, probabilities, self._start(X, init_score))

    def rank(self, X: Any, qid: Any = None, *, init_score: Any = None) -> Ints:
        """As `Ranker.rank`, with `init_score` as in `predict`."""
        return _ranks(*self._scored(X, qid, self._start(X, init_score)))

    def top_k(self, X: Any, qid: Any = None, k: int = 10, *, init_score: Any = None) -> dict[Any, Ints]:
        """As `Ranker.top_k`, with `init_score` as in `predict`."""
        return self._top_k(X, qid, k, self._start(X, init_score))

    def score(self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, *, init_score: Any = None) -> float:
        """As `Ranker.score`, with `init_score` as in `predict`."""
        return self._score(X, y, qid, sample_weight, self._start(X, init_score))

    def explain(
        self, X: Any, qid: Any = None, *, above: int, below: int, init_score: Any = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """As `Ranker.explain`; what the scores of the other model add is the rest of the difference."""
        return self._explain(X, qid, above, below, self._start(X, init_score))

    def importances(
        self, X: Any, y: Any, qid: Any = None, *, draws: int = 3, init_score: Any = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """As `Ranker.importances`, with `init_score` as in `predict`."""
        return self._importances(X, y, qid, draws, self._start(X, init_score))


class RankSVM(TreeRanker, PairRanker):
    """RankSVM: the squared hinge over all pairs of documents of different relevance, linear or with a kernel.

    ```text
    lambda/2 |w|² + mean over queries of mean over pairs (i better than j) of ½ max(0, 1 - w·(x_i - x_j))²
    ```
    With `weight="pair"` every pair of all queries counts alike; `"auto"` chooses by validation. Cost O(n log n) per
    query and step. Parameters are those of `ordain fit ranksvm --help`.

    >>> from ordain import RankSVM, make_ranking
    >>> X, y, qid = make_ranking(seed=1)
    >>> model = RankSVM(scale="query", lambda_=0.1).fit(X, y, qid=qid)
    >>> round(model.score(X, y, qid=qid), 2)
    0.77
    """

    _method: ClassVar[str] = "ranksvm"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        weight: str = "auto",
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        documents: int | str = "auto",
        choose: str = "dual",
        blocks: bool = False,
        max_iter: int = 100,
        tol: float = 1e-5,
        scorer: str = "linear",
        loss: str = "logistic",
        rounds: int | str = "auto",
        leaves: int | str = "auto",
        rate: float = 0.05,
        least_rows: int = 20,
        unit_share: float = 0.6,
        column_share: float = 0.5,
        monotone: Mapping[str, int] | str = "none",
        categories: str = "none",
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.weight = weight
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.documents = documents
        self.choose = choose
        self.blocks = blocks
        self.max_iter = max_iter
        self.tol = tol
        self.scorer = scorer
        self.loss = loss
        self.rounds = rounds
        self.leaves = leaves
        self.rate = rate
        self.least_rows = least_rows
        self.unit_share = unit_share
        self.column_share = column_share
        self.monotone = monotone
        self.categories = categories
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        init: Any = None,
        items: Any = None,
        preferences: Any = None,
        clicks: str | None = None,
        position: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns as `Ranker.fit` does; a pair counts as much as the geometric mean of the weights of its two rows.

        So a weight that all rows of a query have is the weight of the query. A row of weight 0 is no part of any pair.
        `items`, `preferences`, `clicks` and `position` are those of `PairRanker.fit`. With `init_score`, the scores
        of another model, trees are added to these (`scorer="trees"`); `eval_set` is then (X, y, qid, init_score).
        """
        judged = (preferences, clicks, position)
        known = {"init_score": init_score, "judged": judged, "init": init}
        return self._fit(X, y, qid, group, sample_weight, ignore, eval_set, callbacks, items, **known)


class RankMatch(TreeRanker):
    """RankMatch: an exponential family over orders, with probabilities of places.

    ```text
    p(order) ∝ exp(Σ_j c_j · w·x_order(j)),   c_j what head place j is worth
    lambda/2 |w|² - mean over queries of log p(right order)
    ```
    Cost O(n k 2^k) per query and step with k head places. Parameters are those of `ordain fit rankmatch --help`.
    """

    _method: ClassVar[str] = "rankmatch"
    __metadata_request__predict_proba = {"qid": True, "init_score": True}

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        subset: int | str = "full",
        places: int = 5,
        discount: str | None = None,
        ties: str = "average",
        draws: float | str = 0.4,
        max_iter: int = 1000,
        tol: float = 1e-4,
        scorer: str = "linear",
        rounds: int | str = "auto",
        leaves: int | str = "auto",
        rate: float = 0.05,
        least_rows: int = 20,
        unit_share: float = 0.6,
        column_share: float = 0.5,
        monotone: Mapping[str, int] | str = "none",
        categories: str = "none",
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.subset = subset
        self.places = places
        self.discount = discount
        self.ties = ties
        self.draws = draws
        self.max_iter = max_iter
        self.tol = tol
        self.scorer = scorer
        self.rounds = rounds
        self.leaves = leaves
        self.rate = rate
        self.least_rows = least_rows
        self.unit_share = unit_share
        self.column_share = column_share
        self.monotone = monotone
        self.categories = categories
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        init_score: Any = None,
        init: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns as `Ranker.fit` does.

        With `init_score`, the scores of another model, trees are added to these (`scorer="trees"`); `eval_set` is then
        (X, y, qid, init_score).
        """
        return self._fit(X, y, qid, group, sample_weight, ignore, eval_set, callbacks, init_score=init_score, init=init)

    def _places(self, X: Any, qid: Any, init_score: Any = None) -> tuple[Doubles, Doubles, Doubles]:
        model = self._fitted()
        return model.places(*self._asked(X, qid, True), self.n_threads, self._start(X, init_score))

    def predict_proba(self, X: Any, qid: Any = None, *, init_score: Any = None) -> Doubles:
        """The probability that a row stands at place 1, 2, … of its query: one column for each head place."""
        return self._places(X, qid, init_score)[0]

    def predict_first(self, X: Any, qid: Any = None, *, init_score: Any = None) -> Doubles:
        """The probability that a row is among the first `places` of its query."""
        return self._places(X, qid, init_score)[1]

    def expected_rank(self, X: Any, qid: Any = None, *, init_score: Any = None) -> Doubles:
        """The mean of the rank of each row, where every order below the head is as likely as another."""
        return self._places(X, qid, init_score)[2]


class Dorm(Ranker):
    """DORM: max-margin on subsets of documents, for the loss that is asked for.

    ```text
    lambda/2 |w|² + mean over subsets of max over orders {loss + Σ_j c_j · w·x_order(j)} - that sum of the right order
    ```

    Where several orders are right, `ties` says which counts: the best one at the weights, in rounds of convex problems
    (the tightest bound on the loss), the mean of all (`average`), or one by the seed (`random`).

    Cost O(M³) for each subset of M documents and step. Parameters are those of `ordain fit dorm --help`.
    """

    _method: ClassVar[str] = "dorm"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        subset: int | str = "R",
        ties: str = "best",
        draws: float | str = 0.4,
        loss: str = "ndcg",
        max_iter: int = 200,
        tol: float = 1e-3,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.subset = subset
        self.ties = ties
        self.draws = draws
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class BallRank(Ranker):
    """The Ball Ranking Machine: a kernel ranker that rests on a few core documents.

    Time about linear in documents. Parameters are those of `ordain fit ballrank --help`.
    """

    _method: ClassVar[str] = "ballrank"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        lambda_: float | str = "auto",
        c: float | None = None,
        kernel: str = "rbf",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        epsilon: float = 1e-3,
        stop: str = "epsilon",
        geometry: str = "centred",
        oracle: str = "turn",
        sample: int = 59,
        inner: str = "qp",
        polish: bool = True,
        blocks: bool = False,
        max_iter: int = 5000,
        tol: float = 1e-4,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.lambda_ = lambda_
        self.c = c
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.epsilon = epsilon
        self.stop = stop
        self.geometry = geometry
        self.oracle = oracle
        self.sample = sample
        self.inner = inner
        self.polish = polish
        self.blocks = blocks
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class ListNet(Ranker):
    """ListNet: the cross-entropy between the top-one probabilities of grades and of scores.

    ```text
    lambda/2 |w|² + mean over queries of - Σ_i p_i log π_i,   p = softmax(y),   π = softmax(X w)
    ```

    Cost O(values) for each step. Parameters are those of `ordain fit listnet --help`.
    """

    _method: ClassVar[str] = "listnet"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        max_iter: int = 1000,
        tol: float = 1e-5,
        monotone: Mapping[str, int] | str = "none",
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.max_iter = max_iter
        self.tol = tol
        self.monotone = monotone
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


def _named_rows(model: Ranker, X: Any, items: Any) -> Ids | None:
    """The name of each row, where it is given or the model knows its column."""
    model._fitted()
    column_of_items = model.columns_.get("id")
    if items is None and column_of_items is not None and column_of_items in columns_of(X):
        items = X[column_of_items]
    elif isinstance(items, str):
        items = X[items]
    return None if items is None else ids(items, "items", len(np.asarray(items)))


class QuadRank(Ranker):
    """QuadRank: orders of items that queries share, with links between them.

    ```text
    f(order) = Σ_i (w·x_i + b_item(i)) c(place_i) + Σ_{core item c, item i} g_ci D(place_c, place_i)
    lambda/2 |w|² + link_lambda/2 (|b|² + |g|²) + mean over queries of the loss
    ```

    The loss is minus the log-likelihood of the right orders over lists of `places` head places and a tail, exact, or
    with `trainer="margin"` the structured hinge of `loss`. `items` names the item of each row: an array, or of a frame
    the name of a column, which the model remembers. A row of an unknown item has no bias and no links. `pins` gives
    places that are known at prediction: a number for each row, the place in its query from 1, and 0 where it is not
    known.

    `links` makes links between documents instead, whatever their names: a frame with the columns `qid`, `doc_a`,
    `doc_b` (as in `qid` and `items`) and a column for each feature of a pair, or an array whose rows are two rows of
    `X`, from 0, and the features of that pair. The link of a pair is `v` times its features, `v` is learned, and a pair
    that is not there has none. The core of a query is its `core` best documents by the same fit without links, or those
    with the names that `core` gives. `eval_set` needs no links of its own: those of its queries stand in `links` too,
    rows of an array counted on from the last of `X`.

    `predict` gives minus the place of each row in the order of its query. Parameters are those of
    `ordain fit quadrank --help`.

    >>> from ordain import QuadRank, make_orders
    >>> X, y, qid, items = make_orders(lists=300, seed=0)
    >>> model = QuadRank(places=3, scale="none", lambda_=0.003).fit(X, y, qid=qid, items=items)
    >>> model.core_
    ['item_8']
    """

    _method: ClassVar[str] = "quadrank"
    __metadata_request__fit = {"qid": True, "items": True, "links": True}
    __metadata_request__predict = {"qid": True, "items": True, "pins": True, "links": True}
    __metadata_request__score = {"qid": True, "items": True, "pins": True, "links": True}
    __metadata_request__predict_proba = {"qid": True, "items": True, "pins": True, "links": True}

    def __init__(
        self,
        *,
        core: int | str = 1,
        design: str = "distance",
        places: int | str = 5,
        trainer: str = "likelihood",
        loss: str | None = None,
        ties: str = "average",
        order: str | None = None,
        transform_: str = "auto",
        scale: str = "auto",
        lambda_: float | str = "auto",
        c: float | None = None,
        link_lambda: float | str = "auto",
        max_iter: int = 500,
        tol: float = 1e-3,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.core = core
        self.design = design
        self.places = places
        self.trainer = trainer
        self.loss = loss
        self.ties = ties
        self.order = order
        self.transform_ = transform_
        self.scale = scale
        self.lambda_ = lambda_
        self.c = c
        self.link_lambda = link_lambda
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        items: Any = None,
        links: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        init: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns as `Ranker.fit` does, with the item of each row; then `eval_set=(X, y, qid, items)`.

        Without `items` and `links` only `core=0` can be fitted, which is a model without links.
        """
        return self._fit(X, y, qid, group, sample_weight, ignore, eval_set, callbacks, items, links, init=init)

    def _items(self, X: Any, n: int, items: Any) -> Ids | None:
        return None if items is None else ids(items, "items", n)

    def _known(self, X: Any, items: Any, pins: Any, links: Any) -> dict[str, Any]:
        """What is known of rows beside their features."""
        items = _named_rows(self, X, items)
        self._warn_of(items)
        if pins is not None:
            given = np.asarray(pins)
            if given.ndim != 1 or given.dtype.kind not in "iu" or (given < 0).any():
                raise ValueError(
                    f"pins: expected a place from 1 for each row, 0 where it is not known, found {pins!r:.80}"
                )
            pins = given.tolist()
        if links is not None and self._fitted().pair_weights is None:
            raise ValueError("links: this model was fitted without links between documents: leave them out")
        return {"items": items, "pins": pins, "links": _links(links), "start": None}

    def _warn_of(self, items: Ids | None) -> None:
        """Says which items the model does not know."""
        known = set(self.facts_["quadratic"]["items"])
        if known and items is None:
            text = "no items were given: all rows are without bias and without links; give items="
            warnings.warn(text, UserWarning, stacklevel=4)
            return
        strange = sorted({str(item) for item in items} - known) if known and items is not None else []
        if strange:
            text = (
                f"{len(strange)} item(s) that the model does not know have no bias and no links (such as {strange[0]})"
            )
            warnings.warn(text, UserWarning, stacklevel=4)

    def predict(
        self,
        X: Any,
        qid: Any = None,
        *,
        items: Any = None,
        pins: Any = None,
        links: Any = None,
        output: str | None = None,
    ) -> Any:
        """Minus the place of each row in the order of its query; rows that nothing tells apart have the same.

        `output="frame"` gives a frame of the library that `X` is from, with the columns `query`, `rank` and `score`.
        """
        return self._predict(X, qid, output, self._known(X, items, pins, links))

    def answers(
        self,
        X: Any,
        qid: Any = None,
        *,
        items: Any = None,
        pins: Any = None,
        links: Any = None,
        top: int | None = None,
        probabilities: bool = False,
    ) -> list[dict[str, Any]]:
        """The order of each query with its value and gap, as the documents that `ordain predict --json` prints."""
        return self._answers(X, qid, top, probabilities, self._known(X, items, pins, links))

    def rank(self, X: Any, qid: Any = None, *, items: Any = None, pins: Any = None, links: Any = None) -> Ints:
        """The rank of each row within its query, 1 for the best; equal scores stand in the order of the rows."""
        return _ranks(*self._scored(X, qid, self._known(X, items, pins, links)))

    def top_k(
        self, X: Any, qid: Any = None, k: int = 10, *, items: Any = None, pins: Any = None, links: Any = None
    ) -> dict[Any, Ints]:
        """For each query the rows of its `k` best documents, best first."""
        return self._top_k(X, qid, k, self._known(X, items, pins, links))

    def score(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        sample_weight: Any = None,
        *,
        items: Any = None,
        pins: Any = None,
        links: Any = None,
    ) -> float:
        """The mean over queries of the metric `choose_by` under `convention`, of the order that the model gives."""
        return self._score(X, y, qid, sample_weight, self._known(X, items, pins, links))

    def predict_proba(
        self, X: Any, qid: Any = None, *, items: Any = None, pins: Any = None, links: Any = None
    ) -> Doubles:
        """The probability that a row stands at place 1, 2, … of its query: one column for each head place."""
        known = self._known(X, items, pins, links)
        return self._fitted().places(*self._asked(X, qid, True), self.n_threads, known)[0]

    def explain(
        self, X: Any, qid: Any = None, *, above: int, below: int, items: Any = None, links: Any = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """What each feature adds to the score of row `above` by itself over that of row `below`, the largest first.

        Biases and links of items are not among them: `ordain explain` shows those too.
        """
        known = None if links is None else self._known(X, items, None, links)
        return self._explain(X, qid, above, below, known)

    @property
    def core_(self) -> list[str]:
        """The items that are linked with all others, by name; none where scores find the core of each query."""
        quadratic = self.facts_["quadratic"]
        if quadratic.get("pairs") is not None:
            return list(quadratic["pairs"].get("documents") or [])
        return [quadratic["items"][item] for item in quadratic["core"]]

    @property
    def links_(self) -> dict[str, float]:
        """The weight of each feature of pairs, of a model with links between documents."""
        return dict(self._fitted().pair_weights or [])


class SVMMap(Ranker):
    """SVM-map: max-margin over whole orderings for average precision; documents of `y` above 0 are relevant.

    ```text
    lambda/2 |w|² + mean over queries of max over orderings {1 - AP + F} - F of the right ordering
    F = mean over relevant i and irrelevant j of ±(w·x_i - w·x_j), + where i stands above j
    ```

    Queries without relevant or without irrelevant documents are left out. Cost O(n log n) for each query and step.
    Parameters are those of `ordain fit svmmap --help`.
    """

    _method: ClassVar[str] = "svmmap"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        max_iter: int = 300,
        tol: float = 1e-4,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class RankNet(PairRanker):
    """RankNet: the logistic loss of pairs, with a linear scorer or a network of two layers.

    ```text
    lambda/2 |θ|² + mean over pairs (i better than j) of log(1 + exp(s_j - s_i))
    s = w·x, or with hidden=H: s = Σ_k v_k tanh(a_k·x + c_k)
    ```

    `coef_` is that of the linear scorer. Cost O(pairs + values) for each step. Parameters are those of
    `ordain fit ranknet --help`.
    """

    _method: ClassVar[str] = "ranknet"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        weight: str = "query",
        hidden: int = 0,
        max_iter: int = 1000,
        tol: float = 1e-5,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.weight = weight
        self.hidden = hidden
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class StructRank(Ranker):
    """StructRank: all preferences of a query together should be likely.

    ```text
    lambda/2 |w|² + mean over queries of - log P(all preferences) / functions
    edges="star":  P = Π_i 1 / (1 + Σ over lesser j of exp(s_j - s_i))
    edges="pairs": P = Π over two preferences of one document of 1 / (1 + exp(-r) + exp(-r'))
    ```

    Cost O(values) for each step, of pairs O(values + preferences). Parameters are those of
    `ordain fit structrank --help`.
    """

    _method: ClassVar[str] = "structrank"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        exportable: str | bool = False,
        lambda_: float | str = "auto",
        c: float | None = None,
        edges: str = "star",
        max_iter: int = 1000,
        tol: float = 1e-5,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.exportable = exportable
        self.lambda_ = lambda_
        self.c = c
        self.edges = edges
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class CCRF(Ranker):
    """C-CRF: grades as a Gaussian field around the features, in which documents that are alike have like grades.

    ```text
    p(y | X) ∝ exp(- Σ_k α_k Σ_i (y_i - x_ik)² - β/2 Σ_ij S_ij (y_i - y_j)²)
    scores: the mode, (aI + βΛ) μ = X α
    ```

    Scores depend on the other documents of a query. Cost O(n³) once for a query of n documents, then O(values) for each
    step. Parameters are those of `ordain fit ccrf --help`.

    `links` says how alike documents are beside their features (with `similarity="none"` alone): a frame with the
    columns `qid`, `doc_a`, `doc_b` (as in `qid` and `items`) and a column for each kind of likeness, or an array whose
    rows are two rows of `X`, from 0, and these numbers, at least 0. Each column has a learned strength (`links_`), and
    a step then costs O(n³). `eval_set` needs no links of its own: rows of an array are counted on from the last of `X`.
    """

    _method: ClassVar[str] = "ccrf"
    __metadata_request__fit = {"qid": True, "items": True, "links": True}
    __metadata_request__predict = {"qid": True, "items": True, "links": True}
    __metadata_request__score = {"qid": True, "items": True, "links": True}

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "minmax",
        similarity: str = "rbf",
        max_iter: int = 1000,
        tol: float = 1e-7,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.similarity = similarity
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        items: Any = None,
        links: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        init: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns as `Ranker.fit` does; with `items`, the name of each row, `eval_set=(X, y, qid, items)`."""
        return self._fit(X, y, qid, group, sample_weight, ignore, eval_set, callbacks, items, links, init=init)

    def _items(self, X: Any, n: int, items: Any) -> Ids | None:
        return None if items is None else ids(items, "items", n)

    def _known(self, X: Any, items: Any, links: Any) -> dict[str, Any]:
        """What is known of rows beside their features."""
        if links is not None and self._fitted().pair_weights is None:
            raise ValueError("links: this model was fitted without links between documents: leave them out")
        return {"items": _named_rows(self, X, items), "pins": None, "links": _links(links), "start": None}

    def predict(
        self, X: Any, qid: Any = None, *, items: Any = None, links: Any = None, output: str | None = None
    ) -> Any:
        """As `Ranker.predict`; with the links of these rows, of a model that was fitted with `links`."""
        return self._predict(X, qid, output, self._known(X, items, links))

    def answers(
        self,
        X: Any,
        qid: Any = None,
        *,
        items: Any = None,
        links: Any = None,
        top: int | None = None,
        probabilities: bool = False,
    ) -> list[dict[str, Any]]:
        """As `Ranker.answers`, with `links` as in `predict`."""
        return self._answers(X, qid, top, probabilities, self._known(X, items, links))

    def rank(self, X: Any, qid: Any = None, *, items: Any = None, links: Any = None) -> Ints:
        """As `Ranker.rank`, with `links` as in `predict`."""
        return _ranks(*self._scored(X, qid, self._known(X, items, links)))

    def top_k(self, X: Any, qid: Any = None, k: int = 10, *, items: Any = None, links: Any = None) -> dict[Any, Ints]:
        """As `Ranker.top_k`, with `links` as in `predict`."""
        return self._top_k(X, qid, k, self._known(X, items, links))

    def score(
        self, X: Any, y: Any, qid: Any = None, sample_weight: Any = None, *, items: Any = None, links: Any = None
    ) -> float:
        """As `Ranker.score`, with `links` as in `predict`."""
        return self._score(X, y, qid, sample_weight, self._known(X, items, links))

    def explain(
        self, X: Any, qid: Any = None, *, above: int, below: int, items: Any = None, links: Any = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """As `Ranker.explain`, with `links` as in `predict`."""
        return self._explain(X, qid, above, below, self._known(X, items, links))

    @property
    def links_(self) -> dict[str, float]:
        """How much linked documents pull at each other by each column of `links`."""
        return dict(self._fitted().pair_weights or [])


class SortNet(Ranker):
    """SortNet: a symmetric network that is shown two documents and says which comes first.

    ```text
    lambda/2 |θ|² + mean over pairs (x better than y) of (1 - out(x, y))² + out(y, x)²
    score: the mean of out(x, y) - out(y, x) over the other documents y of the query
    ```

    It keeps the network that is best on validation, by `map` or, as in the paper's other version, `choose_by="p@10"`.
    Scores depend on the other documents of a query; cost O(n² hidden) for n of them. Parameters are those of
    `ordain fit sortnet --help`.
    """

    _method: ClassVar[str] = "sortnet"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "minmax",
        lambda_: float = 1e-3,
        c: float | None = None,
        hidden: int = 10,
        pairs: int = 2000,
        rounds: int = 8,
        max_iter: int = 60,
        tol: float = 1e-4,
        choose_by: Metric = "map",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.transform_ = transform_
        self.scale = scale
        self.lambda_ = lambda_
        self.c = c
        self.hidden = hidden
        self.pairs = pairs
        self.rounds = rounds
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class RankBoost(PairRanker):
    """RankBoost: thresholds on columns, one after another, by the exponential loss of pairs.

    ```text
    D_ij ∝ exp(s_j - s_i),   r(h) = Σ D_ij (h(x_i) - h(x_j)),   h(x) = 1 if x_f > θ, else 0
    s += α h with the largest |r|,   α = ½ log((1 + r)/(1 - r))
    ```

    Cost O(values) for each round, whatever the number of pairs. `missing="keep"` leaves gaps to the rules. Parameters
    are those of `ordain fit rankboost --help`.
    """

    _method: ClassVar[str] = "rankboost"

    def __init__(
        self,
        *,
        rounds: int | str = "auto",
        weight: str = "pair",
        thresholds: int = 254,
        alpha: str = "bound",
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.rounds = rounds
        self.weight = weight
        self.thresholds = thresholds
        self.alpha = alpha
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class AdaRank(Ranker):
    """AdaRank: columns, one after another, by what their orders are worth to queries that are badly ordered.

    ```text
    P_q ∝ exp(-M_q(s)),   s += α x_k with the largest Σ P_q M_q(x_k)
    α = ½ log(Σ P_q (1 + M_q(x_k)) / Σ P_q (1 - M_q(x_k)))
    ```

    M is the `metric` of the order of a query. A chosen column rests until the metric of the training queries moves.
    Parameters are those of `ordain fit adarank --help`.
    """

    _method: ClassVar[str] = "adarank"

    def __init__(
        self,
        *,
        metric: str = "map",
        rounds: int | str = "auto",
        transform_: str = "auto",
        scale: str = "minmax",
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.metric = metric
        self.rounds = rounds
        self.transform_ = transform_
        self.scale = scale
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class FRank(PairRanker):
    """FRank: thresholds on columns, one after another, by the fidelity of pairs.

    ```text
    Σ over pairs of 1 - √P_ij,   P_ij = 1/(1 + exp(s_j - s_i))
    ```

    The loss of a pair is at most 1, so that hopeless pairs are let go; it falls in every round. Cost O(pairs · columns)
    for each round. Parameters are those of `ordain fit frank --help`.
    """

    _method: ClassVar[str] = "frank"

    def __init__(
        self,
        *,
        rounds: int | str = "auto",
        weight: str = "query",
        thresholds: int = 63,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.rounds = rounds
        self.weight = weight
        self.thresholds = thresholds
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class QBRank(PairRanker):
    """QBRank: trees, by a quadratic bound of the squared hinge of pairs.

    ```text
    ½ Σ over pairs of max(0, tau - s_i + s_j)²
    ```

    Each pair asks half of what it lacks of either document, and a tree is fitted to what documents are asked. `tau` is
    the unit of scores and changes no order. Parameters are those of `ordain fit qbrank --help`.
    """

    _method: ClassVar[str] = "qbrank"

    def __init__(
        self,
        *,
        rounds: int | str = "auto",
        leaves: int = 8,
        rate: float = 0.1,
        least_rows: int = 20,
        tau: float = 1.0,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.rounds = rounds
        self.leaves = leaves
        self.rate = rate
        self.least_rows = least_rows
        self.tau = tau
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class IsoRank(Ranker):
    """IsoRank: trees on the way to the nearest scores in the right order.

    ```text
    Σ over queries of min over δ of ½ |δ|²,   s_i + δ_i ≥ s_j + δ_j + G(y_i) - G(y_j) where y_i > y_j,   G(y) = 2^y - 1
    ```

    δ is an isotonic regression, O(n log n) for each query. Parameters are those of `ordain fit isorank --help`.
    """

    _method: ClassVar[str] = "isorank"

    def __init__(
        self,
        *,
        rounds: int | str = "auto",
        leaves: int = 8,
        rate: float = 0.1,
        least_rows: int = 20,
        gap: str = "exp",
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.rounds = rounds
        self.leaves = leaves
        self.rate = rate
        self.least_rows = least_rows
        self.gap = gap
        self.choose_by = choose_by
        self.convention = convention
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class AutoRanker(Chooses, Ranker):
    """The ranker of the method that validation chooses, with settings that validation chooses.

    Candidates are tried in order, from the cheapest on (`ordain fit auto --help` has the list). Each is measured on
    queries that had no part in its fit, nor in the choice of its settings. The first that no other beats by more than
    one standard error is fitted on everything. `budget` is in seconds and only says where the list ends; `candidates`
    is that number, and repeats a fit byte for byte; with neither all are tried. Of a saved model `ordain.load` makes an
    estimator of the method that was taken.

    >>> from ordain import AutoRanker, make_ranking
    >>> model = AutoRanker(candidates=2).fit(*make_ranking(60, seed=1))
    >>> model.method_, [one["method"] for one in model.auto_["tried"]]
    ('ranksvm', ['ranksvm', 'listnet'])
    """

    def __init__(
        self,
        *,
        budget: float | None = None,
        candidates: int | None = None,
        choose_by: Metric = "ndcg@10",
        convention: str = "standard",
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        single_query: bool = False,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.budget = budget
        self.candidates = candidates
        self.choose_by = choose_by
        self.convention = convention
        self.missing = missing
        self.inputs = inputs
        self.single_query = single_query
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress
