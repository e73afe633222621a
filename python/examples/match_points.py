"""Match two sets of points: learn from pairs whose matching is known how to match others, and how sure to be.

python match_points.py
"""

# %% The data: a cloud of points, turned, sheared and shaken; point i of one side is point i of the other
import matplotlib.pyplot as plt
import numpy as np

from ordain import MatchMap, point_edges

rng = np.random.default_rng(5)
SHAPE = rng.normal(size=(14, 2))


def seen(strength):
    """The cloud under a small turn and shear, with noise."""
    turn = np.eye(2) + strength * rng.normal(size=(2, 2))
    return SHAPE @ turn.T + 0.05 * rng.normal(size=SHAPE.shape)


def pairs(n, strength):
    """Edges of n problems: features, whether an edge is right, and the ids of problem and items."""
    parts = []
    for problem in range(n):
        views = seen(strength), seen(strength)
        X, left, right = point_edges(*views, features=("shape-context", "coordinates", "degree"))
        parts.append((X, left == right, np.full(len(left), problem), left, right))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


# %% Learn which differences matter
X, y, problem, left, right = pairs(30, 0.25)
model = MatchMap().fit(X, y, problem=problem, left=left, right=right)
test = pairs(20, 0.25)
ids = {"problem": test[2], "left": test[3], "right": test[4]}
print(f"share matched rightly: {model.score(test[0], test[1], **ids):.3f}")
print("how probabilities were found:", model.how_)

# %% A matching of a new pair, with the probability of every edge that was taken
views = seen(0.25), seen(0.25)
edges, i, j = point_edges(*views, features=("shape-context", "coordinates", "degree"))
found = model.match(edges, left=i, right=j)
for a, b, p in list(zip(found["left"], found["right"], found["probability"], strict=True))[:5]:
    print(f"point {a} is point {b} (probability {p:.2f})")

# %% Lines are matches, the fainter the less sure; red ones are wrong
figure, axes = plt.subplots(figsize=(6, 4))
shift = np.array([views[0][:, 0].max() - views[1][:, 0].min() + 1.0, 0.0])
axes.scatter(*views[0].T, color="tab:blue", zorder=2)
axes.scatter(*(views[1] + shift).T, color="tab:orange", zorder=2)
for a, b, p in zip(found["left"], found["right"], found["probability"], strict=True):
    ends = np.stack([views[0][a], views[1][b] + shift])
    axes.plot(*ends.T, color="gray" if a == b else "red", alpha=max(0.15, float(p)), zorder=1)
axes.set(xticks=[], yticks=[], title="Two views of one cloud, matched")
figure.tight_layout()
figure.savefig("match_points.png", dpi=120)
print("wrote match_points.png")
