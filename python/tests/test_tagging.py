"""Annotators: labels in any form, exact answers, questions, files of the command line, scikit-learn."""

import inspect
import json
import pickle
import signal
import threading
import warnings
from itertools import combinations

import numpy as np
import pytest
from conftest import told

import ordain
from ordain import CStar, Independent, NotFittedError, Question, _ordain

pd = pytest.importorskip("pandas")
sp = pytest.importorskip("scipy.sparse")
pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

NAMES = ["sea", "sand", "snow", "tree", "sky", "car"]
FIXED = {"lambda_": 1e-3, "link_lambda": 1e-3}
FAST = {**FIXED, "features": "scores"}


def scenes(n=240, d=5, labels=6, size=None, seed=0):
    """Features and an array of 0 and 1; with `size` every item has so many labels."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)).astype(np.float32)
    score = (
        X @ random.normal(size=(d, labels)) + 0.3 * random.normal(size=labels) + 0.7 * random.normal(size=(n, labels))
    )
    score[:, 1] += 1.5 * (score[:, 0] > 0)
    k = np.full(n, size) if size else random.integers(1, 4, n)
    rank = (-score).argsort(axis=1).argsort(axis=1)
    return X, (rank < k[:, None]).astype(np.int64)


def words(Y, names=NAMES):
    return [[names[j] for j in np.flatnonzero(row == 1)] for row in Y]


@pytest.fixture(scope="module")
def data():
    return scenes()


@pytest.fixture(scope="module")
def model(data):
    return CStar(core=2, **FAST).fit(*data)


# parameters


@pytest.mark.parametrize("kind", [CStar, Independent])
def test_parameters_are_those_of_the_method(kind):
    given = {name: p.default for name, p in inspect.signature(kind).parameters.items()}
    run = {"choose_by": "bep", "convention": "standard", "refit": True, "missing": "error", "seed": 0}
    run |= {"inputs": None, "n_threads": None, "progress": False}
    assert {name: given[name] for name in run} == run
    assert given["c"] is None
    assert all(p.kind == p.KEYWORD_ONLY for p in inspect.signature(kind).parameters.values())
    own = {name.rstrip("_"): value for name, value in given.items() if name not in run and name != "c"}
    said = {name: default for name, _, default, _ in _ordain.settings(kind._method)}
    assert said.pop("max_iter") == "500, by margin 200"
    assert own.pop("max_iter") is None
    assert said.pop("decide") == "f1, by margin count"
    assert own.pop("decide") is None
    assert float(said.pop("tol")) == own.pop("tol")
    assert {name: str(value).lower() for name, value in own.items()} == said


def test_an_unknown_parameter_is_refused():
    with pytest.raises(TypeError, match="lamda"):
        CStar(lamda=1)
    with pytest.raises(TypeError):
        CStar(3)


@pytest.mark.parametrize(
    ("kind", "wrong", "text"),
    [
        (CStar, {"core": 11}, "core"),
        (CStar, {"core": ["0", "nine"]}, "nine"),
        (CStar, {"core": ["a;b"]}, "core"),
        (CStar, {"core": 1.5}, "core"),
        (CStar, {"trainer": "margins"}, "margin"),
        (CStar, {"link_lambda": -1}, "link_lambda"),
        (CStar, {"lambda_": 0}, "lambda"),
        (CStar, {"lambda_": 1, "c": 1}, "both"),
        (CStar, {"features": "all"}, "features"),
        (CStar, {"loss": "p@2"}, "loss"),
        (CStar, {"scale": "query"}, "scale"),
        (Independent, {"max_iter": 0}, "max_iter"),
        (Independent, {"tol": "small"}, "tol"),
        (Independent, {"count_bias": "perhaps"}, "count_bias"),
        (Independent, {"choose_by": "bet"}, "bep"),
        (Independent, {"missing": "drop"}, "missing"),
        (Independent, {"seed": -1}, "seed"),
        (Independent, {"n_threads": 0}, "n_threads"),
        (Independent, {"refit": "yes"}, "refit"),
    ],
)
def test_wrong_values_are_refused_at_fit(data, kind, wrong, text):
    estimator = kind(**wrong)
    with pytest.raises(ValueError, match=text):
        estimator.fit(*data)


def test_c_is_the_inverse_of_lambda(data):
    by_c = Independent(c=500.0).fit(*data)
    assert np.array_equal(by_c.coef_, Independent(lambda_=1 / 500).fit(*data).coef_)


def test_a_core_by_names(data):
    X, Y = data
    model = CStar(core=["snow", "sea"], **FAST).fit(X, pd.DataFrame(Y, columns=NAMES))
    assert list(model.core_) == ["snow", "sea"]
    # one name that is a number is a label, and no size
    assert list(CStar(core=["2"], **FAST).fit(X, Y).core_) == ["2"]
    assert list(CStar(core=[2, 4], **FAST).fit(X, Y).core_) == ["2", "4"]
    assert len(CStar(core=[], **FAST).fit(X, Y).core_) == 0
    assert CStar(core=2, **FAST).fit(X, Y).links_.shape == (2, 6)


# labels in any form


def test_all_forms_of_labels_agree(data):
    X, Y = data
    wanted = CStar(core=2, **FAST).fit(X, Y)._model.to_bytes()
    for same in (Y.astype(bool), Y.astype(np.float32), Y.astype(object), np.asfortranarray(Y.astype(np.uint8)),
                 sp.csr_matrix(Y), sp.csc_array(Y), sp.coo_matrix(Y.astype(float))):  # fmt: skip
        assert CStar(core=2, **FAST).fit(X, same)._model.to_bytes() == wanted
    named = CStar(core=2, **FAST).fit(X, pd.DataFrame(Y, columns=NAMES))
    assert list(named.classes_) == NAMES
    nullable = pd.DataFrame(Y, columns=NAMES).astype("boolean")
    assert CStar(core=2, **FAST).fit(X, nullable)._model.to_bytes() == named._model.to_bytes()
    # names are numbered by first appearance: a first row with all of them fixes the order
    X, Y = np.vstack([X[:1], X]), np.vstack([np.ones_like(Y[:1]), Y])
    named = CStar(core=2, **FAST).fit(X, pd.DataFrame(Y, columns=NAMES))._model.to_bytes()
    for same in (words(Y), tuple(map(tuple, words(Y))), pd.Series(words(Y)), [np.array(row) for row in words(Y)]):
        assert CStar(core=2, **FAST).fit(X, same)._model.to_bytes() == named


def test_sets_of_names_do_not_depend_on_their_order(data):
    X, Y = data
    model = Independent(lambda_=1e-3).fit(X, [frozenset(row) for row in words(Y)])
    assert set(model.classes_) == set(NAMES)
    first = sorted(words(Y)[0])
    assert list(model.classes_[: len(first)]) == first


def test_polars_labels_and_features(data):
    pl = pytest.importorskip("polars")
    X, Y = data
    wanted = CStar(core=2, **FAST).fit(X, pd.DataFrame(Y, columns=NAMES))._model.to_bytes()
    frame = pl.DataFrame(Y, schema=NAMES)
    assert CStar(core=2, **FAST).fit(X, frame)._model.to_bytes() == wanted
    assert CStar(core=2, **FAST).fit(X, frame.cast(pl.Boolean))._model.to_bytes() == wanted
    gaps = frame.cast(pl.Boolean).with_columns(
        sea=pl.when(pl.int_range(len(Y)) < 3).then(None).otherwise(pl.col("sea"))
    )
    holes = Y.astype(float)
    holes[:3, 0] = np.nan
    holes = pd.DataFrame(holes, columns=NAMES)
    assert CStar(core=2, **FAST).fit(X, gaps)._model.to_bytes() == CStar(core=2, **FAST).fit(X, holes)._model.to_bytes()
    if hasattr(_ordain, "read_arrow"):
        features = [f"f{j}" for j in range(X.shape[1])]
        by_pandas = CStar(core=2, **FAST).fit(pd.DataFrame(X, columns=features), Y)
        assert (
            CStar(core=2, **FAST).fit(pl.DataFrame(X, schema=features), Y)._model.to_bytes()
            == by_pandas._model.to_bytes()
        )


def test_all_forms_of_features_agree(data):
    X, Y = data
    wanted = Independent(lambda_=1e-3).fit(X, Y)
    for same in (X.astype(np.float64), np.asfortranarray(X), X.tolist()):
        assert Independent(lambda_=1e-3).fit(same, Y)._model.to_bytes() == wanted._model.to_bytes()
        assert np.array_equal(wanted.predict_proba(same), wanted.predict_proba(X))
    flat = Independent(lambda_=1e-3, scale="none", features="scores").fit(X, Y)
    thin = Independent(lambda_=1e-3, scale="none", features="scores").fit(sp.csr_matrix(X), Y)
    assert np.allclose(thin.predict_proba(X), flat.predict_proba(X), atol=1e-9)
    assert np.allclose(thin.predict_proba(sp.csr_matrix(X)), thin.predict_proba(X), atol=1e-12)


def test_unknown_labels(data):
    X, Y = data
    Y = Y.astype(float)
    random = np.random.default_rng(1)
    Y[random.random(Y.shape) < 0.1] = np.nan
    model = CStar(core=2, **FAST).fit(X, Y)
    assert CStar(core=2, **FAST).fit(X, sp.csr_matrix(Y))._model.to_bytes() == model._model.to_bytes()
    assert model._model.to_bytes() != CStar(core=2, **FAST).fit(X, np.nan_to_num(Y))._model.to_bytes()
    # an unknown label counts neither way
    assert 0.5 < model.score(X, Y) < 1
    model.choose_by = "hamming"
    said, known = model.predict(X), ~np.isnan(Y)
    wrong = [(said[i][known[i]] != Y[i][known[i]]).mean() for i in range(len(Y)) if known[i].any()]
    assert model.score(X, Y) == pytest.approx(-np.mean(wrong), abs=1e-12)


@pytest.mark.parametrize(
    ("Y", "text"),
    [
        ([[0, 1], [5, 0]], r"Y\[1, 0\]: expected 0, 1 or NaN \(unknown\), found 5"),
        ([[0.5, 1], [1, 0]], r"Y\[0, 0\]: expected 0, 1 or NaN \(unknown\), found 0.5"),
        ([[0, 1], [1, np.inf]], r"Y\[1, 1\].*found inf"),
        ([[0, 1]], "expected 2 rows"),
        ([0, 1], "a column for each label"),
        ([["a", "b"], ["c", "d"]], "expected 0, 1"),
        (np.zeros((2, 0)), "at least one label"),
    ],
)
def test_wrong_arrays_of_labels_name_the_place(Y, text):
    with pytest.raises(ValueError, match=text):
        Independent(lambda_=1).fit([[1.0], [2.0]], np.asarray(Y))


@pytest.mark.parametrize(
    ("Y", "text"),
    [
        (["sea", "sky"], r"Y\[0\]: expected a list of labels, found 'sea'"),
        ([["sea"], 3], r"Y\[1\]: expected a list of labels, found 3"),
        ([["sea"], ["sky", None]], r"Y\[1\]: expected names of labels, found None"),
        ([["sea"], ["sky", float("nan")]], r"Y\[1\]"),
        ([["sea"], ["sky", "sky"]], r"Y\[1\]: expected each label once, found 'sky' twice"),
        ([[0, 0, 1], [1, 0, 1]], "array"),
        ([[True], [False]], "names of labels"),
        ([[], []], "at least one label"),
        ([["sea"]], "expected 2 rows"),
        ("sea", "expected an array"),
        (None, "requires y"),
    ],
)
def test_wrong_lists_of_labels_name_the_place(Y, text):
    with pytest.raises(ValueError, match=text):
        Independent(lambda_=1).fit([[1.0], [2.0]], Y)


def test_wrong_frames_and_sparse_labels_name_the_place():
    X = [[1.0], [2.0]]
    with pytest.raises(ValueError, match=r"Y\[1, 1\] \(label 'sky'\): expected 0, 1 or NaN \(unknown\), found 2"):
        Independent().fit(X, pd.DataFrame({"sea": [0, 1], "sky": [0, 2]}))
    with pytest.raises(ValueError, match=r"Y\[1, 1\]: expected 0, 1 or NaN \(unknown\), found 2"):
        Independent().fit(X, sp.csr_matrix([[0, 1], [0, 2]]))
    with pytest.raises(ValueError, match="'sea' twice"):
        Independent().fit(X, pd.DataFrame([[0, 1], [1, 0]], columns=["sea", "sea"]))


def test_labels_that_are_on_no_item_are_told(data):
    X, Y = data
    Y = Y.copy()
    Y[:, 3] = 0
    with pytest.warns(UserWarning, match="1 of 6 labels are on no training item"):
        Independent(lambda_=1e-3).fit(X, Y)


# features


def test_names_are_enforced_and_reordered(data):
    X, Y = data
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = Independent(lambda_=1e-3).fit(frame, Y)
    assert list(model.feature_names_in_) == list("abcde")
    assert model.n_features_in_ == 5
    assert np.array_equal(model.predict_proba(frame[list("ecadb")]), model.predict_proba(frame))
    with pytest.raises(ValueError, match="e"):
        model.predict(frame.rename(columns={"e": "z"}))
    with pytest.warns(UserWarning, match="valid feature names"):
        assert np.array_equal(model.predict_proba(X), model.predict_proba(frame))
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.predict(X[:, :3])


def test_nan_is_refused_with_its_place_or_filled(data):
    X, Y = data
    X = X.copy()
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[7, 2\]: expected a finite number, found NaN"):
        Independent().fit(X, Y)
    filled = Independent(missing="mean", lambda_=1e-3).fit(X, Y)
    assert np.isfinite(filled.predict_proba(X)).all()
    with pytest.raises(ValueError, match=r"X\[7, 2\]"):
        Independent(lambda_=1e-3).fit(*data).predict(X)
    assert np.isnan(X[7, 2])


def test_validation_items(data):
    X, Y = data
    one = CStar(core=2).fit(X[:160], Y[:160], eval_set=(X[160:], Y[160:]))
    assert one.facts_["chosen"]["queries"] == 80
    for parts in (
        (pd.DataFrame(Y[:160], columns=NAMES), pd.DataFrame(Y[160:], columns=NAMES)[NAMES[::-1]]),
        (sp.csr_matrix(Y[:160]), Y[160:]),
    ):
        same = CStar(core=2).fit(X[:160], parts[0], eval_set=(X[160:], parts[1]))
        assert np.array_equal(same.predict_proba(X), one.predict_proba(X))
    thin = CStar(core=2, refit=False).fit(sp.csr_matrix(X[:160]), Y[:160], eval_set=(sp.csr_matrix(X[160:]), Y[160:]))
    assert thin.facts_["items"] == 160
    listed = CStar(core=2).fit(X[:160], words(Y[:160]), eval_set=(X[160:], [*words(Y[160:])[:-1], ["new"]]))
    assert "new" in listed.classes_
    with pytest.raises(ValueError, match="eval_set"):
        CStar().fit(X, Y, eval_set=(X, Y[:, :4]))
    with pytest.raises(ValueError, match="eval_set"):
        CStar().fit(X, pd.DataFrame(Y, columns=NAMES), eval_set=(X, pd.DataFrame(Y, columns=[*NAMES[:-1], "x"])))
    with pytest.raises(ValueError, match="eval_set"):
        CStar().fit(X, Y, eval_set=(X,))


@pytest.mark.filterwarnings("ignore:.* labels are on no training item")
def test_too_few_items_to_choose_on():
    X, Y = scenes(n=4)
    with pytest.warns(UserWarning, match="too few items to choose lambda and features on"):
        Independent().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CStar(core=0, lambda_=1e-2).fit(*scenes(n=40))


# exact answers: every set of labels is looked at


def linked(model):
    """Links of all pairs of labels, each pair once, as a symmetric table."""
    n, core = len(model.classes_), list(model.facts_["core"])
    g = np.zeros((n, n))
    for c, label in enumerate(core):
        for other in range(n):
            if other != label and other not in core[:c]:
                g[label, other] = g[other, label] = model.links_[c, other]
    return g


def tables(model, x, k, answers=None):
    """The sets of `k` labels that answers allow, with their scores."""
    s = model.coef_ @ x + model.intercept_
    g, n = linked(model), len(s)
    names = list(model.classes_)
    known = {names.index(label): yes for label, yes in (answers or {}).items() if yes is not None}
    sets = [t for t in combinations(range(n), k) if all((label in t) == yes for label, yes in known.items())]
    return sets, np.array([s[list(t)].sum() + sum(g[i, j] for i, j in combinations(t, 2)) for t in sets])


def marginals(model, x, k, answers=None):
    sets, f = tables(model, x, k, answers)
    p = np.exp(f - f.max())
    p /= p.sum()
    of = np.zeros(len(model.classes_))
    for t, weight in zip(sets, p, strict=True):
        of[list(t)] += weight
    return of


def numbers(k, answers, n):
    """How likely each number of labels is where all items of the training have `k`: 1 % is left for others."""
    said = [yes for yes in answers.values() if yes is not None]
    possible = range(sum(said), n - len(said) + sum(said) + 1)
    if not said:
        return {k: 1.0}
    near = sorted((abs(j - k), j) for j in possible if j != k)[:4]
    other = {j: 0.5 ** (away - near[0][0]) for away, j in near}
    floor = (0.01 if other else 0.0) if k in possible else 1.0
    total = sum(other.values())
    return ({k: 1 - floor} if k in possible else {}) | {j: floor * w / total for j, w in other.items()}


TINY = {"core": 2, "count_bias": False, "scale": "none", "decide": "count", **FAST}
ANSWERS = [
    {},
    {"0": True},
    {"0": False, "3": True},
    {"1": True, "2": True},
    {"1": True, "2": True, "4": True},
    {"5": None},
]


@pytest.fixture(scope="module", params=["scores", "direct", "both"])
def tiny(request):
    X, Y = scenes(size=2)
    return CStar(**{**TINY, "features": request.param}).fit(X, Y), X[:12]


@pytest.fixture(scope="module")
def tiny_margin():
    X, Y = scenes(size=2)
    return CStar(trainer="margin", **(TINY | {"lambda_": 1e-2, "link_lambda": 1e-2})).fit(X, Y), X[:12]


def test_scores_are_weighted_sums(tiny):
    model, X = tiny
    assert model.coef_.shape == (6, 5)
    assert np.allclose(model.label_scores(X), X.astype(float) @ model.coef_.T + model.intercept_, atol=1e-9)


def test_probabilities_are_those_of_all_sets(tiny):
    model, X = tiny
    wanted = np.array([marginals(model, x, 2) for x in X.astype(float)])
    assert np.allclose(model.predict_proba(X), wanted, atol=1e-10)
    assert np.array_equal(model.decision_function(X), model.predict_proba(X))
    assert (model.predict(X).sum(axis=1) == 2).all()
    order = np.argsort(-wanted, axis=1)
    assert np.array_equal(np.argsort(model.rank(X), axis=1), order)
    names = model.classes_[order]
    assert model.top_k(X, 3) == names[:, :3].tolist()
    assert model.predict_labels(X) == names[:, :2].tolist()


@pytest.mark.parametrize("answers", ANSWERS)
def test_answers_clamp_the_sets(tiny, answers):
    model, X = tiny
    likely = numbers(2, answers, 6)
    p = [sum(w * marginals(model, x, k, answers) for k, w in likely.items()) for x in X.astype(float)]
    given = [answers] * len(X)
    assert np.allclose(model.predict_proba(X, answers=given), p, atol=1e-10)
    # the number of labels is the median; what was answered comes first
    below, median = 0.0, 0
    for median in sorted(likely):
        below += likely[median]
        if below >= 0.5:
            break
    names = list(model.classes_)
    yes = [names.index(label) for label, answer in answers.items() if answer]
    no = [names.index(label) for label, answer in answers.items() if answer is False]
    said = model.predict(X, answers=given)
    for row, of in zip(said, p, strict=True):
        free = [label for label in np.argsort(-of) if label not in yes + no]
        assert set(np.flatnonzero(row)) == {*yes, *free[: median - len(yes)]}
    for row, listed in zip(said, model.predict_labels(X, answers=given), strict=True):
        assert sorted(listed) == sorted(model.classes_[row == 1])
        assert set(listed[: len(yes)]) == {names[label] for label in yes}


def test_some_items_may_have_answers(tiny):
    model, X = tiny
    given = [None, {"0": True}, {}] + [{}] * 9
    mixed, plain = model.predict_proba(X, answers=given), model.predict_proba(X)
    assert np.array_equal(mixed[[0, 2]], plain[[0, 2]])
    assert mixed[1, 0] == pytest.approx(1)
    assert not np.array_equal(mixed[1], plain[1])


def test_margins_are_those_of_all_sets(tiny_margin):
    model, X = tiny_margin
    for x, row, said in zip(X.astype(float), model.decision_function(X), model.predict(X), strict=True):
        sets, f = tables(model, x, 2)
        inside = np.array([[label in t for t in sets] for label in range(6)])
        wanted = [f[has].max() - f[~has].max() for has in inside]
        assert np.allclose(row, wanted, atol=1e-9)
        assert tuple(np.flatnonzero(said)) == sets[int(f.argmax())]
    with pytest.raises(ValueError, match="trainer='likelihood'"):
        model.predict_proba(X)
    clamped = model.predict(X, answers=[{"0": True, "1": False}] * 12)
    assert (clamped[:, 0] == 1).all()
    assert (clamped[:, 1] == 0).all()


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({"0": True}, "one for each row"),
        ([{"0": True}], "one for each row"),
        ([{"0": 1}] * 12, r"answers\[0\]\['0'\]: expected True, False or None, found 1"),
        ([{}] * 11 + [{"seas": True}], "seas"),
    ],
)
def test_wrong_answers(tiny, answers, text):
    model, X = tiny
    with pytest.raises(ValueError, match=text):
        model.predict(X, answers=answers)


# questions


@pytest.mark.parametrize("answers", ANSWERS[:4])
def test_questions_have_both_scores(tiny, answers):
    model, X = tiny
    said = [yes for yes in answers.values() if yes is not None]
    k = max(2, sum(said) + 1)
    for x in X[:5]:
        p = marginals(model, x.astype(float), k, answers)
        sets, f = tables(model, x.astype(float), k, answers)
        open_ = [label for label in range(6) if str(label) not in answers]
        for strategy in ("expected", "paper", "entropy", "random"):
            asked = model.ask(x, answers, strategy=strategy, k=k)
            assert isinstance(asked, Question)
            at = int(asked.label)
            has = np.array([at in t for t in sets])
            assert at in open_
            assert asked.strategy == strategy
            assert asked.score_yes == pytest.approx(f[has].max(), abs=1e-9)
            assert asked.score_no == pytest.approx(f[~has].max(), abs=1e-9)
            assert asked.probability == pytest.approx(p[at], abs=1e-9)
        entropy = model.ask(x, answers, strategy="entropy", k=k)
        assert abs(entropy.probability - 0.5) == pytest.approx(min(abs(p[label] - 0.5) for label in open_), abs=1e-9)
        if None not in answers.values():
            paper = model.ask(x, answers, strategy="paper", k=k)
            best, second = np.sort(f)[::-1][:2]
            assert paper.value == pytest.approx(best - second, abs=1e-9)
            assert abs(paper.score_yes - paper.score_no) == pytest.approx(best - second, abs=1e-9)

        def promise(label, x=x, p=p):
            after = [
                np.sort(marginals(model, x.astype(float), k, answers | {str(label): yes}))[::-1][:k].sum()
                for yes in (True, False)
            ]
            return (p[label] * after[0] + (1 - p[label]) * after[1]) / k

        expected = model.ask(x, answers, k=k)
        assert expected.value == pytest.approx(max(promise(label) for label in open_), abs=1e-9)


def test_one_item_in_any_form(tiny):
    model, X = tiny
    wanted = model.ask(X[0])
    assert model.ask(X[:1]) == wanted
    assert model.ask(X[0].tolist()) == wanted
    assert model.ask(sp.csr_matrix(X[:1])) == wanted
    assert model.ask(pd.DataFrame(X).iloc[0]) == wanted
    assert model.ask(pd.DataFrame(X[:1])) == wanted


def test_questions_end(tiny):
    model, X = tiny
    answers = {}
    while (asked := model.ask(X[0], answers)) is not None:
        assert asked.label not in answers
        answers[asked.label] = len(answers) < 2
    assert len(answers) == 6
    assert model.ask(X[0], {"0": True, "1": True}, k=2) is None
    assert model.ask(X[0], {str(j): None for j in range(6)}) is None
    # with one label left, the set with it has one more
    last = model.ask(X[0], {str(j): j < 2 for j in range(5)})
    assert (last.label, last.value) == ("5", 0.0)


def test_wrong_questions(tiny, tiny_margin):
    model, X = tiny
    for said, text in (
        ({"answers": {"sea": True}}, "sea"),
        ({"answers": {"0": "yes"}}, "expected True, False or None"),
        ({"strategy": "entropi"}, "entropy"),
        ({"k": 7}, "7"),
        ({"k": -1}, "k: expected"),
        ({"k": 1, "answers": {"0": True, "1": True}}, "1"),
    ):
        with pytest.raises(ValueError, match=text):
            model.ask(X[0], **said)
    with pytest.raises(ValueError, match="one item"):
        model.ask(X[:2])
    with pytest.raises(ValueError, match="probabilities"):
        tiny_margin[0].ask(X[0], strategy="entropy")
    assert tiny_margin[0].ask(X[0]).probability is None


# reasons


def test_reasons_add_up(data):
    X, Y = data
    for features in ("scores", "direct", "both"):
        model = CStar(core=2, features=features, **FIXED).fit(X, Y)
        scores = model.label_scores(X)
        said = model.explain(X, 3, above="2", below="0")
        own = ~said["link"]
        assert said["contribution"][own].sum() == pytest.approx(scores[3, 2] - scores[3, 0], abs=1e-9)
        assert np.array_equal(said["contribution"], said["above"] - said["below"])
        assert (np.diff(np.abs(said["contribution"])) <= 1e-12).all()
        assert any("link" in what for what in said["what"])
        best = [model.top_k(X[3:4], 2)[0][j] for j in (0, 1)]
        default, same = model.explain(X, 3), model.explain(X, 3, above=best[0], below=best[1])
        assert all(np.array_equal(default[name], same[name]) for name in default)
    third = model.explain(X, 3, below=best[0])
    assert np.array_equal(third["contribution"], model.explain(X, 3, above=best[1], below=best[0])["contribution"])
    assert all(np.array_equal(model.explain(X, -1)[w], model.explain(X, len(X) - 1)[w]) for w in said)
    with pytest.raises(ValueError, match="two different labels"):
        model.explain(X, 3, above="1", below="1")
    with pytest.raises(ValueError, match="a row of X"):
        model.explain(X, len(X))
    with pytest.raises(ValueError, match="sea"):
        model.explain(X, 0, above="sea")


def test_a_table_for_notebooks(model):
    text = model._repr_html_()
    assert "240 items, 6 labels" in text
    assert "core" in text
    assert "not fitted" in CStar()._repr_html_()


# score


def test_scores_by_metric(data):
    X, Y = data
    model = CStar(core=2, **FAST).fit(X[:160], Y[:160])
    X, Y = X[160:], Y[160:]
    said, rank = model.predict(X), model.rank(X)
    model.choose_by = "f1"
    assert model.score(X, Y) == pytest.approx(np.mean(2 * (said * Y).sum(1) / (said.sum(1) + Y.sum(1))), abs=1e-12)
    model.choose_by = "hamming"
    assert model.score(X, Y) == pytest.approx(-(said != Y).mean(), abs=1e-12)
    model.choose_by = "coverage"
    assert model.score(X, Y) == pytest.approx(-np.where(Y, rank, 0).max(1).mean(), abs=1e-12)
    model.choose_by = "bep_learned"
    assert model.score(X, Y) == pytest.approx(
        np.mean([Y[i][rank[i] <= Y[i].sum()].mean() for i in range(len(Y))]), abs=1e-12
    )
    model.choose_by = "bep"
    assert 0.5 < model.score(X, Y) < 1


def test_scores_by_name(data):
    X, Y = data
    frame = pd.DataFrame(Y, columns=NAMES)
    model = CStar(core=2, **FAST).fit(X, frame)
    wanted = model.score(X, frame)
    assert model.score(X, frame[NAMES[::-1]]) == wanted
    assert model.score(X, Y) == wanted
    assert model.score(X, words(Y)) == wanted
    with pytest.warns(UserWarning, match="does not know"):
        model.score(X, [[*row, "moon"] for row in words(Y)])
    with pytest.raises(ValueError, match="no column 'car'"):
        model.score(X, frame.drop(columns="car"))
    with pytest.raises(ValueError, match="expected 6 columns"):
        model.score(X, Y[:, :5])


# models as bytes and files


@pytest.mark.parametrize("kind", [CStar, Independent])
def test_pickling_and_files(data, kind, tmp_path):
    X, Y = data
    model = kind(lambda_=1e-3).fit(pd.DataFrame(X, columns=list("abcde")), pd.DataFrame(Y, columns=NAMES))
    frame = pd.DataFrame(X, columns=list("abcde"))
    model.save(tmp_path / "a.ordain")
    for same in (
        pickle.loads(pickle.dumps(model)),
        kind.load(tmp_path / "a.ordain"),
        ordain.load(tmp_path / "a.ordain"),
    ):
        assert type(same) is kind
        assert same._model.to_bytes() == model._model.to_bytes()
        assert np.array_equal(same.predict_proba(frame), model.predict_proba(frame))
        assert list(same.classes_) == NAMES
        assert list(same.feature_names_in_) == list("abcde")
        assert same.settings_ == model.settings_
        assert same.lambda_ == 1e-3
        again = clone(same).fit(frame, pd.DataFrame(Y, columns=NAMES))
        assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    other = Independent if kind is CStar else CStar
    with pytest.raises(ValueError, match=kind.__name__):
        other.load(tmp_path / "a.ordain")
    assert (tmp_path / "a.ordain").read_bytes() == model._model.to_bytes()


def test_damaged_files_are_refused(model, tmp_path):
    whole = model._model.to_bytes()
    random = np.random.default_rng(0)
    for _ in range(50):
        broken = bytearray(whole)
        broken[random.integers(len(broken))] ^= int(random.integers(1, 256))
        (tmp_path / "b.ordain").write_bytes(bytes(broken))
        with pytest.raises((ordain.FormatError, ValueError)):
            ordain.load(tmp_path / "b.ordain")


def test_nothing_before_fit():
    for ask in (
        lambda m: m.predict([[1.0]]),
        lambda m: m.ask([1.0]),
        lambda m: m.score([[1.0]], [["a"]]),
        lambda m: m.classes_,
    ):
        with pytest.raises(NotFittedError):
            ask(CStar())


def test_threads_change_nothing(data):
    X, Y = data
    one, two = (CStar(core="auto", n_threads=n).fit(X, Y) for n in (1, 2))
    assert one._model.to_bytes() == two._model.to_bytes()
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
    assert one.facts_["asked"]["core"] == "auto"


def test_predictions_on_many_threads(model, data):
    X, _ = data
    wanted, found = model.predict_proba(X), [None] * 8

    def work(j):
        found[j] = model.predict_proba(X)

    threads = [threading.Thread(target=work, args=(j,)) for j in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(np.array_equal(wanted, p) for p in found)


def test_callbacks_hear_and_stop(data):
    heard = []
    CStar(core=1).fit(*data, callbacks=lambda share, word: heard.append((share, word)))
    assert len(heard) > 3
    assert all(0 <= share <= 1 for share, _ in heard)
    with pytest.raises(RuntimeError, match="enough"):
        CStar(core=1).fit(*data, callbacks=lambda share, word: (_ for _ in ()).throw(RuntimeError("enough")))


def test_a_true_answer_stops_with_the_best_so_far(data):
    heard = []

    def enough(share, word):
        heard.append(share)
        return len(heard) > 4

    model = CStar().fit(*data, callbacks=[enough])
    assert model.facts_["stop"] == "interrupted"
    assert model.predict(data[0]).shape == data[1].shape


def test_an_interrupt_leaves_the_best_so_far():
    X, Y = scenes()
    model, heard = CStar(core=2), []

    def interrupt(share, word):
        heard.append(word)
        if sum("choosing" in word for word in heard) == 3:
            # the handler runs before the callback returns, and the fit waits for that
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=interrupt)
    assert sum("choosing" in word for word in heard) == 3  # nothing was begun after it
    assert model.facts_["stop"] == "interrupted"
    assert model.predict(X).shape == Y.shape


def test_scores_that_the_data_give(data):
    X, Y = data
    frame = pd.DataFrame(X @ np.ones((5, 6)) + 3 * Y, columns=[f"score_{name}" for name in NAMES])
    model = CStar(features="given", core=1, **FIXED).fit(frame, pd.DataFrame(Y, columns=NAMES))
    assert model.score(frame, Y) == 1
    with pytest.raises(ValueError, match="score_0"):
        CStar(features="given").fit(X, Y)


def test_unfinished_fits_warn(data):
    with pytest.warns(ordain.ConvergenceWarning, match="max_iter"):
        CStar(core=2, max_iter=1, **FAST).fit(*data)


# the command line


def write(path, X, Y, names=NAMES):
    rows = [
        ",".join([*(repr(float(x)) for x in row), ";".join(of)]) for row, of in zip(X, words(Y, names), strict=True)
    ]
    path.write_text(",".join([*(f"f{j}" for j in range(X.shape[1])), "labels"]) + "\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (CStar, {}),
        (CStar, {"core": 2, "trainer": "margin", "lambda_": 0.01, "link_lambda": 0.01}),
        (Independent, {"features": "both"}),
    ],
)
def test_the_same_model_as_the_command_line(data, kind, settings, tmp_path):
    X, Y = data
    Y = np.vstack([np.ones_like(Y[:1]), Y[1:]])  # names in the order of NAMES
    write(tmp_path / "d.csv", X, Y)
    given = [part for name, value in settings.items() for part in ("--set", f"{name.rstrip('_')}={value}")]
    told("fit", kind._method, tmp_path / "d.csv", "-o", tmp_path / "c.ordain", *given)
    features = [f"f{j}" for j in range(X.shape[1])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = kind(**settings).fit(pd.DataFrame(X, columns=features), words(Y))
    assert own._model.to_bytes() == (tmp_path / "c.ordain").read_bytes()
    loaded = ordain.load(tmp_path / "c.ordain")
    lines = [
        json.loads(line) for line in told("predict", tmp_path / "c.ordain", tmp_path / "d.csv", "--json").splitlines()
    ]
    frame = pd.DataFrame(X, columns=features)
    values, scores, rank, said = (
        loaded.decision_function(frame),
        loaded.label_scores(frame),
        loaded.rank(frame),
        loaded.predict_labels(frame),
    )
    what = "margin" if settings.get("trainer") == "margin" else "probability"
    assert len(lines) == len(X)
    for i, line in enumerate(lines):
        assert line["chosen"] == said[i]
        assert [of["label"] for of in line["labels"]] == loaded.top_k(frame[i : i + 1], 6)[0]
        for of in line["labels"]:
            j = NAMES.index(of["label"])
            assert (of[what], of["score"], of["rank"]) == (values[i, j], scores[i, j], rank[i, j])


def test_the_same_model_of_sparse_text(data, tmp_path):
    X, Y = data
    X = np.where(np.abs(X) > 0.5, X, 0).astype(np.float32)
    lines = [
        ",".join(str(j) for j in np.flatnonzero(y))
        + " "
        + " ".join(f"{j + 1}:{float(x[j])!r}" for j in np.flatnonzero(x))
        for x, y in zip(X, Y, strict=True)
    ]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n")
    told("fit", "cstar", tmp_path / "d.txt", "-o", tmp_path / "c.ordain", "--set", "core=2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = CStar(core=2).fit(sp.csr_matrix(X), Y)
    assert own._model.to_bytes() == (tmp_path / "c.ordain").read_bytes()


@pytest.mark.parametrize("strategy", ["expected", "paper", "entropy", "random"])
def test_the_same_questions_as_the_command_line(data, strategy, tmp_path):
    X, Y = data
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(5)])
    model = CStar(core=2, seed=3, **FAST).fit(frame, pd.DataFrame(Y, columns=NAMES))
    model.save(tmp_path / "m.ordain")
    write(tmp_path / "one.csv", X[:1], Y[:1])
    said = ["y", "n", "skip", "y"]
    told("ask", tmp_path / "m.ordain", tmp_path / "one.csv", "-o", tmp_path / "a.jsonl", "--questions", 4,
        "--strategy", strategy, "--seed", 3, input="\n".join(said) + "\n")  # fmt: skip
    asked = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()][1:]
    assert len(asked) == 4
    answers = {}
    for line in asked:
        question = model.ask(frame[:1], answers, strategy=strategy)
        assert (question.label, question.value) == (line["label"], line["value"])
        answers[question.label] = line["answer"]


# scikit-learn


def by_hand(estimator, X, Y, cv):
    scores = []
    for train, test in cv.split(X):
        scores.append(clone(estimator).fit(X[train], Y[train]).score(X[test], Y[test]))
    return scores


def test_cross_validation(data):
    X, Y = data
    cv = KFold(4, shuffle=True, random_state=0)
    for estimator in (CStar(core=1, **FAST), Independent(lambda_=1e-2, choose_by="rankloss")):
        assert np.allclose(cross_val_score(estimator, X, Y, cv=cv), by_hand(estimator, X, Y, cv), rtol=0, atol=1e-12)
    assert np.isfinite(cross_val_score(CStar(core=1, **FAST), X, Y, cv=3)).all()
    names = np.array(words(Y), dtype=object)
    assert np.allclose(
        cross_val_score(CStar(core=1, **FAST), X, names, cv=cv),
        by_hand(CStar(core=1, **FAST), X, names, cv),
        atol=1e-12,
    )


def test_scorers_of_scikit_learn(data):
    from sklearn.metrics import average_precision_score, f1_score

    X, Y = data
    cv = KFold(3)
    parts = [(clone(CStar(core=1, **FAST)).fit(X[a], Y[a]), X[b], Y[b]) for a, b in cv.split(X)]
    found = cross_val_score(CStar(core=1, **FAST), X, Y, cv=cv, scoring="f1_samples")
    assert np.allclose(found, [f1_score(y, m.predict(x), average="samples") for m, x, y in parts], atol=1e-12)
    found = cross_val_score(CStar(core=1, **FAST), X, Y, cv=cv, scoring="average_precision")
    assert np.allclose(found, [average_precision_score(y, m.decision_function(x)) for m, x, y in parts], atol=1e-12)


def test_grid_search(data):
    X, Y = data
    cv = KFold(3)
    grid = {"core": [0, 1], "lambda_": [1e-1, 1e-3]}
    search = GridSearchCV(CStar(link_lambda=1e-3), grid, cv=cv).fit(X, Y)
    for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True):
        assert mean == pytest.approx(np.mean(by_hand(CStar(link_lambda=1e-3, **params), X, Y, cv)), abs=1e-12)
    assert search.best_estimator_.get_params()["lambda_"] == search.best_params_["lambda_"]


def test_pipeline(data):
    X, Y = data
    cv = KFold(4, shuffle=True, random_state=1)
    pipe = make_pipeline(StandardScaler(), CStar(core=1, scale="none", **FAST))
    found, wanted = cross_val_score(pipe, X, Y, cv=cv), []
    for train, test in cv.split(X):
        scaler = StandardScaler().fit(X[train])
        model = CStar(core=1, scale="none", **FAST).fit(scaler.transform(X[train]), Y[train])
        wanted.append(model.score(scaler.transform(X[test]), Y[test]))
    assert np.allclose(found, wanted, rtol=0, atol=1e-12)
    assert pipe.fit(X, Y).predict(X).shape == Y.shape


def two_columns(y):
    """A target of the checks as rows of one of two labels; columns of labels stay as they are."""
    y = np.asarray(y)
    if (y.ndim == 2 and y.shape[1] > 1) or (y.dtype.kind == "f" and not np.isfinite(y).all()):
        return y
    codes = np.unique(y, return_inverse=True)[1].reshape(-1)
    return np.column_stack([codes % 2 == 0, codes % 2 == 1])


class Checked:
    """Takes the targets of the checks, which have one class for each row."""

    def fit(self, X, y=None):
        return super().fit(X, None if y is None else two_columns(y))

    def score(self, X, y):
        return super().score(X, two_columns(y))


class CheckedCStar(Checked, CStar):
    pass


class CheckedIndependent(Checked, Independent):
    pass


COLUMNS = "a prediction has a column for each label: there is no one class for each row to give back"
EXCEPTED = {
    "check_estimator_sparse_array": COLUMNS + "; the check wants one column",
    "check_estimator_sparse_matrix": COLUMNS + "; the check wants one column",
    "check_classifiers_one_label": COLUMNS,
    "check_classifiers_classes": COLUMNS,
    "check_classifiers_train": COLUMNS,
    "check_classifiers_regression_target": "the subclass above turns any target into labels",
    "check_classifier_not_supporting_multiclass": "the subclass above turns many classes into two labels",
    "check_classifier_multioutput": "as many labels are given as an item is thought to have, the best first: there is "
    "no threshold of 0 or 1/2, and classes_ are names of labels",
    "check_classifiers_multilabel_output_format_predict": "predictions are int8, whatever the labels were given as",
}


@parametrize_with_checks(
    [CheckedCStar(core=1, **FAST), CheckedIndependent(lambda_=1e-3)], expected_failed_checks=lambda _: EXCEPTED
)
@pytest.mark.filterwarnings("ignore:.* labels are on no training item")
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_pandas_gaps_are_unknown_and_unnamed_columns_are_told(data):
    pd = pytest.importorskip("pandas")
    X, Y = data
    names = [f"l{j}" for j in range(Y.shape[1])]
    gaps = pd.DataFrame(Y, columns=names).astype("Int64")
    gaps.iloc[2, 1] = pd.NA
    floats = pd.DataFrame(Y, columns=names).astype(float)
    floats.iloc[2, 1] = np.nan
    one, two = (Independent(lambda_=1e-3).fit(X, labels) for labels in (gaps, floats))
    assert one._model.to_bytes() == two._model.to_bytes()
    with pytest.warns(UserWarning, match="in the order of classes_"):
        one.score(X, Y)


def test_a_decision_is_taken_at_prediction_too(data):
    X, Y = data
    model = CStar(core=2, decide="hamming", **FAST).fit(X, Y)
    likely = model.predict_proba(X) > 0.5
    assert np.array_equal(model.predict(X), likely)
    by_f1 = model.predict(X, decide="f1")
    assert np.array_equal(CStar(core=2, **FAST).fit(X, Y).predict(X), by_f1)
    assert by_f1.sum() >= likely.sum()
    names = model.predict_labels(X, decide="f1")
    assert [len(row) for row in names] == by_f1.sum(axis=1).tolist()
    with pytest.raises(ValueError, match="tuned at the fit"):
        model.predict(X, decide="threshold")
    with pytest.raises(ValueError, match="decide"):
        model.predict(X, decide="f2")
    with pytest.raises(ValueError, match="trainer=margin"):
        CStar(trainer="margin", decide="f1").fit(X, Y)
