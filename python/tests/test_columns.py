"""Columns of frames by name, frames as answers, folds that leave units whole."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from conftest import told
from scipy import sparse
from sklearn import clone, config_context
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import ordain
from ordain import CStar, MatchMap, ProblemKFold, QueryKFold, RankSVM


@pytest.fixture
def shop() -> pd.DataFrame:
    X, y, qid = ordain.make_ranking(n_queries=30, n_features=4, seed=1)
    frame = pd.DataFrame(X, columns=["bm25", "clicks", "age", "stars"])
    frame["relevance"], frame["session"] = y.astype(int), [f"s{q}" for q in qid]
    frame["title"] = [f"title {i}" for i in range(len(frame))]
    return frame


FRAMES = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_a_frame_by_name(shop, library, tmp_path):
    frame = FRAMES[library](shop)
    plain = RankSVM(lambda_=1.0, scale="global").fit(
        shop[["bm25", "clicks", "age", "stars"]], shop["relevance"], qid=shop["session"]
    )
    model = RankSVM(lambda_=1.0, scale="global").fit(frame, "relevance", "session", ignore=["title"])
    assert model.columns_ == {"label": "relevance", "query": "session", "ignore": ["title"]}
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    # the frame as it is, without its labels, and the model from its file
    np.testing.assert_array_equal(model.predict(frame), plain.predict(shop[["bm25", "clicks", "age", "stars"]]))
    model.save(tmp_path / "m.ordain")
    again = ordain.load(tmp_path / "m.ordain")
    bare = FRAMES[library](shop.drop(columns=["relevance", "title"]))
    np.testing.assert_array_equal(again.predict(bare), model.predict(frame))
    answer = model.predict(frame, output="frame")
    assert type(answer) is type(frame)
    columns = answer.column_names if library == "pyarrow" else list(answer.columns)
    assert list(columns) == ["query", "rank", "score"]
    assert np.asarray(answer["query"]).tolist() == shop["session"].tolist()
    assert np.asarray(answer["rank"]).tolist() == model.rank(frame).tolist()
    for wrong in ({"y": "rel"}, {"ignore": ["titel"]}):
        with pytest.raises(ValueError, match=r"expected a column of X, found '(rel|titel)'"):
            RankSVM().fit(frame, **({"y": "relevance", "qid": "session", "ignore": ["title"]} | wrong))


def test_every_file_gives_the_same_set(shop, tmp_path):
    paths = [tmp_path / name for name in ("a.csv", "a.tsv", "s.csv", "a.parquet", "a.feather", "u.csv")]
    shop.to_csv(paths[0], index=False)
    shop.to_csv(paths[1], index=False, sep="\t")
    shop.to_csv(paths[2], index=False, sep=";", decimal=",")
    pq.write_table(pa.Table.from_pandas(shop), paths[3], row_group_size=100)
    feather.write_feather(pa.Table.from_pandas(shop), paths[4])
    shop.to_csv(paths[5], index=False, encoding="utf-16")
    named = {"label": "relevance", "query": "session", "ignore": ["title"]}
    first = ordain.read_letor(paths[0], **named)
    np.testing.assert_array_equal(first.X, shop[["bm25", "clicks", "age", "stars"]].to_numpy())
    for path in paths[1:]:
        data = ordain.read_letor(path, **named)
        np.testing.assert_array_equal(data.X, first.X)
        np.testing.assert_array_equal(data.y, first.y)
        assert data.qid.tolist() == first.qid.tolist()
        assert data.feature_names == first.feature_names
    with pytest.raises(ordain.FormatError, match='ignore="title" leaves the column out'):
        ordain.read_letor(paths[3], label="relevance", query="session")


def test_indicators(shop):
    gaps = shop.drop(columns=["title"]).copy()
    gaps.loc[::7, "age"] = np.nan
    model = RankSVM(lambda_=1.0, scale="global", missing="indicator").fit(gaps, "relevance", "session")
    assert model.facts_["features"]["names"] == ["bm25", "clicks", "age", "stars", "age_missing"]
    assert model.n_features_in_ == 4
    filled = gaps.assign(age=gaps["age"].fillna(np.float32(gaps["age"].astype(np.float64).mean())))
    beside = filled.assign(age_missing=gaps["age"].isna().astype(float))
    plain = RankSVM(lambda_=1.0, scale="global").fit(beside, "relevance", "session")
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5)
    np.testing.assert_allclose(model.predict(gaps), plain.predict(beside), rtol=1e-4)
    arrays = gaps[["bm25", "clicks", "age", "stars"]].to_numpy()
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(model.predict(arrays, qid=gaps["session"]), model.predict(gaps))


def test_a_list_of_one_eval_set(shop):
    X = shop[["bm25", "clicks", "age", "stars"]]
    y, qid = shop["relevance"], shop["session"]
    models = [RankSVM().fit(X, y, qid, eval_set=e) for e in ((X, y, qid), [(X, y, qid)])]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    with pytest.raises(ValueError, match="expected one set to choose on, found 2"):
        RankSVM().fit(X, y, qid, eval_set=[(X, y, qid), (X, y, qid)])
    named = RankSVM().fit(shop, "relevance", "session", ignore="title", eval_set=[(shop, "relevance")])
    np.testing.assert_array_equal(models[0].coef_, named.coef_)


def test_folds_that_cut_a_query_are_refused(shop):
    X, y = shop.drop(columns=["title", "relevance"]).rename(columns={"session": "qid"}), shop["relevance"]
    model = RankSVM(lambda_=1.0)
    assert len(cross_val_score(model, X, y, cv=QueryKFold(3))) == 3
    with pytest.raises(ValueError, match=r"every query whole.*give cv=QueryKFold\(5\)"):
        cross_val_score(model, X, y, cv=5, error_score="raise")
    with config_context(enable_metadata_routing=True), pytest.raises(ValueError, match="every query whole"):
        cross_val_score(model, X.drop(columns="qid"), y, cv=5, params={"qid": X["qid"]}, error_score="raise")


def test_searches_see_folds_that_cut_too(shop):
    X, y = shop.drop(columns=["title", "relevance"]).rename(columns={"session": "qid"}), shop["relevance"]
    grid = {"lambda_": [0.1, 1.0]}
    search = GridSearchCV(RankSVM(), grid, cv=QueryKFold(3), scoring=ordain.query_scorer("map")).fit(X, y)
    assert search.best_params_["lambda_"] in grid["lambda_"]
    with pytest.raises(ValueError, match=r"give cv=QueryKFold\(5\)"):
        GridSearchCV(RankSVM(), grid, cv=5, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match=r"give cv=QueryKFold\(5\)"):
        cross_val_predict(RankSVM(lambda_=1.0), X, y, cv=5)
    with config_context(enable_metadata_routing=True), pytest.raises(ValueError, match="every query whole"):
        cross_val_predict(RankSVM(lambda_=1.0), X.drop(columns="qid"), y, cv=5, params={"qid": X["qid"]})
    np.testing.assert_array_equal(len(cross_val_predict(RankSVM(lambda_=1.0), X, y, cv=QueryKFold(3))), len(X))


def test_edges_of_a_frame_by_name():
    X, y, problem, left, right = ordain.make_matching(n_problems=12, seed=2)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    frame = frame.assign(same=y, block=problem, a=left, b=right, note="x")
    plain = MatchMap(lambda_=0.1, null=True).fit(X, y, problem, left, right)
    model = MatchMap(lambda_=0.1, null=True).fit(frame, "same", "block", "a", "b", ignore=["note"])
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X, problem, left, right))
    answer = model.predict(frame, output="frame")
    assert list(answer.columns) == ["problem", "left", "right", "score", "matched"]
    assert answer["matched"].tolist() == plain.predict(X, problem, left, right).tolist()
    as_usual = frame.drop(columns=["note", "same"]).rename(columns={"block": "problem", "a": "left", "b": "right"})
    assert len(cross_val_score(MatchMap(lambda_=0.1, null=True), as_usual, y, cv=ProblemKFold(3))) == 3
    with pytest.raises(ValueError, match=r"every problem whole.*give cv=ProblemKFold\(5\)"):
        cross_val_score(MatchMap(lambda_=0.1, null=True), as_usual, y, cv=5, error_score="raise")


def test_labels_as_a_frame():
    X, Y, names = ordain.make_tagging(n_items=200, n_labels=8, seed=3)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)]).assign(title="t")
    model = CStar(lambda_=0.01, link_lambda=0.01).fit(frame, pd.DataFrame(Y, columns=names), ignore=["title"])
    answer = model.predict(frame, output="frame")
    assert list(answer.columns) == names
    np.testing.assert_array_equal(answer.to_numpy(), model.predict(frame))
    with pytest.raises(ValueError, match=r"output: expected one of 'array', .* found 'csv'"):
        model.predict(frame, output="csv")


OUTPUTS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.mark.parametrize("library", OUTPUTS)
def test_set_output_makes_frames_of_answers(shop, library):
    model = RankSVM(lambda_=1.0, scale="global")
    assert model.set_output(transform=library) is model
    model.fit(shop, "relevance", "session", ignore=["title"])
    for one in (
        model,
        pickle.loads(pickle.dumps(model)),
        clone(model).fit(shop, "relevance", "session", ignore="title"),
    ):
        answer = one.predict(shop)
        assert type(answer) is OUTPUTS[library]
        np.testing.assert_array_equal(np.asarray(answer["score"]), model.predict(shop, output="array"))
    assert type(model.predict(shop, output="polars")) is pl.DataFrame
    assert type(model.set_output(transform=None).predict(shop)) is OUTPUTS[library]
    assert type(model.set_output(transform="frame").predict(pl.from_pandas(shop))) is pl.DataFrame
    assert type(model.set_output(transform="default").predict(shop)) is np.ndarray
    with pytest.raises(ValueError, match="found 'numpy'"):
        model.set_output(transform="numpy")

    X, Y, names = ordain.make_tagging(n_items=100, n_labels=6, seed=3)
    tagger = CStar(lambda_=0.01, link_lambda=0.01).set_output(transform=library).fit(X, pd.DataFrame(Y, columns=names))
    for ask in (tagger.predict, tagger.predict_proba, tagger.decision_function):
        answer, plain = ask(X), ask(X, output="array")
        assert type(answer) is OUTPUTS[library]
        np.testing.assert_array_equal(np.asarray(answer[names[2]]), plain[:, 2])

    X, y, *ids = ordain.make_matching(n_problems=10, seed=2)
    matcher = MatchMap(lambda_=0.1, null=True).set_output(transform=library).fit(X, y, *ids)
    asked = {matcher.predict: "matched", matcher.predict_proba: "probability", matcher.decision_function: "score"}
    for ask, name in asked.items():
        answer, plain = ask(X, *ids), ask(X, *ids, output="array")
        assert type(answer) is OUTPUTS[library]
        np.testing.assert_array_equal(np.asarray(answer[name]), plain)
        np.testing.assert_array_equal(np.asarray(answer["left"]), ids[1])


def test_set_output_inside_scikit_learn(shop):
    X, y = shop.drop(columns=["title", "relevance"]).rename(columns={"session": "qid"}), shop["relevance"]
    model = RankSVM(lambda_=1.0)
    plain = cross_val_score(model, X, y, cv=QueryKFold(3), scoring=ordain.ndcg_scorer(5))
    framed = cross_val_score(
        clone(model).set_output(transform="pandas"), X, y, cv=QueryKFold(3), scoring=ordain.ndcg_scorer(5)
    )
    np.testing.assert_array_equal(framed, plain)
    # a pipeline asks its transformers; the ranker at its end answers as before
    numbers = ["bm25", "clicks", "age", "stars"]
    scaler = ColumnTransformer(
        [("s", StandardScaler(), numbers)], remainder="passthrough", verbose_feature_names_out=False
    )
    pipe = Pipeline([("scale", scaler), ("rank", model)]).set_output(transform="pandas").fit(X, y)
    assert type(pipe.predict(X)) is np.ndarray
    pipe["rank"].set_output(transform="pandas")
    assert list(pipe.predict(X).columns) == ["query", "rank", "score"]
    with config_context(transform_output="pandas"):
        assert type(RankSVM(lambda_=1.0).fit(X, y).predict(X)) is np.ndarray


def test_an_ignored_column_may_hold_anything(shop):
    dates = shop.assign(listed=pd.Timestamp("2024-05-01"), brand="Acme")
    for make in FRAMES.values():
        model = RankSVM(lambda_=1.0, scale="global").fit(
            make(dates), "relevance", "session", ignore=["title", "listed", "brand"]
        )
        assert model.n_features_in_ == 4


def test_every_source_gives_the_same_model(shop, tmp_path):
    """Files by the command line and by the readers, and frames: one model, byte for byte."""
    shop["age"] = shop["age"].round(2).astype(np.float64)
    shop["stars"] = (np.arange(len(shop)) % 5).astype(np.int64)
    shop["shown"] = np.arange(len(shop)) % 3 == 0
    table = pa.Table.from_pandas(shop, preserve_index=False)
    paths = {name: tmp_path / f"shop.{name}" for name in ("csv", "tsv", "parquet", "feather")}
    shop.to_csv(paths["csv"], index=False)
    shop.to_csv(paths["tsv"], index=False, sep="\t")
    pq.write_table(table, paths["parquet"], row_group_size=77)
    feather.write_feather(table, paths["feather"], chunksize=50)
    models, scores = {}, {}
    for name, path in paths.items():
        out = tmp_path / f"{name}.ordain"
        words = [
            "--label",
            "relevance",
            "--query",
            "session",
            "--ignore",
            "title",
            "--set=lambda=1",
            "--set=scale=global",
        ]
        told("fit", "ranksvm", path, *words, "-o", out)
        models[name], scores[name] = out.read_bytes(), told("predict", out, path)
    assert len(set(scores.values())) == 1
    frames = {"pandas": shop, "polars": pl.from_pandas(shop), "pyarrow": table}
    # what pandas, polars and pyarrow read from the files themselves
    frames |= {"pandas csv": pd.read_csv(paths["csv"]), "polars csv": pl.read_csv(paths["tsv"], separator="\t")}
    frames |= {
        "polars parquet": pl.read_parquet(paths["parquet"]),
        "pyarrow feather": feather.read_table(paths["feather"]),
    }
    values = []
    for name, frame in frames.items():
        model = RankSVM(lambda_=1.0, scale="global").fit(frame, "relevance", "session", ignore=["title"])
        model.save(tmp_path / "m.ordain")
        models[name] = (tmp_path / "m.ordain").read_bytes()
        values.append(model.predict(frame))
    assert {name for name, model in models.items() if model != models["csv"]} == set()
    for other in values[1:]:
        np.testing.assert_array_equal(other, values[0])


def test_columns_that_float32_blurs_are_named(shop, tmp_path):
    numbers = shop[["bm25", "clicks"]].assign(year=1990.0 + np.arange(len(shop)) % 30, seen=0, age=shop["age"])
    seen = 1_700_000_000 + np.arange(len(shop))
    y, qid = shop["relevance"], shop["session"]
    model = RankSVM(lambda_=1.0, scale="global")
    words = "loses more than 1e-6 of its spread as float32: subtract a constant from it first"
    cases = [
        numbers.assign(seen=seen),
        numbers.assign(seen=seen.astype(np.float64)),
        numbers.assign(seen=pd.array(seen, dtype="Int64")),
        pl.from_pandas(numbers.assign(seen=seen)),
        pa.Table.from_pandas(numbers.assign(seen=seen)),
    ]
    for frame in cases:
        with pytest.warns(UserWarning, match=f"X: 'seen' {words}") as heard:
            model.fit(frame, y, qid=qid)
        assert heard[0].filename == __file__
    array = numbers.assign(seen=seen).to_numpy()
    for rows in (array, np.asfortranarray(array), array.astype(np.int64), sparse.csr_matrix(array)):
        with pytest.warns(UserWarning, match=f"X: 3 {words}"):
            model.fit(rows, y, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(numbers, y, qid=qid)
        model.fit(numbers.to_numpy(), y, qid=qid)
        model.fit(array.astype(np.float32), y, qid=qid)
        model.predict(array, qid=qid)
    path = tmp_path / "t.txt"
    path.write_text("".join(f"{i % 2} qid:{i // 4} 1:{1_700_000_000 + i} 2:{i}\n" for i in range(40)))
    with pytest.warns(UserWarning, match=f"X: '1' {words}") as heard:
        ordain.read_letor(path)
    assert heard[0].filename == __file__


def test_what_needs_scikit_learn_is_in_the_list():
    assert {"ProblemKFold", "QueryKFold", "QueryScorer", "ndcg_scorer", "query_scorer"} <= set(ordain.__all__)
