"""Preferences and clicks in place of relevance, and rules for what is shown."""

import numpy as np
import pytest

from ordain import FRank, QBRank, RankBoost, RankMatch, RankNet, RankSVM
from ordain.datasets import make_ranking


def data():
    return make_ranking(30, seed=3)


def pairs(y, qid):
    rows = np.arange(len(y))
    return np.array([(i, j) for i in rows for j in rows[qid == qid[i]] if y[i] > y[j]])


@pytest.mark.parametrize("make", [RankSVM, RankNet, RankBoost, FRank, QBRank])
def test_preferences_stand_in_place_of_relevance(make):
    X, y, qid = data()
    told = pairs(y, qid)
    model = make().fit(X, qid=qid, preferences=told)
    facts = model.facts_
    assert facts["preferences"]["pairs"] == len(told)
    assert facts["chosen"]["metric"] == "pairs"
    scores = model.predict(X, qid)
    assert np.mean(scores[told[:, 0]] > scores[told[:, 1]]) > 0.6


def test_frames_and_weights_of_preferences():
    X, y, qid = data()
    told = pairs(y, qid)
    weight = np.where(np.arange(len(told)) % 2 == 0, 1.0, 2.0)
    names = np.array([f"d{i}" for i in range(len(y))])
    frame = {"qid": qid[told[:, 0]], "winner": names[told[:, 0]], "loser": names[told[:, 1]], "weight": weight}
    settings = {"scale": "global", "lambda_": 0.1}
    a = RankSVM(**settings).fit(X, qid=qid, items=names, preferences=frame)
    b = RankSVM(**settings).fit(X, qid=qid, preferences=np.column_stack([told, weight]))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    by_grades = RankSVM(**settings).fit(X, y, qid)
    plain = RankSVM(**settings).fit(X, qid=qid, preferences=told)
    np.testing.assert_allclose(plain.coef_, by_grades.coef_, rtol=1e-3, atol=1e-6)


def test_clicks_are_weighed_by_position():
    X, y, qid = data()
    clicked = (y > 1).astype(float)
    position = np.empty(len(y))
    for q in np.unique(qid):
        position[qid == q] = np.arange(1, np.sum(qid == q) + 1)
    model = RankSVM(scale="global", lambda_=0.1).fit(X, clicked, qid, clicks="ips,eta=1,clip=3", position=position)
    facts = model.facts_["preferences"]["clicks"]
    assert facts["clip"] == 3
    assert 0 < facts["effective"] <= facts["clicks"]
    with pytest.raises(ValueError, match="position"):
        RankSVM().fit(X, clicked, qid, clicks="ips")
    with pytest.raises(ValueError, match=r"position\[0\]"):
        RankSVM().fit(X, clicked, qid, clicks="ips", position=position - 1)
    with pytest.raises(ValueError, match="expected ips"):
        RankSVM().fit(X, clicked, qid, clicks="log", position=position)


def test_what_is_no_preference_is_refused():
    X, y, qid = data()
    told = pairs(y, qid)
    for wrong, says in (
        (told[:, :1], "two rows of X|array with the better"),
        (np.array([[0, 0]]), "two documents of one query"),
        (np.array([[0, len(y)]]), "rows of the data"),
        (np.array([[0, 1, -1.0]]), "above 0|one query"),
        ({"qid": [1], "winner": [1]}, "no loser"),
    ):
        with pytest.raises(ValueError, match=says):
            RankSVM().fit(X, qid=qid, preferences=wrong)
    with pytest.raises(ValueError, match="found both"):
        RankSVM().fit(X, y, qid, preferences=told, clicks="ips", position=y)
    with pytest.raises(TypeError):
        RankMatch().fit(X, qid=qid, preferences=told)
    with pytest.raises(ValueError, match="loss=logistic"):
        RankSVM(scorer="trees", loss="lambda").fit(X, qid=qid, preferences=told)
    with pytest.raises(ValueError, match="y to be passed"):
        RankSVM().fit(X, qid=qid)


def test_lists_keep_rules(tmp_path):
    X = np.array([[5.0], [4.0], [3.0], [2.0], [1.0], [0.0]])
    y, qid = np.array([2, 2, 1, 1, 0, 0]), np.zeros(6, dtype=int)
    model = RankSVM(scale="none", lambda_=0.1).fit(X, y, qid)
    brand = ["a", "a", "a", "b", None, "b"]
    items = [f"d{i}" for i in range(6)]
    rules = {
        "pins": [{"query": "0", "document": "d5", "place": 1}],
        "exclusions": [{"document": "d0"}],
        "caps": [{"column": "brand", "most": 1, "first": 3}],
    }
    (found,) = model.ruled(X, qid, rules=rules, items=items, values={"brand": brand})
    assert [item["id"] for item in found["items"]] == ["d5", "d1", "d4", "d2", "d3"]
    assert found["rules"]["exact"]
    assert found["rules"]["excluded"] == 1
    path = tmp_path / "rules.csv"
    path.write_text("rule,qid,docid,place,column,most,first\npin,0,d5,1,,,\nexclude,,d0,,,,\ncap,,,,brand,1,3\n")
    assert model.ruled(X, qid, rules=path, items=items, values={"brand": brand}, top=5) == [found]
    with pytest.raises(ValueError, match="brand"):
        model.ruled(X, qid, rules=rules, items=items)
    with pytest.raises(ValueError, match="at least one rule"):
        model.ruled(X, qid, rules={})
    with pytest.raises(ValueError, match="a dict or the path"):
        model.ruled(X, qid, rules=7)
