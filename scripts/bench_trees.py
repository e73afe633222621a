#!/usr/bin/env python3
"""Compare how fast ordain and LightGBM grow trees, on one thread each.

Made-up rows with interactions; squared loss from the scores 0, 31 leaves of at least 20
rows, 255 bins, ridge 1, rate .1. A round is one tree with its gradients and the scores of
the training rows. LightGBM is run column-wise and row-wise, and the better time counts;
ordain is timed by the example crates/ordain/examples/trees.rs on the same file. All are
processes of their own, in turn, and times are of the processor: other work on the machine
disturbs them less. Memory is the peak above what was in use when the data were read.

Three sets: 59,000 x 46; 1,000,000 x 136; and 20,000 x 136 with 500 trees, which then score
100,000 rows. Then whole rounds of rankers on 59,000 x 46 in queries of 40: `rankmatch` with the
exact gradient of lists (five places) beside a round of lambdarank, by the difference of fits of 20
and 120 trees. Prints a table and exits with status 1 where a bound is missed. After
`cargo build --release --workspace --bins --examples`.

NumPy and LightGBM are installed in the virtual environment target/venv on first use.
"""

import argparse
import importlib.metadata
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"numpy": "numpy", "lightgbm": "lightgbm"}
TIMEOUT = 1200  # seconds, for every child process

# rows, columns, rows to train on, rounds, turns, and the most of each time beside LightGBM's
SETS = [
    (59_000, 46, 59_000, 60, 3, {"binning": 0.4, "round": 1.15, "peak": 1.0}),
    (1_000_000, 136, 1_000_000, 8, 2, {"binning": 0.4, "round": 1.2, "peak": 1.0}),
    (100_000, 136, 20_000, 500, 2, {"scoring": 1.0}),
]


def make(rows, columns, folder):
    """Write rows with products and thresholds of pairs of columns."""
    import numpy

    random = numpy.random.default_rng(rows + columns)
    x = numpy.empty((rows, columns), numpy.float32)
    for j in range(columns):
        uniform = random.random(rows, numpy.float32)
        x[:, j] = [
            lambda: random.standard_normal(rows, numpy.float32),
            lambda: uniform,
            lambda: numpy.maximum(numpy.floor(60 * uniform), 20),
            lambda: numpy.where(uniform < 0.5, 0, uniform * uniform),
        ][j % 4]()
    y = x[:, 0] * x[:, 4] + 2 * x[:, 1] * x[:, 5] + numpy.sin(x[:, 2] / 10) + x[:, 9] * x[:, 12]
    y = y + 2 * ((x[:, 8] > 0.3) & (x[:, 3] > 0.2)) + 0.5 * random.standard_normal(rows)
    x.tofile(folder / "x.f32")
    y.astype(numpy.float64).tofile(folder / "y.f64")


def peak():
    """Return the peak memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lightgbm_alone(folder, rows, columns, rounds, train, mode):
    """Measure LightGBM in this process, and print one line of JSON."""
    import lightgbm
    import numpy

    x = numpy.fromfile(folder / "x.f32", numpy.float32).reshape(rows, columns)
    y = numpy.fromfile(folder / "y.f64", numpy.float64)
    settings = {
        "objective": "regression", "num_threads": 1, "num_leaves": 31, "max_bin": 255, "min_data_in_leaf": 20,
        "learning_rate": 0.1, "lambda_l2": 1.0, "boost_from_average": False, "verbose": -1, mode: True,
    }  # fmt: skip
    before = peak()
    start = time.process_time()
    data = lightgbm.Dataset(x[:train], y[:train], params=settings).construct()
    binning = time.process_time() - start
    booster = lightgbm.Booster(settings, data)
    start = time.process_time()
    for _ in range(rounds):
        booster.update()
    spent = (time.process_time() - start) / rounds
    most = peak() - before
    start = time.process_time()
    scores = booster.predict(x, num_threads=1)
    scoring = time.process_time() - start
    error = float(numpy.sqrt(numpy.mean((scores - y) ** 2)))
    print(json.dumps({"binning": binning, "round": spent, "scoring": scoring, "peak": most, "error": error}))


RANKED = (59_000, 46, 40)  # rows, columns, documents of a query
MOST_OF_A_ROUND = 1.3


def lambdarank_alone(folder, rounds):
    """Train lambdarank in this process, and print the seconds as one line of JSON."""
    import lightgbm
    import numpy

    rows, columns, size = RANKED
    x = numpy.fromfile(folder / "x.f32", numpy.float32).reshape(rows, columns)
    grades = numpy.fromfile(folder / "grades.f64", numpy.float64)
    settings = {
        "objective": "lambdarank", "num_threads": 1, "num_leaves": 31, "max_bin": 255, "min_data_in_leaf": 20,
        "learning_rate": 0.1, "lambda_l2": 1.0, "verbose": -1, "force_col_wise": True,
    }  # fmt: skip
    data = lightgbm.Dataset(x, grades, group=[size] * (rows // size), params=settings).construct()
    booster = lightgbm.Booster(settings, data)
    start = time.process_time()
    for _ in range(rounds):
        booster.update()
    print(json.dumps({"seconds": time.process_time() - start}))


def fitted(program, data, rounds, folder):
    """Return the processor seconds of a fit of so many trees."""
    method = f"rankmatch[scorer=trees,places=5,rounds={rounds},leaves=31,rate=0.1,unit_share=1,column_share=1]"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "fit", method, data, "-o", folder / "model.ordain", "--threads", "1", "--quiet"]
    subprocess.run([str(word) for word in command], check=True, timeout=TIMEOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_rounds(program, say):
    """Measure a round with the gradient of lists beside one of lambdarank, and return what was missed."""
    import numpy

    rows, columns, size = RANKED
    own, other = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(rows, columns, folder)
        y = numpy.fromfile(folder / "y.f64", numpy.float64)
        grades = numpy.digitize(y, numpy.quantile(y, [0.7, 0.9])).astype(numpy.float64)
        grades.tofile(folder / "grades.f64")
        x = numpy.fromfile(folder / "x.f32", numpy.float32).reshape(rows, columns)
        table = numpy.column_stack([grades, numpy.arange(rows) // size, x])
        head = ",".join(["label", "qid", *(f"x{j}" for j in range(columns))])
        numpy.savetxt(folder / "train.csv", table, fmt="%.7g", delimiter=",", header=head, comments="")
        for _ in range(3):
            few, many = (fitted(program, folder / "train.csv", rounds, folder) for rounds in (20, 120))
            own.append((many - few) / 100)
            few, many = (
                run([sys.executable, __file__, "--lambdarank", folder, rounds])["seconds"] for rounds in (20, 120)
            )
            other.append((many - few) / 100)
    ratio = min(own) / min(other)
    missed = ratio > MOST_OF_A_ROUND
    say(f"\n{rows:,} x {columns} in queries of {size}, a whole round: lists of five places {min(own) * 1e3:.2f} ms,"
        f" lambdarank {min(other) * 1e3:.2f} ms, {ratio:.2f}  at most {MOST_OF_A_ROUND}{': MISSED' if missed else ''}")  # fmt: skip
    return ["whole round"] if missed else []


def run(command):
    """Run a child and return what its last line of JSON says."""
    command = [str(part) for part in command]
    try:
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT)
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command[:3])} did not finish within {TIMEOUT} s")
    if child.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed with status {child.returncode}")
    return json.loads(child.stdout.splitlines()[-1])


def least(results):
    """Return the least of each figure."""
    return {name: min(result[name] for result in results) for name in results[0]}


def measure(one_set, program, say):
    """Measure both on one set and return what was missed."""
    rows, columns, train, rounds, turns, bounds = one_set
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(rows, columns, folder)
        own, others = [], {"force_col_wise": [], "force_row_wise": []}
        for _ in range(turns):
            own.append(run([program, folder, rows, columns, rounds, train]))
            for mode, results in others.items():
                arguments = [folder, rows, columns, rounds, train, mode]
                results.append(run([sys.executable, __file__, "--lightgbm", *arguments]))
    own, other = least(own), least([least(results) for results in others.values()])
    say(f"\n{train:,} x {columns}, {rounds} rounds; {rows:,} rows scored; RMSE {own['error']:.4f} and {other['error']:.4f}")
    missed = []
    for figure, unit, factor in [
        ("binning", "s", 1), ("round", "ms", 1e3), ("scoring", "s", 1), ("peak", "MB", 1),
    ]:  # fmt: skip
        if figure == "peak" and train < rows:
            continue  # a copy of the training rows is in it
        ratio = own[figure] / other[figure]
        bound = bounds.get(figure)
        says = "" if bound is None else f"  at most {bound:.2f}{'' if ratio <= bound else ': MISSED'}"
        say(f"{figure:8}{own[figure] * factor:10.3f} {unit:2} LightGBM{other[figure] * factor:10.3f} {unit:2}{ratio:7.2f}{says}", flush=True)
        if bound is not None and ratio > bound:
            missed.append(figure)
    return missed


def main():
    if sys.argv[1:2] == ["--lightgbm"]:
        folder, *numbers, mode = sys.argv[2:]
        return lightgbm_alone(Path(folder), *map(int, numbers), mode)
    if sys.argv[1:2] == ["--lambdarank"]:
        return lambdarank_alone(Path(sys.argv[2]), int(sys.argv[3]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target" / "release" / "examples" / "trees")
    parser.add_argument("--ordain", type=Path, default=ROOT / "target" / "release" / "ordain")
    parser.add_argument("--quick", action="store_true", help="without the set of a million rows")
    options = parser.parse_args()
    if not options.program.exists():
        sys.exit(f"{options.program} is not there: cargo build --release -p ordain --example trees")
    own_venv.enter(PACKAGES)
    print(f"ordain and LightGBM {importlib.metadata.version('lightgbm')}, one thread, least CPU time of some turns")
    sets = [one for one in SETS if not options.quick or one[0] < 1_000_000]
    missed = [measure(one, options.program.resolve(), print) for one in sets]
    if any([*missed, whole_rounds(options.ordain.resolve(), print)]):
        sys.exit("a bound was missed")


if __name__ == "__main__":
    main()
