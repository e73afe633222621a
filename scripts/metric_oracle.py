"""Record what other tools say about small random rankings.

    pip install -r scripts/requirements.txt
    python scripts/metric_oracle.py > crates/ordain/tests/fixtures/metric_oracle.json

The queries come from a fixed seed: 1 to 25 documents, grades 0 to 4, scores
exact in f32, with and without ties. Values stand under ordain's metric names,
one object per tool. The same name does not mean the same definition:

  sklearn        linear gain; tied documents share their average gain;
                 null for one document, which it refuses
  lightgbm       gain 2^grade - 1; ties in input order; 1 with nothing relevant
  xgboost        as lightgbm for ndcg; map and p on "grade >= 1", map@k divided
                 by min(k, relevant), p@k by min(k, documents); with nothing
                 relevant ndcg and map are 1, p is 0
  xgboost_minus  its "metric@k-" form: as xgboost, but 0 with nothing relevant
  trec           trec_eval, through pytrec_eval: linear gain; ties by
                 descending document id (bytes); p@k divided by k
  kendall        scipy's tau-b of scores and grades; null where undefined

Queries with unretrieved documents ("unretrieved": judged, not ranked) or
unjudged ones ("judged" false, grade 0: ranked, not in the qrels) have only
"trec". "tagged" are blocks of items with 2 to 12 labels: which apply, a score
for each, and the set that a model would put on the item, with what
scikit-learn says of each item alone and of all items of the block. Every LightGBM and XGBoost ndcg is checked against a plain
implementation here, so that a run that did not score our ranking fails.
"""

import json
import math
import random
from importlib.metadata import version

import lightgbm
import numpy as np
import pytrec_eval
import xgboost
from scipy.stats import kendalltau
from sklearn.metrics import (
    coverage_error, dcg_score, f1_score, hamming_loss, label_ranking_average_precision_score, label_ranking_loss,
    ndcg_score)

SEED = 20240607
CUTOFFS = [1, 3, 5, 10]
PACKAGES = ["lightgbm", "numpy", "pytrec_eval-terrier", "scikit-learn", "scipy", "xgboost-cpu"]
# (documents, distinct score values or None for no ties, highest grade)
PLAIN = [
    (1, None, 4), (1, None, 0), (2, None, 4), (2, 1, 4), (3, None, 1), (3, 2, 4),
    (4, None, 0), (5, 2, 0), (4, None, 4), (5, 3, 4), (6, None, 2), (6, 1, 4),
    (8, None, 4), (8, 3, 1), (9, 4, 4), (10, None, 4), (10, 2, 4), (11, None, 1),
    (12, 3, 4), (13, None, 4), (14, 5, 2), (15, None, 4), (16, 4, 4), (17, 1, 4),
    (18, None, 4), (20, 3, 4), (21, None, 2), (22, 6, 4), (24, None, 4), (25, 4, 4),
]
# the same, with unretrieved documents, unjudged documents
PARTIAL = [
    (3, None, 4, 2, 0), (8, None, 4, 3, 0), (12, 3, 4, 5, 0), (20, 4, 2, 1, 0),
    (4, None, 4, 0, 2), (9, 3, 4, 0, 4), (15, None, 1, 0, 6), (25, 5, 4, 0, 10),
    (7, 2, 4, 4, 3), (18, None, 4, 6, 5), (10, 4, 0, 3, 4),
]

# (items, labels, distinct score values or None for no ties, share of labels that apply)
TAGGED = [(4, 2, None, 0.5), (6, 3, 2, 0.5), (10, 5, 3, 0.3), (10, 8, None, 0.3), (12, 8, 4, 0.2), (12, 12, 5, 0.6)]


def make_query(rng, documents, levels, top, unretrieved=0, unjudged=0):
    ids = [f"d{i}" for i in range(1, documents + unretrieved + 1)]
    rng.shuffle(ids)
    # Skewed to low grades, as judgements are.
    grades = [int((top + 1) * rng.random() ** 2) for _ in ids]
    if levels is None:
        scores = [s / 64 for s in rng.sample(range(-128, 128), documents)]
    else:
        scores = [(rng.randrange(levels) - levels // 2) / 4 for _ in range(documents)]
    assert all(float(np.float32(s)) == s for s in scores)
    query = {"ids": ids[:documents], "grades": grades[:documents], "scores": scores}
    if unjudged:
        out = set(rng.sample(range(documents), unjudged))
        query["judged"] = [i not in out for i in range(documents)]
        query["grades"] = [0 if i in out else g for i, g in enumerate(query["grades"])]
    if unretrieved:
        rest = zip(ids[documents:], grades[documents:])
        query["unretrieved"] = [{"id": i, "grade": g} for i, g in rest]
    return query


def plain_ndcg(grades, scores, k):
    """Gain 2^grade - 1, ties in input order, 1 with nothing relevant."""
    def dcg(ranked):
        return sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(ranked[:k]))
    ranked = [g for _, g in sorted(zip(scores, grades), key=lambda pair: -pair[0])]
    ideal = dcg(sorted(grades, reverse=True))
    return dcg(ranked) / ideal if ideal else 1.0


def run_sklearn(grades, scores):
    if len(grades) == 1:
        return None
    out = {}
    for k in CUTOFFS + [None]:
        at = f"@{k}" if k else ""
        out[f"ndcg{at}"] = float(ndcg_score([grades], [scores], k=k))
        out[f"dcg{at}"] = float(dcg_score([grades], [scores], k=k))
    return out


def run_lightgbm(grades, scores):
    # The scores enter as the initial scores; no split is possible, so the one
    # round of training leaves them as they are.
    size = len(grades)
    data = lightgbm.Dataset(np.zeros((size, 1)), label=grades, group=[size], init_score=scores,
                            params={"feature_pre_filter": False, "verbose": -1})
    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": CUTOFFS,
              "min_data_in_leaf": 10**6, "num_threads": 1, "verbose": -1}
    seen = {}
    lightgbm.train(params, data, 1, valid_sets=[data], valid_names=["q"],
                   callbacks=[lightgbm.record_evaluation(seen)])
    return {name: float(values[0]) for name, values in seen["q"].items()}


def run_xgboost(grades, scores, minus):
    # The scores enter as the base margin of a booster without rounds.
    def evaluate(labels, names):
        data = xgboost.DMatrix(np.zeros((len(labels), 1)), label=labels)
        data.set_group([len(labels)])
        data.set_base_margin(scores)
        metrics = [f"{name}-" if minus else name for name in names]
        booster = xgboost.Booster({"objective": "rank:ndcg", "eval_metric": metrics, "nthread": 1},
                                  [data])
        fields = booster.eval(data, "q").split("\t")[1:]
        assert [f.split(":")[0] for f in fields] == [f"q-{m}" for m in metrics]
        return [float(field.rsplit(":", 1)[1]) for field in fields]

    # "map" without a cutoff stops at 32 documents: more than any query has.
    ndcg = [f"ndcg@{k}" for k in CUTOFFS]
    binary = ["map"] + [f"{m}@{k}" for m in ("map", "pre") for k in CUTOFFS]
    out = dict(zip(ndcg, evaluate(grades, ndcg)))
    # map and pre refuse graded labels.
    values = evaluate([int(g > 0) for g in grades], binary)
    out.update(zip((name.replace("pre@", "p@") for name in binary), values))
    return out


def run_trec(query):
    judged = query.get("judged", [True] * len(query["ids"]))
    qrels = {i: g for i, g, j in zip(query["ids"], query["grades"], judged) if j}
    qrels |= {doc["id"]: doc["grade"] for doc in query.get("unretrieved", [])}
    cut = ",".join(map(str, CUTOFFS))
    measures = {"ndcg", "map", "recip_rank", "Rprec", f"ndcg_cut.{cut}", f"P.{cut}", f"recall.{cut}"}
    run = dict(zip(query["ids"], query["scores"]))
    seen = pytrec_eval.RelevanceEvaluator({"q": qrels}, measures).evaluate({"q": run})["q"]
    names = {"ndcg": "ndcg", "map": "map", "recip_rank": "mrr", "Rprec": "bep"}
    for k in CUTOFFS:
        names |= {f"ndcg_cut_{k}": f"ndcg@{k}", f"P_{k}": f"p@{k}", f"recall_{k}": f"recall@{k}"}
    return {ours: seen[theirs] for theirs, ours in names.items()}


def record(query):
    if not query.keys() & {"judged", "unretrieved"}:
        grades, scores = query["grades"], query["scores"]
        query["sklearn"] = run_sklearn(grades, scores)
        query["lightgbm"] = run_lightgbm(grades, scores)
        query["xgboost"] = run_xgboost(grades, scores, minus=False)
        query["xgboost_minus"] = run_xgboost(grades, scores, minus=True)
        for k in CUTOFFS:
            expected = plain_ndcg(grades, scores, k)
            minus = expected if any(grades) else 0.0
            for tool, want in (("lightgbm", expected), ("xgboost", expected), ("xgboost_minus", minus)):
                assert abs(query[tool][f"ndcg@{k}"] - want) < 1e-12, (tool, k, query)
        tau = float(kendalltau(scores, grades).statistic) if len(grades) > 1 else math.nan
        query["kendall"] = None if math.isnan(tau) else tau
    query["trec"] = run_trec(query)
    return query


def make_items(rng, items, labels, levels, share):
    rows = []
    for i in range(items):
        # The first item has no label and an empty set, the second all labels.
        rate = {0: 0.0, 1: 1.0}.get(i, share)
        yes = [int(rng.random() < rate) for _ in range(labels)]
        said = [0 if i == 0 else int(rng.random() < (0.7 if y else 0.2)) for y in yes]
        if levels is None:
            scores = [s / 64 for s in rng.sample(range(-128, 128), labels)]
        else:
            scores = [(rng.randrange(levels) - levels // 2) / 4 for _ in range(labels)]
        rows.append({"yes": yes, "said": said, "scores": scores})
    return rows


def run_tags(rows):
    yes, said, scores = (np.array([row[name] for row in rows]) for name in ("yes", "said", "scores"))
    return {
        "ap": float(label_ranking_average_precision_score(yes, scores)),
        "rankloss": float(label_ranking_loss(yes, scores)),
        "coverage": float(coverage_error(yes, scores)),
        "hamming": float(hamming_loss(yes, said)),
        "f1": float(f1_score(yes, said, average="samples", zero_division=1)),
    }


def main():
    rng = random.Random(SEED)
    queries = [record(make_query(rng, *shape)) for shape in PLAIN + PARTIAL]
    versions = json.dumps({name: version(name) for name in PACKAGES})
    lines = ",\n".join(json.dumps(query, allow_nan=False) for query in queries)
    blocks = [make_items(rng, *shape) for shape in TAGGED]
    blocks = [{"all": run_tags(rows), "items": [row | {"sklearn": run_tags([row])} for row in rows]} for rows in blocks]
    tagged = ",\n".join(json.dumps(block, allow_nan=False) for block in blocks)
    print(f'{{"versions": {versions},\n"queries": [\n{lines}\n],\n"tagged": [\n{tagged}\n]}}')


if __name__ == "__main__":
    main()
