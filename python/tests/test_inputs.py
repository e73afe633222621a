"""Columns that are no numbers: the same steps as those of the command line, learned on the training part alone."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import told
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

import ordain
from ordain import CStar, Independent, MatchMap, RankSVM

TEXTS = {"title": "text[words=2]", "country": "category", "born": "date", "emb": "vector", "size": "number"}


def articles(n: int = 60, secret: str = "") -> dict[str, list[Any]]:
    """Columns of articles, whose words tell their label; some cells are empty."""
    words = ["fish boat wave", "cloud bird sun", "tree leaf fox"]
    return {
        "title": [f"The {words[i % 3].split()[i // 3 % 3]} of {secret}own{i}" for i in range(n)],
        "country": [["FR", "DE", "", "IT"][i % 4] for i in range(n)],
        "born": ["" if i % 7 == 0 else f"19{70 + i % 20}-0{1 + i % 9}-1{i % 9}" for i in range(n)],
        "emb": [f"{i % 3} {i % 5}.25" for i in range(n)],
        "size": [i % 7 + 0.5 for i in range(n)],
    }


def labels(n: int = 60) -> list[list[str]]:
    return [[["sea", "sky", "wood"][i % 3]] for i in range(n)]


def as_frames(columns: dict[str, list[Any]]) -> list[Any]:
    """The same columns in every library, and as a dict."""
    return [columns, pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)]


def test_models_are_those_of_the_command_line(tmp_path: Path) -> None:
    columns = articles()
    path, model = tmp_path / "a.csv", tmp_path / "m.ordain"
    order = ["size", "title", "country", "born", "emb"]
    frame = pd.DataFrame({name: columns[name] for name in order})
    frame.assign(labels=[one[0] for one in labels()]).to_csv(path, index=False)
    inputs = [word for name, kind in TEXTS.items() for word in ("--input", f"{name}:{kind}")]
    told("fit", "independent", path, "-o", model, "--set", "lambda=0.1", *inputs)
    for X in as_frames(columns):
        fitted = Independent(lambda_=0.1, inputs=TEXTS).fit(X, labels())
        assert fitted._model.to_bytes() == model.read_bytes()
        assert fitted.n_features_in_ == 5
        assert list(fitted.feature_names_in_) == order
    loaded = ordain.load(model)
    assert loaded.inputs == TEXTS
    assert list(loaded.feature_names_in_) == order
    assert loaded.predict_labels(columns) == labels()

    # rankers and matchers
    rank = frame.assign(qid=[f"q{i // 6}" for i in range(60)], label=[i % 3 for i in range(60)])
    rank.to_csv(path, index=False)
    told("fit", "ranksvm", path, "-o", model, "--set", "lambda=0.1", *inputs)
    for X in (frame, pl.DataFrame(columns)):
        ranker = RankSVM(lambda_=0.1, inputs=TEXTS).fit(X, rank["label"], qid=rank["qid"])
        assert ranker._model.to_bytes() == model.read_bytes()
        assert np.array_equal(ordain.load(model).predict(X, rank["qid"]), ranker.predict(X, rank["qid"]))
    edges = [(p, i, j) for p in range(15) for i in range(2) for j in range(2)]
    match = frame.assign(
        problem=[p for p, _, _ in edges],
        left=[f"a{i}" for _, i, _ in edges],
        right=[f"b{j}" for _, _, j in edges],
    )
    truth = [int(i == j) for _, i, j in edges]
    match.assign(matched=truth).to_csv(path, index=False)
    told("fit", "matchmap", path, "-o", model, "--set", "lambda=0.1", *inputs)
    for X in (match, pa.Table.from_pandas(match, preserve_index=False)):
        matcher = MatchMap(lambda_=0.1, inputs=TEXTS).fit(X, truth)
        assert matcher._model.to_bytes() == model.read_bytes()
        assert matcher.predict(X).shape == (60,)


def test_typed_cells_are_those_of_text() -> None:
    columns = articles()
    plain = Independent(lambda_=0.1, inputs=TEXTS).fit(columns, labels())
    dates = pd.to_datetime(pd.Series([day or None for day in columns["born"]]))
    vectors = [[float(x) for x in cell.split()] for cell in columns["emb"]]
    countries = [name or None for name in columns["country"]]
    typed = {**columns, "born": dates, "emb": vectors, "country": countries}
    frames: list[Any] = [
        pd.DataFrame(typed),
        pl.DataFrame({**typed, "born": [None if pd.isna(day) else day.date() for day in dates]}),
        pa.table({**typed, "born": pa.array(dates), "emb": pa.array(vectors, pa.list_(pa.float32(), 2))}),
        {**typed, "emb": np.array(vectors), "born": dates.to_numpy()},
    ]
    for X in frames:
        fitted = Independent(lambda_=0.1, inputs=TEXTS).fit(X, labels())
        assert np.array_equal(fitted.predict_proba(X), plain.predict_proba(columns)), type(X)
        assert np.array_equal(plain.predict_proba(X), plain.predict_proba(columns))


def test_cross_validation_learns_steps_in_every_fold() -> None:
    X = pd.DataFrame(articles())
    Y = ordain.Independent(lambda_=0.1, inputs=TEXTS).fit(X, labels())
    indicators = pd.DataFrame({name: [int(name in one) for one in labels()] for name in Y.classes_})
    model = CStar(lambda_=0.1, link_lambda=1.0, inputs=TEXTS)
    cut = KFold(3, shuffle=True, random_state=0)
    said = cross_val_predict(model, X, indicators, cv=cut, method="decision_function")
    for train, test in cut.split(X):
        fold = clone(model).fit(X.iloc[train], indicators.iloc[train])
        names = fold.facts_["features"]["names"]
        assert f"title=own{train[0]}" in names
        assert not any(f"title=own{i}" in names for i in test)  # a word of the test part
        assert np.array_equal(fold.decision_function(X.iloc[test]), said[test])


def test_parameters_are_kept() -> None:
    model = RankSVM(lambda_=0.1, inputs=TEXTS)
    assert model.get_params()["inputs"] == TEXTS
    assert clone(model).inputs == TEXTS
    X, qid = pd.DataFrame(articles()), [i // 6 for i in range(60)]
    model.fit(X, [i % 3 for i in range(60)], qid=qid)
    again = pickle.loads(pickle.dumps(model))
    assert again.inputs == TEXTS
    assert np.array_equal(again.predict(X, qid), model.predict(X, qid))
    # the columns of another order, and a frame of another library
    other = pl.DataFrame(X[list(X.columns[::-1])])
    assert np.array_equal(model.predict(other, qid), model.predict(X, qid))
    valid = pd.DataFrame(articles(30, "new"))
    chosen = RankSVM(inputs=TEXTS, choose_by="ndcg@3").fit(
        X, [i % 3 for i in range(60)], qid=qid, eval_set=(valid[X.columns[::-1]], [i % 3 for i in range(30)], qid[:30])
    )
    assert chosen.facts_["chosen"] is not None


def test_what_is_no_input_is_refused() -> None:
    X, Y = articles(), labels()
    for inputs, text in [
        ({"titel": "text"}, "titel"),
        ({**TEXTS, "title": "words"}, "unknown kind of input"),
        ({"title": 3}, "names of columns with kinds"),
        ("title:text", "expected None or a dict"),
    ]:
        with pytest.raises(ValueError, match=text):
            Independent(lambda_=0.1, inputs=inputs).fit(X, Y)
    with pytest.raises(ValueError, match="expected a frame"):
        Independent(inputs=TEXTS).fit(np.zeros((60, 3)), Y)
    model = Independent(lambda_=0.1, inputs=TEXTS).fit(X, Y)
    with pytest.raises(ValueError, match="columns of X, found 'born'"):
        model.predict({name: cells for name, cells in X.items() if name != "born"})
    with pytest.raises(ValueError, match="dates such as"):
        model.predict({**X, "born": ["soon"] * 60})
    with pytest.raises(ValueError, match="as many in every row"):
        model.predict({**X, "emb": np.zeros((60, 3))})
    with pytest.raises(ValueError, match="expected 60 rows"):
        model.predict({**X, "emb": np.zeros((59, 2))})
    with pytest.raises(ValueError, match="a vector of 2 finite numbers"):
        model.predict({**X, "emb": [[1.0, 2.0]] * 59 + [[1.0]]})


def test_vectors_of_queries_and_documents(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q, d = (rng.integers(-8, 9, size=(60, 3)) / 4 for _ in range(2))
    y, qid = ((q * d).sum(axis=1) > 0.5).astype(float), np.repeat(np.arange(10), 6)
    path, model = tmp_path / "t.parquet", tmp_path / "m.ordain"
    lists = pa.table({"qid": qid, "label": y, "q": q.tolist(), "d": d.tolist()})
    pa.parquet.write_table(lists, path)
    inputs = {"q,d": "vectors", "d": "vector"}
    words = [word for name, kind in inputs.items() for word in ("--input", f"{name}:{kind}")]
    told("fit", "ranksvm", path, "-o", model, "--set", "lambda=0.01", *words)
    np.save(tmp_path / "q.npy", q)
    np.save(tmp_path / "d.npy", d.astype(np.float32))
    bare = tmp_path / "t.csv"
    pd.DataFrame({"qid": qid, "label": y}).to_csv(bare, index=False)
    files = [f"q,d:vectors={tmp_path / 'q.npy'},{tmp_path / 'd.npy'}", f"d:vector={tmp_path / 'd.npy'}"]
    told(
        "fit",
        "ranksvm",
        bare,
        "-o",
        tmp_path / "f.ordain",
        "--set",
        "lambda=0.01",
        "--input",
        files[0],
        "--input",
        files[1],
    )
    assert model.read_bytes() == (tmp_path / "f.ordain").read_bytes()
    ranks = []
    for X in (
        {"q": q, "d": d},
        lists.select(["q", "d"]),
        pl.DataFrame(lists.select(["q", "d"])),
        lists.select(["q", "d"]).to_pandas(),
    ):
        fitted = RankSVM(lambda_=0.01, inputs=inputs).fit(X, y, qid=qid)
        assert fitted._model.to_bytes() == model.read_bytes(), type(X)
        ranks.append(fitted.score(X, y, qid=qid))
    assert min(ranks) > 0.99
    names = fitted.facts_["features"]["names"]
    assert names == ["q~d_dot", "q~d_cosine", "q~d_missing", *(f"q~d_diff_{j}" for j in range(3)), "d_0", "d_1", "d_2"]


def test_pictures_are_paths(tmp_path: Path) -> None:
    told("make", "silhouettes", "-o", tmp_path, "--each", 4)
    table = pd.read_csv(tmp_path / "pictures.csv")
    model, inputs = tmp_path / "m.ordain", {"photo": "image[gradients=8,grid=2]"}
    told(
        "fit",
        "independent",
        tmp_path / "pictures.csv",
        "-o",
        model,
        "--set",
        "lambda=1",
        "--input",
        "photo:image[gradients=8,grid=2]",
    )
    X = pd.DataFrame({"photo": [str(tmp_path / name) for name in table["photo"]]})
    fitted = Independent(lambda_=1.0, inputs=inputs).fit(X, [[one] for one in table["labels"]])
    assert np.array_equal(fitted.predict_proba(X), ordain.load(model).predict_proba(X))
    with pytest.raises(ValueError, match=r"a picture in column \"photo\" in row 2"):
        fitted.predict(pd.DataFrame({"photo": [X["photo"][0], str(tmp_path / "none.png")]}))


def test_made_up_pictures_are_those_of_the_command_line(tmp_path: Path) -> None:
    told("make", "levels", "-o", tmp_path, "--seed", 3)
    X, y, qid = ordain.make_levels(seed=3)
    read = ordain.read_letor(tmp_path / "test.txt")
    assert np.array_equal(read.X, X[np.isin(qid, read.qid)])
    assert set(y) == {0.0, 1.0, 2.0}
    videos, of = ordain.make_videos(23, 4, side=20, seed=3)
    assert videos.shape == (23, 20, 20, 5)
    assert np.bincount(of).tolist() == [6, 6, 6, 5]
    assert 0.05 < videos.mean() < 0.6
    assert videos.max() <= 1
    assert np.array_equal(videos, ordain.make_videos(23, 4, side=20, seed=3)[0])
    pictures, classes = ordain.make_silhouettes(3, 2, side=16)
    assert pictures.shape == (6, 16, 16)
    assert classes.tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(ValueError, match="n_classes"):
        ordain.make_silhouettes(0)
