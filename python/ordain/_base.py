"""What all estimators share. They keep parameters, convert data and call the compiled half; they compute nothing."""

from __future__ import annotations

import hashlib
import html
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from . import _ordain
from ._compat import BaseEstimator, ConvergenceWarning, NotFittedError
from ._input import FRAMES, Doubles, Table, framed, warn_coarse

if TYPE_CHECKING:
    from typing_extensions import Self

Callback = Callable[[float, str], Any]
# The name of a metric, or a function of what is right and what is said of one unit
Metric: TypeAlias = str | Callable[[Doubles, Doubles], float | None]

# Parameters that say how a fit is run, and are no settings of the method.
_RUN = {"choose_by", "convention", "refit", "missing", "inputs", "seed", "n_threads", "progress", "single_query"}


def _plain(value: Any) -> str:
    """A parameter for the checksum of a pickle: what is no plain value counts by its type."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_plain(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_plain(name)}:{_plain(item)}' for name, item in value.items())}}}"
    if isinstance(value, np.generic):
        return repr(value.item())
    return type(value).__name__


def _seal(params: dict[str, Any], model: bytes) -> str:
    """The checksum of the parameters and of the model of a pickle."""
    text = ",".join(f"{name}={_plain(value)}" for name, value in sorted(params.items()))
    return hashlib.blake2b(text.encode() + b"\0" + model, digest_size=32).hexdigest()


def _text(name: str, value: Any) -> str:
    """A setting as the command line would have it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, str):
        return value
    if name == "monotone" and isinstance(value, Mapping):
        return _signed(value)
    if isinstance(value, Iterable):
        return ";".join(str(item) for item in value)
    raise ValueError(f"{name}: expected a number, text or a truth value, found {value!r}")


def _signed(monotone: Mapping[Any, Any]) -> str:
    """Columns with their signs, as the command line would have them: "+bm25;-age"."""
    for column, sign in monotone.items():
        if not isinstance(column, str) or isinstance(sign, bool) or sign not in (-1, 0, 1):
            raise ValueError(f"monotone: expected names of columns with 1, -1 or 0, found {column!r}: {sign!r}")
    return ";".join(("+" if sign > 0 else "-") + column for column, sign in monotone.items() if sign) or "none"


def _heard(callbacks: Iterable[Callback] | Callback | None, progress: bool) -> Callback | None:
    """All who want to hear of a fit as one; a true answer of one of them stops it."""
    calls = [callbacks] if callable(callbacks) else list(callbacks or ())
    if progress:
        calls.append(_bar())
    if not calls:
        return None

    def tell(share: float, word: str) -> bool:
        answers = [call(share, word) for call in calls]  # all of them hear it
        return any(answers)

    return tell


def _bar() -> Callback:
    """A bar of tqdm where it is installed, else a line for every tenth of the work."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]

        bar: Any = tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}", file=sys.stderr)
    except ImportError:
        bar = None
    told = [0.0]

    def tell(share: float, word: str) -> None:
        done = min(max(share, told[0]), 1.0)
        if bar is not None:
            bar.set_description_str(word, refresh=False)
            bar.n = round(100 * done)
            bar.refresh()
            told[0] = done
            if done >= 1.0:
                bar.close()
        elif done >= told[0] + 0.1 or done >= 1.0 > told[0]:
            print(f"{100 * done:3.0f} % {word}", file=sys.stderr, flush=True)
            told[0] = done

    return tell


def _draws(draws: Any) -> int:
    """How often a feature is exchanged."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
        raise ValueError(f"draws: expected a whole number above 0, found {draws!r}")
    return int(draws)


def _read(lines: list[str]) -> list[dict[str, Any]]:
    """Answers that came as JSON."""
    return [json.loads(line) for line in lines]


def _told_inputs(inputs: list[dict[str, Any]]) -> list[str]:
    """Inputs as a model has them, as they were told: "title:text[words=2]"."""
    told = []
    for one in inputs:
        settings = ",".join(f"{name}={value}" for name, value in one.get("settings", []))
        told.append(f"{one['column']}:{one['kind']}" + (f"[{settings}]" if settings else ""))
    return told


_NO_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("label", "query", "id", "weight", "problem", "left", "right", "matched", "features")),
    "ignore": [],
    "inputs": [],
}


class Estimator(BaseEstimator):
    """A method of ordain with its parameters; `fit` makes the model."""

    _method: ClassVar[str]
    _units: ClassVar[str] = "queries"
    _depth: ClassVar[int] = 3  # calls from a person to a warning of `_keep`
    _model: Any
    refit: bool
    missing: str
    inputs: Mapping[str, str] | None
    seed: int
    n_threads: int | None
    progress: bool

    def _settings(self) -> list[tuple[str, str]]:
        """The parameters that are settings of the method, as text; the method checks them."""
        params: dict[str, Any] = {k: v for k, v in self.get_params(deep=False).items() if k not in _RUN}
        if params.get("c") is not None:
            if params["lambda_"] != "auto":
                raise ValueError(
                    f"expected lambda_ or c = 1/lambda_, found both: {params['lambda_']!r}, {params['c']!r}"
                )
            del params["lambda_"]
        return [(k.rstrip("_"), _text(k, v)) for k, v in params.items() if v is not None]

    def _run(self, callbacks: Iterable[Callback] | Callback | None) -> dict[str, Any]:
        """The parameters that say how a fit is run, checked for their types."""
        for name, kinds, expected in (
            ("refit", (bool, np.bool_), "True or False"),
            ("progress", (bool, np.bool_), "True or False"),
            ("missing", (str,), "'error', 'zero', 'mean' or 'indicator', of matchers 'auto' too"),
            ("seed", (int, np.integer), "a whole number from 0"),
            ("n_threads", (int, np.integer, type(None)), "None or a whole number above 0"),
        ):
            value = getattr(self, name)
            if not isinstance(value, kinds) or (name in ("seed", "n_threads") and isinstance(value, bool)):
                raise ValueError(f"{name}: expected {expected}, found {value!r}")
        if not 0 <= self.seed < 2**64 or (self.n_threads is not None and self.n_threads < 1):
            name, expected = ("n_threads", "None for all cores, or a whole number above 0")
            if not 0 <= self.seed < 2**64:
                name, expected = ("seed", "a whole number from 0 to 2**64 - 1")
            raise ValueError(f"{name}: expected {expected}, found {getattr(self, name)!r}")
        run = {name: getattr(self, name) for name in ("refit", "missing", "seed", "choose_by")}
        # metrics of matches have one rule, and so their estimators have no such parameter
        run["convention"] = getattr(self, "convention", "standard")
        if not isinstance(run["convention"], str):
            raise ValueError(f"convention: expected a name, as in 'letor4', found {run['convention']!r}")
        run["columns"] = _NO_COLUMNS | {"inputs": self._inputs()}
        return run | {"threads": self.n_threads, "callback": _heard(callbacks, bool(self.progress))}

    def _refuse_weights(self, sample_weight: Any) -> None:
        """Refuses weights of rows, of a method whose loss has no place for them."""
        if sample_weight is not None:
            raise ValueError(
                f"sample_weight: expected None, because {type(self).__name__} does not weigh {self._units} (rankers "
                "do), found weights; to weigh one twice, give it twice"
            )

    def _inputs(self) -> list[str]:
        """What the cells of columns are, as the command line would have it: "title:text"."""
        given = self.inputs
        if given is None:
            return []
        if not isinstance(given, Mapping):
            raise ValueError(f"inputs: expected None or a dict such as {{'title': 'text'}}, found {given!r:.80}")
        for name, kind in given.items():
            if not isinstance(name, str) or not isinstance(kind, str):
                raise ValueError(f"inputs: expected names of columns with kinds, found {name!r}: {kind!r}")
        return [f"{name}:{kind}" for name, kind in given.items()]

    @property
    def columns_(self) -> dict[str, Any]:
        """The columns of the frame that were no features, by what they mean: a frame to predict has them again."""
        self._fitted()
        roles = dict(self.facts_["features"].get("roles", {}))
        return roles | ({"inputs": _told_inputs(roles["inputs"])} if "inputs" in roles else {})

    def set_output(self, *, transform: str | None = None) -> Self:
        """Says what `predict`, `predict_proba` and `decision_function` give, as in scikit-learn: arrays or frames.

        `transform` is `"pandas"`, `"polars"` or `"pyarrow"` for a frame of that library, `"frame"` for one of the
        library that `X` is from, `"default"` for arrays; None changes nothing. A call that says `output=` goes by
        that. Clones keep it, and so do pickles; `.ordain` files do not.
        """
        if transform is not None:
            self._output_of(transform)
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output_of(self, output: str | None) -> str | None:
        """The library of an answer, or `"frame"`; none where it is an array."""
        if output is None:
            output = self.__dict__.get("_sklearn_output_config", {}).get("transform", "default")
        if output in ("array", "default"):
            return None
        if output not in ("frame", *FRAMES):
            known = ", ".join(repr(name) for name in ("array", "default", "frame", *FRAMES))
            raise ValueError(f"output: expected one of {known}, found {output!r}")
        return output

    def _answer(self, output: str | None, values: Any, columns: Callable[[], dict[str, Any]], X: Any) -> Any:
        """An answer as it is wanted: the array, or a frame of columns."""
        library = self._output_of(output)
        return values if library is None else framed(columns(), X, library)

    def _keep(self, model: Any, table: Table, raised: BaseException | None) -> Self:
        """Keeps a model, says what should be said of it, and lets an interruption go on."""
        self._take(model)
        self.n_features_in_ = table.shape[1]
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if raised is not None:
            raise raised
        warn_coarse(table.coarse(), self._depth)
        if model.unfinished is not None:
            warnings.warn(model.unfinished, ConvergenceWarning, stacklevel=self._depth)
        facts = self.facts_
        if facts["stop"] != "interrupted" and facts.get("chosen") is None and self._open():
            text = f"too few {self._units} to choose {' and '.join(self._open())} on: defaults were used"
            warnings.warn(text, UserWarning, stacklevel=self._depth)
        return self

    def _open(self) -> list[str]:
        """The settings that were left to validation."""
        left = [name for name, value in self.facts_["asked"].items() if value == "auto"]
        # the weight of queries is tried with other settings, not by itself
        return [] if left == ["weight"] else left

    def _take(self, model: Any) -> None:
        self._model = model
        self.__dict__.pop("_lost", None)
        self.facts_: dict[str, Any] = json.loads(model.header())

    def _fitted(self) -> Any:
        if not hasattr(self, "_model"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} instance is not fitted yet. Call 'fit' before using this estimator.")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn wants to know of it."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
        return tags

    def _aligned(self, table: Table) -> list[str] | None:
        """The names to look columns up by; refuses another number of columns."""
        known = getattr(self, "feature_names_in_", None)
        if table.names is None or known is None:
            n = self.n_features_in_
            name = type(self).__name__
            if table.shape[1] != n:
                raise ValueError(f"X has {table.shape[1]} features, but {name} is expecting {n} features as input")
            if known is not None:
                text = f"X does not have valid feature names, but {name} was fitted with feature names"
                warnings.warn(text, UserWarning, stacklevel=4)
            elif table.names is not None:
                text = f"X has feature names, but {name} was fitted without feature names"
                warnings.warn(text, UserWarning, stacklevel=4)
            return None
        return table.names

    @property
    def settings_(self) -> dict[str, Any]:
        """Every setting as it was used in the end, what was chosen by validation included."""
        self._fitted()
        return dict(self.facts_["settings"])

    @property
    def n_iter_(self) -> int:
        """The steps of the last fit."""
        self._fitted()
        return max(1, int(self.facts_["iterations"]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as an `.ordain` file, which the command line reads too."""
        self._fitted().save(os.fspath(path))

    def export(
        self,
        to: str,
        path: str | os.PathLike[str] | None = None,
        *,
        name: str = "ordain",
        featureset: str = "FEATURESET",
        store: str = "_DEFAULT_",
        map: Mapping[str, str] | None = None,
        shift: float | None = None,
        dialect: str = "sqlite",
        table: str = "documents",
        group: str | None = None,
        key: str | Iterable[str] = (),
        one_query_per_call: bool = False,
    ) -> bytes:
        """The scores of the model for another program, as the bytes of its file.

        `to` is onnx, elasticsearch, opensearch, solr, sql, json, python, xgboost or lightgbm. With a `path` the file is
        written, and so is what belongs beside it. What a person should know before it is used is a warning; what the
        program has no words for is refused with the way out.

        Parameters
        ----------
        name, featureset, store : the model there, the feature set (Elasticsearch), the feature store (Solr)
        map : other names of columns there
        shift : search engines: a constant, added by a feature `ordain_shift` whose value is 1
        dialect, table, group, key : SQL: sqlite, duckdb, postgres or bigquery; the table; the column of queries, within
            which rows are ranked and, with `scale="query"`, scaled; columns that name a row
        one_query_per_call : ONNX: a call holds the rows of one query, so that these can be scaled by themselves
        """
        how = {
            "name": name,
            "featureset": featureset,
            "store": store,
            "map": list((map or {}).items()),
            "shift": shift,
            "dialect": dialect,
            "table": table,
            "group": group,
            "key": [key] if isinstance(key, str) else list(key),
            "one_query_per_call": one_query_per_call,
        }
        made, beside, said = self._fitted().export(to, how)
        for text in said:
            warnings.warn(text, UserWarning, stacklevel=2)
        if path is not None:
            for end, content in [("", made), *beside]:
                _ordain.write_whole(os.fspath(path) + end, content)
        return bytes(made)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator of an `.ordain` file, written here or by the command line.

        A file holds the settings of the method and the metric of a choice; how a fit is run (`n_threads`, `progress`,
        `refit`, `single_query`) is as in a new estimator. A pickle keeps everything.
        """
        from . import load

        estimator = load(path)
        if not isinstance(estimator, cls):
            raise ValueError(f"{os.fspath(path)}: expected a model of {cls.__name__}, found {type(estimator).__name__}")
        return estimator

    @classmethod
    def _of_model(cls, model: Any) -> Self:
        """An estimator around a model that was fitted elsewhere, with the parameters that were asked for."""
        estimator = cls()
        facts = json.loads(model.header())
        said = facts["settings"] | facts.get("asked", {}) | {"seed": facts["seed"], "missing": facts["missing"]}
        known = estimator.get_params(deep=False)
        for name, value in said.items():
            own = name if name in known else name + "_"
            if own in known and value is not None:
                setattr(estimator, own, value)
        chosen = facts.get("chosen")
        if chosen is not None and known["choose_by"] is not None:
            estimator.choose_by = chosen["metric"]  # type: ignore[attr-defined]
        if chosen is not None and "convention" in known:
            estimator.convention = chosen["convention"]  # type: ignore[attr-defined]
        estimator._take(model)
        told = estimator.columns_.get("inputs", [])
        if told:
            estimator.inputs = dict(text.rsplit(":", 1) for text in told)
        names = model.columns()
        estimator.n_features_in_ = len(names)
        if not facts["features"]["numbered"]:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return estimator

    def __getstate__(self) -> dict[str, Any]:
        """The parameters, and the model as the bytes of its file, with a checksum over both."""
        state = dict(self.__dict__)
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
            state["_seal"] = _seal(self.get_params(deep=False), state["_model"])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes back what `__getstate__` gave; the bytes are checked as a file would be."""
        state = dict(state)
        model, seal = state.get("_model"), state.pop("_seal", None)
        if model is not None:
            state["_model"] = _ordain.from_bytes(model)
        self.__dict__.update(state)
        if model is not None and seal is not None and seal != _seal(self.get_params(deep=False), model):
            self.__dict__.clear()
            raise _ordain.FormatError(
                "a pickle: expected the parameters that it was made with, found others, so it was damaged or changed; "
                "fit the model again, or load the file that save() wrote"
            )

    def _linear(self, weights: Doubles | None) -> Doubles:
        """The weights of a linear model; an AttributeError where there is a kernel, or there are trees, instead."""
        if weights is None and self.n_trees_:
            raise AttributeError("coef_: expected scorer='linear', found trees; see feature_importances_")
        if weights is None:
            raise AttributeError(
                f"coef_: expected kernel='linear', found {self.facts_['settings'].get('kernel', 'a kernel')!r}"
            )
        return weights

    @property
    def n_trees_(self) -> int:
        """The number of trees; 0 of a model without them."""
        self._fitted()
        return int((self.facts_.get("trees") or {"trees": 0})["trees"])

    @property
    def feature_importances_(self) -> Doubles:
        """What each feature is worth, in the order of the columns.

        After `importances(X, y, ...)` these are its losses, by exchange between whole units; before, of models with
        trees, what splits by each feature gain, as shares; of other models an AttributeError.
        """
        model = self._fitted()
        lost: Doubles | None = self.__dict__.get("_lost")
        if lost is not None:
            return lost
        gains: Doubles | None = model.gains
        if gains is None:
            raise AttributeError(
                "feature_importances_: expected a call of importances(X, y, ...) before, or scorer='trees' or "
                "'linear+trees', found no trees and no such call"
            )
        return gains

    def _worth(self, told: list[tuple[str, float, float, float]]) -> dict[str, np.ndarray[Any, Any]]:
        """What exchanges of each feature have told, and kept for `feature_importances_`."""
        columns = list(zip(*told, strict=True))
        lost = dict(zip(columns[0], columns[1], strict=True))
        self._lost = np.array([lost[name] for name in self.facts_["features"]["names"]], dtype=np.float64)
        found = {"feature": np.array(columns[0], dtype=object)}
        return found | {w: np.array(v) for w, v in zip(("loss", "low", "high"), columns[1:], strict=True)}

    def _drift(self, told: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
        """What the compiled half says of columns that have left what the model has seen, by name."""
        counts = ("rows", "below", "above", self._units)
        found: dict[str, np.ndarray[Any, Any]] = {"feature": np.array([one[0] for one in told], dtype=object)}
        for place, names in ((1, ("seen_least", "seen_largest")), (2, ("least", "largest"))):
            found |= {name: np.array([one[place][j] for one in told], np.float32) for j, name in enumerate(names)}
        found |= {name: np.array([one[3][j] for one in told], np.int64) for j, name in enumerate(counts)}
        found["far"] = np.array([one[4] for one in told], np.float64)
        found["moved"] = np.array([np.nan if one[5] is None else one[5] for one in told], np.float64)
        return found

    def _lines(self) -> list[tuple[str, str]]:
        facts = self.facts_
        near = f"gap {facts['gap']:.1e}" if facts.get("gap") is not None else f"gradient {facts['gradient']:.1e}"
        said = ", ".join(f"{name}={value}" for name, value in facts["settings"].items())
        return [
            ("settings", said),
            ("fit", f"objective {facts['objective']:.6f}, {facts['iterations']} steps, {near}, {facts['stop']}"),
        ]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks show."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        """A table for notebooks: what it is, and how the fit ended."""
        rows = self._lines() if hasattr(self, "_model") else [("fit", "not fitted yet")]
        body = "".join(f"<tr><th>{html.escape(a)}</th><td>{html.escape(b)}</td></tr>" for a, b in rows)
        return f"<table><caption>{html.escape(repr(self))}</caption>{body}</table>"


class Chooses(Estimator):
    """What estimators share that choose the method too: a list of candidates, tried in order."""

    _method: ClassVar[str] = "auto"
    refit: bool = True
    budget: float | None
    candidates: int | None

    def _settings(self) -> list[tuple[str, str]]:
        """Where the list of candidates ends."""
        for name, kinds, expected in (
            ("budget", (int, float, np.integer, np.floating), "None or a number of seconds above 0"),
            ("candidates", (int, np.integer), "None or a whole number above 0"),
        ):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value > 0):
                raise ValueError(f"{name}: expected {expected}, found {value!r}")
        if self.budget is not None and self.candidates is not None:
            raise ValueError(
                f"expected budget or candidates, found both: {self.budget!r}, {self.candidates!r}; candidates repeats"
                " what a budget came to"
            )
        given = {"budget": self.budget, "candidates": self.candidates}
        return [(name, _text(name, value)) for name, value in given.items() if value is not None]

    @property
    def method_(self) -> str:
        """The name of the method that was taken; `settings_` are its settings."""
        self._fitted()
        return str(self.facts_["method"])

    @property
    def auto_(self) -> dict[str, Any]:
        """How it was chosen: `tried` has each candidate with its value and how far it is behind the best.

        `candidates=` with the number of that name makes the same model again, and `honest` is what a choice like this
        is worth on units that have no part in it.
        """
        self._fitted()
        return dict(self.facts_["auto"])


def classes() -> dict[str, Any]:
    """Every estimator by the name of its method."""
    found, open_ = {}, [Estimator]
    while open_:
        kind = open_.pop()
        open_.extend(kind.__subclasses__())
        if "_method" in vars(kind) and kind is not Chooses:
            found[kind._method] = kind
    return found
