"""Every convention against the tool that it is named after: random data with ties, empty queries and short queries."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from ordain import metrics

SEEDS = pytest.mark.parametrize("seed", range(8))


def queries(seed: int, n: int = 40, largest: int = 12, grades: int = 4):
    """Grades, scores and ids of queries: some empty, some shorter than k, many scores equal."""
    rng = np.random.default_rng(seed)
    parts = []
    for q in range(n):
        size = int(rng.integers(1, largest))
        y = np.zeros(size) if q % 7 == 0 else rng.integers(0, grades, size).astype(float)
        # few different values: ties; halves, which single precision holds as well
        parts.append((y, rng.integers(-4, 5, size) / 2, np.full(size, q)))
    order = rng.permutation(sum(len(part[0]) for part in parts))
    return tuple(np.concatenate(columns)[order] for columns in zip(*parts, strict=True))


def each(y, score, qid):
    for q in dict.fromkeys(qid):
        rows = np.flatnonzero(qid == q)
        yield q, y[rows], score[rows], rows


@SEEDS
def test_standard_equals_the_mean_over_tied_orders(seed):
    y, score, qid = queries(seed, n=15, largest=6)
    values = metrics.per_query("ndcg@3", y, score, qid)
    for value, (_, grades, scores, _) in zip(values, each(y, score, qid), strict=True):
        if not grades.any():
            assert np.isnan(value)
            continue
        gain, discount = 2**grades - 1, 1 / np.log2(np.arange(2, 5))
        orders = [p for p in permutations(range(len(grades))) if (np.diff(scores[list(p)]) <= 0).all()]
        found = np.mean([(gain[list(p)][:3] * discount[: len(p)]).sum() for p in orders])
        assert value == pytest.approx(found / (np.sort(gain)[::-1][:3] * discount[: len(gain)]).sum(), abs=1e-12)
    assert metrics.ndcg(y, score, qid, k=3) == pytest.approx(np.nanmean(values), abs=1e-15)


@SEEDS
@pytest.mark.parametrize("k", [1, 3, 10, None])
def test_sklearn(seed, k):
    peer = pytest.importorskip("sklearn.metrics")
    y, score, qid = queries(seed)
    ndcg = metrics.per_query("ndcg" if k is None else f"ndcg@{k}", y, score, qid, convention="sklearn")
    dcg = metrics.per_query("dcg" if k is None else f"dcg@{k}", y, score, qid, convention="sklearn")
    for mine, sums, (_, grades, scores, _) in zip(ndcg, dcg, each(y, score, qid), strict=True):
        if len(grades) > 1:  # scikit-learn refuses one document
            assert sums == pytest.approx(peer.dcg_score([grades], [scores], k=k), abs=1e-12)
            assert mine == pytest.approx(peer.ndcg_score([grades], [scores], k=k), abs=1e-12)


@SEEDS
def test_trec(seed):
    peer = pytest.importorskip("pytrec_eval")
    y, score, qid = queries(seed)
    docid = np.array([f"d{row:04d}" for row in np.random.default_rng(seed).permutation(len(y))])
    rows = list(each(y, score, qid))
    judged = {str(q): {docid[r]: int(g) for r, g in zip(at, grades, strict=True)} for q, grades, _, at in rows}
    run = {str(q): {docid[r]: float(s) for r, s in zip(at, scores, strict=True)} for q, _, scores, at in rows}
    names = {
        "ndcg": "ndcg",
        "ndcg@5": "ndcg_cut_5",
        "map": "map",
        "p@5": "P_5",
        "recall@5": "recall_5",
        "mrr": "recip_rank",
        "bep": "Rprec",
    }
    found = peer.RelevanceEvaluator(judged, {"ndcg", "ndcg_cut", "map", "P", "recall", "recip_rank", "Rprec"}).evaluate(
        run
    )
    for mine, theirs in names.items():
        values = metrics.per_query(mine, y, score, qid, convention="trec", docid=docid)
        expected = [found[str(q)][theirs] for q, *_ in rows]
        np.testing.assert_allclose(
            values, expected, rtol=0, atol=1e-6, err_msg=mine
        )  # printed by it in single precision


def contiguous(seed):
    y, score, qid = queries(seed)
    order = np.argsort(qid, kind="stable")
    y, score, qid = y[order], score[order], qid[order]
    return y, score, qid, np.unique(qid, return_counts=True)[1]


@SEEDS
def test_lightgbm(seed):
    peer = pytest.importorskip("lightgbm")
    y, score, qid, sizes = contiguous(seed)
    score = score + 100  # away from 0, so that a step of 1e-30 leaves every score as it is
    quiet = {
        "objective": "lambdarank",
        "metric": "ndcg,map",
        "eval_at": [1, 3, 10],
        "verbosity": -1,
        "learning_rate": 1e-30,
    }
    train = peer.Dataset(np.arange(len(y), dtype=float)[:, None], y, group=sizes, init_score=score)
    found: dict = {}
    valid = train.create_valid(np.arange(len(y), dtype=float)[:, None], y, group=sizes, init_score=score)
    peer.train(quiet, train, 1, valid_sets=[valid], valid_names=["v"], callbacks=[peer.record_evaluation(found)])
    for k in (1, 3, 10):
        mine = metrics.ndcg(y, score, qid, k, "lightgbm")
        assert mine == pytest.approx(found["v"][f"ndcg@{k}"][0], abs=1e-9)


@SEEDS
def test_xgboost(seed):
    peer = pytest.importorskip("xgboost")
    y, score, qid, sizes = contiguous(seed)
    data = peer.DMatrix(np.zeros((len(y), 1)), label=y, base_margin=score, group=sizes)
    model = peer.train({"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "ndcg@10", "ndcg@3-"], "eta": 0.0}, data, 1)
    said = dict(part.split(":") for part in model.eval(data, "v").split()[1:])
    for k in (3, 10):
        assert metrics.ndcg(y, score, qid, k, "xgboost") == pytest.approx(float(said[f"v-ndcg@{k}"]), abs=1e-5)
    emptied = metrics.ndcg(y, score, qid, 3, "xgboost", empty="zero")
    assert emptied == pytest.approx(float(said["v-ndcg@3-"]), abs=1e-5)


@SEEDS
def test_order_of_rows_does_not_matter(seed):
    y, score, qid = queries(seed)
    order = np.random.default_rng(seed + 100).permutation(len(y))
    for metric in (
        "ndcg@10",
        "ndcg",
        "dcg@3",
        "map",
        "p@5",
        "recall@5",
        "mrr",
        "err@10",
        "wta",
        "bep",
        "kendall",
        "pairs",
    ):
        a = metrics.mean(metric, y, score, qid)
        assert a == pytest.approx(metrics.mean(metric, y[order], score[order], qid[order]), abs=1e-12), metric


def test_named_functions_are_the_named_metrics():
    y, score, qid = queries(3)
    for function, name, more in (
        (metrics.ndcg, "ndcg@5", {"k": 5}),
        (metrics.ndcg, "ndcg", {}),
        (metrics.dcg, "dcg@5", {"k": 5}),
        (metrics.average_precision, "map", {}),
        (metrics.precision, "p@5", {"k": 5}),
        (metrics.recall, "recall@5", {"k": 5}),
        (metrics.reciprocal_rank, "mrr", {}),
        (metrics.expected_reciprocal_rank, "err@10", {}),
        (metrics.winner_takes_all, "wta", {}),
        (metrics.break_even_point, "bep", {}),
        (metrics.kendall, "kendall", {}),
        (metrics.pairs, "pairs", {}),
    ):
        assert function(y, score, qid, **more) == metrics.mean(name, y, score, qid)


def test_rules_and_mistakes():
    y, score = [1, 0, 0], [0.0, 0.0, 0.0]
    assert metrics.ndcg(y, score, ties="input") == 1.0
    assert metrics.ndcg(y[::-1], score, k=1, ties="input") == 0.0
    assert metrics.ndcg(y, score, docid=["a", "b", "c"], ties="id", k=1) == 0.0
    assert metrics.ndcg([0, 0], [1, 2], empty="one") == 1.0
    assert metrics.ndcg([0, 0], [1, 2]) == 0.0  # nothing counts
    assert metrics.precision([2, 1], [1, 0], k=2, relevant_from=2) == 0.5
    with pytest.raises(ValueError, match='did you mean "letor2"'):
        metrics.ndcg(y, score, convention="letor")
    with pytest.raises(ValueError, match="unknown rule"):
        metrics.ndcg(y, score, tie="input")
    with pytest.raises(ValueError, match="unknown metric"):
        metrics.mean("ndgc", y, score)
    with pytest.raises(ValueError, match=r"score\[1\]: expected a finite number"):
        metrics.ndcg(y, [0, np.nan, 1])
    with pytest.raises(ValueError, match="expected 3 values"):
        metrics.ndcg(y, [0, 1])
