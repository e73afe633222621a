"""Exported models beside the model itself, in Python and in SQLite."""

from __future__ import annotations

import json
import sqlite3
import types
import warnings

import numpy as np
import pytest

import ordain


def rows(seed: int, gaps: bool = False):
    random = np.random.default_rng(seed)
    X = random.normal(size=(120, 4)).astype(np.float32)
    X[:, 1] = np.exp(2 * X[:, 1])
    X[:, 2] = np.round(X[:, 2])
    qid = np.repeat(np.arange(12), 10)
    y = (X[:, 0] + np.log(X[:, 1]) + random.normal(size=120) > 0).astype(int) + (X[:, 2] > 0)
    if gaps:
        X[random.random(X.shape) < 0.1] = np.nan
    return X, y, qid


def module(text: bytes) -> types.ModuleType:
    made = types.ModuleType("exported")
    exec(text.decode(), made.__dict__)
    return made


def exported(model, to, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.export(to, **how)


MODELS = [
    {"scale": "none", "transform_": "none"},
    {"scale": "global", "transform_": "quantile"},
    {"scale": "query", "transform_": "log"},
    {"scale": "minmax", "transform_": "none", "missing": "mean"},
    {"scale": "global", "kernel": "rbf", "gamma": 0.3, "missing": "indicator", "documents": 40},
    {"scale": "query", "kernel": "laplace", "gamma": 0.3, "documents": 40},
    {"scale": "global", "kernel": "poly", "degree": 2, "gamma": 0.3, "documents": 40},
    {"scorer": "trees", "missing": "keep", "rounds": 5},
    {"scorer": "trees", "missing": "indicator", "rounds": 5},
    {"scorer": "linear+trees", "scale": "global", "missing": "mean", "transform_": "quantile", "rounds": 5},
]


@pytest.mark.parametrize("settings", MODELS)
def test_scores_are_those_of_the_model(settings):
    gaps = settings.get("missing", "error") != "error"
    X, y, qid = rows(1, gaps)
    model = ordain.RankSVM(lambda_=1.0, weight="query", **settings).fit(X, y, qid=qid)
    X, _, qid = rows(2, gaps)
    truth = model.predict(X, qid=qid)
    near = 2e-6 * np.abs(truth).max()

    scores = module(exported(model, "python")).scores
    made = np.concatenate(
        [scores([[None if np.isnan(x) else x for x in row] for row in X[qid == q]]) for q in range(12)]
    )
    assert np.abs(made - truth).max() <= near

    names = json.loads(exported(model, "json"))["columns"]
    base = sqlite3.connect(":memory:")
    columns = ", ".join(f'"{name}" REAL' for name in names)
    base.execute(f"CREATE TABLE documents (qid INTEGER, docid INTEGER, {columns})")
    values = [
        [int(q), i, *(None if np.isnan(x) else float(x) for x in row)]
        for i, (q, row) in enumerate(zip(qid, X, strict=False))
    ]
    base.executemany(f"INSERT INTO documents VALUES ({', '.join('?' * (2 + len(names)))})", values)
    query = exported(model, "sql", group="qid", key="docid").decode()
    found = base.execute(query.rstrip().rstrip(";") + " ORDER BY docid").fetchall()
    assert [row[1] for row in found] == list(range(120))
    assert np.abs(np.array([row[2] for row in found]) - truth).max() <= near
    for q in range(12):
        own = [row for row in found if row[0] == q]
        assert sorted(row[3] for row in own) == list(range(1, 11))
        assert max(own, key=lambda row: row[2])[3] == 1


def test_files_and_refusals(tmp_path):
    X, y, qid = rows(3)
    model = ordain.RankSVM(lambda_=1.0, scale="global", transform_="log").fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match="logarithm"):
        model.export("elasticsearch", tmp_path / "model.json", name="m1", map={"1": "title"})
    body = json.loads((tmp_path / "model.json").read_text())
    assert body["model"]["name"] == "m1"
    weights = json.loads(body["model"]["model"]["definition"])
    assert "title_log" in weights
    assert set(weights) == set(body["model"]["model"]["feature_normalizers"])
    assert "title" in (tmp_path / "model.json.features.json").read_text()
    with pytest.raises(ValueError, match="scorer=trees"):
        model.export("xgboost")
    with pytest.raises(ValueError, match="unknown target"):
        model.export("pmml")
    by_query = ordain.RankSVM(lambda_=1.0, scale="query").fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="scale=global"):
        by_query.export("solr")
    assert exported(by_query, "onnx", one_query_per_call=True)[:1] == b"\x08"


def test_a_missing_value_that_is_refused_is_refused_there_too():
    X, y, qid = rows(4)
    scores = module(exported(ordain.RankSVM(lambda_=1.0, scale="none").fit(X, y, qid=qid), "python")).scores
    with pytest.raises(ValueError, match="refuses gaps"):
        scores([[1.0, None, 0.0, 0.0]])
    with pytest.raises(ValueError, match="expected 4 values"):
        scores([[1.0]])


def test_labels_and_edges(tmp_path):
    X, _, _ = rows(5)
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 1, X[:, 2] > 0], axis=1).astype(int)
    model = ordain.Independent(lambda_=0.01).fit(X, Y)
    scores = np.array(module(exported(model, "python")).scores(X.tolist()))
    assert scores.shape == (120, 3)
    # the scores of labels, in the order of their log-odds
    for label in range(3):
        assert np.corrcoef(scores[:, label], Y[:, label])[0, 1] > 0.3
