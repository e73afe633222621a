#!/usr/bin/env python3
"""Compare how fast ordain and SciPy solve linear assignment problems.

Costs are uniform random numbers, and Euclidean distances between random points
of the unit square. SciPy's linear_sum_assignment is timed here, its call
included; ordain is timed by the example crates/ordain/examples/assignment.rs on
the same matrices, in turn with SciPy. Both use one thread. The script checks
that both find the same optima, prints a table and exits with status 1 when
ordain is not fast enough.

NumPy and SciPy are installed in the virtual environment target/venv on first use.
"""

import argparse
import importlib.metadata
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"numpy": "numpy", "scipy": "scipy"}
TIMEOUT = 600  # seconds, for every child process

# n, matrices, repetitions of SciPy, repetitions of ordain (each round), least SciPy / ordain ratio of the least times
SIZES = [
    (10, 500, 20, 50, 0.8),
    (30, 200, 10, 20, 0.8),
    (100, 50, 5, 20, 0.8),
    (1000, 3, 1, 3, 1.5),
    (4000, 1, 1, 3, 1.5),
]


def run(command):
    """Run a child and return its standard output."""
    command = [str(part) for part in command]
    try:
        child = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT)
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command[:3])} did not finish within {TIMEOUT} s")
    if child.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed with status {child.returncode}")
    return child.stdout


def make(kind, n, matrices, seed):
    """Return cost matrices, float64 and C-contiguous."""
    import numpy

    random = numpy.random.default_rng(seed)
    if kind == "uniform":
        return random.random((matrices, n, n))
    a, b = random.random((2, matrices, n, 2))
    return numpy.hypot(
        a[:, :, None, 0] - b[:, None, :, 0], a[:, :, None, 1] - b[:, None, :, 1]
    )


def time_scipy(costs, repetitions):
    """Return seconds per matrix for each repetition, and the optima."""
    from scipy.optimize import linear_sum_assignment

    matrices = list(costs)
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        for matrix in matrices:
            linear_sum_assignment(matrix)
        seconds.append((time.perf_counter() - start) / len(matrices))
    return seconds, [float(matrix[linear_sum_assignment(matrix)].sum()) for matrix in matrices]


def measure(example, folder, kind, size, rounds):
    """Time both in turn and return (least, median) seconds of ordain and of SciPy."""
    n, matrices, scipy_repetitions, repetitions, _ = size
    costs = make(kind, n, matrices, seed=n)
    path = folder / f"{kind}-{n}.f64"
    costs.astype("<f8").tofile(path)
    ours, theirs = [], []
    for _ in range(rounds):
        report = json.loads(run([example, path, n, n, repetitions]))
        seconds, optima = time_scipy(costs, scipy_repetitions)
        for at, (found, optimum) in enumerate(zip(report["costs"], optima, strict=True)):
            if not math.isclose(found, optimum, rel_tol=1e-9):
                sys.exit(f"{kind} {n}, matrix {at}: ordain finds {found}, SciPy {optimum}")
        ours.append((report["min"], report["median"]))
        theirs.append((min(seconds), statistics.median(seconds)))
    path.unlink()
    return [
        (min(least for least, _ in times), statistics.median(median for _, median in times))
        for times in (ours, theirs)
    ]


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--example",
        type=Path,
        default=ROOT / "target" / "release" / "examples" / "assignment",
        help="the program to measure (default: target/release/examples/assignment)",
    )
    parser.add_argument("--rounds", type=positive, default=3, help="rounds, in turn (default: 3)")
    options = parser.parse_args()
    example = options.example.resolve()
    if not example.is_file():
        sys.exit(
            f"{options.example} is not there: build it with "
            "cargo build --release -p ordain --example assignment"
        )

    own_venv.enter(PACKAGES)
    print(f"one thread, SciPy {importlib.metadata.version('scipy')}, microseconds per matrix")
    print(f"{'':13}{'ordain':>24}{'SciPy':>24}{'SciPy / ordain':>20}")
    print(f"{'costs':8}{'n':>5}" + f"{'least':>12}{'median':>12}" * 2 + f"{'least':>10}{'gate':>10}")
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            for kind in ("uniform", "points"):
                n, gate = size[0], size[-1]
                ours, theirs = measure(example, Path(folder), kind, size, options.rounds)
                ratio = theirs[0] / ours[0]
                times = "".join(f"{seconds * 1e6:12.2f}" for seconds in (*ours, *theirs))
                print(f"{kind:8}{n:5}{times}{ratio:10.2f}{gate:10.1f}", flush=True)
                if ratio < gate:
                    failures.append(
                        f"{kind} costs, n = {n}: ordain is only {ratio:.2f} times as fast as "
                        f"SciPy, less than the {gate:g} times required."
                    )
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
