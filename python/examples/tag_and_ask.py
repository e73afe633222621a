"""Tag items, and ask a person the right question: what links between labels are worth, and what answers save.

    python tag_and_ask.py [ITEMS.arff]

Without a file, pictures with labels are made up.
"""

# %% The data: features of items, and which labels apply
import sys

import matplotlib.pyplot as plt
import numpy as np

from ordain import CStar, Independent, make_tagging, read_multilabel

if len(sys.argv) > 1:
    data = read_multilabel(sys.argv[1])
    X, Y, names = data.X, data.Y, data.label_names
else:
    X, Y, names = make_tagging(n_items=900, n_labels=30, seed=3)
test = np.arange(X.shape[0]) % 3 == 2
print(f"{(~test).sum()} items to learn from, {test.sum()} to test on, {len(names)} labels")

# %% One classifier per label, or the same with links from a core of labels to all others
alone = Independent(lambda_=0.1).fit(X[~test], Y[~test])
linked = CStar(core=3, lambda_=0.1, link_lambda=0.1).fit(X[~test], Y[~test])
for model in (alone, linked):
    print(f"{type(model).__name__:12} break-even precision {model.score(X[test], Y[test]):.4f}")
print("core:", ", ".join(names[int(j)] for j in linked.core_))

# %% Ask about the most useful label of an item, and let the answers speak for the others
rng = np.random.default_rng(0)
items = np.flatnonzero(test)[:40]
questions = range(6)
found = {"asked well": [], "asked at random": []}
for strategy, word in (("expected", "asked well"), ("random", "asked at random")):
    answers = [{} for _ in items]
    for _ in questions:
        values = linked.predict_proba(X[items], answers=answers)
        hits = []
        for row, item in enumerate(items):
            truth = np.asarray(Y[item]).ravel() == 1
            best = np.argsort(-values[row], kind="stable")[: truth.sum()]
            hits.append(truth[best].mean() if truth.any() else np.nan)
        found[word].append(np.nanmean(hits))
        for row, item in enumerate(items):
            question = linked.ask(X[item], answers[row], strategy=strategy)
            if question is not None:
                label = linked.classes_.tolist().index(question.label)
                answers[row][question.label] = bool(np.asarray(Y[item]).ravel()[label] == 1)
    print(f"{word}: " + ", ".join(f"{value:.3f}" for value in found[word]))

# %% What an answer is worth
figure, axes = plt.subplots(figsize=(5, 3.5))
for word, values in found.items():
    axes.plot(list(questions), values, marker="o", label=word)
axes.set(xlabel="answers of a person", ylabel="break-even precision", title="Labels found, by number of answers")
axes.legend()
figure.tight_layout()
figure.savefig("tag_and_ask.png", dpi=120)
print("wrote tag_and_ask.png")
