"""Rank a LETOR file: fit, measure on queries that were held out, look at why, and draw.

    python rank_letor.py [TRAIN.txt [TEST.txt]]

Without files, queries are made up.
"""

# %% The data: one row per document, with its grade and its query
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from ordain import RankMatch, RankSVM, make_ranking, metrics, read_letor

files = [Path(name) for name in sys.argv[1:]]
if files:
    X, y, qid = read_letor(files[0])[:3]
else:
    X, y, qid = make_ranking(n_queries=200, seed=7)

if len(files) > 1:
    X_test, y_test, qid_test = read_letor(files[1], n_features=X.shape[1])[:3]
else:  # every fifth query is for testing
    queries = list(dict.fromkeys(qid.tolist()))
    held = np.isin(qid, queries[::5])
    X, y, qid, X_test, y_test, qid_test = X[~held], y[~held], qid[~held], X[held], y[held], qid[held]
print(f"{len(y)} documents to learn from, {len(y_test)} to test on")

# %% Two rankers; scaling and lambda are chosen on queries held out of the training part
models = {"RankSVM": RankSVM().fit(X, y, qid=qid), "RankMatch": RankMatch().fit(X, y, qid=qid)}
cuts = np.arange(1, 11)
curves = {}
for name, model in models.items():
    scores = model.predict(X_test, qid=qid_test)
    curves[name] = [metrics.ndcg(y_test, scores, qid_test, k=int(k)) for k in cuts]
    print(f"{name:10} NDCG@10 {curves[name][-1]:.4f}  {model.settings_['scale']}, lambda {model.settings_['lambda']}")
best = max(
    (metrics.ndcg(y_test, sign * X_test[:, j], qid_test, k=10), j) for j in range(X.shape[1]) for sign in (1, -1)
)
print(f"the best single feature has {best[0]:.4f}")

# %% Why does the first document of a query stand above the second?
query, rows = next((q, rows) for q, rows in models["RankSVM"].top_k(X_test, qid_test, k=2).items() if len(rows) > 1)
why = models["RankSVM"].explain(X_test, qid_test, above=int(rows[0]), below=int(rows[1]))
for feature, contribution in list(zip(why["feature"], why["contribution"], strict=True))[:3]:
    print(f"query {query}: feature {feature} adds {contribution:+.3f}")

# %% How sure is the order? The probability of being among the first five
chance = models["RankMatch"].predict_first(X_test, qid=qid_test)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
for name, curve in curves.items():
    left.plot(cuts, curve, marker="o", label=name)
left.set(xlabel="k", ylabel="NDCG@k", title="Held-out queries")
left.legend()
one = np.flatnonzero(qid_test == query)
order = one[np.argsort(-chance[one])][:15]
right.bar(range(1, len(order) + 1), chance[order], color=plt.cm.viridis(y_test[order] / max(y_test.max(), 1)))
right.set(
    xlabel="document, most likely first", ylabel="P(among the first five)", title=f"Query {query}, coloured by grade"
)
figure.tight_layout()
figure.savefig("rank_letor.png", dpi=120)
print("wrote rank_letor.png")
