"""Matchers: two sides with edges between them to who belongs to whom."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from . import _ordain
from ._base import Callback, Chooses, Estimator, Metric, _draws, _read
from ._folds import need_whole
from ._input import (
    Doubles,
    Floats,
    Ids,
    Ints,
    Table,
    both,
    column,
    ids,
    joined,
    named,
    one_set,
    table,
)

if TYPE_CHECKING:
    from typing_extensions import Self

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.int8]]
Columns: TypeAlias = dict[str, np.ndarray[Any, Any]]

_IDS = ("problem", "left", "right")

__all__ = ["AutoMatcher", "MatchMap", "MatchMargin", "point_edges"]


def point_edges(
    left_points: Any, right_points: Any, features: Iterable[str] | str | None = None
) -> tuple[Floats, Ints, Ints]:
    """All pairs of two sets of points as a table of edges: `X`, and the left and the right point of each row, from 0.

    A point is `(x, y)`, then whatever else is known of it (descriptors). `features` are some of `"shape-context"`,
    `"shape-context-abs"`, `"coordinates"`, `"degree"` and `"descriptors"`; without them shape contexts, and descriptors
    if there are any. The right points stand in an order of their own, so that nobody finds the identity by chance.

    >>> import numpy as np
    >>> from ordain import point_edges
    >>> points = np.random.default_rng(0).normal(size=(5, 2))
    >>> X, left, right = point_edges(points, points + 1, features=("coordinates", "degree"))
    >>> X.shape
    (25, 5)
    """
    wanted = [features] if isinstance(features, str) else list(features or ())
    sides = []
    for what, points in (("left_points", left_points), ("right_points", right_points)):
        array = np.ascontiguousarray(np.asarray(points), dtype=np.float64)
        if array.ndim != 2 or array.shape[1] < 2:
            raise ValueError(f"{what}: expected rows of x, y and descriptors, found shape {array.shape}")
        if not np.isfinite(array).all():
            i, j = (int(k) for k in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(f"{what}[{i}, {j}]: expected a finite number, found {array[i, j]}")
        sides.append(array)
    if sides[0].shape[1] != sides[1].shape[1]:
        found = " and ".join(str(side.shape[1]) for side in sides)
        raise ValueError(f"expected points of both sides with as many columns, found {found}")
    X, left, right, _ = _ordain.point_edges(sides[0], sides[1], wanted)
    return X, left, right


class Matcher(Estimator):
    """What all matchers share.

    Data are edges: a row of features for each pair of a left and a right item that may be matched; a pair without a row
    is forbidden. `problem`, `left` and `right` are ids of any type, the rows in any order: arguments, or columns of a
    frame with these names; without any `problem` all rows are of one. `y` is 1 where an edge is matched, 0 where it is
    not, and NaN where nobody knows.
    """

    _units: ClassVar[str] = "problems"
    choose_by: Metric | None

    # with scikit-learn's metadata routing on, ids go wherever they are needed without a word
    __metadata_request__fit = {"problem": True, "left": True, "right": True}
    __metadata_request__predict = {"problem": True, "left": True, "right": True}
    __metadata_request__predict_proba = {"problem": True, "left": True, "right": True}
    __metadata_request__decision_function = {"problem": True, "left": True, "right": True}
    __metadata_request__score = {"problem": True, "left": True, "right": True}

    def _ids(self, data: Table, given: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """The ids of problem, left and right item of the rows as they were given, by argument or column."""
        found = []
        for what, values in zip(_IDS, given, strict=True):
            own = data.taken.get(what, data.taken.get(self._roles.get(what, what)))
            if values is not None and own is not None:
                raise ValueError(f"expected {what} once, found {what}= and a column {what}")
            values = own if values is None else values
            if values is None and what != "problem":
                raise ValueError(
                    f"{type(self).__name__} needs to know which items an edge is between: give left= and right= (one "
                    f"id for each row), or a frame with columns of these names; {what} is missing"
                )
            found.append(values)
        return found[0], found[1], found[2]

    def _edges(self, data: Table, given: tuple[Any, Any, Any]) -> tuple[Ids | None, Ids, Ids]:
        """The same as the compiled half takes them."""
        n = data.shape[0]
        problem, left, right = self._ids(data, given)
        return None if problem is None else ids(problem, "problem", n), ids(left, "left", n), ids(right, "right", n)

    def _asked(self, data: Table, *given: Any) -> tuple[Any, list[str] | None, Ids | None, Ids, Ids]:
        """Edges to be asked about, as the compiled half takes them."""
        return data.rows, self._aligned(data), *self._edges(data, given)

    def _named(self, data: Table, given: tuple[Any, Any, Any], rows: Ints) -> Columns:
        """The ids of some rows, as they were given."""
        return {
            what: np.ones(len(rows), dtype=np.int64) if values is None else np.asarray(values)[rows]
            for what, values in zip(_IDS, self._ids(data, given), strict=True)
        }

    def fit(
        self,
        X: Any,
        y: Any = None,
        problem: Any = None,
        left: Any = None,
        right: Any = None,
        *,
        sample_weight: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from edges `X`, of which `y` says whether they are matched.

        Of a frame `y`, `problem`, `left` and `right` may be names of columns, and `ignore` are columns to leave out;
        the model remembers them, so that `predict` takes a frame with the same columns.

        What is `"auto"` is chosen on the problems of `eval_set=(X, y, problem, left, right)`, else on every fifth
        problem, and the model is then fitted on all of them (`refit=False`: on the training part alone). `callbacks`
        are called with the share of the work that is done and a word on it; a true answer stops the fit. Ctrl-C stops
        it too: the model is then the best so far, and KeyboardInterrupt goes on.
        """
        self._refuse_weights(sample_weight)
        settings, run = self._settings(), self._run(callbacks)
        need_whole("problem", "ProblemKFold", problem if isinstance(problem, str) else "problem")
        given = {"matched": y, "problem": problem, "left": left, "right": right}
        names, left_out = named(X, given, ignore)
        run["columns"] |= names | {"ignore": left_out}
        self._given_roles = names | {"ignore": left_out, "inputs": run["columns"]["inputs"]}
        y = X[names["matched"]] if "matched" in names else y
        problem, left, right = (None if what in names else given[what] for what in _IDS)
        data = self._table(X)
        if y is None:
            text = f"{type(self).__name__} requires y to be passed, but the target y is None"
            raise ValueError(f"{text}: expected 1, 0 or NaN for each edge")
        n = data.shape[0]
        truth = column(y, "y", n, gaps=True)
        of, left, right = self._edges(data, (problem, left, right))
        valid = None
        if eval_set is not None:
            eval_set = one_set(eval_set)
            if len(eval_set) not in (2, 5):
                raise ValueError(
                    "eval_set: expected (X, y, problem, left, right), or (X, y) of frames with these columns, found "
                    f"{len(eval_set)} parts"
                )
            more = self._table(eval_set[0])
            ids_of = [None if isinstance(values, str) else values for values in eval_set[2:]] or [None] * 3
            others = self._edges(more, (ids_of[0], ids_of[1], ids_of[2]))
            if isinstance(eval_set[1], str):
                eval_set = (eval_set[0], eval_set[0][eval_set[1]])
            if (of is None) != (others[0] is None):
                raise ValueError("eval_set: expected problem where X has it, and not where it does not")
            of = None if of is None or others[0] is None else both(of, others[0])
            left, right, valid = both(left, others[1]), both(right, others[2]), n
            truth = np.concatenate([truth, column(eval_set[1], "y of eval_set", more.shape[0], gaps=True)])
            data = joined(data, more)
        model, raised = _ordain.fit_match(
            self._method, settings, data.rows, data.names, truth, of, left, right, valid, run
        )
        return self._keep(model, data, raised)

    @property
    def _roles(self) -> dict[str, Any]:
        """What the columns of a frame mean: those of the model, or of the fit that makes it."""
        given: dict[str, Any] = self.__dict__.get("_given_roles", {})
        return given or (self.columns_ if hasattr(self, "_model") else {})

    def _table(self, X: Any) -> Table:
        """Features of a frame whose other columns have their roles; ids are put aside."""
        roles = self._roles
        leave = [roles["matched"]] if "matched" in roles else []
        return table(
            X, [roles.get(what, what) for what in _IDS], [*leave, *roles.get("ignore", ())], roles.get("inputs", ())
        )

    def predict(
        self,
        X: Any,
        problem: Any = None,
        left: Any = None,
        right: Any = None,
        *,
        decide: str | None = None,
        min_probability: float | None = None,
        precision: float | None = None,
        output: str | None = None,
    ) -> Any:
        """1 for each edge of the matching of its problem, 0 for the others.

        `decide` says which matching, where that is not what the model was fitted for: `"map"`, the likeliest, or
        `"marginals"`, the one with the most items that are expected to be matched rightly. Matches that are less likely
        than `min_probability` are dropped. `precision=.99` drops those that are less likely than the least probability
        at which 99 of 100 matches of validation were right, as the model remembers them.
        `output="frame"` gives a frame of the library that `X` is from, with the columns `problem`, `left`, `right`,
        `score` and `matched`; `"pandas"`, `"polars"` and `"pyarrow"` name the library, `"array"` asks for an array
        whatever `set_output` said.
        """
        model = self._fitted()
        data, given = self._table(X), (problem, left, right)
        asked = self._asked(data, *given)
        matched = model.matched(asked, self.n_threads, (decide, min_probability, precision))

        def more() -> Columns:
            return {"score": model.scores(asked, self.n_threads), "matched": matched}

        return self._by_edge(output, matched, more, (X, data, given))

    def _by_edge(
        self,
        output: str | None,
        values: Any,
        more: Callable[[], Columns],
        asked: tuple[Any, Table, tuple[Any, Any, Any]],
    ) -> Any:
        """A value for each edge; in a frame with the ids of the edges and more columns."""
        X, data, given = asked
        return self._answer(output, values, lambda: self._named(data, given, np.arange(len(values))) | more(), X)

    def answers(
        self,
        X: Any,
        problem: Any = None,
        left: Any = None,
        right: Any = None,
        *,
        top: int | None = None,
        decide: str | None = None,
        min_probability: float | None = None,
        precision: float | None = None,
    ) -> list[dict[str, Any]]:
        """The matching of each problem, as the documents that `ordain predict --json` prints.

        `top` adds the best candidates of each left item; `decide`, `min_probability` and `precision` are as in
        `predict`.
        """
        asked, how = self._asked(self._table(X), problem, left, right), (decide, min_probability, precision)
        return _read(self._fitted().answers(asked, top, self.n_threads, how))

    def decision_function(
        self, X: Any, problem: Any = None, left: Any = None, right: Any = None, *, output: str | None = None
    ) -> Any:
        """The score of each edge; the best matching is the one with the largest sum.

        `output="frame"` gives the columns `problem`, `left`, `right` and `score`.
        """
        model = self._fitted()
        data, given = self._table(X), (problem, left, right)
        scores = model.scores(self._asked(data, *given), self.n_threads)
        return self._by_edge(output, scores, lambda: {"score": scores}, (X, data, given))

    def predict_proba(
        self, X: Any, problem: Any = None, left: Any = None, right: Any = None, *, output: str | None = None
    ) -> Any:
        """The probability of each edge to be matched; a warning says where they are approximate.

        `output="frame"` gives the columns `problem`, `left`, `right` and `probability`.
        """
        model = self._fitted()
        data, given = self._table(X), (problem, left, right)
        chances, how = model.probabilities(self._asked(data, *given), self.n_threads)
        self._told(how)
        return self._by_edge(output, chances, lambda: {"probability": chances}, (X, data, given))

    def how(self, X: Any, problem: Any = None, left: Any = None, right: Any = None) -> dict[str, Any]:
        """How `predict_proba` finds the probabilities of these problems: as `how_` says it of the fit."""
        model = self._fitted()
        return self._told(model.probabilities(self._asked(self._table(X), problem, left, right), self.n_threads)[1])

    def _told(self, text: str) -> dict[str, Any]:
        """How probabilities were found, with a warning to the caller's caller where they are approximate."""
        how: dict[str, Any] = json.loads(text)
        if how["accuracy"] == "approximate":
            near = "and nobody knows how near"
            if how["error"] is not None:
                near = f"off by up to {how['error']:.1e} in small parts, which can be summed exactly"
            text = (
                f"probabilities are approximate, found by {', '.join(how['engines'])}: {near}; "
                "MatchMap(marginals='pruned') finds them with a certificate where it can, 'chain' by samples"
            )
            warnings.warn(text, UserWarning, stacklevel=3)
        return how

    def match(
        self,
        X: Any,
        problem: Any = None,
        left: Any = None,
        right: Any = None,
        *,
        decide: str | None = None,
        min_probability: float | None = None,
        precision: float | None = None,
    ) -> Columns:
        """The matches, problem by problem, as columns: `problem`, `left`, `right`, `row`, `score`, `probability`, …

        `margin` is what the best sum loses without the match (infinite where nothing else is possible): of scores, or
        where marginals decide of items that are expected to be matched rightly. `check` is 1 for the most doubtful
        match of a problem, and `unlikely` is True where a match is less likely than that one of its items stays
        unmatched. Probabilities are NaN where the model has none, and a warning says where they are approximate.
        `decide`, `min_probability` and `precision` are as in `predict`.
        """
        model, data = self._fitted(), self._table(X)
        asked, operating = self._asked(data, problem, left, right), (decide, min_probability, precision)
        found, how = model.matches(asked, self.n_threads, operating)
        self._told(how)
        what = ("row", "score", "probability", "margin", "check", "unlikely")
        return self._named(data, (problem, left, right), found[0]) | dict(zip(what, found, strict=True))

    def unmatched(
        self,
        X: Any,
        problem: Any = None,
        left: Any = None,
        right: Any = None,
        *,
        decide: str | None = None,
        min_probability: float | None = None,
        precision: float | None = None,
    ) -> Columns:
        """The items without a match as columns: `problem`, `side` ("left" or "right"), `item` and `probability`.

        A warning says where probabilities are approximate. `decide`, `min_probability` and `precision` are as in
        `predict`.
        """
        model, data = self._fitted(), self._table(X)
        asked, operating = self._asked(data, problem, left, right), (decide, min_probability, precision)
        (rows, of_right, chances), how = model.unmatched(asked, self.n_threads, operating)
        self._told(how)
        named = self._named(data, (problem, left, right), rows)
        side = np.where(of_right, "right", "left")
        pairs = zip(named["left"].tolist(), named["right"].tolist(), of_right, strict=True)
        items = np.array([b if of else a for a, b, of in pairs])
        return {"problem": named["problem"], "side": side, "item": items, "probability": chances}

    def score(self, X: Any, y: Any, problem: Any = None, left: Any = None, right: Any = None) -> float:
        """The mean over problems of the metric `choose_by`, with its sign changed where less is better.

        Without one `accuracy`, the share of the items of the lesser side that are matched rightly, or with `null=True`
        `f1`.
        """
        data = self._asked(self._table(X), problem, left, right)
        truth = column(y, "y", len(data[3]), gaps=True)
        return self._fitted().measure(data, truth, self._measure(), self.n_threads)

    def _measure(self) -> Metric:
        """What is measured by."""
        return self.choose_by or ("accuracy" if self._fitted().null is None else "f1")

    def drift(self, X: Any, problem: Any = None, left: Any = None, right: Any = None) -> Columns:
        """The columns in which these data have left what the model has seen in training; see `Ranker.drift`."""
        data = self._asked(self._table(X), problem, left, right)
        return self._drift(self._fitted().drift(data, self.n_threads))

    def importances(
        self, X: Any, y: Any, problem: Any = None, left: Any = None, right: Any = None, *, draws: int = 3
    ) -> Columns:
        """What each feature is worth on these data, the most important first.

        The values of a feature are exchanged between whole problems, and `loss` is by how much the metric of `score`
        gets worse: the mean over problems and over `draws` exchanges, with the ends of its 95 % interval over problems.
        `feature_importances_` then has these losses too, in the order of the columns.
        """
        model, draws = self._fitted(), _draws(draws)
        data = self._asked(self._table(X), problem, left, right)
        truth = column(y, "y", len(data[3]), gaps=True)
        return self._worth(model.importances(data, truth, (self._measure(), "standard"), draws, self.n_threads))

    def explain(
        self, X: Any, problem: Any = None, left: Any = None, right: Any = None, *, above: int, below: int
    ) -> Columns:
        """Why edge `above` (a row of `X`) scores more than edge `below` of the same problem: what each feature adds.

        The largest come first, and the contributions add up to the difference of the two scores.
        """
        reasons = self._fitted().explain(self._asked(self._table(X), problem, left, right), above, below)
        known = self.facts_["features"]["names"]
        columns = list(zip(*reasons, strict=True))
        what = ("above", "below", "difference", "weight", "contribution")
        found = {w: np.array(v, dtype=np.float64) for w, v in zip(what, columns[1:], strict=True)}
        return {"feature": np.array([known[j] for j in columns[0]], dtype=object), **found}

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        """As of other models; a way to decide that validation chose was not asked for."""
        estimator = super()._of_model(model)
        if "decide" not in estimator.facts_["asked"] and hasattr(estimator, "decide"):
            estimator.decide = "auto"
        return estimator

    @property
    def coef_(self) -> Doubles:
        """The weights on scaled features; a model with a kernel has none."""
        return self._linear(self._fitted().weights)

    @property
    def null_(self) -> float | None:
        """The score of an item that stays unmatched; None where all of the lesser side have to be matched."""
        return self._fitted().null

    @property
    def temperature_(self) -> float | None:
        """What scores are divided by before they become probabilities; None where there are none."""
        return self._fitted().temperature

    @property
    def how_(self) -> dict[str, Any]:
        """How the sums over matchings of the last fit were found: `engines` with counts, `accuracy` and `error`.

        The accuracy is the worst of them: `exact`, `certified` (off by `error` at most), `estimated` (by samples, with
        `error` as standard error) or `approximate`. A fit that needs no sums, as that of MatchMargin, has no engines.
        """
        self._fitted()
        return {what: self.facts_[what] for what in ("engines", "accuracy", "error")}

    def _lines(self) -> list[tuple[str, str]]:
        facts = self.facts_
        lines = [("data", f"{facts['edges']} edges of {facts['problems']} problems"), *super()._lines()]
        if facts["engines"]:
            lines.append(("sums", f"{', '.join(facts['engines'])}: {facts['accuracy']}"))
        weights = self._fitted().weights
        if weights is not None:
            best = np.argsort(-np.abs(weights), kind="stable")[:8]
            lines.append(("strongest", ", ".join(f"{facts['features']['names'][j]} {weights[j]:+.3g}" for j in best)))
        return lines


class MatchMap(Matcher):
    """MatchMap: an exponential family over matchings, with probabilities of edges.

    ```text
    p(matching) ∝ exp(Σ of its edges w·x_edge + null·(items without a match))
    lambda/2 |w|² - mean over problems of log p(right matching)
    ```
    That is the law of the fit, Eq. (3) of Petterson et al. 2009 (Exponential family graph matching and ranking). Where
    settings are chosen on validation problems (`scale` or `lambda_` is `"auto"`), the probabilities that are given are
    not those of Eq. (3): `null` is moved to where `choose_by` is best (unless that is `nll` or `ece`), and all scores
    are divided by a temperature that makes the right matchings of the validation problems likely,
    `p ∝ exp((Σ of its edges w·x_edge + null_·(items without a match)) / temperature_)`. Where fewer than 500 known
    matches are held out, both are the likeliest for all problems, each scored by a fit that has not seen it. With both
    settings given they are Eq. (3) as it stands.

    Cost O(n 2^n) per problem and step with n items on the lesser side where sums are exact, less where they are not;
    `how_` says what they are. Parameters are those of `ordain fit matchmap --help`.

    >>> import numpy as np
    >>> from ordain import MatchMap, point_edges
    >>> points = np.random.default_rng(0).normal(size=(8, 2))
    >>> X, left, right = point_edges(points, points + 0.1)
    >>> model = MatchMap(scale="none", lambda_=0.1).fit(X, left == right, left=left, right=right)
    >>> float(model.score(X, left == right, left=left, right=right))
    1.0
    """

    _method: ClassVar[str] = "matchmap"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        lambda_: float | str = "auto",
        c: float | None = None,
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        marginals: str = "auto",
        null: bool = False,
        decide: str = "auto",
        max_iter: int = 200,
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
        choose_by: Metric | None = None,
        refit: bool = True,
        missing: str = "auto",
        inputs: Mapping[str, str] | None = None,
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
        self.marginals = marginals
        self.null = null
        self.decide = decide
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
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class MatchMargin(Matcher):
    """MatchMargin: the margin of the right matching over wrong ones; a temperature makes probabilities of scores.

    ```text
    lambda/2 |w|² + mean over problems of max over matchings {share matched wrongly + score} - score of the right one
    ```
    Cost of one best matching per problem and step. Parameters are those of `ordain fit matchmargin --help`.
    """

    _method: ClassVar[str] = "matchmargin"

    def __init__(
        self,
        *,
        transform_: str = "auto",
        scale: str = "auto",
        lambda_: float | str = "auto",
        c: float | None = None,
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        null: bool = False,
        decide: str = "auto",
        calibrate: bool = True,
        max_iter: int = 500,
        tol: float = 1e-2,
        choose_by: Metric | None = None,
        refit: bool = True,
        missing: str = "auto",
        inputs: Mapping[str, str] | None = None,
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
        self.null = null
        self.decide = decide
        self.calibrate = calibrate
        self.max_iter = max_iter
        self.tol = tol
        self.choose_by = choose_by
        self.refit = refit
        self.missing = missing
        self.inputs = inputs
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class AutoMatcher(Chooses, Matcher):
    """The matcher of the method that validation chooses, with settings that validation chooses.

    Candidates are tried in order, from the cheapest on (`ordain fit auto --help` has the list). Each is measured on
    problems that had no part in its fit, nor in the choice of its settings. The first that no other beats by more than
    one standard error is fitted on everything. `budget` is in seconds and only says where the list ends; `candidates`
    is that number, and repeats a fit byte for byte; with neither all are tried. Of a saved model `ordain.load` makes an
    estimator of the method that was taken.
    """

    def __init__(
        self,
        *,
        budget: float | None = None,
        candidates: int | None = None,
        choose_by: Metric | None = None,
        missing: str = "auto",
        inputs: Mapping[str, str] | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.budget = budget
        self.candidates = candidates
        self.choose_by = choose_by
        self.missing = missing
        self.inputs = inputs
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress
