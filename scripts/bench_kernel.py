#!/usr/bin/env python3
"""Measure kernel ranking beside scikit-learn's SVC on explicit pairs.

wang-corel1k by category: a query is a category, its documents are K images of each
category from one half of the images (by parity of the row), relevance is 0 or 1, and
NDCG is measured on all images of the other half; both halves in turn, a scorer for each
query. `--all` adds mediamill_reduced, in the same way with ten concepts (of labels an item
is taken while one of its labels has room), and the made-up levels of the example
ball_ranking: 20 queries with K documents of each of three grades, triangles of side 2
and 4, five seeds, one scorer for all queries, 20 fresh test queries of 300 documents. It
also adds the ball as it is, without polish, for three values of epsilon.

NDCG is of whole lists (gain 2^r - 1, discount 1 at places 1 and 2, then 1/log2(place)).
Columns are standardised on the training documents, but for levels. The kernel is
exp(-g d2 / m), with m the median of d2 over pairs of training documents, and 0 between
queries that have a scorer each.

SVC gets every pair (better i, lesser j of a query) as a row, half of them
mirrored so that there are two classes, and the kernel of pairs
k(i,i') - k(i,j') - k(j,i') + k(j,j') as a precomputed matrix; above 10,000 pairs that takes
gigabytes, and SVC is not measured. ordain is measured through the program,
`ordain fit ballrank` with the same g and C (lambda = 1/(C pairs)). The row `hinge` is
`ordain fit ranksvm` with loss=hinge: the same problem as that of SVC, solved on documents
to a duality gap of 1e-3 of the objective; it stands for SVM-light in Figures 3 and 4.
The row `ranksvm` is the machine of the ball, with squared hinges, on all documents. `--equal` fits
`hinge` to a gap of 1e-9 and SVC, with every pair in both directions and so without a constant, to
its finest tolerance, linear and with the kernel, and fails where the objectives of the two differ
by more than 1e-6 of themselves.
Times are those of the best of some runs. Of SVC CPU seconds of the fit, and of the kernel
matrix that it needs in a column of its own; of ordain the seconds of the fit on one thread
as the program reports them, at most those of the processor, and CPU seconds of the
whole process, files read and written, in a column of its own. The first run of SVC in a process takes longer: the system
has to find hundreds of megabytes for the matrix.

Fails where at 9,000 pairs of wang-corel1k SVC with its matrix does not take 12 times as long
(machines are noisy), where NDCG differs by more than .01, or where ordain needs more pairs.

scikit-learn is installed in the virtual environment target/venv on first use.
"""

import argparse
import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # CPU time of one thread, without waiting ones

import own_venv

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"numpy": "numpy", "scikit-learn": "sklearn"}
TIMEOUT = 600  # seconds, for every child process
MOST_PAIRS = 10_000  # the matrix of 36,000 pairs takes 10 GB
SVC_RUNS = 3  # of which the best is taken
RUNS, PATIENCE = 7, 1.0  # of ordain, but fewer where they take more seconds than this

# what is measured of ordain: a name, and settings beside the common ones
POLISHED = ("ballrank", {})
# the same machine as SVC, [BRM] Eq. (3), in the place of SVM-light
EXACT = ("ranksvm", {"method": "ranksvm", "kernel": "rbf", "weight": "pair", "documents": "all"})
HINGE = ("hinge", {"method": "ranksvm", "loss": "hinge", "kernel": "rbf", "weight": "pair", "documents": "all", "tol": "1e-3"})
RAW = [(f"ball {epsilon}", {"epsilon": epsilon, "polish": "false", "max_iter": 4000}) for epsilon in ("1e-2", "1e-3", "1e-4")]


class Refused(Exception):
    """Why something cannot be measured."""


class Documents:
    """Documents of a file in LETOR form: features, grades and the spans of queries by name."""

    def __init__(self, path):
        import numpy

        rows, grades, self.spans = [], [], {}
        with open(path) as lines:
            for line in lines:
                words = line.split("#")[0].split()
                if not words:
                    continue
                first, _ = self.spans.setdefault(words[1], (len(rows), 0))
                self.spans[words[1]] = (first, len(rows) + 1)
                grades.append(float(words[0]))
                rows.append([word.split(":") for word in words[2:]])
        columns = max(int(name) for row in rows for name, _ in row)
        self.values = numpy.zeros((len(rows), columns))
        for row, cells in zip(self.values, rows, strict=True):
            for name, value in cells:
                row[int(name) - 1] = float(value)
        self.grades = numpy.array(grades)

    def pairs(self):
        """Return the query, the better and the lesser document of every pair, query by query."""
        import numpy

        parts = []
        for at, (first, end) in enumerate(self.spans.values()):
            i, j = numpy.nonzero(self.grades[first:end, None] > self.grades[None, first:end])
            parts.append((numpy.full(i.size, at), first + i, first + j))
        return [numpy.concatenate(column) for column in zip(*parts, strict=True)]


def squares(a, b):
    """Squared distances between the rows of two matrices."""
    import numpy

    return numpy.maximum((a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T, 0)


def ndcg(grades, scores):
    """Whole-list NDCG as in LETOR 2.0; equal scores stay in order."""
    import numpy

    discount = 1 / numpy.maximum(1, numpy.log2(numpy.arange(1, len(grades) + 1)))
    gains = 2.0**grades - 1
    order = numpy.argsort(-scores, kind="stable")
    return float((gains[order] * discount).sum() / (numpy.sort(gains)[::-1] * discount).sum())


def pair_matrix(kernel, query, i, j, sign, blocks):
    """Return the kernel of all pairs, each with its sign; 0 between queries where each has a scorer."""
    import numpy

    def block(a, b, sign):
        rows = ((kernel[a] - kernel[b]) * sign[:, None]).T.copy()  # whole rows are taken faster than columns
        gram = rows[a]
        gram -= rows[b]
        gram *= sign[:, None]
        return gram

    if not blocks:
        return block(i, j, sign)
    gram = numpy.zeros((len(query), len(query)))
    edges = numpy.flatnonzero(numpy.diff(query)) + 1
    for first, end in zip([0, *edges], [*edges, len(query)], strict=True):
        gram[first:end, first:end] = block(i[first:end], j[first:end], sign[first:end])
    return gram


def fit_svc(fold, blocks, scale, options):
    """Fit SVC on all pairs and return CPU seconds, support vectors and NDCG."""
    import numpy
    from sklearn.svm import SVC

    train, test = (Documents(path) for path in fold)
    query, i, j = train.pairs()
    if len(query) > MOST_PAIRS and not options.large:
        raise Refused(f"{len(query):,} pairs take {len(query) ** 2 * 8 / 1e9:,.0f} GB (--large)")
    if scale == "global":
        mean, deviation = train.values.mean(axis=0), train.values.std(axis=0)
        deviation[deviation == 0] = 1
        train.values, test.values = (train.values - mean) / deviation, (test.values - mean) / deviation
    each = numpy.unique(train.values, axis=0)
    median = numpy.median(squares(each, each)[numpy.triu_indices(len(each), 1)])
    kernel = numpy.exp(-options.gamma * squares(train.values, train.values) / median)
    sign = numpy.where(numpy.arange(len(query)) % 2 == 0, 1.0, -1.0)
    runs = []
    for _ in range(SVC_RUNS):
        start = time.process_time()
        gram = pair_matrix(kernel, query, i, j, sign, blocks)
        made = time.process_time()
        # there is no constant in a difference of scores: with as many mirrored pairs as others SVC's own comes out near 0
        machine = SVC(C=options.cost, kernel="precomputed", tol=1e-3, cache_size=2000).fit(gram, sign)
        runs.append((time.process_time() - made, made - start))
        del gram
    weight = numpy.zeros(len(query))
    weight[machine.support_] = machine.dual_coef_[0] * sign[machine.support_]
    found = []
    for name, (first, end) in test.spans.items():
        own = slice(*train.spans[name]) if blocks else slice(None)
        coefficients = numpy.zeros(len(train.values))
        numpy.add.at(coefficients, i, weight)
        numpy.add.at(coefficients, j, -weight)
        across = numpy.exp(-options.gamma * squares(test.values[first:end], train.values[own]) / median)
        found.append(ndcg(test.grades[first:end], across @ coefficients[own]))
    support = numpy.concatenate([side[machine.support_] for side in (i, j)])
    seconds, matrix_seconds = min(runs, key=sum)
    return {
        "pairs": len(query),
        "seconds": seconds,
        "matrix_seconds": matrix_seconds,
        "first_seconds": sum(runs[0]),
        "support": len(machine.support_),
        "documents": len(numpy.unique(support)),
        "constant": float(machine.intercept_[0]),
        "ndcg": float(numpy.mean(found)),
    }


def child(command):
    """Run a child that must end well; return its output and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Refused((done.stderr.strip() or f"status {done.returncode}").splitlines()[0])
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fit_ordain(fold, blocks, scale, more, options):
    """Fit with the program and return the same facts."""
    train, test = fold
    model = train.with_suffix(".ordain")
    more = dict(more)
    method = more.pop("method", "ballrank")
    pairs = len(Documents(train).pairs()[0])
    # columns as SVC has them: standardised, not transformed
    settings = {"blocks": str(blocks).lower(), "transform": "none", "gamma": f"{options.gamma:g}", "scale": scale, "c": f"{options.cost * pairs:g}", **more}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    command = [options.program, "fit", method, train, "-o", model, *words, "--json", "--threads", 1]
    runs = []
    while len(runs) < RUNS and sum(whole for _, whole in runs) < PATIENCE:
        out, whole = child(command)
        report = json.loads(out)
        runs.append((min(report["seconds"], whole), whole))  # on a busy machine the program waits, and the clock goes on
    seconds, whole = min(runs)
    out, _ = child([options.program, "evaluate", model, test, "--convention", "letor2", "--metric", "ndcg", "--json", "--quiet"])
    core = report["core"]
    return {
        "pairs": pairs,
        "seconds": seconds,
        "whole_seconds": whole,
        **({"support": core["pairs"]} if "pairs" in core else {}),
        "documents": core["documents"],
        "ndcg": json.loads(out)["metrics"]["ndcg"]["mean"],
    }


def halves(files, words, per_category, folder, options):
    """Write both halves of items, each in turn to train on, with the whole other half to test on."""
    folds = []
    for ours, others in (("even", "odd"), ("odd", "even")):
        train, test = folder / f"{ours}-train.txt", folder / f"{ours}-test.txt"
        for path, rows, more in ((train, ours, ["--per-category", per_category]), (test, others, [])):
            child([options.program, "convert", *files, path, *words, "--rows", rows, *more, "--quiet"])
        folds.append((train, test))
    return folds


def corel(per_category, folder, options):
    table = options.data / "retrieval" / "wang-corel1k" / "features.csv.gz"
    words = ["--queries", "category=category", "--id", "image", "--ignore", "name"]
    return halves([table], words, per_category, folder, options)


def mediamill(per_category, folder, options):
    parts = options.data / "annotation" / "mediamill_reduced"
    words = ["--queries", "labels", "--commonest", 10, "--at-most", 400, "--among-first", 1500]
    return halves([parts / "mediamill-train.arff.gz", parts / "mediamill-test.arff"], words, per_category, folder, options)


def levels(side):
    """Return what writes the made-up queries with the first documents of each grade, and whole ones to test on."""

    def write(per_grade, folder, options):
        example = options.program.parent / "examples" / "ball_ranking"
        if not example.is_file():
            raise Refused("the example is not built: cargo build --release -p ordain --example ball_ranking")
        child([example, "--write", folder])
        folds = []
        for whole in sorted(folder.glob(f"side{side}-seed*-train.txt")):
            counts, kept = {}, []
            for line in whole.read_text().splitlines(keepends=True):
                start = tuple(line.split(" ", 2)[:2])
                counts[start] = counts.get(start, 0) + 1
                if counts[start] <= per_grade:
                    kept.append(line)
            train = whole.with_name(whole.name.replace("train", "some"))
            train.write_text("".join(kept))
            folds.append((train, whole.with_name(whole.name.replace("train", "test"))))
        return folds

    return write


# name, sizes, what writes the folds, whether each query has a scorer, scaling
COREL = ("wang-corel1k", [5, 10, 20], corel, True, "global")
ALL = [
    ("levels, side 2", [5, 10, 12, 25], levels(2), False, "none"),
    ("levels, side 4", [5, 10, 12, 25], levels(4), False, "none"),
    ("wang-corel1k", [5, 7, 10, 20], corel, True, "global"),
    ("mediamill_reduced", [5, 8, 10, 20], mediamill, True, "global"),
]


def mean_of(results):
    """Means of the numbers of several results."""
    return {name: sum(result[name] for result in results) / len(results) for name in results[0]}


COLUMNS = [("pairs", 9, 0), ("seconds", 10, 3), ("matrix_seconds", 10, 3), ("whole_seconds", 10, 3), ("support", 10, 0), ("documents", 11, 0), ("ndcg", 8, 4)]


def measure(one_set, methods, options, say):
    """Measure SVC and methods of ordain on one set, line by line, and return the lines."""
    name, sizes, write, blocks, scale = one_set
    say(f"\n{name}\n{'tool':10}{'K':>4}{'pairs':>9}{'CPU s':>10}{'matrix s':>10}{'whole s':>10}{'SV pairs':>10}{'documents':>11}{'NDCG':>8}")
    rows = []
    for size in sizes:
        for tool, more in [("svc", None), *methods]:
            row = {"data": name, "tool": tool, "per_category": size}
            start = f"{tool:10}{size:4}"
            with tempfile.TemporaryDirectory() as folder:
                try:
                    folds = write(size, Path(folder), options)
                    results = [
                        fit_svc(fold, blocks, scale, options) if more is None else fit_ordain(fold, blocks, scale, more, options)
                        for fold in folds
                    ]
                except Refused as why:
                    say(f"{start}  NOT MEASURED: {why}", flush=True)
                    rows.append(row | {"skipped": str(why)})
                    continue
            mean = mean_of(results)
            rows.append(row | mean | {"folds": results})
            cells = "".join(f"{mean[key]:{width}.{digits}f}" if key in mean else " " * width for key, width, digits in COLUMNS)
            say(start + cells, flush=True)
    return rows


def objective_of_svc(train, kernel, cost):
    """Minimum of lambda/2 |f|^2 + the mean hinge of pairs, lambda = 1/(cost pairs), between its bounds by SVC."""
    import numpy
    from sklearn.svm import SVC

    query, i, j = train.pairs()
    pairs = len(query)
    one = numpy.ones(pairs)
    half = pair_matrix(kernel, query, i, j, one, False)
    gram = numpy.block([[half, -half], [-half, half]])
    sign = numpy.concatenate([one, -one])
    # each pair is there twice, so that each counts half
    machine = SVC(C=cost / 2, kernel="precomputed", tol=1e-9, cache_size=2000).fit(gram, sign)
    weight = numpy.zeros(2 * pairs)
    weight[machine.support_] = machine.dual_coef_[0] * sign[machine.support_]
    alpha = weight[:pairs] + weight[pairs:]
    margins = half @ alpha
    norm = alpha @ margins
    primal = norm / 2 + cost * numpy.maximum(0, 1 - margins).sum()
    dual = alpha.sum() - norm / 2
    return primal / (cost * pairs), dual / (cost * pairs), pairs


def equal(options, say):
    """Objectives of loss=hinge beside those of SVC; ends where they differ."""
    import numpy

    rows = []
    say(f"\nthe same machine\n{'kernel':8}{'C':>6}{'pairs':>7}{'hinge':>14}{'SVC':>14}{'its dual':>14}{'apart':>10}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.txt"
        random = numpy.random.default_rng(1)
        lines = []
        for query in range(12):
            x = random.normal(size=(12, 4)).round(4)
            grades = numpy.clip((x[:, 0] + x[:, 1] * x[:, 2] + random.normal(size=12)).round() + 1, 0, 2).astype(int)
            lines += [f"{g} qid:{query} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row)) for g, row in zip(grades, x, strict=True)]
        path.write_text("\n".join(lines) + "\n")
        train = Documents(path)
        x = train.values.astype(numpy.float32).astype(float)
        for name in ("linear", "rbf"):
            for cost in (0.01, 1.0):
                pairs = len(train.pairs()[0])
                model = path.with_suffix(".ordain")
                more = ["--set", f"gamma={options.gamma:g}", "--set", "documents=all"] if name == "rbf" else []
                words = ["--set", f"kernel={name}", *more, "--set", f"c={cost * pairs:.17g}", "--set", "scale=none", "--set", "transform=none"]
                words += ["--set", "loss=hinge", "--set", "weight=pair", "--set", "tol=1e-9", "--set", "max_iter=10000"]
                out, _ = child([options.program, "fit", "ranksvm", path, "-o", model, *words, "--json"])
                kernel = x @ x.T
                if name == "rbf":  # of the width that the program took
                    facts = json.loads(child([options.program, "inspect", model, "--json"])[0])
                    kernel = numpy.exp(-facts["expansion"]["kernel"]["gamma"] * squares(x, x))
                primal, dual, _ = objective_of_svc(train, kernel, cost)
                own = json.loads(out)["objective"]
                apart = abs(own - primal) / primal
                rows.append({"data": "equal", "kernel": name, "cost": cost, "pairs": pairs, "hinge": own, "svc": primal, "svc_dual": dual})
                say(f"{name:8}{cost:6g}{pairs:7}{own:14.9f}{primal:14.9f}{dual:14.9f}{apart:10.1e}")
                if apart > 1e-6:
                    sys.exit("the objectives differ")
    return rows


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Path(os.environ.get("ORDAIN_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("data", nargs="?", type=Path, default=usual, help="the data folder (default: ORDAIN_DATA)")
    parser.add_argument("--all", action="store_true", help="all sets, and the ball without polish (minutes)")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="only the sets of --all with one of these words in their name, as levels or mediamill")
    parser.add_argument("--per-category", type=positive, nargs="+", metavar="K", help="other sizes than the usual ones")
    parser.add_argument("--gamma", type=float, default=1.0, help="g of the kernel (default: 1)")
    parser.add_argument("--cost", type=float, default=1.0, help="C of SVC (default: 1)")
    parser.add_argument("--large", action="store_true", help=f"SVC with more than {MOST_PAIRS:,} pairs too")
    parser.add_argument("--equal", action="store_true", help="compare the objective of loss=hinge with that of SVC")
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "ordain")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    options = parser.parse_args()
    if not (options.data / "retrieval").is_dir():
        sys.exit(f"{options.data / 'retrieval'} is not there: name the data folder, or set ORDAIN_DATA")

    wanted = ALL if options.all else [COREL]
    if options.only:
        wanted = [one_set for one_set in ALL if any(word in one_set[0] for word in options.only)]
    if not wanted:
        parser.error(f"--only: {' '.join(options.only)} is in none of {', '.join(one_set[0] for one_set in ALL)}")

    own_venv.enter(PACKAGES)
    say = (lambda *_, **__: None) if options.json else print
    say(f"means of halves or seeds, g = {options.gamma:g}, C = {options.cost:g}, scikit-learn {importlib.metadata.version('scikit-learn')}")
    rows = []
    for one_set in wanted:
        name, sizes, *rest = one_set
        methods = [*RAW, POLISHED, EXACT, HINGE] if options.all else [POLISHED, EXACT, HINGE]
        rows += measure((name, options.per_category or sizes, *rest), methods, options, say)
    if options.equal:
        rows += equal(options, say)
    if options.json:
        print(json.dumps({"gamma": options.gamma, "cost": options.cost, "rows": rows}))
    gate([row for row in rows if row["data"] == COREL[0]], say)


def gate(rows, say):
    """Compare both tools at 9,000 pairs, and end where the gate is missed."""
    at = {row["tool"]: row for row in rows if row.get("pairs") == 9000}
    if "svc" not in at or "ballrank" not in at:
        return
    svc, own = at["svc"], at["ballrank"]
    times = (svc["seconds"] + svc["matrix_seconds"]) / own["seconds"]
    cold = svc["first_seconds"] / own["seconds"]
    apart = own["ndcg"] - svc["ndcg"]
    say(f"at 9,000 pairs ordain is {times:.0f} times as fast as SVC, {cold:.0f} times as its first run, NDCG {apart:+.4f}")
    if times < 12 or abs(apart) > 0.01 or own["support"] >= svc["support"]:
        sys.exit("the gate is missed")


if __name__ == "__main__":
    main()
