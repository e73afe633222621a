"""Trees as scores, from Python."""

from __future__ import annotations

import numpy as np
import pytest

import ordain
from ordain import CStar, MatchMap, RankMatch, RankSVM


def products(n: int = 60, docs: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries whose grades depend on the product of two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n * docs, 6)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n * docs)
    return X, np.clip(np.floor(score + 1), 0, 3), np.repeat(np.arange(n), docs)


def test_trees_see_products_and_say_so() -> None:
    X, y, qid = products()
    other = products(seed=1)
    linear = RankSVM(scale="none", lambda_=1.0).fit(X, y, qid=qid)
    trees = RankSVM(scorer="trees", rounds=60, leaves=15, rate=0.2).fit(X, y, qid=qid)
    score = lambda model: model.score(other[0], other[1], qid=other[2])  # noqa: E731
    assert score(trees) > score(linear) + 0.1
    assert trees.n_trees_ == 60
    assert linear.n_trees_ == 0
    assert trees.feature_importances_.sum() == pytest.approx(1)
    assert set(np.argsort(-trees.feature_importances_)[:2]) == {0, 1}
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = trees.coef_
    with pytest.raises(AttributeError, match="no trees"):
        _ = linear.feature_importances_


def test_importances_are_losses_by_exchange_between_queries() -> None:
    X, y, qid = products()
    model = RankSVM(scorer="trees", rounds=40, leaves=15, rate=0.2).fit(X, y, qid=qid)
    found = model.importances(X, y, qid)
    assert set(found["feature"][:2]) == {"1", "2"}
    assert found["loss"][1] > 0.05 > abs(found["loss"][2:]).max() - 0.05
    assert (found["low"] <= found["loss"]).all()
    assert (found["loss"] <= found["high"]).all()
    assert (model.importances(X, y, qid)["loss"] == found["loss"]).all()
    with pytest.raises(ValueError, match="draws"):
        model.importances(X, y, qid, draws=0)


def test_reasons_add_up_and_pickles_keep_trees() -> None:
    import pickle

    X, y, qid = products(20)
    model = RankMatch(scorer="linear+trees", scale="query", lambda_=0.1, rounds=10).fit(X, y, qid=qid)
    again = pickle.loads(pickle.dumps(model))
    scores = model.predict(X, qid=qid)
    assert (again.predict(X, qid=qid) == scores).all()
    why = model.explain(X, qid, above=0, below=1)
    assert why["contribution"].sum() == pytest.approx(scores[0] - scores[1])
    assert model.predict_proba(X, qid=qid).shape == (len(X), 5)


@pytest.mark.parametrize("method", [RankSVM, RankMatch])
def test_trees_start_from_the_scores_of_another_model(method: type) -> None:
    import pickle

    X, y, qid = products(30)
    start = 2.0 * X[:, 0].astype(float) * X[:, 1]
    model = method(scorer="trees", rounds=10, leaves=5).fit(X, y, qid=qid, init_score=start)
    scores = model.predict(X, qid=qid, init_score=start)
    # with fixed rounds nothing is held out, so that scores are taken as they are; trees know rows, not scores
    again = model.predict(X, qid=qid, init_score=start + np.where(qid == 3, 2.5, 0.0))
    assert (again - scores)[qid == 3] == pytest.approx(2.5)
    assert (again == scores)[qid != 3].all()
    order = np.random.default_rng(0).permutation(len(X))
    assert (model.predict(X[order], qid=qid[order], init_score=start[order]) == scores[order]).all()
    assert (model.rank(X, qid, init_score=start) >= 1).all()
    assert len(model.top_k(X, qid, 3, init_score=start)) == 30
    assert model.score(X, y, qid=qid, init_score=start) > model.score(X, y, qid=qid, init_score=0 * start)
    assert len(model.answers(X, qid, top=2, init_score=start)) == 30
    why = model.explain(X, qid, above=0, below=1, init_score=start)
    rest = scores[0] - scores[1] - (start[0] - start[1])
    assert why["contribution"].sum() == pytest.approx(rest)
    with pytest.raises(ValueError, match="init_score"):
        pickle.loads(pickle.dumps(model)).predict(X, qid=qid)
    with pytest.raises(ValueError, match="init_score"):
        model.predict(X, qid=qid, init_score=start[1:])
    with pytest.raises(ValueError, match="no start scores"):
        method(scale="none", lambda_=1.0).fit(X, y, qid=qid).predict(X, qid=qid, init_score=start)
    with pytest.raises(ValueError, match="scorer=trees"):
        method(scorer="linear+trees").fit(X, y, qid=qid, init_score=start)
    valid = products(8, seed=1)
    both = method(scorer="trees", leaves=5).fit(
        X, y, qid=qid, init_score=start, eval_set=(*valid, 2.0 * valid[0][:, 0] * valid[0][:, 1])
    )
    assert both.n_trees_ >= 0


def test_missing_values_are_kept_for_trees_alone() -> None:
    X, y, qid = products(20)
    X[::7, 2] = np.nan
    model = RankSVM(scorer="trees", rounds=5, missing="keep").fit(X, y, qid=qid)
    assert np.isfinite(model.predict(X, qid=qid)).all()
    with pytest.raises(ValueError, match="scorer=trees"):
        RankSVM(missing="keep").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="missing"):
        RankSVM(scorer="trees", rounds=5).fit(X, y, qid=qid)


def test_settings_without_trees_are_refused() -> None:
    X, y, qid = products(10)
    with pytest.raises(ValueError, match="rounds"):
        RankSVM(rounds=5).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="nothing"):
        RankSVM(scorer="trees", monotone="+nothing").fit(X, y, qid=qid)


def test_labels_and_edges() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    Y = np.stack([X[:, 0] * X[:, 1] > 0, X[:, 2] > 0, X[:, 3] > 0.5], axis=1).astype(int)
    Y[Y.sum(axis=1) == 0, 1] = 1
    Y[Y.sum(axis=1) == 3, 2] = 0
    model = CStar(scorer="trees", rounds=30, leaves=7, core=1, lambda_=0.01, link_lambda=0.01).fit(X, Y)
    assert model.n_trees_ == 90
    assert model.feature_importances_.argmax() in (0, 1, 2)
    data = ordain.make_matching(40, 5, seed=1)
    edges = MatchMap(scorer="linear+trees", null=True, scale="matched", lambda_=0.01, rounds=10, leaves=5)
    edges.fit(*data)
    assert edges.n_trees_ == 10
    assert edges.feature_importances_.sum() == pytest.approx(1)
