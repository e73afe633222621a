"""Rankers inside scikit-learn: right by construction, checked against loops written by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import made

from ordain import BallRank, Dorm, QueryKFold, RankMatch, RankSVM, metrics, ndcg_scorer, query_scorer

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.pipeline import Pipeline, make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def by_hand(make, data, folds, metric="ndcg@10", convention="standard", scaled=False):
    """What cross-validation should give: fit, predict and measure in a plain loop."""
    values = []
    for train, test in folds:
        X = data.X.astype(np.float64)
        if scaled:
            X = (X - X[train].mean(0)) / X[train].std(0)
        model = make().fit(X[train], data.y[train], qid=data.qid[train])
        scores = model.predict(X[test], qid=data.qid[test])
        values.append(metrics.mean(metric, data.y[test], scores, data.qid[test], convention=convention))
    return values


MAKERS = {
    "ranksvm": lambda: RankSVM(scale="query", lambda_=0.1),
    "chosen": lambda: RankSVM(scale="global"),
    "rankmatch": lambda: RankMatch(scale="query", lambda_=0.1),
    "dorm": lambda: Dorm(scale="query", lambda_=0.1, draws=0.1),
    "ballrank": lambda: BallRank(scale="query", lambda_=1e-3, gamma=1.0),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("ids", ["numbers", "words"])
def test_cross_val_score_with_routing(routing, name, ids):
    data = made(queries=20)
    if ids == "words":
        data = data._replace(qid=np.array([f"q{q}" for q in data.qid]))
    folds = list(QueryKFold(4).split(data.X, qid=data.qid))
    values = cross_val_score(MAKERS[name](), data.X, data.y, cv=QueryKFold(4), params={"qid": data.qid})
    np.testing.assert_allclose(values, by_hand(MAKERS[name], data, folds), **EXACT)
    scorer = ndcg_scorer(5, "letor2")
    values = cross_val_score(MAKERS[name](), data.X, data.y, cv=QueryKFold(4), params={"qid": data.qid}, scoring=scorer)
    np.testing.assert_allclose(values, by_hand(MAKERS[name], data, folds, "ndcg@5", "letor2"), **EXACT)


def test_cross_val_score_with_a_column_and_no_routing(data):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame(data.X, columns=list("abcdef")).assign(qid=data.qid)
    folds = list(QueryKFold(4).split(data.X, qid=data.qid))
    expected = by_hand(MAKERS["ranksvm"], data, folds)
    for table in (frame, pl.from_pandas(frame)):
        values = cross_val_score(MAKERS["ranksvm"](), table, data.y, cv=QueryKFold(4))
        np.testing.assert_allclose(values, expected, **EXACT)
        values = cross_val_score(MAKERS["ranksvm"](), table, data.y, cv=QueryKFold(4), scoring=query_scorer("map"))
        np.testing.assert_allclose(values, by_hand(MAKERS["ranksvm"], data, folds, "map"), **EXACT)
    values = cross_val_score(MAKERS["ranksvm"](), frame, data.y, cv=GroupKFold(4), groups=data.qid)
    grouped = list(GroupKFold(4).split(data.X, groups=data.qid))
    np.testing.assert_allclose(values, by_hand(MAKERS["ranksvm"], data, grouped), **EXACT)
    scores = cross_val_predict(MAKERS["ranksvm"](), frame, data.y, cv=QueryKFold(4))
    for train, test in folds:
        model = MAKERS["ranksvm"]().fit(data.X[train], data.y[train], qid=data.qid[train])
        np.testing.assert_allclose(scores[test], model.predict(data.X[test], qid=data.qid[test]), **EXACT)
    search = GridSearchCV(MAKERS["ranksvm"](), {"lambda_": [1e-3, 1e3]}, cv=QueryKFold(3)).fit(frame, data.y)
    assert (search.predict(frame) == search.best_estimator_.predict(frame)).all()


def test_columns_of_words_are_for_the_pipeline(data):
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame(data.X, columns=list("abcdef")).assign(qid=data.qid, kind=np.where(data.X[:, 0] > 0, "x", "y"))
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    pipeline = make_pipeline(encode, RankSVM(scale="none", lambda_=0.1))
    plain = cross_val_score(pipeline, frame, data.y, cv=QueryKFold(3), error_score="raise")
    scored = cross_val_score(pipeline, frame, data.y, cv=QueryKFold(3), scoring=ndcg_scorer(10), error_score="raise")
    np.testing.assert_allclose(plain, scored, **EXACT)


def test_pipeline_with_routing(routing, data):
    folds = list(QueryKFold(4).split(data.X, qid=data.qid))
    X = data.X.astype(np.float64)
    pipeline = make_pipeline(StandardScaler(), MAKERS["ranksvm"]())
    expected = by_hand(MAKERS["ranksvm"], data, folds, scaled=True)
    values = cross_val_score(pipeline, X, data.y, cv=QueryKFold(4), params={"qid": data.qid})
    np.testing.assert_allclose(values, expected, **EXACT)
    values = cross_val_score(pipeline, X, data.y, cv=QueryKFold(4), params={"qid": data.qid}, scoring=ndcg_scorer(10))
    np.testing.assert_allclose(values, expected, **EXACT)
    pipeline.fit(X, data.y, qid=data.qid)
    own = MAKERS["ranksvm"]().fit(StandardScaler().fit_transform(X), data.y, qid=data.qid)
    np.testing.assert_allclose(
        pipeline.predict(X, qid=data.qid), own.predict(StandardScaler().fit_transform(X), qid=data.qid), **EXACT
    )
    # scikit-learn hands no metadata to predict here: refused, and not one big query
    with pytest.raises(ValueError, match="needs to know which query"):
        cross_val_predict(pipeline, X, data.y, cv=QueryKFold(4), params={"qid": data.qid})


def test_grid_search_with_routing(routing, data):
    X = data.X.astype(np.float64)
    folds = list(QueryKFold(3).split(X, qid=data.qid))
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", RankSVM(scale="query"))])
    grid = [1e-3, 1.0, 1e3]
    search = GridSearchCV(pipeline, {"rank__lambda_": grid}, cv=QueryKFold(3)).fit(X, data.y, qid=data.qid)
    expected = [
        by_hand(lambda value=value: RankSVM(scale="query", lambda_=value), data, folds, scaled=True) for value in grid
    ]
    for k in range(3):
        found = search.cv_results_[f"split{k}_test_score"]
        np.testing.assert_allclose(found, [values[k] for values in expected], **EXACT)
    assert search.best_params_ == {"rank__lambda_": grid[int(np.argmax(np.mean(expected, 1)))]}
    final = search.best_estimator_.score(X, data.y, qid=data.qid)
    assert search.score(X, data.y, qid=data.qid) == pytest.approx(final, abs=1e-12)


def test_never_a_silent_single_query(data):
    with pytest.raises(ValueError, match="needs to know which query"):
        cross_val_score(RankSVM(), data.X, data.y, error_score="raise")
    with pytest.raises(ValueError, match="expected qid=, groups="):
        cross_val_score(RankSVM(), data.X, data.y, cv=QueryKFold(3), error_score="raise")
    model = MAKERS["ranksvm"]().fit(data.X, data.y, qid=data.qid)
    with pytest.raises(ValueError, match="expected qid, found none"):
        ndcg_scorer()(model, data.X, data.y)
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match="needs to know which query"),
    ):
        cross_val_score(RankSVM(), data.X, data.y, error_score="raise")


def test_query_folds_keep_queries_whole(data):
    for shuffle in (False, True):
        seen = []
        for train, test in QueryKFold(4, shuffle=shuffle, seed=3).split(data.X, qid=data.qid):
            assert not set(data.qid[train]) & set(data.qid[test])
            assert len(train) + len(test) == len(data.y)
            seen.extend(test)
        assert sorted(seen) == list(range(len(data.y)))
    first = list(dict.fromkeys(data.qid))
    for k, (_, test) in enumerate(QueryKFold(4).split(data.X, groups=data.qid)):
        assert set(data.qid[test]) == set(first[k::4])
    assert QueryKFold(4).get_n_splits() == 4
    with pytest.raises(ValueError, match="expected 2 to 40"):
        next(QueryKFold(41).split(data.X, qid=data.qid))


@pytest.mark.parametrize("name", MAKERS)
def test_clone_and_parameters(name, data):
    model = MAKERS[name]().fit(data.X, data.y, qid=data.qid)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "facts_")
    assert copy.set_params(seed=5).seed == 5
    with pytest.raises(ValueError, match="Invalid parameter 'lamda'"):
        copy.set_params(lamda=1)


NAMES = "named columns that come in another order are put right by name, and not refused"
QUERY = "features are scaled within the query, so that a score depends on the other rows"
PLACES = "the columns of predict_proba are places, not classes, and depend on the other rows"
WEIGHT = (
    "a pair weighs the geometric mean of its rows, so that a weight of all rows of a query is the weight of the query"
)

WHOLE = "this method weighs whole queries: rows of one query with different weights are refused"
REFUSED = "this method takes no weights, and says which ones do"
WEIGHTED = [
    "check_sample_weights_not_overwritten",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
]
ANY_WEIGHTS = [f"check_sample_weights_{how}" for how in ("pandas_series", "not_an_array", "list", "shape")]


def excepted(estimator):
    """Checks that a ranker fails on purpose, each with its reason."""
    known = {}
    if isinstance(estimator, RankSVM):
        known["check_sample_weight_equivalence_on_dense_data"] = WEIGHT
        known["check_sample_weight_equivalence_on_sparse_data"] = WEIGHT
    if isinstance(estimator, (Dorm, BallRank)):
        known |= dict.fromkeys(WEIGHTED + ANY_WEIGHTS, REFUSED)
    if isinstance(estimator, RankMatch):
        known |= dict.fromkeys(WEIGHTED, WHOLE)
        known["check_estimator_sparse_array"] = PLACES
        known["check_estimator_sparse_matrix"] = PLACES
        known["check_methods_subset_invariance"] = PLACES
    if estimator.scale == "auto":
        known["check_methods_subset_invariance"] = QUERY
    return known


@parametrize_with_checks(
    [
        RankSVM(single_query=True, scale="global", lambda_=1.0),
        RankSVM(single_query=True),
        RankMatch(single_query=True, scale="global", lambda_=0.1),
        Dorm(single_query=True, scale="global", lambda_=0.1),
        BallRank(single_query=True, scale="global", lambda_=0.001, gamma=1.0),
    ],
    expected_failed_checks=excepted,
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::ordain.ConvergenceWarning")
def test_estimator_checks(estimator, check):
    check(estimator)
