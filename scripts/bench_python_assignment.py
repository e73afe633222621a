#!/usr/bin/env python3
"""Compare how fast the Python packages ordain, SciPy and lapx solve linear assignment problems.

Costs are uniform random numbers, Euclidean distances between random points of
the unit square, and products of two random vectors (rank one). All three are
called on the same matrices of float64, in turn, the call included, on one
thread; times are those of the processor, the best of all repetitions. The script checks that all find the same optima,
prints a table and exits with status 1 when ordain is not fast enough.

Run it in a Python that has ordain, scipy and lapx; without one of them it exits
with status 75.
"""

import argparse
import importlib.metadata
import importlib.util
import math
import sys
import time

NOT_INSTALLED = 75
ENOUGH = 20.0  # seconds after which a package is not called again on the same matrices
MODULES = {"ordain": "ordain", "scipy": "scipy", "lapx": "lap"}

# costs, n, matrices, calls per matrix and round, least SciPy / ordain ratio of the best times
CASES = [
    ("uniform", 10, 100, 20, 0.8),
    ("points", 10, 100, 20, 0.8),
    ("rank one", 10, 100, 20, 1 / 1.2),
    ("rank one", 30, 50, 10, 1 / 1.2),
    ("uniform", 100, 20, 5, 0.8),
    ("points", 100, 20, 5, 0.8),
    ("rank one", 100, 20, 5, 1 / 1.2),
    ("rank one", 300, 5, 2, 1 / 1.2),
    ("uniform", 1000, 3, 1, 1.5),
    ("points", 1000, 3, 1, 1.5),
    ("rank one", 1000, 1, 1, 1 / 1.2),
    ("uniform", 3000, 1, 1, 1.5),
    ("points", 3000, 1, 1, 1.5),
]


def make(kind, n, matrices, seed):
    """Return cost matrices, float64 and C-contiguous."""
    import numpy

    random = numpy.random.default_rng(seed)
    if kind == "uniform":
        return list(random.random((matrices, n, n)))
    if kind == "rank one":
        return [numpy.outer(a, b) for a, b in random.random((matrices, 2, n))]
    a, b = random.random((2, matrices, n, 2))
    return list(numpy.hypot(a[:, :, None, 0] - b[:, None, :, 0], a[:, :, None, 1] - b[:, None, :, 1]))


def solvers():
    """Return for each package what is timed, and what gives rows and columns of its result."""
    import lap
    import numpy
    import ordain
    import scipy.optimize

    return {
        "ordain": (ordain.linear_assignment, lambda found: found),
        "SciPy": (scipy.optimize.linear_sum_assignment, lambda found: found),
        "lapx": (lap.lapjv, lambda found: (numpy.arange(len(found[1])), found[1])),
    }


def measure(packages, matrices, calls, rounds):
    """Time all in turn and return the best seconds of one call for each package: the mean over the matrices."""
    best = {name: [math.inf] * len(matrices) for name in packages}
    spent = dict.fromkeys(packages, 0.0)
    optima = {}
    for _ in range(rounds):
        for name, (solve, pairs) in packages.items():
            if spent[name] > ENOUGH:
                continue
            for at, matrix in enumerate(matrices):
                start = time.process_time()
                for _ in range(calls):
                    found = solve(matrix)
                seconds = time.process_time() - start
                spent[name] += seconds
                best[name][at] = min(best[name][at], seconds / calls)
                optima[name, at] = float(matrix[pairs(found)].sum())
    for (name, at), optimum in optima.items():
        if not math.isclose(optimum, optima["SciPy", at], rel_tol=1e-9):
            sys.exit(f"matrix {at}: {name} finds {optimum}, SciPy {optima['SciPy', at]}")
    return {name: sum(seconds) / len(matrices) for name, seconds in best.items()}


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=positive, default=5, help="rounds, in turn (default: 5)")
    parser.add_argument("--quick", action="store_true", help="leave lapx out from n = 1000 on, where it takes minutes")
    options = parser.parse_args()
    absent = [name for name, module in MODULES.items() if importlib.util.find_spec(module) is None]
    if absent:
        print("not installed:", *absent, file=sys.stderr)
        sys.exit(NOT_INSTALLED)

    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in MODULES)
    print(f"one thread, {versions}, best microseconds per call")
    print(f"{'costs':10}{'n':>5}{'ordain':>14}{'SciPy':>14}{'lapx':>14}{'SciPy / ordain':>18}{'gate':>8}")
    failures = []
    packages = solvers()
    for kind, n, matrices, calls, gate in CASES:
        some = {name: one for name, one in packages.items() if not (options.quick and name == "lapx" and n >= 1000)}
        costs = make(kind, n, matrices, seed=n)
        seconds = measure(some, costs, calls, options.rounds)
        if seconds["SciPy"] / seconds["ordain"] < gate:  # machines are noisy: once more, and the best of both
            again = measure(some, costs, calls, options.rounds)
            seconds = {name: min(value, again[name]) for name, value in seconds.items()}
        ratio = seconds["SciPy"] / seconds["ordain"]
        times = "".join(f"{seconds[name] * 1e6:14.2f}" if name in seconds else f"{'':14}" for name in packages)
        print(f"{kind:10}{n:5}{times}{ratio:18.2f}{gate:8.2f}", flush=True)
        if ratio < gate:
            failures.append(
                f"{kind} costs, n = {n}: ordain is only {ratio:.2f} times as fast as SciPy, "
                f"less than the {gate:.2f} times required."
            )
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
