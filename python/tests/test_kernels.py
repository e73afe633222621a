"""Kernels that are given, and kernels of edges."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from ordain import CStar, Independent, MatchMap


@pytest.fixture(scope="module")
def items():
    random = np.random.default_rng(3)
    X = random.normal(size=(120, 4)).astype(np.float32)
    Y = np.column_stack([np.hypot(X[:, 0], X[:, 1]) < 1.2, X[:, 2] > 0, X[:, 3] > 0.5]).astype(int)
    return X, Y


@pytest.mark.parametrize("name", ["given", "precomputed"])
@pytest.mark.parametrize("kind", [CStar, Independent])
def test_a_given_kernel_is_the_kernel(items, kind, name):
    X, Y = items
    K = rbf_kernel(X, X, gamma=0.3)
    settings = {"lambda_": 1e-2} if kind is Independent else {"core": 1, "lambda_": 1e-2, "link_lambda": 1e-2}
    model = kind(kernel=name, **settings).fit(K[:90, :90], Y[:90])
    said = model.predict_proba(K[90:, :90])
    assert said.shape == (30, 3)
    assert model.facts_["settings"]["kernel"] == "given"
    assert "gamma" not in model.facts_["asked"]  # values that are given have no width to choose
    linear = kind(**settings).fit(X[:90], Y[:90])

    def right(p):
        return np.mean((p > 0.5) == Y[90:])

    assert right(said) > right(linear.predict_proba(X[90:]))
    with pytest.raises(ValueError, match="90 features"):
        model.predict(K[90:])


def test_what_is_no_gram_matrix_is_refused(items):
    X, Y = items
    for K, text in [
        (rbf_kernel(X, X[:50]), "a column for each item"),
        (np.arange(120 * 120).reshape(120, 120) / 1e4 + np.eye(120) * 10, "symmetric"),
        (-rbf_kernel(X, X), "diagonal"),
        (np.ones((120, 120)) - 0.9 * np.eye(120), "positive semi-definite"),
    ]:
        with pytest.raises(ValueError, match=text):
            Independent(kernel="precomputed").fit(K, Y)


def test_cross_validation_cuts_both_sides(items):
    X, Y = items
    K = rbf_kernel(X, X, gamma=0.3)
    scores = cross_val_score(Independent(kernel="precomputed", lambda_=1e-2), K, Y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_edges_have_kernels():
    random = np.random.default_rng(5)
    problem, left, right = (a.ravel() for a in np.mgrid[:40, :4, :4])
    y = left == right
    a = random.normal(size=y.size)
    X = np.column_stack([a, np.where(y, 1, -1) * np.sign(a) * (0.2 + np.abs(random.normal(size=y.size)))])
    parts = {"problem": problem, "left": left, "right": right}
    train, test = problem < 30, problem >= 30

    def cut(of):
        return {k: v[of] for k, v in parts.items()}

    plain = MatchMap(lambda_=1e-2, scale="none").fit(X[train], y[train], **cut(train))
    kernel = MatchMap(kernel="rbf", gamma=1, lambda_=1e-3, scale="none").fit(X[train], y[train], **cut(train))
    assert kernel.facts_["settings"]["kernel"] == "rbf"
    assert kernel.score(X[test], y[test], **cut(test)) > plain.score(X[test], y[test], **cut(test)) + 0.2
    auto = MatchMap(kernel="auto", scale="none").fit(X[train], y[train], **cut(train))
    assert auto.facts_["settings"]["kernel"] != "linear"
