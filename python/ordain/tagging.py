"""Annotators: items to sets of labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from . import _ordain
from ._base import Callback, Chooses, Estimator, Metric, _draws, _read
from ._input import Doubles, Ints, Table, columns_of, joined, named, one_set, table
from ._labels import Labels, Lists, labels
from ._labels import joined as joined_labels

if TYPE_CHECKING:
    from typing_extensions import Self

Answers: TypeAlias = "Mapping[Any, bool | None]"
Names: TypeAlias = np.ndarray[Any, np.dtype[np.object_]]

__all__ = ["AutoTagger", "CStar", "Independent", "Question"]

# a kernel that is given: the columns of X are the kernel with each training item (scikit-learn says "precomputed")
_GIVEN = ("given", "precomputed")


@dataclass(frozen=True)
class Question:
    """A label to ask a person about, with the best score of a set that has it and of one that has not.

    `probability` is that of the label (none of a model by margin), `value` what the strategy chose it by.
    """

    label: str
    score_yes: float
    score_no: float
    probability: float | None
    value: float
    strategy: str


class Tagger(Estimator):
    """What all annotators share.

    `Y` is an array, a sparse matrix or a frame of 0, 1 and NaN (unknown) with a column for each label, or a list with
    the names of the labels of each row. The labels of a frame are named after its columns, those of an array "0", "1".
    """

    _units: ClassVar[str] = "items"
    choose_by: Metric
    convention: str

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know of it."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.pairwise = getattr(self, "kernel", "linear") in _GIVEN
        return tags

    def _settings(self) -> list[tuple[str, str]]:
        settings = dict(super()._settings())
        if settings.get("kernel") in _GIVEN:
            settings["kernel"] = "given"
        return list(settings.items())

    def fit(
        self,
        X: Any,
        Y: Any = None,
        *,
        sample_weight: Any = None,
        ignore: Iterable[str] = (),
        eval_set: Any = None,
        callbacks: Iterable[Callback] | Callback | None = None,
    ) -> Self:
        """Learns from rows `X` with labels `Y`; `ignore` are columns of a frame to leave out, here and in `predict`.

        What is `"auto"` is chosen on the items of `eval_set=(X, Y)`, else on every fifth item, and the model is then
        fitted on all of them (`refit=False`: on the training part alone). `callbacks` are called with the share of the
        work that is done and a word on it; a true answer stops the fit. Ctrl-C stops it too: the model is then the best
        so far, and KeyboardInterrupt goes on.
        """
        self._refuse_weights(sample_weight)
        settings, run = self._settings(), self._run(callbacks)
        _, left = named(X, {}, ignore)
        run["columns"]["ignore"] = left
        inputs = run["columns"]["inputs"]
        data = table(X, (), left, inputs)
        if Y is None:
            name = type(self).__name__
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None: expected the labels of each row"
            )
        of = labels(Y, data.shape[0])
        valid = None
        if eval_set is not None:
            eval_set = one_set(eval_set)
            if len(eval_set) != 2:
                raise ValueError(f"eval_set: expected (X, Y), found {len(eval_set)} parts")
            valid, more = data.shape[0], table(eval_set[0], (), left, inputs)
            data = joined(data, more)
            of = joined_labels(of, labels(eval_set[1], more.shape[0], "Y of eval_set"))
        model, raised = _ordain.fit_labels(
            self._method, settings, data.rows, data.names, of.named(), of.yes, of.unknown, valid, run
        )
        self._keep(model, data, raised)
        self._warn()
        return self

    def _warn(self) -> None:
        """Says what a fit should not keep to itself."""
        facts = self.facts_
        silent = facts["silent_labels"]
        if silent:
            n = len(facts["labels"])
            text = f"{silent} of {n} labels are on no training item: the model will hardly ever give them"
            warnings.warn(text, UserWarning, stacklevel=3)
        if self._model.below_floor and facts["stop"] != "interrupted":
            floor, metric = facts["floor"], facts["chosen"]["metric"]
            text = (
                f"{metric} of {floor['reached']:.4f} on validation is below the {floor['one_vs_rest']:.4f} of a "
                "classifier for each label alone: try another method, core or trainer"
            )
            warnings.warn(text, UserWarning, stacklevel=3)

    def _open(self) -> list[str]:
        asked = self.facts_["asked"]
        links = asked.get("core") not in (None, 0, [])
        return [name for name in super()._open() if name != "link_lambda" or links]

    def _table(self, X: Any) -> Table:
        """Features of items as the model was given them."""
        roles = self.columns_
        return table(X, (), roles.get("ignore", ()), roles.get("inputs", ()))

    def _asked(self, X: Any) -> tuple[Any, list[str] | None]:
        data = self._table(X)
        return data.rows, self._aligned(data)

    def _answers(self, answers: Sequence[Answers | None] | None, n: int) -> tuple[Lists, Any] | None:
        """Answers by the numbers of labels; those that nobody could give are left out."""
        if answers is None:
            return None
        if isinstance(answers, Mapping) or len(answers) != n:
            found = "one alone" if isinstance(answers, Mapping) else str(len(answers))
            raise ValueError(f"answers: expected {n} of {{label: True or False}}, one for each row of X, found {found}")
        number = {name: label for label, name in enumerate(self.facts_["labels"])}
        starts, asked, yes = [0], [], []
        for row, given in enumerate(answers):
            for label, answer in (given or {}).items():
                if not isinstance(answer, (bool, np.bool_, type(None))):
                    raise ValueError(f"answers[{row}][{label!r}]: expected True, False or None, found {answer!r}")
                at = number.get(str(label))
                at = self._model.label(str(label)) if at is None else at
                if answer is not None:
                    asked.append(at)
                    yes.append(bool(answer))
            starts.append(len(asked))
        return (np.array(starts, np.int64), np.array(asked, np.int64)), np.array(yes, np.bool_)

    def _said(self, X: Any, answers: Sequence[Answers | None] | None) -> tuple[Any, ...]:
        data = self._table(X)
        return data.rows, self._aligned(data), self._answers(answers, data.shape[0]), self.n_threads

    def predict(
        self,
        X: Any,
        answers: Sequence[Answers | None] | None = None,
        *,
        decide: str | None = None,
        output: str | None = None,
    ) -> Any:
        """The labels of each row: an array of 1 and 0 with a column for each label, in the order of `classes_`.

        `answers` says of each row what is known, as `{label: True or False}`: such labels are in the set, or not.
        `decide` says what the labels are best for, where that is not what the model was fitted for: `"f1"`,
        `"hamming"`, `"count"` or `"threshold"`.
        `output="frame"` gives a frame of the library that `X` is from, with a column for each label; `"pandas"`,
        `"polars"` and `"pyarrow"` name the library, `"array"` asks for an array whatever `set_output` said.
        """
        places = self._fitted().chosen(*self._said(X, answers), decide)
        return self._by_label(output, (places > 0).astype(np.int8), X)

    def _by_label(self, output: str | None, values: Any, X: Any) -> Any:
        """A column for each label, as it is wanted."""
        return self._answer(output, values, lambda: {n: values[:, j] for j, n in enumerate(self.facts_["labels"])}, X)

    def answers(self, X: Any, *, top: int | None = None) -> list[dict[str, Any]]:
        """The ranked labels of each row, as the documents that `ordain predict --json` prints."""
        return _read(self._fitted().answers(*self._asked(X), top, self.n_threads))

    def predict_labels(
        self, X: Any, answers: Sequence[Answers | None] | None = None, *, decide: str | None = None
    ) -> list[list[str]]:
        """The names of the labels of each row, the best first; those that were answered with yes before all others.

        `decide` is as in `predict`.
        """
        places = self._fitted().chosen(*self._said(X, answers), decide)
        names = self.facts_["labels"]
        size = places.max(axis=1)
        order = np.argsort(np.where(places > 0, places, places.shape[1] + 1), axis=1, kind="stable")
        return [[names[label] for label in row[:k]] for row, k in zip(order.tolist(), size.tolist(), strict=True)]

    def predict_proba(
        self, X: Any, answers: Sequence[Answers | None] | None = None, *, output: str | None = None
    ) -> Any:
        """The probability of each label, given the answers: one column for each of `classes_`.

        `output` is as in `predict`.
        """
        model = self._fitted()
        if not model.probabilistic:
            raise ValueError(
                "predict_proba: expected a model with probabilities, found one that was fitted with trainer='margin'; "
                "fit it with trainer='likelihood', or use decision_function"
            )
        return self._by_label(output, model.values(*self._said(X, answers)), X)

    def decision_function(self, X: Any, *, output: str | None = None) -> Any:
        """What labels are ranked by: probabilities, or by margin the best score with a label minus that without it.

        `output` is as in `predict`.
        """
        return self._by_label(output, self._fitted().values(*self._said(X, None)), X)

    def label_scores(self, X: Any) -> Doubles:
        """The score of each label by itself, links to other labels apart."""
        return self._fitted().scores(*self._asked(X), self.n_threads)

    def rank(self, X: Any) -> Ints:
        """The rank of each label of each row, 1 for the best; of equals the label that comes first stands first."""
        order = self._fitted().order(*self._asked(X), self.n_threads)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None, :], axis=1)
        return ranks

    def top_k(self, X: Any, k: int = 10) -> list[list[str]]:
        """The names of the `k` best labels of each row, the best first."""
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k: expected a whole number above 0, found {k!r}")
        order = self._fitted().order(*self._asked(X), self.n_threads)
        names = self.facts_["labels"]
        return [[names[label] for label in row] for row in order[:, :k].tolist()]

    def score(self, X: Any, Y: Any) -> float:
        """The mean over items of the metric `choose_by` under `convention`, its sign changed where less is better.

        For `"bep"` the model is told how many labels each item has; `"bep_learned"`, `"f1"` and all others go by what
        it thinks itself. Labels that it does not know are left out.
        """
        by = (self.choose_by, self.convention)
        value, strange = self._fitted().measure(by, *self._labelled(X, Y), self.n_threads)
        if strange:
            text = f"{len(strange)} label(s) that the model does not know are left out (such as {strange[0]})"
            warnings.warn(text, UserWarning, stacklevel=2)
        return float(value)

    def _labelled(self, X: Any, Y: Any) -> tuple[Any, list[str] | None, list[str], Any, Any]:
        """Items with labels, as the compiled half takes them."""
        data = self._table(X)
        of: Labels = labels(Y, data.shape[0])
        known: list[str] = self.facts_["labels"]
        names, lacks = of.named(known), of.lacks(known)
        if of.names is None and known != [str(j) for j in range(len(known))]:
            text = "Y has no names of labels: its columns are taken in the order of classes_"
            warnings.warn(text, UserWarning, stacklevel=3)
        if lacks:
            raise ValueError(f"Y: expected the labels of the model, found no column {lacks[0]!r}")
        return data.rows, self._aligned(data), names, of.yes, of.unknown

    def importances(self, X: Any, Y: Any, *, draws: int = 3) -> dict[str, np.ndarray[Any, Any]]:
        """What each feature is worth on these data, the most important first.

        The values of a feature are exchanged between items, and `loss` is by how much the metric `choose_by` gets
        worse: the mean over items and over `draws` exchanges, with the ends of its 95 % interval over items.
        `feature_importances_` then has these losses too, in the order of the columns.
        """
        model, by, draws = self._fitted(), (self.choose_by, self.convention), _draws(draws)
        return self._worth(model.importances(*self._labelled(X, Y), by, draws, self.n_threads))

    def drift(self, X: Any) -> dict[str, np.ndarray[Any, Any]]:
        """The columns in which these data have left what the model has seen in training; see `Ranker.drift`."""
        return self._drift(self._fitted().drift(*self._asked(X), self.n_threads))

    def ask(
        self, x: Any, answers: Answers | None = None, *, strategy: str = "expected", k: int | None = None
    ) -> Question | None:
        """The next label to ask about on item `x`, one row; none where nothing is left to ask.

        `answers` are those so far, `None` for a label that nobody could answer for. `strategy` is "expected", "paper",
        "entropy" or "random"; `k` is the number of labels of the item, where it is known.
        """
        model = self._fitted()
        if hasattr(x, "to_frame") and np.ndim(x) == 1:
            x = x.to_frame().T
        elif not columns_of(x) and (not hasattr(x, "shape") or len(x.shape) == 1):
            x = np.atleast_2d(np.asarray(x))
        data = self._table(x)
        rows, names, n = data.rows, self._aligned(data), data.shape[0]
        if n != 1:
            raise ValueError(f"x: expected one item, found {n} rows")
        if k is not None and (not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 0):
            raise ValueError(f"k: expected None or a whole number from 0, found {k!r}")
        given = dict(answers or {})
        skipped = [model.label(str(label)) for label, answer in given.items() if answer is None]
        clamp = self._answers([given], 1)
        asked = model.question(rows, names, clamp, skipped, strategy, k, self.seed, self.n_threads)
        if asked is None:
            return None
        label, yes, no, probability, value = asked
        return Question(self.facts_["labels"][label], yes, no, probability, value, strategy)

    def explain(
        self, X: Any, item: int = 0, *, above: Any = None, below: Any = None
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Why label `above` stands above label `below` on row `item`: what adds to each, the largest difference first.

        By default the labels are the two best, or the best beside the one that is given. What is no link adds up to the
        difference of `label_scores`; links have a sum of their own.
        """
        model = self._fitted()
        data = self._table(X)
        n = data.shape[0]
        if not -n <= item < n:
            raise ValueError(f"item: expected a row of X, found {item} of {n}")
        pair = [None if name is None else model.label(str(name)) for name in (above, below)]
        reasons = model.explain(data.rows, self._aligned(data), item % n, *pair, self.n_threads)
        what, up, down, link = zip(*reasons, strict=True) if reasons else ((), (), (), ())
        upper, lower = np.array(up, dtype=np.float64), np.array(down, dtype=np.float64)
        return {
            "what": np.array(what, dtype=object),
            "above": upper,
            "below": lower,
            "contribution": upper - lower,
            "link": np.array(link, dtype=np.bool_),
        }

    @property
    def classes_(self) -> Names:
        """The names of the labels, in the order of all columns."""
        self._fitted()
        return np.array(self.facts_["labels"], dtype=object)

    @property
    def core_(self) -> Names:
        """The names of the labels that have links, in the order of the rows of `links_`."""
        self._fitted()
        names = self.facts_["labels"]
        return np.array([names[label] for label in self.facts_["core"]], dtype=object)

    @property
    def links_(self) -> Doubles:
        """The links of each label of `core_` (rows) with each of `classes_` (columns)."""
        return self._fitted().links

    @property
    def coef_(self) -> Doubles:
        """The weights of the label scores on scaled features, one row for each label."""
        return self._fitted().linear()[0]

    @property
    def intercept_(self) -> Doubles:
        """What is added to the score of each label, what depends on the number of labels apart."""
        return self._fitted().linear()[1]

    def _lines(self) -> list[tuple[str, str]]:
        facts = self.facts_
        lines = [("data", f"{facts['items']} items, {len(facts['labels'])} labels"), *super()._lines()]
        if facts.get("floor") is not None:
            metric, floor = facts["chosen"]["metric"], facts["floor"]
            text = f"{metric} {floor['reached']:.4f}, classifiers alone {floor['one_vs_rest']:.4f}"
            lines.append(("validation", text))
        if facts["core"]:
            lines.append(("core", ", ".join(self.core_)))
        return lines


class CStar(Tagger):
    """The c-star model: a score for each label, and a link between each label of a small core and every other label.

    ```text
    f(t) = Σ_{i in t} s_i + Σ_{pairs in t that touch the core} g_ij
    ```
    Fitted by its exact likelihood, with probabilities of labels, or by margin. Cost O(2^C N k) for each item and step
    with a core of C of N labels. Parameters are those of `ordain fit cstar --help`; `core` may be a list of names. With
    `kernel="given"` (or `"precomputed"`) `X` is a Gram matrix: in `fit` the kernel of the items with one another, in
    `predict` that of each item with every training item.

    >>> import numpy as np
    >>> from ordain import CStar
    >>> X = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    >>> Y = [["sea", "sand"] if a > 0 else ["snow"] if b > 0 else ["tree"] for a, b in X]
    >>> model = CStar(core=1, lambda_=1e-3, link_lambda=1e-3).fit(X, Y)
    >>> model.predict_labels([[2.0, 0.0]])[0]
    ['sand', 'sea']
    """

    _method: ClassVar[str] = "cstar"

    def __init__(
        self,
        *,
        core: int | str | Sequence[str] = 3,
        core_by: str = "joint",
        trainer: str = "likelihood",
        features: str = "auto",
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        count_bias: bool = True,
        lambda_: float | str = "auto",
        c: float | None = None,
        link_lambda: float | str = "auto",
        loss: str = "bep",
        transform_: str = "auto",
        scale: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-3,
        decide: str | None = None,
        scorer: str = "linear",
        rounds: int | str = "auto",
        leaves: int | str = "auto",
        rate: float = 0.05,
        least_rows: int = 20,
        unit_share: float = 0.6,
        column_share: float = 0.5,
        monotone: Mapping[str, int] | str = "none",
        categories: str = "none",
        choose_by: Metric = "bep",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.core = core
        self.core_by = core_by
        self.trainer = trainer
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.count_bias = count_bias
        self.lambda_ = lambda_
        self.c = c
        self.link_lambda = link_lambda
        self.loss = loss
        self.transform_ = transform_
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.decide = decide
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
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress

    def _settings(self) -> list[tuple[str, str]]:
        settings = dict(super()._settings())
        if not isinstance(self.core, (str, int, float)) and isinstance(self.core, Iterable):
            names = [str(name) for name in self.core]
            for name in names:
                if ";" in name or "," in name:
                    raise ValueError(f"core: expected names without ; and , in them, found {name!r}")
            # with the last ; one name alone is never taken for a number
            settings["core"] = ";".join(names) + ";" if names else "0"
        return list(settings.items())


class Independent(Tagger):
    """The independent model: a score for each label and no links, fitted and decoded as `CStar` is.

    Cost O(N k) for each item and step with N labels. Parameters are those of `ordain fit independent --help`.
    """

    _method: ClassVar[str] = "independent"

    def __init__(
        self,
        *,
        trainer: str = "likelihood",
        features: str = "auto",
        kernel: str = "linear",
        gamma: float | str = "auto",
        degree: int = 3,
        coef0: float = 1,
        count_bias: bool = True,
        lambda_: float | str = "auto",
        c: float | None = None,
        loss: str = "bep",
        transform_: str = "auto",
        scale: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-3,
        decide: str | None = None,
        scorer: str = "linear",
        rounds: int | str = "auto",
        leaves: int | str = "auto",
        rate: float = 0.05,
        least_rows: int = 20,
        unit_share: float = 0.6,
        column_share: float = 0.5,
        monotone: Mapping[str, int] | str = "none",
        categories: str = "none",
        choose_by: Metric = "bep",
        convention: str = "standard",
        refit: bool = True,
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
        seed: int = 0,
        n_threads: int | None = None,
        progress: bool = False,
    ) -> None:
        self.trainer = trainer
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.count_bias = count_bias
        self.lambda_ = lambda_
        self.c = c
        self.loss = loss
        self.transform_ = transform_
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.decide = decide
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
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress


class AutoTagger(Chooses, Tagger):
    """The annotator of the method that validation chooses, with settings that validation chooses.

    Candidates are tried in order, from the cheapest on (`ordain fit auto --help` has the list). Each is measured on
    items that had no part in its fit, nor in the choice of its settings. The first that no other beats by more than
    one standard error is fitted on everything. `budget` is in seconds and only says where the list ends; `candidates`
    is that number, and repeats a fit byte for byte; with neither all are tried. Of a saved model `ordain.load` makes an
    estimator of the method that was taken.
    """

    def __init__(
        self,
        *,
        budget: float | None = None,
        candidates: int | None = None,
        choose_by: Metric = "bep",
        convention: str = "standard",
        missing: str = "error",
        inputs: Mapping[str, str] | None = None,
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
        self.seed = seed
        self.n_threads = n_threads
        self.progress = progress
