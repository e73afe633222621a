"""Orders with links between items that queries share."""

from __future__ import annotations

import pickle
from itertools import permutations

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


@pytest.fixture(scope="module")
def linked():
    """Lists whose best document draws some others to it and drives others away, as the feature of the pair says."""
    rng = np.random.default_rng(5)
    n, lists = 5, 240
    X, y, qid, names, rows = [], [], [], [], []
    for q in range(lists):
        scores = 2 * rng.normal(size=n)
        best = int(np.argmax(scores))
        kinds = rng.choice([-1.0, 1.0], size=n)
        # an order of three and a tail, drawn by its score
        heads = [np.array([head.index(i) if i in head else 3 for i in range(n)]) for head in permutations(range(n), 3)]
        value = np.array([1, 1 / np.log2(3), 0.5, 0])
        worth = [(2 * scores * value[p]).sum() + 5 * (kinds * abs(p - p[best]) / 3).sum() for p in heads]
        weights = np.exp(np.array(worth) - max(worth))
        place = heads[rng.choice(len(heads), p=weights / weights.sum())]
        X += [[score] for score in scores]
        y += [max(0, 3 - int(p)) for p in place]
        qid += [f"q{q}"] * n
        names += [f"d{q}_{i}" for i in range(n)]
        rows += [(f"q{q}", f"d{q}_{i}", f"d{q}_{best}", kinds[i], rng.normal()) for i in range(n) if i != best]
    frame = pd.DataFrame(rows, columns=["qid", "doc_a", "doc_b", "kind", "noise"])
    return np.array(X), np.array(y), np.array(qid), np.array(names), frame


def as_rows(names, frame):
    at = {name: row for row, name in enumerate(names)}
    rows = [(at[a], at[b]) for a, b in zip(frame["doc_a"], frame["doc_b"], strict=True)]
    return np.hstack([np.array(rows, dtype=float), frame[["kind", "noise"]].to_numpy()])


def test_links_between_documents_are_learned(linked, tmp_path):
    X, y, qid, names, frame = linked
    model = QuadRank(**SMALL).fit(X, y, qid=qid, items=names, links=frame)
    without = QuadRank(**SMALL, core=0).fit(X, y, qid=qid, items=names)
    assert model.links_["kind"] > 1 > abs(model.links_["noise"])
    assert (model.core_, without.links_) == ([], {})
    known = {"qid": qid, "items": names}
    assert model.score(X, y, **known, links=frame) > without.score(X, y, **known) + 0.02
    # by rows: the same without a name
    array = as_rows(names, frame)
    by_rows = QuadRank(**SMALL).fit(X, y, qid=qid, links=array)
    np.testing.assert_array_equal(by_rows.predict(X, qid, links=array), model.predict(X, **known, links=frame))
    assert list(by_rows.links_) == ["pair_1", "pair_2"]
    # pairs of other libraries, columns in another order
    polars = pytest.importorskip("polars")
    other = polars.from_pandas(frame[["noise", "doc_b", "kind", "qid", "doc_a"]])
    np.testing.assert_array_equal(model.predict(X, **known, links=other), model.predict(X, **known, links=frame))
    proba = model.predict_proba(X, **known, links=frame)
    np.testing.assert_allclose(proba[:5].sum(0), 1)
    assert model.answers(X, **known, links=frame)[0]["gap"] >= 0
    assert (model.rank(X, **known, links=frame) == -model.predict(X, **known, links=frame)).all()
    assert len(model.top_k(X, qid, 2, items=names, links=frame)["q1"]) == 2
    assert len(model.explain(X, qid, above=0, below=1, items=names, links=frame)["feature"]) == 1
    path = tmp_path / "links.ordain"
    model.save(path)
    for again in (ordain.load(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X, **known, links=frame), model.predict(X, **known, links=frame))


def test_links_of_a_validation_set(linked):
    X, y, qid, names, frame = linked
    cut = 5 * 180
    held = (X[cut:], y[cut:], qid[cut:], names[cut:])
    model = QuadRank(places=3, scale="none", core="auto").fit(
        X[:cut], y[:cut], qid=qid[:cut], items=names[:cut], links=frame, eval_set=held
    )
    assert {candidate["settings"]["core"] for candidate in model.facts_["chosen"]["candidates"]} == set("0123")
    assert model.facts_["settings"]["core"] != "0"


def test_whole_rankings(linked):
    X, y, qid, names, frame = linked
    few = QuadRank(places="all", trainer="margin", scale="none", lambda_=0.1, tol=0.01)
    model = few.fit(X[:100], y[:100], qid=qid[:100], items=names[:100], links=frame[frame["qid"].isin(qid[:100])])
    said = model.answers(X[:5], qid[:5], items=names[:5], links=frame[frame["qid"] == "q0"])[0]
    assert (len(said["items"]), said["gap"]) == (5, pytest.approx(0, abs=1e-9))
    with pytest.raises(ValueError, match="places: expected a number from 1 to 16"):
        QuadRank(places="all").fit(X, y, qid=qid, items=names, links=frame)


def test_what_is_wrong_with_links_is_said(linked, orders, model):
    X, y, qid, names, frame = linked
    fitted = QuadRank(**SMALL).fit(X, y, qid=qid, items=names, links=frame)
    with pytest.raises(ValueError, match=r"links between documents, .*; links= gives them"):
        fitted.predict(X, qid, items=names)
    with pytest.raises(ValueError, match="features kind, noise, found pair_1, pair_2"):
        fitted.predict(X, qid, items=names, links=as_rows(names, frame))
    with pytest.raises(ValueError, match="fitted without links between documents"):
        model.predict(orders[0], orders[2], items=orders[3], links=frame)

    def refused(links, match, items=names):
        with pytest.raises(ValueError, match=match):
            QuadRank(**SMALL).fit(X, y, qid=qid, items=items, links=links)

    refused(frame.drop(columns="doc_b"), "found no doc_b among")
    refused(frame.assign(kind="x"), r"links\['kind'\]")
    refused(frame.assign(kind=np.nan), r"links\['kind'\]")
    refused(frame.assign(qid="none"), "a query of the data, found")
    refused(frame.assign(doc_a="none"), "a document of query")
    refused(frame.assign(doc_a=frame["doc_b"]), "a document has no link to itself")
    refused(pd.concat([frame, frame.rename(columns={"doc_a": "doc_b", "doc_b": "doc_a"})]), "each pair once")
    refused(frame[["qid", "doc_a", "doc_b"]], "at least one feature of pairs")
    refused([[0, 1]], "links: expected a frame")
    refused([[0, 0.5, 1.0]], "numbers of rows of X")
    refused([[0, 99999, 1.0]], "rows of the data, from 0 to")
    refused([[0, 5, 1.0]], "two documents of one query")
    refused([[0, 1, np.inf]], "finite features of pairs")
