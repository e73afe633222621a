"""Matchers against enumeration, the command line and hand-written loops."""

from __future__ import annotations

import inspect
import itertools
import json
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from conftest import told
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import ordain
from ordain import MatchMap, MatchMargin, _ordain, point_edges

BOTH = pytest.mark.parametrize("Model", [MatchMap, MatchMargin])
NULL = pytest.mark.parametrize("null", [False, True])


class Edges:
    """Made-up problems: `X`, `y` and the ids of every edge."""

    def __init__(self, problems=12, left=4, right=5, features=3, seed=0, keep=1.0, free=0.0):
        rng = np.random.default_rng(seed)
        rows, y, ids = [], [], []
        for p in range(problems):
            mate = rng.permutation(right)[:left]
            alone = rng.random(left) < free
            for i in range(left):
                for j in range(right):
                    hit = mate[i] == j
                    if not hit and rng.random() > keep:
                        continue
                    rows.append(rng.normal(size=features) + (1.5 if hit and not alone[i] else 0.0))
                    y.append(float(hit and not alone[i]))
                    ids.append((p, i, j))
        self.X = np.array(rows, dtype=np.float32)
        self.y = np.array(y)
        self.problem, self.left, self.right = np.array(ids).T

    @property
    def ids(self):
        return {"problem": self.problem, "left": self.left, "right": self.right}

    def frame(self):
        return pd.DataFrame(self.X, columns=["a", "b", "c"][: self.X.shape[1]]).assign(**self.ids)


def enumerated(data, p, score, null, temperature):
    """The rows of the best matching of a problem and the probability of every row, by going through all matchings."""
    rows = np.flatnonzero(data.problem == p)
    lefts, rights = np.unique(data.left[rows]), np.unique(data.right[rows])
    lesser = min(len(lefts), len(rights))
    found = []
    for size in range(lesser + 1) if null is not None else [lesser]:
        for some in itertools.combinations(rows, size):
            if len(set(data.left[list(some)])) == size == len(set(data.right[list(some)])):
                alone = len(lefts) + len(rights) - 2 * size
                found.append((sum(score[r] for r in some) + (null or 0.0) * alone, some))
    values = np.array([value for value, _ in found])
    best = max(found)[1]
    if temperature is None:
        return set(best), None
    weights = np.exp((values - values.max()) / temperature)
    chances = {
        r: sum(w for w, (_, some) in zip(weights, found, strict=True) if r in some) / weights.sum() for r in rows
    }
    return set(best), chances


@BOTH
@NULL
@pytest.mark.parametrize("keep", [1.0, 0.6])
@pytest.mark.parametrize("size", [(3, 3), (2, 4), (4, 2)])
def test_best_matching_and_probabilities_are_those_of_enumeration(Model, null, keep, size):
    data = Edges(problems=6, left=min(size), right=max(size), keep=keep, seed=3)
    if size[0] > size[1]:
        data.left, data.right = data.right, data.left
    model = Model(scale="none", lambda_=0.1, null=null, decide="map").fit(data.X, data.y, **data.ids)
    score = model.decision_function(data.X, **data.ids)
    predicted, chances = model.predict(data.X, **data.ids), model.predict_proba(data.X, **data.ids)
    assert predicted.dtype == np.int8
    assert chances.shape == (len(data.y),)
    np.testing.assert_allclose(score, data.X.astype(np.float64) @ model.coef_, atol=1e-9)
    assert (model.null_ is not None) == null
    assert model.how(data.X, **data.ids)["accuracy"] == "exact"
    for p in range(6):
        best, right = enumerated(data, p, score, model.null_, model.temperature_)
        rows = np.flatnonzero(data.problem == p)
        assert set(rows[predicted[rows] == 1]) == best
        np.testing.assert_allclose(chances[rows], [right[r] for r in rows], atol=1e-9)


@BOTH
@NULL
def test_marginals_decide_for_the_most_items_that_are_expected_to_be_right(Model, null):
    data = Edges(problems=6, left=2, right=3, keep=1.0 if not null else 0.8, seed=4)
    model = Model(scale="none", lambda_=0.1, null=null, decide="marginals").fit(data.X, data.y, **data.ids)
    assert model.settings_["decide"] == "marginals"
    predicted, chances = model.predict(data.X, **data.ids), model.predict_proba(data.X, **data.ids)
    for p in range(6):
        rows = np.flatnonzero(data.problem == p)
        side = min(("left", "right"), key=lambda side: len(set(getattr(data, side)[rows])))
        item = getattr(data, side)
        stays = {i: 1 - chances[rows][item[rows] == i].sum() if null else 0.0 for i in set(item[rows])}
        # by how much a matching is expected to be right about more items than no match at all
        worth = {r: chances[r] - stays[item[r]] for r in rows}
        some = [
            each
            for size in (range(3) if null else [len(stays)])
            for each in itertools.combinations(rows, size)
            if len(set(data.left[list(each)])) == size == len(set(data.right[list(each)]))
        ]
        found = sum(worth[r] for r in rows[predicted[rows] == 1])
        assert found == pytest.approx(max(sum(worth[r] for r in each) for each in some), abs=1e-7)
    fixed = Model(scale="none", lambda_=0.1, null=null, decide="map").fit(data.X, data.y, **data.ids)
    other = model.predict(data.X, **data.ids, decide="map")
    np.testing.assert_array_equal(other, fixed.predict(data.X, **data.ids))
    with pytest.raises(ValueError, match="decide"):
        model.predict(data.X, **data.ids, decide="hamming")


def test_matches_below_a_probability_are_dropped():
    data = Edges(problems=40, left=3, right=4, free=0.3)
    model = MatchMap(null=True).fit(data.X, data.y, **data.ids)
    found, sure = model.match(data.X, **data.ids), model.match(data.X, **data.ids, min_probability=0.9)
    keep = found["probability"] >= 0.9
    assert 0 < keep.sum() < len(keep)
    np.testing.assert_array_equal(sure["row"], found["row"][keep])
    predicted = model.predict(data.X, **data.ids, min_probability=0.9)
    np.testing.assert_array_equal(np.flatnonzero(predicted), np.sort(sure["row"]))
    alone = model.unmatched(data.X, **data.ids, min_probability=0.9)
    assert (alone["side"] == "left").sum() + keep.sum() == 40 * 3
    said = model.answers(data.X, **data.ids, min_probability=0.9)
    assert sum(len(one["matches"]) for one in said) == keep.sum()
    # what is marked is less likely than that one of its items stays unmatched
    assert found["unlikely"].dtype == bool
    chances = model.predict_proba(data.X, **data.ids)
    for at, row in enumerate(found["row"]):
        here = data.problem == data.problem[row]
        stays = [1 - chances[here & (of == of[row])].sum() for of in (data.left, data.right)]
        assert found["unlikely"][at] == (chances[row] < max(stays))
    # the precision that validation reached, and no threshold of its own making
    reached = model.match(data.X, **data.ids, precision=0.9)
    bins = model.facts_["precision"]
    above = [sum(b["right"] for b in bins[k:]) >= 0.9 * sum(b["matches"] for b in bins[k:]) for k in range(len(bins))]
    least = bins[above.index(True)]["least"]
    np.testing.assert_array_equal(reached["row"], found["row"][found["probability"] >= least])
    with pytest.raises(ValueError, match="min_probability"):
        model.predict(data.X, **data.ids, min_probability=1.5)
    with pytest.raises(ValueError, match="precision"):
        model.predict(data.X, **data.ids, min_probability=0.5, precision=0.9)
    plain = MatchMap(scale="none", lambda_=0.1, null=True).fit(data.X, data.y, **data.ids)
    with pytest.raises(ValueError, match="knows how precise its matches are"):
        plain.predict(data.X, **data.ids, precision=0.9)


def test_margins_are_what_the_best_sum_loses():
    data = Edges(problems=3, left=3, right=3)
    model = MatchMap(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    score = model.decision_function(data.X, **data.ids)
    found = model.match(data.X, **data.ids)
    for row, margin in zip(found["row"], found["margin"], strict=True):
        best, _ = enumerated(data, data.problem[row], score, None, None)
        worse = score.copy()
        worse[row] = -1e6
        other, _ = enumerated(data, data.problem[row], worse, None, None)
        assert margin == pytest.approx(score[list(best)].sum() - score[list(other)].sum())


def tight(Model) -> dict[str, float]:
    """A bundle method stops anywhere within its duality gap, and another order of sums ends elsewhere in it."""
    return {"tol": 1e-6, "max_iter": 5000} if Model is MatchMargin else {}


@BOTH
def test_order_of_rows_and_kind_of_ids_do_not_matter(Model):
    data = Edges(keep=0.7)
    make = lambda: Model(scale="none", lambda_=0.1, null=True, **tight(Model))  # noqa: E731
    model = make().fit(data.X, data.y, **data.ids)
    words = {what: np.array([f"{what} {x}" for x in values]) for what, values in data.ids.items()}
    named = make().fit(data.X, data.y, **words)
    assert named._model.to_bytes() == model._model.to_bytes()
    order = np.random.default_rng(1).permutation(len(data.y))
    shuffled = make().fit(data.X[order], data.y[order], **{w: v[order] for w, v in words.items()})
    np.testing.assert_allclose(shuffled.coef_, model.coef_, rtol=1e-2, atol=1e-3)
    mixed = {what: values[order] for what, values in words.items()}
    for ask in ("predict", "predict_proba", "decision_function"):
        straight, turned = getattr(model, ask)(data.X, **data.ids), getattr(model, ask)(data.X[order], **mixed)
        np.testing.assert_allclose(turned, straight[order], atol=1e-12)
    assert model.score(data.X[order], data.y[order], **mixed) == pytest.approx(model.score(data.X, data.y, **data.ids))


@BOTH
def test_problems_do_not_depend_on_each_other(Model):
    data = Edges()
    model = Model(lambda_=0.1, scale="query").fit(data.X, data.y, **data.ids)
    some = data.problem % 3 == 1
    ids = {what: values[some] for what, values in data.ids.items()}
    for ask in ("predict", "predict_proba", "decision_function"):
        all_rows = getattr(model, ask)(data.X, **data.ids)
        np.testing.assert_allclose(getattr(model, ask)(data.X[some], **ids), all_rows[some], atol=1e-12)


def test_many_threads_may_ask_at_once():
    data = Edges()
    model = MatchMap(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    right = model.predict_proba(data.X, **data.ids)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(model.predict_proba, data.X, **data.ids) for _ in range(20)]
    assert all((one.result() == right).all() for one in asked)


@pytest.mark.skipif(not hasattr(_ordain, "read_arrow"), reason="frames of Arrow are not read yet")
def test_polars_is_as_pandas():
    polars = pytest.importorskip("polars")
    frame, y = Edges().frame(), Edges().y
    model = MatchMap(scale="none", lambda_=0.1).fit(frame, y)
    other = polars.DataFrame({name: frame[name].to_numpy() for name in frame.columns})
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))
    np.testing.assert_array_equal(model.match(other)["left"], model.match(frame)["left"])


@BOTH
def test_match_and_unmatched_together_are_all_items(Model):
    data = Edges(left=3, right=5, free=0.3)
    ids = {what: np.array([f"{what[0]}{x}" for x in values]) for what, values in data.ids.items()}
    model = Model(scale="none", lambda_=0.1, null=True).fit(data.X, data.y, **ids)
    found, alone = model.match(data.X, **ids), model.unmatched(data.X, **ids)
    rows = found["row"]
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(model.predict(data.X, **ids)))
    for what in ids:
        np.testing.assert_array_equal(found[what], ids[what][rows])
    np.testing.assert_array_equal(found["score"], model.decision_function(data.X, **ids)[rows])
    chances = model.predict_proba(data.X, **ids)
    np.testing.assert_array_equal(found["probability"], chances[rows])
    for p in np.unique(ids["problem"]):
        here, of = found["problem"] == p, alone["problem"] == p
        assert sorted(found["check"][here]) == list(range(1, here.sum() + 1))
        for side in ("left", "right"):
            of_side = of & (alone["side"] == side)
            items = np.concatenate([found[side][here], alone["item"][of_side]])
            assert sorted(items) == sorted(set(ids[side][ids["problem"] == p]))
            for item, chance in zip(alone["item"][of_side], alone["probability"][of_side], strict=True):
                taken = chances[(ids["problem"] == p) & (ids[side] == item)].sum()
                assert chance == pytest.approx(1 - taken, abs=1e-9)


@BOTH
def test_frames_and_sparse_rows_are_as_arrays(Model):
    data, frame = Edges(), Edges().frame()
    model = Model(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    framed = Model(scale="none", lambda_=0.1).fit(frame, pd.Series(data.y))
    np.testing.assert_array_equal(framed.coef_, model.coef_)
    np.testing.assert_array_equal(framed.predict_proba(frame), model.predict_proba(data.X, **data.ids))
    thin = Model(scale="none", lambda_=0.1).fit(sparse.csr_array(data.X), data.y, **data.ids)
    np.testing.assert_allclose(thin.coef_, model.coef_, rtol=1e-6)
    assert list(framed.feature_names_in_) == ["a", "b", "c"]
    found = framed.match(frame)
    np.testing.assert_array_equal(found["left"], data.left[found["row"]])


def test_names_are_put_in_order_and_enforced():
    frame, y = Edges().frame(), Edges().y
    model = MatchMap(scale="none", lambda_=0.1).fit(frame, y)
    turned = frame[["right", "c", "a", "left", "problem", "b"]]
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(frame))
    with pytest.raises(ValueError, match="d"):
        model.predict(frame.rename(columns={"c": "d"}))
    with pytest.raises(ValueError, match="features"):
        model.predict(frame[["a", "b", "left", "right", "problem"]])
    with pytest.raises(ValueError, match="expected left once"):
        model.predict(frame, left=frame["left"])


def test_ids_are_needed():
    data = Edges()
    with pytest.raises(ValueError, match="needs to know which items"):
        MatchMap().fit(data.X, data.y)
    with pytest.raises(ValueError, match="right is missing"):
        MatchMap().fit(data.X, data.y, problem=data.problem, left=data.left)
    one = data.problem == 0
    with pytest.warns(UserWarning, match="too few problems"):
        model = MatchMap().fit(data.X[one], data.y[one], left=data.left[one], right=data.right[one])
    named = model.match(data.X[one], left=data.left[one], right=data.right[one])
    assert set(named["problem"]) == {1}
    with pytest.raises(ValueError, match=r"left: expected 240 ids"):
        model.predict(data.X, data.problem, data.left[:-1], data.right)
    with pytest.raises(ValueError, match=r"left\[1\]: expected an id, found None"):
        model.predict(data.X[:2], None, ["a", None], ["x", "x"])


def test_rows_that_cannot_both_be_are_named():
    X = np.zeros((4, 1), dtype=np.float32)
    with pytest.raises(ValueError, match=r"row 3: the edge a - x is there twice \(row 1\), in problem p"):
        MatchMap().fit(X, [0, 1, 0, 0], ["p"] * 4, ["b", "a", "c", "a"], ["x"] * 4)
    with pytest.raises(ValueError, match=r"row 2: the right item x is matched twice \(row 0\)"):
        MatchMap().fit(X, [1, 0, 1, 0], ["p"] * 4, ["b", "a", "c", "d"], ["x"] * 4)
    ids = (["p"] * 4, list("abcd"), ["x"] * 4)
    with pytest.raises(ValueError, match=r"row 1 of eval_set: the edge a - x is there twice \(row 0\)"):
        MatchMap().fit(X, [1, 0, 0, 0], *ids, eval_set=(X[:2], [0, 0], ["p"] * 2, ["a"] * 2, ["x"] * 2))
    with pytest.raises(ValueError, match=r"y\[1\]: expected 1 \(matched\), 0 \(not matched\) or NaN .*, found 2"):
        MatchMap().fit(X, [1, 2, 0, 0], *ids)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_gaps_are_refused_with_their_place_or_filled(value):
    frame, y = Edges().frame(), Edges().y
    model = MatchMap(scale="none", lambda_=0.1).fit(frame, y)
    frame.loc[7, "b"] = value
    strict = MatchMap(missing="error")
    for ask in (lambda: strict.fit(frame, y), lambda: model.predict(frame), lambda: model.predict_proba(frame)):
        with pytest.raises(ValueError, match=r'X\[7, 1\] \(feature "b"\)'):
            ask()
    if np.isnan(value):
        filled = MatchMap(scale="none", lambda_=0.1, missing="mean").fit(frame, y)
        mean = frame.fillna({"b": frame["b"].mean()})
        np.testing.assert_allclose(filled.decision_function(frame), filled.decision_function(mean), atol=1e-6)


@BOTH
def test_what_is_unknown_teaches_nothing_wrong(Model):
    data = Edges(problems=20)
    y = data.y.copy()
    y[data.problem % 4 == 0] = np.nan
    known = data.problem % 4 != 0
    ids = {what: values[known] for what, values in data.ids.items()}
    model = Model(scale="none", lambda_=0.1, **tight(Model)).fit(data.X, y, **data.ids)
    assert (model.facts_["blank_problems"], model.facts_["problems"]) == (5, 15)
    alone = Model(scale="none", lambda_=0.1, **tight(Model)).fit(data.X[known], y[known], **ids)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-9 if Model is MatchMap else 1e-2)
    assert model.score(data.X, y, **data.ids) == pytest.approx(model.score(data.X[known], y[known], **ids))
    y = data.y.copy()
    y[(data.left == 0) & (data.problem < 3)] = np.nan
    assert Model(scale="none", lambda_=0.1).fit(data.X, y, **data.ids).facts_["partly_known"] == 3
    with pytest.raises(ValueError, match="nothing is known"):
        Model().fit(data.X, np.full(len(y), np.nan), **data.ids)


@BOTH
def test_a_problem_without_a_matching_names_the_item(Model):
    data = Edges(left=3, right=3)
    model = Model(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    X = np.zeros((4, 3), dtype=np.float32)
    ids = (["p"] * 4, ["a", "b", "c", "c"], ["x", "x", "y", "z"])
    with pytest.raises(ValueError, match=r'problem "p".*item "[abyz]" that cannot be matched'):
        model.predict(X, *ids)
    free = Model(scale="none", lambda_=0.1, null=True).fit(data.X, data.y, **data.ids)
    assert free.predict(X, *ids).sum() <= 2
    with pytest.raises(ValueError, match=r'left item "b" without one'):
        Model().fit(X, [1, 0, 1, 0], *ids)


@BOTH
def test_score_is_the_metric_that_is_asked_for(Model):
    data = Edges(free=0.2, seed=5)
    plain = Edges(seed=5)
    model = Model(scale="none", lambda_=0.1).fit(plain.X, plain.y, **plain.ids)
    hit = (model.predict(plain.X, **plain.ids) == 1) & (plain.y == 1)
    right = [hit[plain.problem == p].sum() / 4 for p in range(12)]
    assert model.score(plain.X, plain.y, **plain.ids) == pytest.approx(np.mean(right))
    free = Model(scale="none", lambda_=0.1, null=True).fit(data.X, data.y, **data.ids)
    said = free.predict(data.X, **data.ids)
    f1 = [2 * (said * data.y)[data.problem == p].sum() / (said + data.y)[data.problem == p].sum() for p in range(12)]
    assert free.score(data.X, data.y, **data.ids) == pytest.approx(np.mean(f1))
    loss = model.set_params(choose_by="hamming").score(plain.X, plain.y, **plain.ids)
    assert loss == pytest.approx(np.mean(right) - 1)
    nll = model.set_params(choose_by="nll").score(plain.X, plain.y, **plain.ids)
    logs = []
    for p in range(12):
        score = model.decision_function(plain.X, **plain.ids)
        rows = np.flatnonzero(plain.problem == p)
        of = [
            score[rows][[i * 5 + j for i, j in enumerate(mate)]].sum() for mate in itertools.permutations(range(5), 4)
        ]
        warm = np.array(of) / model.temperature_
        log_z = warm.max() + np.log(np.exp(warm - warm.max()).sum())
        logs.append(score[rows][plain.y[rows] == 1].sum() / model.temperature_ - log_z)
    assert nll == pytest.approx(np.mean(logs))


@BOTH
def test_reasons_add_up(Model):
    data, frame = Edges(), Edges().frame()
    model = Model(scale="global", lambda_=0.1).fit(frame, data.y)
    reasons = model.explain(frame, above=3, below=1)
    score = model.decision_function(frame)
    assert reasons["contribution"].sum() == pytest.approx(score[3] - score[1])
    assert sorted(reasons["feature"]) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="two rows of one problem"):
        model.explain(frame, above=0, below=len(frame) - 1)
    with pytest.raises(ValueError, match="two rows of X"):
        model.explain(frame, above=0, below=len(frame))


def test_choices_are_made_on_the_validation_set():
    data, more = Edges(problems=10), Edges(problems=10, seed=9)
    valid = (more.X, more.y, more.problem, more.left, more.right)
    model = MatchMap().fit(data.X, data.y, **data.ids, eval_set=valid)
    assert model.facts_["chosen"]["queries"] == 10
    assert model.facts_["problems"] == 20
    kept = MatchMap(refit=False).fit(data.X, data.y, **data.ids, eval_set=valid)
    assert kept.facts_["problems"] == 10
    framed = MatchMap().fit(
        data.frame(), data.y, eval_set=(more.frame()[["c", "b", "a", "problem", "left", "right"]], more.y)
    )
    np.testing.assert_array_equal(framed.coef_, model.coef_)
    with pytest.raises(ValueError, match="eval_set: expected"):
        MatchMap().fit(data.X, data.y, **data.ids, eval_set=valid[:3])


def test_a_callback_hears_and_stops():
    data, heard = Edges(), []
    MatchMap().fit(data.X, data.y, **data.ids, callbacks=lambda share, word: heard.append((share, word)))
    assert heard
    assert all(0 <= share <= 1 for share, _ in heard)

    def broken(share, word):
        raise RuntimeError("enough")

    model = MatchMap()
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(data.X, data.y, **data.ids, callbacks=broken)


@BOTH
def test_copies_answer_the_same(Model, tmp_path):
    data = Edges()
    model = Model(null=True, seed=3).fit(data.X, data.y, **data.ids)
    path = tmp_path / "model.ordain"
    model.save(path)
    chances = model.predict_proba(data.X, **data.ids)
    for other in (pickle.loads(pickle.dumps(model)), Model.load(path), ordain.load(path)):
        assert type(other) is Model
        assert other._model.to_bytes() == model._model.to_bytes()
        # a model that is loaded knows the rule that was taken
        assert {**other.get_params(), "missing": "auto"} == model.get_params()
        np.testing.assert_array_equal(other.predict_proba(data.X, **data.ids), chances)
    new = clone(model)
    assert not hasattr(new, "_model")
    assert new.fit(data.X, data.y, **data.ids)._model.to_bytes() == model._model.to_bytes()
    with pytest.raises(ValueError, match="expected a model of RankSVM"):
        ordain.RankSVM.load(path)
    assert "edges of 12 problems" in model._repr_html_()


def test_no_probabilities_without_a_temperature():
    data = Edges()
    model = MatchMargin(scale="none", lambda_=0.1, calibrate=False).fit(data.X, data.y, **data.ids)
    assert model.temperature_ is None
    with pytest.raises(ValueError, match="calibrate=True"):
        model.predict_proba(data.X, **data.ids)
    assert np.isnan(model.match(data.X, **data.ids)["probability"]).all()


def test_how_sums_were_found_is_said():
    data = Edges()
    model = MatchMap(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    assert model.how_["accuracy"] == "exact"
    assert sum(model.how_["engines"].values()) == 12
    rough = MatchMap(scale="none", lambda_=0.1, marginals="bethe").fit(data.X, data.y, **data.ids)
    assert rough.how_ == {"engines": {"bethe": 12}, "accuracy": "approximate", "error": None}
    for call in (rough.predict_proba, rough.how, rough.match, rough.unmatched):
        with pytest.warns(UserWarning, match="probabilities are approximate, found by bethe: ") as heard:
            call(data.X, **data.ids)
        assert [Path(warning.filename).name for warning in heard] == [Path(__file__).name]
    with warnings.catch_warnings():  # nothing to say of what is exact, or of what are no probabilities
        warnings.simplefilter("error")
        for call in (model.predict_proba, model.how, model.match, model.unmatched, rough.predict):
            call(data.X, **data.ids)


def test_formulas_of_the_docstrings_are_what_is_minimised():
    data, ridge = Edges(problems=6), 0.1
    edges = list(zip(*(data.ids[side].tolist() for side in ("problem", "left", "right")), strict=True))
    for Model in (MatchMap, MatchMargin):
        model = Model(scale="none", lambda_=ridge, max_iter=5000, tol=1e-8).fit(data.X, data.y, **data.ids)
        assert model.temperature_ == 1.0 or Model is MatchMargin
        scores = dict(zip(edges, (data.X.astype(float) @ model.coef_).tolist(), strict=True))
        right = dict(zip(edges, data.y.tolist(), strict=True))
        losses = []
        for p in range(6):
            sums, wrong = [], []
            for of in itertools.permutations(range(5), 4):
                pairs = [(p, i, j) for i, j in enumerate(of)]
                sums.append(sum(scores[pair] for pair in pairs))
                wrong.append(np.mean([not right[pair] for pair in pairs]))
            best = sums[int(np.argmin(wrong))]
            if Model is MatchMap:
                losses.append(np.log(np.sum(np.exp(sums))) - best)
            else:
                losses.append(np.max(np.add(sums, wrong)) - best)
        assert min(wrong) == 0.0
        value = ridge / 2 * (model.coef_**2).sum() + np.mean(losses)
        assert model.facts_["objective"] == pytest.approx(value, rel=1e-6)


@BOTH
def test_signature_is_that_of_the_settings(Model):
    found = dict(inspect.signature(Model).parameters)
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in found.values())
    settings = {name: default for name, _, default, _ in _ordain.settings(Model._method)}
    run = {"choose_by", "refit", "missing", "inputs", "seed", "n_threads", "progress"}
    assert {name.rstrip("_") for name in found} == set(settings) | run | {"c"}
    for name, default in settings.items():
        own = found.get(name, found.get(name + "_")).default
        same = own == float(default) if isinstance(own, float) else ordain._base._text(name, own) == default
        assert same, name
    with pytest.raises(TypeError, match="unexpected keyword"):
        Model(lamda=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lambda_": -1},
        {"scale": "some"},
        {"null": "maybe"},
        {"max_iter": 0},
        {"tol": 0},
        {"choose_by": "ndcg@10"},
        {"choose_by": 3},
        {"missing": "gone"},
        {"seed": -1},
        {"n_threads": 0},
        {"refit": "yes"},
        {"c": 1.0, "lambda_": 2.0},
    ],
)
@BOTH
def test_wrong_values_are_refused_by_name(Model, wrong):
    data = Edges()
    name = next(iter(wrong)).rstrip("_")
    with pytest.raises(ValueError, match=name):
        Model(**wrong).fit(data.X, data.y, **data.ids)


def test_c_is_one_over_lambda():
    data = Edges()
    a = MatchMap(scale="none", c=10.0).fit(data.X, data.y, **data.ids)
    b = MatchMap(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    np.testing.assert_allclose(a.coef_, b.coef_)
    with pytest.raises(ValueError, match="marginals"):
        MatchMap(marginals="quick").fit(data.X, data.y, **data.ids)
    with pytest.raises(ValueError, match="calibrate"):
        MatchMargin(calibrate="some").fit(data.X, data.y, **data.ids)


@BOTH
@NULL
def test_threads_do_not_matter(Model, null):
    data = Edges(problems=15, free=0.2 if null else 0.0)
    one, two = (Model(null=null, n_threads=n).fit(data.X, data.y, **data.ids) for n in (1, 2))
    assert one._model.to_bytes() == two._model.to_bytes()
    np.testing.assert_array_equal(one.predict_proba(data.X, **data.ids), two.predict_proba(data.X, **data.ids))


@BOTH
@NULL
def test_the_command_line_makes_and_reads_the_same(Model, null, tmp_path):
    data = Edges(problems=15, keep=0.7, free=0.3 if null else 0.0, seed=2)
    order = np.random.default_rng(4).permutation(len(data.y))
    frame = data.frame().assign(left=[f"l{x}" for x in data.left], matched=data.y).iloc[order].reset_index(drop=True)
    if null:
        frame.loc[::11, "matched"] = np.nan
    train, valid = frame[frame["problem"] < 10], frame[frame["problem"] >= 10]
    paths = [tmp_path / "train.csv", tmp_path / "valid.csv"]
    for part, path in zip((train, valid), paths, strict=True):
        part.astype({"a": float, "b": float, "c": float}).to_csv(path, index=False)
    halves = [(part.drop(columns="matched"), part["matched"]) for part in (train, valid)]
    alone, chosen = tmp_path / "alone.ordain", tmp_path / "chosen.ordain"
    said = f"null={'true' if null else 'false'}"
    told("fit", Model._method, paths[0], "-o", alone, "--set", said, "--set", "lambda=0.5", "--set", "scale=global")
    model = Model(null=null, lambda_=0.5, scale="global").fit(*halves[0])
    assert model._model.to_bytes() == alone.read_bytes()
    told("fit", Model._method, paths[0], "--valid", paths[1], "-o", chosen, "--set", said, "--seed", 3)
    model = Model(null=null, seed=3).fit(*halves[0], eval_set=halves[1])
    assert model._model.to_bytes() == chosen.read_bytes()

    lines = [json.loads(line) for line in told("predict", "--json", chosen, paths[1]).splitlines()]
    loaded = ordain.load(chosen)
    assert type(loaded) is Model
    found, alone = loaded.match(halves[1][0]), loaded.unmatched(halves[1][0])
    at = 0
    for line in lines:
        for one in line["matches"]:
            assert (str(found["problem"][at]), found["left"][at], str(found["right"][at])) == (
                line["problem"],
                one["left"],
                one["right"],
            )
            assert found["score"][at] == one["score"]
            assert found["probability"][at] == one["probability"]
            assert found["check"][at] == one["check"]
            at += 1
        for side in ("left", "right"):
            here = (alone["problem"].astype(str) == line["problem"]) & (alone["side"] == side)
            assert sorted(map(str, alone["item"][here])) == sorted(line["unmatched"][side])
    assert at == len(found["row"])


def test_points_are_as_the_command_line_makes_them(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 9, 3))
    path, edges = tmp_path / "points.csv", tmp_path / "edges.csv"
    rows = [
        (side, i, *point) for side, points in (("left", a), ("right", b)) for i, point in enumerate(points.tolist())
    ]
    pd.DataFrame(rows, columns=["side", "id", "x", "y", "descriptor0"]).to_csv(path, index=False)
    wanted = ("shape-context", "degree", "coordinates", "descriptors")
    told("convert", path, edges, "--features", ",".join(wanted))
    made = pd.read_csv(edges)
    X, left, right = point_edges(a, b, features=wanted)
    np.testing.assert_array_equal(left, made["left"])
    np.testing.assert_array_equal(right, made["right"])
    values = made.drop(columns=["problem", "left", "right", "matched"], errors="ignore").to_numpy()
    np.testing.assert_array_equal(X, values.astype(np.float32))


def test_two_point_sets_are_matched():
    rng = np.random.default_rng(0)
    parts = []
    for p in range(8):
        points = rng.normal(size=(12, 2))
        X, left, right = point_edges(points, points + 0.05 * rng.normal(size=(12, 2)))
        parts.append((X, left == right, np.full(len(X), p), left, right))
    X, y, problem, left, right = (np.concatenate(part) for part in zip(*parts, strict=True))
    train = problem < 5
    model = MatchMap().fit(X[train], y[train], problem[train], left[train], right[train])
    assert model.score(X[~train], y[~train], problem[~train], left[~train], right[~train]) > 0.7
    assert X.shape == (8 * 144, 60)
    assert X.dtype == np.float32


def test_wrong_points_are_refused():
    points = np.zeros((3, 2))
    with pytest.raises(ValueError, match="shape-context"):
        point_edges(points, points, features="shape_context")
    with pytest.raises(ValueError, match=r"right_points\[1, 0\]"):
        point_edges(points, [[0, 0], [np.nan, 1]])
    with pytest.raises(ValueError, match="left_points: expected rows"):
        point_edges([1, 2], points)
    with pytest.raises(ValueError, match="as many columns"):
        point_edges(points, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="descriptors"):
        point_edges(points, points, features=["descriptors"])


@BOTH
def test_cross_validation_with_routing_is_a_loop_over_folds(Model):
    data = Edges(problems=12, features=2, seed=7)
    order = np.random.default_rng(0).permutation(len(data.y))
    X, y = data.X[order], data.y[order]
    ids = {what: values[order].astype(str) for what, values in data.ids.items()}
    folds, model = GroupKFold(4), Model(scale="none", lambda_=0.1)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(model, X, y, cv=folds, params={**ids, "groups": ids["problem"]})
    byhand = []
    for train, test in folds.split(X, y, ids["problem"]):
        fitted = clone(model).fit(X[train], y[train], **{w: v[train] for w, v in ids.items()})
        byhand.append(fitted.score(X[test], y[test], **{w: v[test] for w, v in ids.items()}))
    np.testing.assert_allclose(scores, byhand, atol=1e-12)
    assert len(set(byhand)) > 1


@BOTH
def test_cross_validation_without_routing_takes_columns(Model):
    data = Edges(problems=12, seed=7)
    frame, model = data.frame(), Model(scale="none", lambda_=0.1)
    scores = cross_val_score(model, frame, data.y, cv=GroupKFold(4), groups=data.problem)
    byhand = [
        clone(model).fit(frame.iloc[a], data.y[a]).score(frame.iloc[b], data.y[b])
        for a, b in GroupKFold(4).split(frame, data.y, data.problem)
    ]
    np.testing.assert_allclose(scores, byhand, atol=1e-12)
    with pytest.raises(ValueError, match="needs to know which items"):
        cross_val_score(model, data.X, data.y, cv=4, error_score="raise")


class Checked:
    """Makes problems of the rows that scikit-learn's checks come with: two rows each, one left item, two right ones."""

    def _ids(self, table, given):
        rows = np.arange(table.shape[0])
        return rows // 2, np.zeros_like(rows), rows % 2

    @staticmethod
    def _truth(y):
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            return y
        if values.ndim != 1 or not np.isfinite(values).all():
            return y
        y = values
        out = np.zeros(len(y))
        for at in range(0, len(y), 2):
            out[at + int(np.argmax(y[at : at + 2]))] = 1.0
        return out

    def fit(self, X, y=None, **more):
        return super().fit(X, None if y is None else self._truth(y), **more)

    def score(self, X, y):
        return super().score(X, self._truth(y))


class CheckedMap(Checked, MatchMap):
    pass


class CheckedMargin(Checked, MatchMargin):
    pass


EXCEPTED = {
    "check_methods_subset_invariance": "what is matched depends on the problem; problems are made of neighbouring rows",
    "check_methods_sample_order_invariance": "problems are made of neighbouring rows",
    "check_estimator_sparse_array": "takes whoever has predict_proba for a classifier with a column for each class",
    "check_estimator_sparse_matrix": "takes whoever has predict_proba for a classifier with a column for each class",
}


@pytest.mark.parametrize("Model", [CheckedMap, CheckedMargin])
def test_scikit_learn_accepts_the_estimator(Model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(Model(scale="none", lambda_=0.1), expected_failed_checks=EXCEPTED)


@BOTH
def test_scores_of_a_problem_do_not_depend_on_others_and_are_finite(Model):
    data = Edges()
    model = Model(scale="query", lambda_=0.1).fit(data.X, data.y, **data.ids)
    scores = model.decision_function(data.X, **data.ids)
    for p in range(12):
        one = data.problem == p
        alone = model.decision_function(data.X[one], **{name: ids[one] for name, ids in data.ids.items()})
        assert np.array_equal(alone, scores[one])
    plain = Model(scale="none", lambda_=0.1).fit(data.X, data.y, **data.ids)
    assert np.isfinite(plain.decision_function(data.X * np.float32(1e30), **data.ids)).all()
