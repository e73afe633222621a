"""Orders with links between items that queries share."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import ordain
from ordain import QuadRank, make_orders

SMALL = {"places": 3, "scale": "none", "lambda_": 0.003}


@pytest.fixture(scope="module")
def orders():
    return make_orders(lists=300, seed=2)


@pytest.fixture(scope="module")
def model(orders):
    X, y, qid, items = orders
    return QuadRank(**SMALL).fit(X, y, qid=qid, items=items)


def test_links_are_learned_and_pay(orders, model):
    X, y, qid, items = make_orders(lists=300, seed=3)
    known = {"qid": qid, "items": items}
    without = QuadRank(**SMALL, core=0).fit(orders[0], orders[1], qid=orders[2], items=orders[3])
    assert model.core_ == ["item_8"]
    assert without.core_ == []
    assert model.score(X, y, **known) > without.score(X, y, **known) + 0.02


def test_scores_are_places_and_answers_say_the_same(orders, model):
    X, _, qid, items = orders
    scores = model.predict(X, qid, items=items)
    ranks = model.rank(X, qid, items=items)
    assert sorted(-scores[:8]) == list(range(1, 9))
    assert (ranks == -scores).all()
    first = model.answers(X, qid, items=items, probabilities=True)[0]
    assert [item["id"] for item in first["items"]] == [items[row] for row in np.argsort(ranks[:8])]
    assert first["gap"] >= 0
    assert {"own_score", "places", "first_k"} <= set(first["items"][0])
    proba = model.predict_proba(X, qid, items=items)
    assert proba.shape == (len(X), 3)
    np.testing.assert_allclose(proba[:8].sum(0), 1)
    best = QuadRank(**SMALL, order="best").fit(orders[0], orders[1], qid=qid, items=items)
    assert best.answers(X, qid, items=items)[0]["gap"] == pytest.approx(0, abs=1e-9)


def test_known_places_are_kept(orders, model):
    X, _, qid, items = orders
    pins = np.zeros(len(X), dtype=int)
    pins[7], pins[8] = 1, 5
    scores = model.predict(X, qid, items=items, pins=pins)
    assert scores[7] == -1
    assert scores[8] == -5
    assert model.predict_proba(X, qid, items=items, pins=pins)[7, 0] == pytest.approx(1)
    pins[6] = 1
    with pytest.raises(ValueError, match="a free place in query"):
        model.predict(X, qid, items=items, pins=pins)
    with pytest.raises(ValueError, match="pins: expected a place from 1"):
        model.predict(X, qid, items=items, pins=[-1] * len(X))


def test_a_column_of_items_is_remembered(orders, model):
    X, y, qid, items = orders
    frame = pd.DataFrame({"score": X[:, 0], "relevance": y, "list": qid, "item": items})
    own = QuadRank(**SMALL).fit(frame, "relevance", "list", items="item")
    assert own.core_ == ["item_8"]
    np.testing.assert_array_equal(own.predict(frame), model.predict(X, qid, items=items))


def test_margin_has_a_gap_and_no_probabilities(orders):
    X, y, qid, items = orders
    model = QuadRank(places=3, scale="none", lambda_=0.03, trainer="margin", max_iter=20).fit(
        X, y, qid=qid, items=items
    )
    assert model.facts_["gap"] is not None
    with pytest.raises(ValueError, match="probabilities of places"):
        model.predict_proba(X, qid, items=items)


def test_items_that_are_not_known_are_said(orders, model):
    X, _, qid, items = orders
    others = ["other" if item == "item_3" else item for item in items]
    with pytest.warns(UserWarning, match=r"1 item\(s\) that the model does not know .* \(such as other\)"):
        model.predict(X, qid, items=others)
    with pytest.warns(UserWarning, match="no items were given"):
        model.predict(X, qid)


def test_what_is_wrong_is_said(orders):
    X, y, qid, items = orders
    with pytest.raises(ValueError, match="documents with names"):
        QuadRank(**SMALL).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="linear in the places"):
        QuadRank(trainer="margin", loss="map").fit(X, y, qid=qid, items=items)
    with pytest.raises(ValueError, match="items: expected"):
        QuadRank(**SMALL).fit(X, y, qid=qid, items=items[:5])


def test_a_file_keeps_it(orders, model, tmp_path):
    X, _, qid, items = orders
    path = tmp_path / "orders.ordain"
    model.save(path)
    again = ordain.load(path)
    assert isinstance(again, QuadRank)
    for other in (again, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X, qid, items=items), model.predict(X, qid, items=items))
