#!/usr/bin/env python3
"""Compare the sets of labels of ordain with those of scikit-learn, on published splits.

    scripts/bench_labels.py DATA [SET …] [--peers]

DATA is the folder with the sets scene, yeast, medical, mediamill_reduced and bibtex (Mulan's ARFF
files). Peers are logistic regressions for each label, and an ensemble of five classifier chains
of them in random order, their probabilities averaged. Features are scaled to a largest absolute
value of 1. C is one of .1, 1, 10 and 100. C and one threshold for all labels and items are those
that are best on every fifth training item, for each metric by itself; then the peer is fitted on
all training items. (The C of chains is chosen with one chain, for one threshold.) `.5` has no
threshold to tune. What peers reach is kept in target/bench_labels.json; delete it to measure them
again. With --peers only they are measured. ordain has no setting at all: `fit METHOD TRAIN`, `evaluate --decide f1` and `--decide hamming`.

F1 is the mean over items, 1 where neither the item nor the answer has a label. Prints a table, and
exits with status 1 where ordain is behind the best peer by more than .005. After `cargo build
--workspace --bin ordain` (ORDAIN_BIN names another program). scikit-learn is installed in the
virtual environment target/venv on first use.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
ORDAIN = os.environ.get("ORDAIN_BIN", str(ROOT / "target" / "debug" / "ordain"))
PACKAGES = {"numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn"}
SETS = ["scene", "yeast", "medical", "mediamill_reduced", "bibtex"]
METHODS = ["independent", "cstar"]
STRENGTHS = [0.1, 1.0, 10.0, 100.0]
CHAINS = 5
SLACK = 0.005
KEPT = ROOT / "target" / "bench_labels.json"
TIMEOUT = 3600  # seconds, for every child process


def one(folder, pattern):
    found = [path for path in sorted(folder.iterdir()) if re.search(pattern, path.name)]
    if len(found) != 1:
        sys.exit(f"{folder}: expected one file {pattern}, found {len(found)}")
    return found[0]


def text(path):
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path)
    with opened as file:
        return file.read()


def read(path, labels):
    """Features and labels of an ARFF file, dense or sparse."""
    import numpy
    from scipy.sparse import csr_matrix

    names, values, columns, starts, data = [], [], [], [0], False
    for line in map(str.strip, text(path).splitlines()):
        if not line or line[0] == "%":
            continue
        if data:
            sparse = line[0] == "{"
            cells = line[1:-1].split(",") if sparse else line.split(",")
            pairs = [cell.split() for cell in cells if cell.strip()] if sparse else enumerate(cells)
            for column, value in pairs:
                number = float(value.strip().strip("'\""))
                if number:
                    values.append(number)
                    columns.append(int(column))
            starts.append(len(values))
        elif line.lower().startswith("@attribute"):
            names.append(re.match(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", line, re.I).group(1).strip("'\""))
        elif line.lower().startswith("@data"):
            data = True
    table = csr_matrix((values, columns, starts), shape=(len(starts) - 1, len(names)))
    label = numpy.array([name.replace("\\", "") in labels for name in names])
    if label.sum() != len(labels):
        sys.exit(f"{path}: expected {len(labels)} labels, found {label.sum()}")
    return table[:, ~label].tocsr(), table[:, label].toarray() > 0


def f1(truth, said):
    import numpy

    both, sum_ = (truth & said).sum(1), truth.sum(1) + said.sum(1)
    return float(numpy.mean(numpy.where(sum_ == 0, 1.0, 2 * both / numpy.maximum(sum_, 1))))


def hamming(truth, said):
    return float((truth != said).mean())


def worth(metric, truth, said):
    """A metric with its sign such that more is better."""
    return f1(truth, said) if metric == "f1" else -hamming(truth, said)


def logistic(strength):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, solver="liblinear", max_iter=1000)


def per_label(x, y, strength, _):
    """A logistic regression for each label; the prior where a label does not vary."""
    import numpy

    models = [logistic(strength).fit(x, one) if 0 < one.sum() < len(one) else float(one[0]) for one in y.T]

    def likely(z):
        of = [numpy.full(z.shape[0], m) if isinstance(m, float) else m.predict_proba(z)[:, 1] for m in models]
        return numpy.column_stack(of)

    return likely


def chains(x, y, strength, count):
    """Classifier chains in random orders over the labels that vary."""
    import numpy
    from sklearn.multioutput import ClassifierChain

    varies = y.any(0) & ~y.all(0)
    models = [
        ClassifierChain(logistic(strength), order="random", random_state=seed).fit(x, y[:, varies].astype(int))
        for seed in range(count)
    ]

    def likely(z):
        p = numpy.tile(y.mean(0), (z.shape[0], 1))
        p[:, varies] = numpy.mean([model.predict_proba(z) for model in models], axis=0)
        return p

    return likely


def tuned(metric, truth, p):
    """The threshold that is best, and what it is worth."""
    import numpy

    grid = numpy.unique(numpy.concatenate([numpy.linspace(0.01, 0.99, 99), [0.5]]))
    best = max(grid, key=lambda t: (worth(metric, truth, p > t), -abs(t - 0.5)))
    return best, worth(metric, truth, p > best)


def peers(x, y, z, truth):
    """F1 and Hamming loss of each peer on the test part."""
    import numpy

    held = numpy.arange(x.shape[0]) % 5 == 4
    rows = {}
    for name, fit in [("logistic", per_label), ("chains", chains)]:
        tried = {c: fit(x[~held], y[~held], c, 1)(x[held]) for c in STRENGTHS}
        final = {}

        def answer(c, fit=fit, final=final):
            if c not in final:
                final[c] = fit(x, y, c, CHAINS)(z)
            return final[c]

        for metric, measure in [("f1", f1), ("hamming", hamming)]:
            c = max(STRENGTHS, key=lambda c: tuned(metric, y[held], tried[c])[1])
            t = tuned(metric, y[held], tried[c])[0]
            rows.setdefault(f"{name}, one threshold", {})[metric] = measure(truth, answer(c) > t)
            if fit is per_label:
                c = max(STRENGTHS, key=lambda c: worth(metric, y[held], tried[c] > 0.5))
            rows.setdefault(f"{name}, .5", {})[metric] = measure(truth, answer(c) > 0.5)
    return rows


def known_peers(name, *parts):
    """What peers reach on a set, as it was measured before or now."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if name not in kept:
        rows = peers(*parts)
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        kept[name] = rows
        KEPT.write_text(json.dumps(kept))
    return kept[name]


def ordain(method, train, test, folder):
    model = str(folder / f"{method}.ordain")
    subprocess.run([ORDAIN, "fit", method, str(train), "-o", model, "--quiet"], check=True, timeout=TIMEOUT)
    row = {}
    for metric in ["f1", "hamming"]:
        words = ["evaluate", model, str(test), "--decide", metric, "--metric", metric, "--json", "--quiet"]
        done = subprocess.run([ORDAIN, *words], check=True, capture_output=True, text=True, timeout=TIMEOUT)
        row[metric] = json.loads(done.stdout)["metrics"][metric]["mean"]
    return row


def main():
    from sklearn.preprocessing import MaxAbsScaler

    warnings.filterwarnings("ignore")
    words = [word for word in sys.argv[1:] if word != "--peers"]
    only_peers = len(words) < len(sys.argv) - 1
    data, wanted = Path(words[0]), words[1:] or SETS
    missed = []
    print("| set | method | F1 | Hamming loss |", "|---|---|---|---|", sep="\n", flush=True)
    for name in wanted:
        folder = data / name
        train, test = one(folder, r"train.*\.arff(\.gz)?$"), one(folder, r"test.*\.arff(\.gz)?$")
        labels = set(re.findall(r"<label\s+name=\"([^\"]*)\"", text(one(folder, r"\.xml$"))))
        (x, y), (z, truth) = read(train, labels), read(test, labels)
        scaler = MaxAbsScaler().fit(x)
        rows = known_peers(name, scaler.transform(x), y, scaler.transform(z), truth)
        if only_peers:
            continue
        best = {metric: max(row[metric] if metric == "f1" else -row[metric] for row in rows.values())
                for metric in ["f1", "hamming"]}
        with tempfile.TemporaryDirectory() as scratch:
            for method in METHODS:
                row = rows[f"ordain {method}"] = ordain(method, train, test, Path(scratch))
                for metric in ["f1", "hamming"]:
                    behind = best[metric] - (row[metric] if metric == "f1" else -row[metric])
                    if behind > SLACK:
                        missed.append(f"{name}, {method}, {metric}: behind the best peer by {behind:.4f}")
        for method, row in rows.items():
            print(f"| {name} | {method} | {row['f1']:.4f} | {row['hamming']:.4f} |", flush=True)
    print("\n".join(missed) or f"nowhere behind the best peer by more than {SLACK}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    own_venv.enter(PACKAGES)
    main()
