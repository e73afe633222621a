from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import made, told, write_letor

import ordain
from ordain import (
    CCRF,
    AdaRank,
    BallRank,
    Dorm,
    FormatError,
    FRank,
    IsoRank,
    NotFittedError,
    QBRank,
    RankBoost,
    RankMatch,
    RankNet,
    RankSVM,
    SortNet,
    StructRank,
    SVMMap,
    _ordain,
)

SMALL = {
    RankSVM: {"scale": "query", "lambda_": 0.1},
    RankMatch: {"scale": "query", "lambda_": 0.1},
    Dorm: {"scale": "query", "lambda_": 0.1, "draws": 0.1},
    BallRank: {"scale": "query", "lambda_": 1e-3, "gamma": 1.0},
    SVMMap: {"scale": "query", "lambda_": 0.01},
    RankNet: {"scale": "query", "lambda_": 0.01},
    StructRank: {"scale": "query", "lambda_": 0.01},
    SortNet: {"hidden": 4, "rounds": 1},
    RankBoost: {"rounds": 30},
    AdaRank: {"metric": "ndcg@10", "rounds": 10},
    FRank: {"rounds": 20, "weight": "pair"},
    QBRank: {"rounds": 40, "least_rows": 5},
    IsoRank: {"rounds": 40, "least_rows": 5},
}
ALL = pytest.mark.parametrize("kind", list(SMALL), ids=lambda kind: kind.__name__)


def model_bytes(estimator) -> bytes:
    return estimator._model.to_bytes()


def test_ties_keep_the_order_of_rows():
    X = np.zeros((6, 1), dtype=np.float32)
    X[:, 0] = [0, 1, 0, 1, 1, 0]
    qid = np.array([7, 7, 7, 9, 9, 9])
    model = RankSVM(scale="none", lambda_=1.0).fit(X, [0, 1, 0, 1, 1, 0], qid=qid)
    assert model.rank(X, qid).tolist() == [2, 1, 3, 1, 2, 3]
    assert {q: rows.tolist() for q, rows in model.top_k(X, qid, 2).items()} == {7: [1, 0], 9: [3, 4]}


@ALL
def test_learns_ranks_and_explains(kind, data):
    model = kind(**SMALL[kind]).fit(data.X, data.y, qid=data.qid)
    scores = model.predict(data.X, qid=data.qid)
    assert model.score(data.X, data.y, qid=data.qid) > 0.8
    ranks, top = model.rank(data.X, data.qid), model.top_k(data.X, data.qid, k=3)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        order = rows[np.argsort(-scores[rows], kind="stable")]
        assert ranks[order].tolist() == list(range(1, len(rows) + 1))
        assert top[query].tolist() == order[:3].tolist()
    above, below = (int(row) for row in np.flatnonzero(data.qid == 105)[:2])
    reasons = model.explain(data.X, data.qid, above=above, below=below)
    tolerance = 1e-3 if kind is BallRank else 1e-6
    assert reasons["contribution"].sum() == pytest.approx(scores[above] - scores[below], abs=tolerance)
    assert set(reasons["feature"]) == {str(j) for j in range(1, 7)}
    assert "<table>" in model._repr_html_()
    assert "not fitted" in kind()._repr_html_()


def test_two_rows_of_two_queries_cannot_be_explained(data):
    model = RankSVM(**SMALL[RankSVM]).fit(data.X, data.y, qid=data.qid)
    a, b = int(np.flatnonzero(data.qid == 105)[0]), int(np.flatnonzero(data.qid == 106)[0])
    with pytest.raises(ValueError, match="two rows of one query"):
        model.explain(data.X, data.qid, above=a, below=b)
    with pytest.raises(ValueError, match="two rows of X"):
        model.explain(data.X, data.qid, above=a, below=10**6)


@ALL
def test_order_and_type_of_queries_do_not_matter(kind, data):
    # rows of a query keep their order in both, so that even ties and draws are the same
    sort = np.argsort([np.flatnonzero(data.qid == q)[0] for q in data.qid], kind="stable")
    X, y, qid = data.X[sort], data.y[sort], data.qid[sort]
    _, first, sizes = np.unique(qid, return_index=True, return_counts=True)
    sizes = sizes[np.argsort(first)]
    reference = kind(**SMALL[kind]).fit(X, y, qid=qid)
    scattered = kind(**SMALL[kind]).fit(data.X, data.y, qid=data.qid)
    assert model_bytes(reference) == model_bytes(scattered)
    assert model_bytes(reference) == model_bytes(kind(**SMALL[kind]).fit(X, y, qid=[str(q) for q in qid]))
    named = kind(**SMALL[kind]).fit(X, y, qid=[f"query {q}" for q in qid])
    grouped = kind(**SMALL[kind]).fit(X, y, group=sizes)
    expected = reference.predict(X, qid=qid)
    assert (reference.predict(data.X, qid=data.qid)[sort] == expected).all()
    for other in (named, grouped):
        assert (other.predict(X, qid=qid) == expected).all()


def test_what_is_no_query_is_refused(data):
    model = RankSVM(**SMALL[RankSVM])
    with pytest.raises(ValueError, match="needs to know which query"):
        model.fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"qid=.*group="):
        model.fit(data.X, data.y, qid=data.qid, group=[len(data.y)])
    with pytest.raises(ValueError, match=r"expected 1000 ids.*found shape"):
        model.fit(data.X, data.y, qid=data.qid[:10])
    with pytest.raises(ValueError, match=r"add up to the 1000 rows.*found a sum of 999"):
        model.fit(data.X, data.y, group=[999])
    with pytest.raises(ValueError, match=r"qid\[3\]: expected an id, found None"):
        model.fit(data.X, data.y, qid=[*data.qid[:3], None, *data.qid[4:]])
    model.fit(data.X, data.y, qid=data.qid)
    for call in (model.predict, model.rank, model.top_k, lambda X: model.score(X, data.y)):
        with pytest.raises(ValueError, match="needs to know which query"):
            call(data.X)
    unscaled = RankSVM(scale="global", lambda_=0.1).fit(data.X, data.y, qid=data.qid)
    assert (unscaled.predict(data.X) == unscaled.predict(data.X, qid=data.qid)).all()


def test_ids_and_sizes_that_are_none(data):
    pd = pytest.importorskip("pandas")
    model, n = RankSVM(**SMALL[RankSVM]), len(data.y)
    with pytest.raises(ValueError, match="add up to the 1000 rows"):
        model.fit(data.X, data.y, group=[2**63 - 1, 2**63 - 1, 1002])  # which overflows to 1000
    words = [str(q) for q in data.qid]
    for gap in (None, float("nan")):
        with pytest.raises(ValueError, match=r"qid\[3\]: expected an id"):
            model.fit(data.X, data.y, qid=[*words[:3], gap, *words[4:]])
    series = pd.Series(words, dtype="string")
    series[3] = pd.NA
    with pytest.raises(ValueError, match=r"qid\[3\]: expected an id"):
        model.fit(data.X, data.y, qid=series)
    model.fit(data.X, data.y, qid=data.qid)
    for k in (0, -1, 2.5, None):
        with pytest.raises(ValueError, match="k: expected a whole number above 0"):
            model.top_k(data.X, data.qid, k=k)
    with pytest.raises(ValueError, match="above: expected a row"):
        model.explain(data.X, data.qid, above=-1, below=0)
    assert len(model.top_k(data.X, data.qid, k=n)) == 40


def test_tables_of_other_things_are_refused(data):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    model = RankSVM(**SMALL[RankSVM])
    frame = pd.DataFrame(data.X, columns=list("abcdef"))
    for strange in (pd.Timestamp("2020-01-01"), pd.Timedelta(1), 1j):
        with pytest.raises(ValueError, match="expected columns of numbers, found 'f'"):
            model.fit(frame.assign(f=strange), data.y, qid=data.qid)
    with pytest.raises(ValueError, match="Dates and times not supported"):
        model.fit(data.X.astype("M8[s]"), data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"X\.collect\(\)"):
        model.fit(pl.from_pandas(frame).lazy(), data.y, qid=data.qid)
    nullable = model.fit(frame.astype("Float64"), data.y, qid=data.qid)._model.to_bytes()
    assert nullable == model.fit(frame, data.y, qid=data.qid)._model.to_bytes()


def test_probabilities_of_scores_beyond_numbers_are_refused(data):
    model = RankMatch(scale="none", lambda_=0.1).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="scores of at most 1e15"):
        model.predict_proba(data.X * np.float32(1e19), data.qid)


def test_a_loaded_model_measures_as_before(data, tmp_path):
    model = RankSVM(choose_by="map").fit(data.X, data.y, qid=data.qid)
    model.save(tmp_path / "model.ordain")
    loaded = ordain.load(tmp_path / "model.ordain")
    assert loaded.score(data.X, data.y, qid=data.qid) == model.score(data.X, data.y, qid=data.qid)
    assert "strongest" in model._repr_mimebundle_()["text/html"]


def test_single_query_has_to_be_said(data):
    alone = RankSVM(scale="none", lambda_=1.0, single_query=True).fit(data.X, data.y)
    same = RankSVM(scale="none", lambda_=1.0).fit(data.X, data.y, qid=np.ones(len(data.y)))
    assert (alone.coef_ == same.coef_).all()
    assert alone.score(data.X, data.y) == same.score(data.X, data.y, qid=np.ones(len(data.y)))


def test_all_kinds_of_tables_agree(data):
    pd, pl, sp = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("scipy.sparse")
    names = [f"f{j}" for j in range(6)]
    frame = pd.DataFrame(data.X, columns=names).assign(qid=data.qid)
    arrow = pl.from_pandas(frame)
    fitted = [
        RankSVM(**SMALL[RankSVM]).fit(frame, data.y),
        RankSVM(**SMALL[RankSVM]).fit(frame.drop(columns="qid"), data.y, qid=frame["qid"]),
        RankSVM(**SMALL[RankSVM]).fit(arrow, arrow["f0"] * 0 + data.y),
        RankSVM(**SMALL[RankSVM]).fit(arrow.lazy().collect().with_columns(pl.col("qid").cast(pl.String)), data.y),
        RankSVM(**SMALL[RankSVM]).fit(frame.assign(qid=frame["qid"].astype("category")), data.y),
    ]
    assert len({model_bytes(model) for model in fitted}) == 1
    assert fitted[0].feature_names_in_.tolist() == names
    plain = RankSVM(**SMALL[RankSVM]).fit(data.X, data.y, qid=data.qid)
    double = RankSVM(**SMALL[RankSVM]).fit(data.X.astype(np.float64), data.y.tolist(), qid=data.qid.tolist())
    columns = RankSVM(**SMALL[RankSVM]).fit(np.asfortranarray(data.X), data.y, qid=data.qid)
    assert model_bytes(plain) == model_bytes(double) == model_bytes(columns)
    assert (plain.coef_ == fitted[0].coef_).all()
    thin = np.where(np.abs(data.X) > 1, data.X, 0)
    dense = RankSVM(scale="none", lambda_=0.1).fit(thin, data.y, qid=data.qid)
    for sparse in (sp.csr_matrix(thin), sp.csc_matrix(thin), sp.coo_array(thin)):
        model = RankSVM(scale="none", lambda_=0.1).fit(sparse, data.y, qid=data.qid)
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(model.predict(sparse), dense.predict(thin), rtol=0, atol=1e-9)


def test_anything_that_speaks_arrow(data):
    pa = pytest.importorskip("pyarrow")
    columns = {name: data.X[:, j] for j, name in enumerate("abcdef")}
    arrow = pa.table(columns | {"qid": [f"q{q}" for q in data.qid]})

    class Stream:  # nothing but the interface
        def __arrow_c_stream__(self, requested_schema=None):
            return arrow.__arrow_c_stream__(requested_schema)

    tables = [arrow, Stream(), pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(max_chunksize=7))]
    fitted = [RankSVM(**SMALL[RankSVM]).fit(table, data.y) for table in tables]
    named = RankSVM(**SMALL[RankSVM]).fit(data.X, data.y, qid=[f"q{q}" for q in data.qid])
    assert len({model_bytes(model) for model in fitted}) == 1
    assert (fitted[0].coef_ == named.coef_).all()
    assert (fitted[0].predict(Stream()) == named.predict(data.X, qid=data.qid)).all()


def test_arrow_columns_of_every_kind():
    pl = pytest.importorskip("polars")
    kinds = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64]
    frame = pl.DataFrame({f"{kind}": pl.Series([3, 1, 2, 0], dtype=kind) for kind in kinds})
    frame = frame.with_columns(pl.Series("yes", [True, False, True, False]))
    queries = frame.with_columns(q=pl.Series(["a", "b", "a", "b"]), day=pl.date(2024, 5, 1))
    rows, names, taken, *_ = _ordain.read_arrow(queries, ["q"], ["day"], [])
    assert rows.dtype == np.float32
    assert names == frame.columns
    assert rows[:, :-1].tolist() == [[float(x)] * len(kinds) for x in (3, 1, 2, 0)]
    assert rows[:, -1].tolist() == [1, 0, 1, 0]
    assert taken == {"q": ["a", "b", "a", "b"]}
    gaps = pl.DataFrame({"a": [1.0, None], "b": [1, 2]})
    assert np.isnan(_ordain.read_arrow(gaps, [], [], [])[0][1, 0])
    with pytest.raises(ValueError, match='expected columns of numbers, found "c" of'):
        _ordain.read_arrow(pl.DataFrame({"c": ["x"]}), [], [], [])
    parts = pl.concat([frame, frame], rechunk=False)
    assert (_ordain.read_arrow(parts, [], [], [])[0] == np.concatenate([rows, rows])).all()
    many = pl.DataFrame({"a": np.arange(1000), "b": -np.arange(1000)})
    assert (_ordain.read_arrow(many, [], [], [])[0] == np.stack([np.arange(1000), -np.arange(1000)], axis=1)).all()


def test_names_are_enforced_and_reordered(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data.X, columns=list("abcdef")).assign(qid=data.qid)
    model = RankSVM(**SMALL[RankSVM]).fit(frame, data.y)
    expected = model.predict(frame)
    assert (model.predict(frame[["qid", "f", "b", "a", "d", "c", "e"]]) == expected).all()
    with pytest.raises(ValueError, match="missing: c; not expected: x"):
        model.predict(frame.rename(columns={"c": "x"}))
    with pytest.raises(ValueError, match="missing: f"):
        model.predict(frame.drop(columns="f"))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert (model.predict(data.X, qid=data.qid) == expected).all()
    with pytest.raises(ValueError, match="X has 5 features, but RankSVM is expecting 6"):
        model.predict(data.X[:, :5], qid=data.qid)
    with pytest.raises(ValueError, match="'a' twice"):
        model.fit(pd.DataFrame(data.X, columns=list("aacdef")), data.y, qid=data.qid)


def test_values_that_are_no_numbers_are_refused_with_their_place(data):
    pd, sp = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    model = RankSVM(scale="global", lambda_=0.1).fit(data.X, data.y, qid=data.qid)
    X = data.X.copy()
    X[17, 3] = np.nan
    for call in (lambda X: model.predict(X), lambda X: model.fit(X, data.y, qid=data.qid)):
        with pytest.raises(ValueError, match=r"X\[17, 3\]: expected a finite number, found NaN"):
            call(X)
        with pytest.raises(ValueError, match=r"X\[17, 3\]"):
            call(sp.csr_matrix(X))
    with pytest.raises(ValueError, match=r"X\[17, 3\] \(feature \"d\"\)"):
        RankSVM().fit(pd.DataFrame(X, columns=list("abcdef")), data.y, qid=data.qid)
    with pytest.raises(ValueError, match=r"X\[0, 1\]: expected a finite number, found inf"):
        model.predict(np.array([[0, 1e300, 0, 0, 0, 0]]))
    with pytest.raises(ValueError, match=r"y\[2\]: expected a finite number"):
        model.fit(data.X, [0, 1, np.nan, *data.y[3:]], qid=data.qid)
    with pytest.raises(ValueError, match="expected numbers"):
        model.fit(np.full(data.X.shape, "x", dtype=object), data.y, qid=data.qid)
    for missing in ("zero", "mean"):
        filled = np.where(np.isnan(X), 0 if missing == "zero" else np.float32(np.nanmean(X.astype(np.float64), 0)), X)
        gaps = RankSVM(scale="global", lambda_=0.1, missing=missing).fit(X, data.y, qid=data.qid)
        np.testing.assert_allclose(
            gaps.coef_, RankSVM(scale="global", lambda_=0.1).fit(filled, data.y, qid=data.qid).coef_
        )
        np.testing.assert_allclose(gaps.predict(X), gaps.predict(filled), atol=1e-6)


def test_any_finite_label(data):
    low = RankSVM(**SMALL[RankSVM]).fit(data.X, data.y, qid=data.qid)
    shifted = RankSVM(**SMALL[RankSVM]).fit(data.X, 1e6 * data.y - 3.5, qid=data.qid)
    assert (low.coef_ == shifted.coef_).all()


def test_probabilities_of_places_equal_enumeration():
    from itertools import permutations

    X = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
    model = RankMatch(scale="none", lambda_=0.1, places=3).fit(X, [2, 0, 1, 0, 0, 1], qid=np.zeros(6))
    scores, worth = model.predict(X), np.zeros(6)
    worth[:3] = model._model.discounts
    places, total, rank = np.zeros((6, 6)), 0.0, np.zeros(6)
    for order in permutations(range(6)):
        weight = np.exp(sum(worth[j] * scores[i] for j, i in enumerate(order)))
        total += weight
        for j, i in enumerate(order):
            places[i, j] += weight
            rank[i] += weight * (j + 1)
    qid = np.zeros(6)
    np.testing.assert_allclose(model.predict_proba(X, qid), places[:, :3] / total, atol=1e-12)
    np.testing.assert_allclose(model.predict_first(X, qid), places[:, :3].sum(1) / total, atol=1e-12)
    np.testing.assert_allclose(model.expected_rank(X, qid), rank / total, atol=1e-12)
    subset = RankMatch(scale="none", lambda_=0.1, subset="R").fit(X, [2, 0, 1, 0, 0, 1], qid=qid)
    with pytest.raises(ValueError, match="subset=full"):
        subset.predict_proba(X, qid)


@ALL
def test_parameters_are_those_of_the_command_line(kind):
    parameters = inspect.signature(kind).parameters
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    settings = {name: default for name, _, default, _ in _ordain.settings(kind._method)}
    run = {
        "c",
        "choose_by",
        "convention",
        "refit",
        "missing",
        "inputs",
        "single_query",
        "seed",
        "n_threads",
        "progress",
    }
    assert {name.rstrip("_") for name in parameters} - run == set(settings)
    for name, default in settings.items():
        mine = parameters.get(name, parameters.get(name + "_")).default
        if name == "discount":
            assert mine is None  # log on whole lists, linear on subsets
        else:
            assert str(mine).lower() == default.lower() or float(mine) == float(default)
    with pytest.raises(TypeError, match="lambada"):
        kind(lambada=1)
    model = kind()
    assert vars(model) == model.get_params()


def test_wrong_values_are_refused_at_fit(data):
    for wrong, text in (
        ({"lambda_": -1}, "lambda: expected auto or a number above 0, found"),
        ({"lambda_": 1.0, "c": 1.0}, "expected lambda_ or c"),
        ({"scale": "globel"}, 'did you mean "global"'),
        ({"max_iter": 0}, "max_iter: expected a whole number above 0"),
        ({"seed": -1}, "seed: expected"),
        ({"n_threads": 0}, "n_threads: expected"),
        ({"n_threads": 10**6}, "n_threads: expected at most 1024"),
        ({"missing": "median"}, "unknown missing"),
        ({"refit": 1}, "refit: expected True or False"),
        ({"choose_by": "ndgc@10"}, "did you mean"),
        ({"kernel": object()}, "kernel: expected a number, text"),
    ):
        model = RankSVM(**wrong)
        with pytest.raises(ValueError, match=text):
            model.fit(data.X, data.y, qid=data.qid)
    by_c = RankSVM(scale="query", c=10.0).fit(data.X, data.y, qid=data.qid)
    assert (by_c.coef_ == RankSVM(**SMALL[RankSVM]).fit(data.X, data.y, qid=data.qid).coef_).all()


def test_unfitted_says_so(data):
    for call in ("predict", "rank", "score", "save"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(RankSVM(), call)(*[data.X, data.y][: 2 if call == "score" else 1])
    with pytest.raises(AttributeError):
        _ = RankSVM().coef_


@ALL
def test_models_travel(kind, data, tmp_path):
    model = kind(**SMALL[kind]).fit(data.X, data.y, qid=data.qid)
    expected = model.predict(data.X, qid=data.qid)
    model.save(tmp_path / "model.ordain")
    assert (tmp_path / "model.ordain").read_bytes() == model_bytes(model)
    others = [
        pickle.loads(pickle.dumps(model)),
        kind.load(tmp_path / "model.ordain"),
        ordain.load(tmp_path / "model.ordain"),
    ]
    for other in others:
        assert (other.predict(data.X, qid=data.qid) == expected).all()
        assert other.n_features_in_ == 6
        for name in SMALL[kind]:
            assert getattr(other, name) == getattr(model, name)
        again = type(other)(**other.get_params()).fit(data.X, data.y, qid=data.qid)
        assert model_bytes(again) == model_bytes(model)
    wrong = Dorm if kind is RankSVM else RankSVM
    with pytest.raises(ValueError, match=f"expected a model of {wrong.__name__}, found {kind.__name__}"):
        wrong.load(tmp_path / "model.ordain")
    with pytest.raises(FileNotFoundError):
        ordain.load(tmp_path / "nothing.ordain")
    (tmp_path / "text.ordain").write_text("no model")
    with pytest.raises(FormatError):
        ordain.load(tmp_path / "text.ordain")


@ALL
def test_results_do_not_depend_on_threads(kind, data):
    params = {k: v for k, v in SMALL[kind].items() if k != "lambda_"}
    one = kind(**params, n_threads=1).fit(data.X, data.y, qid=data.qid)
    many = kind(**params, n_threads=3).fit(data.X, data.y, qid=data.qid)
    assert model_bytes(one) == model_bytes(many)
    assert (one.predict(data.X, qid=data.qid) == many.predict(data.X, qid=data.qid)).all()


@ALL
def test_same_bytes_as_the_command_line(kind, data, tmp_path):
    write_letor(tmp_path / "train.txt", *data)
    params = {k: v for k, v in SMALL[kind].items() if k != "lambda_"}
    sets = [f"--set={k}={v}" for k, v in params.items()]
    train, path = tmp_path / "train.txt", tmp_path / "cli.ordain"
    told("fit", kind._method, train, "-o", path, "--quiet", *sets)
    model = kind(**params).fit(data.X, data.y, qid=data.qid)
    model.save(tmp_path / "python.ordain")
    assert (tmp_path / "python.ordain").read_bytes() == path.read_bytes()
    printed = np.array([float(line) for line in told("predict", path, train).split()])
    np.testing.assert_allclose(ordain.load(path).predict(data.X, qid=data.qid), printed, rtol=1e-12, atol=1e-12)
    if kind is RankMatch:
        first = np.zeros(len(data.y))
        for line in told("predict", path, train, "--probabilities", "--json").splitlines():
            for item in json.loads(line)["items"]:
                first[int(item["id"]) - 1] = item["first_k"]
        np.testing.assert_allclose(model.predict_first(data.X, data.qid), first, atol=1e-12)


@pytest.mark.parametrize("scale", ["none", "global"])
@pytest.mark.parametrize("features", [1, 6, 8, 46])
def test_scores_have_the_bits_of_the_command_line(scale, features, tmp_path):
    """However rows are handed over: with queries or without, many or one at a time, as an array or a named frame."""
    data = made(features=features, documents=30)
    write_letor(tmp_path / "train.txt", *data)
    model = RankSVM(scale=scale, lambda_=0.1).fit(data.X, data.y, qid=data.qid)
    model.save(tmp_path / "model.ordain")
    printed = [float(line) for line in told("predict", tmp_path / "model.ordain", tmp_path / "train.txt").split()]
    assert model.predict(data.X).tolist() == printed
    assert model.predict(data.X, qid=data.qid).tolist() == printed
    assert model.predict(data.X.astype(np.float64)[:, :]).tolist() == printed
    assert model.predict(np.asfortranarray(data.X)).tolist() == printed
    assert [model.predict(data.X[i : i + 1]).item() for i in range(0, 1200, 100)] == printed[::100]
    for threads in (1, 3):
        model.n_threads = threads
        assert model.predict(np.tile(data.X, (20, 1))).tolist() == 20 * printed
    names = [f"f{j}" for j in range(features)]
    named = RankSVM(scale=scale, lambda_=0.1).fit(pd.DataFrame(data.X, columns=names), data.y, qid=data.qid)
    assert named.predict(pd.DataFrame(data.X, columns=names)[names[::-1]]).tolist() == printed
    X = data.X.copy()
    for value in (np.nan, np.inf, -np.inf):
        X[321, -1] = value
        with pytest.raises(ValueError, match=rf"X\[321, {features - 1}\]: expected a finite number"):
            model.predict(X)


def test_the_formula_of_the_docstring_is_what_is_minimised(data):
    for weight in ("query", "pair"):
        model = RankSVM(scale="none", lambda_=0.1, weight=weight, tol=1e-10).fit(data.X, data.y, qid=data.qid)
        scores, losses = data.X.astype(float) @ model.coef_, []
        for query in np.unique(data.qid):
            s, y = scores[data.qid == query], data.y[data.qid == query]
            better = y[:, None] > y[None, :]
            losses.append(0.5 * np.maximum(0, 1 - (s[:, None] - s[None, :])[better]) ** 2)
        losses = [loss for loss in losses if len(loss)]
        mean = np.mean([loss.mean() for loss in losses]) if weight == "query" else np.concatenate(losses).mean()
        value = 0.1 / 2 * (model.coef_**2).sum() + mean
        assert model.facts_["objective"] == pytest.approx(value, rel=1e-9)
    assert "½ max(0, 1 - w·(x_i - x_j))²" in (RankSVM.__doc__ or "")


def test_choice_on_eval_set(data):
    more = made(queries=60, seed=5)
    told = RankSVM(scale="query").fit(data.X, data.y, qid=data.qid, eval_set=(more.X, more.y, more.qid))
    assert told.facts_["chosen"]["queries"] == 60
    assert told.facts_["queries"] == 100  # refitted on both
    alone = RankSVM(scale="query", refit=False).fit(data.X, data.y, qid=data.qid, eval_set=(more.X, more.y, more.qid))
    assert alone.facts_["queries"] == 40
    tried = alone.facts_["chosen"]["candidates"]
    assert {c["settings"]["weight"] for c in tried} == {"query", "pair"}
    by_hand = [RankSVM(scale="query", weight=c["settings"]["weight"], lambda_=c["settings"]["lambda"]) for c in tried]
    values = [m.fit(data.X, data.y, qid=data.qid).score(more.X, more.y, qid=more.qid) for m in by_hand]
    np.testing.assert_allclose(values, [c["value"] for c in tried], atol=1e-4)
    # 40 queries are few: those of both choose
    few = made(seed=5)
    facts = RankSVM(scale="query").fit(data.X, data.y, qid=data.qid, eval_set=(few.X, few.y, few.qid)).facts_
    assert (facts["chosen"]["queries"], facts["chosen"]["parts"]) == (80, 5)
    with pytest.raises(ValueError, match="expected 6 features, found 2"):
        RankSVM().fit(data.X, data.y, qid=data.qid, eval_set=(more.X[:, :2], more.y, more.qid))


def test_average_precision_knows_relevant_and_not(data):
    model = SVMMap(**SMALL[SVMMap]).fit(data.X, data.y, qid=data.qid)
    binary = SVMMap(**SMALL[SVMMap]).fit(data.X, (data.y > 0).astype(float), qid=data.qid)
    assert (model.coef_ == binary.coef_).all()
    assert model.facts_["gap"] <= 1e-4 * model.facts_["objective"]
    assert ordain.metrics.mean("map", data.y, model.predict(data.X, qid=data.qid), data.qid) > 0.9
    with pytest.raises(ValueError, match="two different grades"):
        SVMMap().fit(data.X, data.y + 1, qid=data.qid)


def test_weights_of_rows(data):
    weight = np.where(np.isin(data.qid, np.unique(data.qid)[:20]), 1.0, 0.0)
    part = weight > 0
    weighted = RankSVM(**SMALL[RankSVM]).fit(data.X, data.y, qid=data.qid, sample_weight=weight)
    alone = RankSVM(**SMALL[RankSVM]).fit(data.X[part], data.y[part], qid=data.qid[part])
    np.testing.assert_allclose(weighted.coef_, alone.coef_, atol=1e-6)
    values = weighted.score(data.X, data.y, qid=data.qid, sample_weight=weight)
    assert values == pytest.approx(weighted.score(data.X[part], data.y[part], qid=data.qid[part]), abs=1e-12)
    with pytest.raises(ValueError, match=r"sample_weight\[4\]"):
        weighted.fit(data.X, data.y, qid=data.qid, sample_weight=np.where(np.arange(1000) == 4, -1, 1))
    with pytest.raises(ValueError, match="weights for dorm with ties=best"):
        Dorm().fit(data.X, data.y, qid=data.qid, sample_weight=weight)


def test_says_when_it_has_not_converged(data):
    with pytest.warns(ordain.ConvergenceWarning, match="max_iter=1 was reached"):
        RankMatch(scale="none", lambda_=1e-4, max_iter=1, tol=1e-12).fit(data.X, data.y, qid=data.qid)
    rows = data.qid == 100
    with pytest.warns(UserWarning, match="too few queries to choose lambda and weight on"):
        RankSVM(scale="query").fit(data.X[rows], data.y[rows], qid=data.qid[rows])


def test_kernel_has_core_documents_and_no_weights(data):
    model = RankSVM(kernel="rbf", scale="query", lambda_=1e-3, gamma=1.0, documents=50).fit(
        data.X, data.y, qid=data.qid
    )
    assert model.facts_["core"]["documents"] <= 50
    with pytest.raises(AttributeError, match="coef_"):
        _ = model.coef_
    blocks = RankSVM(kernel="rbf", scale="none", lambda_=1e-3, gamma=1.0, blocks=True).fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="needs to know which query"):
        blocks.predict(data.X)
    with pytest.raises(ValueError, match="queries that the model was fitted on"):
        blocks.predict(data.X, qid=data.qid + 1000)


def test_works_without_scikit_learn():
    code = """
import sys
for name in ("sklearn", "scipy", "pandas", "polars", "typing_extensions"):
    sys.modules[name] = None
import numpy as np, ordain
from ordain import *
assert not hasattr(ordain, "QueryKFold")
X = np.random.default_rng(0).normal(size=(60, 3)); y = (X[:, 0] > 0).astype(float); qid = np.arange(60) % 6
model = ordain.RankSVM(lambda_=1.0, scale="none").fit(X, y, qid=qid)
assert model.score(X, y, qid=qid) > 0.9
assert repr(model) == "RankSVM(scale='none', lambda_=1.0)", repr(model)
assert model.set_params(lambda_=2.0).get_params()["lambda_"] == 2.0
try:
    model.set_params(lamda=1)
except ValueError as error:
    assert "lamda" in str(error)
else:
    raise AssertionError
import pickle
assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_warning_on_the_usual_way(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankSVM().fit(data.X, data.y, qid=data.qid).predict(data.X, qid=data.qid)


def test_a_choice_goes_by_its_convention(data, tmp_path):
    plain = RankSVM(scale="query", choose_by="ndcg@3").fit(data.X, data.y, qid=data.qid)
    model = RankSVM(scale="query", choose_by="ndcg@3", convention="trec, empty=one").fit(data.X, data.y, qid=data.qid)
    assert plain.facts_["chosen"]["convention"] == "standard"
    assert model.facts_["chosen"]["convention"] == "trec, empty=one"
    assert plain.facts_["chosen"]["candidates"] != model.facts_["chosen"]["candidates"]
    model.save(tmp_path / "model.ordain")
    loaded = ordain.load(tmp_path / "model.ordain")
    assert loaded.convention == "trec, empty=one"
    assert loaded.score(data.X, data.y, qid=data.qid) == model.score(data.X, data.y, qid=data.qid)
    by = ordain.metrics.ndcg(data.y, model.predict(data.X, data.qid), data.qid, k=3, convention="trec", empty="one")
    assert model.score(data.X, data.y, qid=data.qid) == pytest.approx(by)
    for wrong, text in (("letor5", "did you mean"), (3, "convention: expected a name")):
        with pytest.raises(ValueError, match=text):
            RankSVM(convention=wrong).fit(data.X, data.y, qid=data.qid)


@ALL
def test_a_metric_of_another_task_is_refused(kind, data):
    for metric in ("bep_learned", "rankloss", "f1", "accuracy"):
        model = kind(**SMALL[kind], choose_by=metric)
        with pytest.raises(ValueError, match="choose_by: expected a metric of rankings"):
            model.fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="expected a metric of rankings"):
        ordain.metrics.mean("bep_learned", data.y, data.y, data.qid)


def test_settings_that_do_not_go_together_are_refused(data):
    for wrong, text in (
        ({"gamma": 1.0}, "gamma: expected kernel=rbf"),
        ({"kernel": "rbf", "degree": 5}, "degree: expected kernel=poly"),
        ({"documents": 10}, "documents: expected a kernel"),
    ):
        with pytest.raises(ValueError, match=text):
            RankSVM(**wrong).fit(data.X, data.y, qid=data.qid)


def test_scores_that_are_not_finite_are_refused_with_their_row(data):
    params = {"kernel": "poly", "degree": 30, "gamma": 1.0, "scale": "none", "lambda_": 10.0, "tol": 0.1}
    model = RankSVM(**params).fit(data.X, data.y, qid=data.qid)
    assert np.isfinite(model.predict(data.X, data.qid)).all()
    huge = data.X.copy()
    huge[7] *= np.float32(1e12)
    calls = [
        lambda: model.predict(huge, data.qid),
        lambda: model.rank(huge, data.qid),
        lambda: model.score(huge, data.y, qid=data.qid),
        lambda: model.explain(huge, data.qid, above=7, below=int(np.flatnonzero(data.qid == data.qid[7])[0])),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r'document "8": expected a finite score, found .*a lower degree'):
            call()
    # a value of X that is none is named itself
    gap = data.X.copy()
    gap[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[3, 1\]: expected a finite number"):
        RankSVM(scale="none", lambda_=1.0).fit(data.X, data.y, qid=data.qid).predict(gap, data.qid)


def test_every_method_has_a_class():
    assert sorted(ordain._CLASSES) == sorted(name for _, name in ordain._ordain.methods())


def test_answers_are_those_of_the_command_line(data, tmp_path):
    rows = np.argsort(data.qid, kind="stable")
    X, y, qid = data.X[rows], data.y[rows], data.qid[rows]
    model = RankMatch(lambda_=0.1, scale="query").fit(X, y, qid=qid)
    file, saved = tmp_path / "test.txt", tmp_path / "m.ordain"
    write_letor(file, X, y, qid)
    model.save(saved)
    told_lines = told("predict", saved, file, "--json", "--top", 3, "--probabilities").splitlines()
    assert model.answers(X, qid, top=3, probabilities=True) == [json.loads(line) for line in told_lines]


def test_networks_and_fields(data):
    net = RankNet(scale="query", lambda_=1e-3, hidden=5).fit(data.X, data.y, qid=data.qid)
    again = RankNet(scale="query", lambda_=1e-3, hidden=5, n_threads=1).fit(data.X, data.y, qid=data.qid)
    assert model_bytes(net) == model_bytes(again)
    assert net.score(data.X, data.y, qid=data.qid) > 0.8
    # a feature whose small values are good has no weight in a field
    positive = np.abs(data.X) * np.sign(RankNet(scale="query", lambda_=0.01).fit(data.X, data.y, qid=data.qid).coef_)
    field = CCRF().fit(positive, data.y, qid=data.qid)
    scores = field.predict(positive, qid=data.qid)
    rows = np.flatnonzero(data.qid == data.qid[0])[:2]
    reasons = field.explain(positive, data.qid, above=int(rows[0]), below=int(rows[1]))
    assert reasons["contribution"].sum() == pytest.approx(scores[rows[0]] - scores[rows[1]], abs=1e-6)
    with pytest.raises(ValueError, match="similarity"):
        CCRF(similarity="cosine").fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="hidden"):
        SortNet(hidden=0).fit(data.X, data.y, qid=data.qid)


def test_linked_documents_of_a_field_have_like_scores(tmp_path):
    rng = np.random.default_rng(3)
    y = np.tile([2, 2, 1, 1, 0, 0], 30)
    qid = np.repeat(np.arange(30), 6)
    X = np.column_stack([np.where(np.arange(180) % 2, 0.5, y / 2) + 0.1 * rng.random(180), rng.random(180)])
    first = np.arange(0, 180, 2)
    links = np.column_stack([first, first + 1, 1 + rng.random(90)])
    names = np.array([f"d{row}" for row in range(180)])
    frame = pd.DataFrame({"qid": qid[first], "doc_a": names[first + 1], "doc_b": names[first], "alike": links[:, 2]})
    for similarity in ("rbf", "none"):
        model = CCRF(similarity=similarity).fit(X, y, qid=qid, links=links)
        without = CCRF(similarity=similarity).fit(X, y, qid=qid)
        assert model.links_["pair_1"] > 0.01
        assert without.links_ == {}
        assert model.score(X, y, qid, links=links) > without.score(X, y, qid) + 0.02
        named = CCRF(similarity=similarity).fit(X, y, qid=qid, items=names, links=frame)
        scores = model.predict(X, qid, links=links)
        np.testing.assert_array_equal(named.predict(X, qid, items=names, links=frame), scores)
        model.save(tmp_path / "field.ordain")
        np.testing.assert_array_equal(ordain.load(tmp_path / "field.ordain").predict(X, qid, links=links), scores)
    parts = model.explain(X, qid, above=0, below=5, links=links)
    assert abs(parts["contribution"].sum() - (scores[0] - scores[5])) < 1e-9
    assert model.top_k(X, qid, k=1, links=links)[0].size == 1
    assert model.rank(X, qid, links=links).max() == 6
    with pytest.raises(ValueError, match="links between documents, with which the model was fitted"):
        model.predict(X, qid)
    with pytest.raises(ValueError, match="fitted without links"):
        without.predict(X, qid, links=links)
    with pytest.raises(ValueError, match="links of at least 0"):
        CCRF().fit(X, y, qid=qid, links=links * [1, 1, -1])


def test_a_pickle_with_other_parameters_is_refused(data):
    model = RankSVM(lambda_=0.1, scale="query").fit(data.X, data.y, qid=data.qid)
    state = model.__getstate__()
    again = RankSVM.__new__(RankSVM)
    again.__setstate__(state)
    assert again.get_params() == model.get_params()
    with pytest.raises(FormatError, match="a pickle"):
        RankSVM.__new__(RankSVM).__setstate__({**state, "lambda_": 5.0})
