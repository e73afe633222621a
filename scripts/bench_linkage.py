#!/usr/bin/env python3
"""Compare ordain with logistic regression on made-up registers of which few partners are known.

The generator is `Registers` (crates/ordain/src/data/synthetic/registers.rs): 5,000 records on either
side, one problem. The partners of some left records are known, drawn at random; everything is fitted
on them and measured on all others, F1 over all their edges, and ECE. Draw d has the seed d.

The peer: gaps filled by the mean, with a column per gap; scaled to deviation 1; logistic
regression on the edges of known records, C from .01 to 100 by five-fold log-loss over records; the
cut that is best for F1 by the same folds; of the edges above it the matching with the largest sum of
log-odds above the cut. ordain: `fit METHOD[null=true]` without any other setting.

    scripts/bench_linkage.py [--sizes 20,50,100,500] [--draws 1-10] [--methods matchmap,matchmargin]

After `cargo build --workspace --bins --examples`. NumPy, SciPy and scikit-learn are installed in the
virtual environment target/venv on first use.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn"}
TIMEOUT = 1200  # seconds, for every child process
FOLDS = 5


def read(path):
    """Return left and right items as numbers, comparisons with NaN at gaps, and truths with NaN where unknown."""
    import numpy

    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    number = [{}, {}]
    ends = [[number[side].setdefault(row[1 + side], len(number[side])) for row in rows] for side in (0, 1)]
    values = numpy.array([[float(cell) if cell else numpy.nan for cell in row[3:]] for row in rows])
    return numpy.array(ends[0]), numpy.array(ends[1]), values[:, :-1], values[:, -1]


def matching(left, right, gain):
    """Return which edges are in the matching with the largest sum of gains; only those above 0 count."""
    import numpy
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    chosen = numpy.zeros(len(gain), bool)
    edges = numpy.flatnonzero(gain > 0)
    n, m = left.max() + 1, right.max() + 1
    ones = numpy.ones(len(edges))
    _, part = connected_components(coo_matrix((ones, (left[edges], n + right[edges])), shape=(n + m, n + m)), False)
    order = edges[numpy.argsort(part[left[edges]], kind="stable")]
    for group in numpy.split(order, numpy.flatnonzero(numpy.diff(part[left[order]])) + 1):
        rows, i = numpy.unique(left[group], return_inverse=True)
        columns, j = numpy.unique(right[group], return_inverse=True)
        table = numpy.zeros((len(rows), len(columns)))
        table[i, j] = gain[group]
        best = set(zip(*linear_sum_assignment(table, maximize=True)))
        chosen[[e for e, a, b in zip(group, i, j) if (a, b) in best]] = True
    return chosen


def f1(chosen, truth):
    """Return the F1 of chosen edges over those whose truth is known."""
    both = (chosen & (truth == 1)).sum()
    return 2 * both / max((truth == 1).sum() + (chosen & (truth == truth)).sum(), 1)


def peer(known, rest):
    """Return the F1 of logistic regression with columns for gaps, a tuned cut and an assignment."""
    import numpy
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    left, right, x, truth = known
    seen = truth == truth
    mean = numpy.nan_to_num(numpy.nanmean(x[seen], axis=0))
    x = numpy.hstack([numpy.where(numpy.isnan(x), mean, x), numpy.isnan(x)])
    x = (x - x[seen].mean(axis=0)) / numpy.maximum(x[seen].std(axis=0), 1e-9)
    items, item = numpy.unique(left[seen], return_inverse=True)
    fold = numpy.random.default_rng(0).permutation(len(items))[item] % FOLDS
    x_seen, y = x[seen], truth[seen]

    def held_out(c):
        p = numpy.zeros(len(y))
        for k in range(FOLDS):
            model = LogisticRegression(C=c, max_iter=2000).fit(x_seen[fold != k], y[fold != k])
            p[fold == k] = model.predict_proba(x_seen[fold == k])[:, 1]
        return p

    all_p = {c: held_out(c) for c in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)}
    c = min(all_p, key=lambda c: log_loss(y, all_p[c]))
    odds = numpy.log(all_p[c] + 1e-12) - numpy.log1p(1e-12 - all_p[c])
    cuts = numpy.quantile(odds[all_p[c] > 0.01], numpy.linspace(0, 1, 61))
    values = numpy.array([f1(matching(left[seen], right[seen], odds - cut), y) for cut in cuts])
    smooth = numpy.convolve(numpy.pad(values, 2, mode="edge"), numpy.ones(5) / 5, mode="valid")
    cut = cuts[smooth.argmax()]
    final = LogisticRegression(C=c, max_iter=2000).fit(x_seen, y).decision_function(x)
    return f1(matching(left, right, final - cut), rest[3])


def ordain(words):
    """Run ordain and return what it said as JSON, with its seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(ROOT / "target" / "debug" / "ordain"), *words, "--json", "--quiet"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime - before.ru_utime


def measure(labels, draw, methods, folder):
    """Return F1, ECE and seconds of each method on one draw; the peer comes first."""
    maker = [str(ROOT / "target" / "debug" / "examples" / "registers"), folder, "--labels", str(labels), "--seed", str(draw)]
    subprocess.run(maker, check=True, capture_output=True, timeout=TIMEOUT)
    known, rest, model = (str(Path(folder) / name) for name in ("known.csv", "rest.csv", "model.ordain"))
    result = {"logistic": (peer(read(known), read(rest)), float("nan"), float("nan"))}
    for method in methods:
        _, seconds = ordain(["fit", f"{method}[null=true]", known, "-o", model])
        said, _ = ordain(["evaluate", model, rest, "--metric", "f1,ece"])
        result[method] = (said["metrics"]["f1"]["mean"], said["metrics"]["ece"]["mean"], seconds)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="20,50,100,500")
    parser.add_argument("--draws", default="1-10")
    parser.add_argument("--methods", default="matchmap,matchmargin")
    asked = parser.parse_args()
    own_venv.enter(PACKAGES)
    import numpy

    first, _, last = asked.draws.partition("-")
    draws, methods = range(int(first), int(last or first) + 1), [m for m in asked.methods.split(",") if m]
    print("labels  method        F1       [95 %]            - logistic [95 %]           ECE     seconds")
    for labels in map(int, asked.sizes.split(",")):
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            for draw in draws:
                rows.append(measure(labels, draw, methods, folder))
                print(f"  draw {draw}:", {m: round(v[0], 4) for m, v in rows[-1].items()}, file=sys.stderr, flush=True)
        for method in ["logistic", *methods]:
            value, ece, seconds = numpy.array([row[method] for row in rows]).T
            ahead = value - numpy.array([row["logistic"][0] for row in rows])
            random = numpy.random.default_rng(1)
            pick = random.integers(len(rows), size=(2000, len(rows)))
            low, high = numpy.quantile(value[pick].mean(axis=1), [0.025, 0.975])
            below, above = numpy.quantile(ahead[pick].mean(axis=1), [0.025, 0.975])
            print(
                f"{labels:6}  {method:12} {value.mean():.4f} [{low:.4f}, {high:.4f}]  {ahead.mean():+.4f} "
                f"[{below:+.4f}, {above:+.4f}]  {ece.mean():.4f}  {seconds.mean():.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
