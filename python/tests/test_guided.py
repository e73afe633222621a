"""What a caller brings to a fit beside data: a metric of his own, a model to start from, signs, weights."""

import pickle

import numpy as np
import pytest

from ordain import (
    CCRF,
    AutoRanker,
    BallRank,
    CStar,
    Dorm,
    Independent,
    IsoRank,
    ListNet,
    MatchMap,
    MatchMargin,
    QuadRank,
    RankBoost,
    RankMatch,
    RankNet,
    RankSVM,
    SortNet,
    StructRank,
    SVMMap,
    load,
    metrics,
)
from ordain.datasets import make_matching, make_ranking, make_tagging


@pytest.fixture(scope="module")
def data():
    return make_ranking(60, seed=5)


def reciprocal(relevance, scores):
    """One over the rank of the first relevant document; nothing where there is none."""
    found = np.flatnonzero(relevance[np.argsort(-scores, kind="stable")] > 0)
    return 1.0 / (found[0] + 1) if len(found) else None


def test_a_function_chooses_as_the_metric_that_it_is(data, tmp_path):
    X, y, qid = data
    own = RankSVM(choose_by=reciprocal).fit(X, y, qid)
    named = RankSVM(choose_by="mrr").fit(X, y, qid)
    assert own.facts_["chosen"]["metric"] == "own:reciprocal"
    values = [[one["value"] for one in model.facts_["chosen"]["candidates"]] for model in (own, named)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    np.testing.assert_array_equal(own.coef_, named.coef_)
    assert own.score(X, y, qid) == pytest.approx(named.score(X, y, qid))
    assert metrics.mean(reciprocal, y, own.predict(X, qid), qid) == pytest.approx(own.score(X, y, qid))
    losses = own.importances(X, y, qid, draws=1)["loss"]
    np.testing.assert_allclose(losses, named.importances(X, y, qid, draws=1)["loss"], atol=1e-12)
    # a file says by what it was chosen, and cannot measure by it
    own.save(tmp_path / "own.ordain")
    again = load(tmp_path / "own.ordain")
    np.testing.assert_array_equal(again.coef_, own.coef_)
    with pytest.raises(ValueError, match="the function itself"):
        again.score(X, y, qid)


def test_functions_of_labels_and_of_matches():
    X, Y, _ = make_tagging(80, 5, seed=1)
    # without a set of labels, the number of labels is not told: a function sees scores alone
    model = CStar(core=1, choose_by=reciprocal).fit(X, Y)
    named = CStar(core=1, choose_by="mrr").fit(X, Y)
    assert model.score(X, Y) == pytest.approx(named.score(X, Y))

    def f1(right, matched):
        return 2 * np.sum(right * matched) / max(np.sum(right) + np.sum(matched), 1)

    edges = make_matching(140, 4, matched=1.0, seed=2)
    own, named = (MatchMap(choose_by=by).fit(*edges) for by in (f1, "f1"))
    assert own.facts_["chosen"]["metric"] == "own:f1"
    assert own.score(*edges) == pytest.approx(named.score(*edges))


def test_a_function_may_fail_and_its_error_is_what_is_raised(data):
    X, y, qid = data

    class Luck(Exception):
        """Of nobody else."""

    def unlucky(relevance, scores):
        raise Luck("none today")

    with pytest.raises(Luck, match="none today"):
        RankSVM(choose_by=unlucky).fit(X, y, qid)
    with pytest.raises(Luck):
        AutoRanker(candidates=1, choose_by=unlucky).fit(X, y, qid)
    fitted = RankSVM(lambda_=1.0, scale="global", choose_by=unlucky).fit(X, y, qid)  # there is nothing to choose
    with pytest.raises(Luck):
        fitted.score(X, y, qid)
    with pytest.raises((ValueError, TypeError)):
        RankSVM(choose_by=lambda relevance, scores: "much").fit(X, y, qid)
    with pytest.raises(ValueError, match="a finite number"):
        RankSVM(choose_by=lambda relevance, scores: float("inf")).fit(X, y, qid)
    with pytest.raises(ValueError, match="choose_by: expected the name of a metric or a function, found 3"):
        RankSVM(choose_by=3).fit(X, y, qid)


@pytest.mark.parametrize(
    "model",
    [
        RankSVM(lambda_=0.01, scale="global", tol=1e-8),
        RankMatch(lambda_=0.1, scale="global"),
        ListNet(lambda_=0.01, scale="query", tol=1e-8),
        RankNet(lambda_=0.01, scale="global", hidden=3, tol=1e-7),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_starts_from_a_model(data, model):
    from sklearn.base import clone

    X, y, qid = data
    first = model.fit(X, y, qid)
    second = clone(model).fit(X, y, qid, init=first)
    if not isinstance(model, RankNet):  # a network is judged by the gradient at its start
        assert second.n_iter_ < first.n_iter_
    assert second.facts_["objective"] <= first.facts_["objective"] * (1 + 1e-9)
    assert second.facts_["init"] == first.facts_["data"]
    assert "init" not in first.facts_


def test_a_model_that_nothing_can_start_from(data):
    X, y, qid = data
    first = ListNet(lambda_=1.0).fit(X, y, qid)
    for model in (BallRank(), RankBoost(), QuadRank(), SortNet(), CCRF(), IsoRank(), RankSVM(scorer="trees")):
        with pytest.raises(ValueError, match="start"):
            model.fit(X, y, qid, init=first)
    with pytest.raises(ValueError, match="expected a model of ranksvm"):
        RankSVM().fit(X, y, qid, init=first)
    with pytest.raises(ValueError, match="columns"):
        ListNet().fit(X[:, :3], y, qid, init=first)
    with pytest.raises(ValueError, match="init: expected None or a fitted ranker"):
        ListNet().fit(X, y, qid, init=first.coef_)
    with pytest.raises(ValueError, match="init: expected None"):
        AutoRanker(candidates=1).fit(X, y, qid, init=first)


def test_importances_become_feature_importances(data):
    X, y, qid = data
    model = RankSVM(lambda_=1.0, scale="query").fit(X, y, qid)
    with pytest.raises(AttributeError, match=r"importances\(X, y"):
        _ = model.feature_importances_
    found = model.importances(X, y, qid)
    by_name = dict(zip(found["feature"], found["loss"], strict=True))
    names = model.facts_["features"]["names"]
    np.testing.assert_array_equal(model.feature_importances_, [by_name[name] for name in names])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    model.fit(X, y, qid)
    assert not hasattr(model, "feature_importances_")
    # of items and of problems too
    X, Y, _ = make_tagging(80, 4, seed=3)
    tagger = Independent(lambda_=0.1).fit(X, Y)
    assert set(tagger.importances(X, Y, draws=1)) == {"feature", "loss", "low", "high"}
    assert tagger.feature_importances_.shape == (X.shape[1],)
    assert tagger.feature_importances_.max() > 0
    edges = make_matching(30, 4, seed=1)
    matcher = MatchMap(null=True, lambda_=0.01).fit(*edges)
    assert matcher.importances(*edges)["loss"][0] == matcher.feature_importances_.max() > 0


@pytest.mark.parametrize("make", [RankSVM, RankMatch, ListNet])
def test_weights_keep_signs(data, make):
    import pandas as pd

    X, y, qid = data
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    settings = {"lambda_": 0.1, "scale": "query"}
    plain = make(**settings).fit(frame, y, qid).coef_
    against = {f"c{j}": -1 if plain[j] > 0 else 1 for j in np.argsort(-np.abs(plain))[:3]}
    model = make(monotone=against, **settings).fit(frame, y, qid)
    for name, sign in against.items():
        assert sign * model.coef_[int(name[1:])] >= 0
    assert model.facts_["settings"]["monotone"] == ";".join(("+" if s > 0 else "-") + c for c, s in against.items())
    same = make(monotone={name: -sign for name, sign in against.items()}, **settings).fit(frame, y, qid)
    np.testing.assert_allclose(same.coef_, plain, atol=1e-3 * np.abs(plain).max())
    for wrong, text in (({"c0": 2}, "1, -1 or 0"), ({"d": 1}, "unknown column"), ({0: 1}, "names of columns")):
        with pytest.raises(ValueError, match=text):
            make(monotone=wrong, **settings).fit(frame, y, qid)
    assert not hasattr(SVMMap(), "monotone")


def test_weights_everywhere_or_refused_by_name(data):
    X, y, qid = data
    ones = np.ones(len(y))
    per_query = np.where(np.asarray(qid) % 2 == 0, 2.0, 1.0)
    whole = (RankMatch, ListNet, StructRank, SVMMap, IsoRank)
    for make in whole:
        settings = {} if make is IsoRank else {"lambda_": 0.1, "scale": "global"}
        plain = make(**settings).fit(X, y, qid).predict(X, qid)
        even = make(**settings).fit(X, y, qid, sample_weight=ones).predict(X, qid)
        np.testing.assert_allclose(even, plain, rtol=1e-5, atol=1e-7, err_msg=make.__name__)
        weighted = make(**settings).fit(X, y, qid, sample_weight=per_query)
        assert np.isfinite(weighted.predict(X, qid)).all()
    for make in (QuadRank, CCRF, SortNet, Dorm, BallRank):
        with pytest.raises(ValueError, match=f"without a column of weights for {make.__name__.lower()}"):
            make().fit(X, y, qid, sample_weight=ones)
    tags, edges = make_tagging(30, 3, seed=3)[:2], make_matching(8, 4, seed=1)
    for model, arguments in (
        (CStar(), tags),
        (Independent(), tags),
        (MatchMap(), edges),
        (MatchMargin(), edges),
    ):
        text = f"sample_weight: expected None, because {type(model).__name__} does not weigh"
        with pytest.raises(ValueError, match=text):
            model.fit(*arguments, sample_weight=np.ones(len(arguments[0])))


def test_drift_is_said(data):
    X, y, qid = data
    model = RankSVM(lambda_=1.0, scale="global").fit(X, y, qid)
    assert len(model.drift(X)["feature"]) == 0
    moved = X.copy()
    moved[:30, 4] = X[:, 4].max() + 10 * np.ptp(X[:, 4])
    moved[::7, 2] = X[:, 2].min() - np.ptp(X[:, 2])
    found = model.drift(moved, qid)
    assert list(found["feature"]) == ["5", "3"]
    assert found["above"].tolist() == [30, 0]
    assert found["below"].tolist() == [0, len(X[::7])]
    assert found["queries"].tolist() == [len(np.unique(qid[:30])), len(np.unique(qid[::7]))]
    np.testing.assert_allclose(found["far"], [10, 1], rtol=1e-4)
    np.testing.assert_array_equal(found["seen_largest"], [X[:, 4].max(), X[:, 2].max()])
    assert found["least"][1] == moved[7, 2]
    T, Y, _ = make_tagging(60, 3, seed=3)
    assert Independent(lambda_=0.1).fit(T, Y).drift(T + 100)["far"].min() > 1
    edges = make_matching(20, 4, seed=1)
    assert (
        len(MatchMap(null=True, lambda_=0.01).fit(*edges).drift(edges[0] + 5, *edges[2:])["feature"])
        == edges[0].shape[1]
    )
