#!/usr/bin/env python3
"""Compare what ordain and SciPy find for quadratic assignment problems within the same time.

DATA is the folder of real data; the instances are those of QAPLIB with 12 to 30
items and a proven optimum. ordain.quadratic_assignment gets the time as its
limit, bound included. SciPy's quadratic_assignment has no limit: faq from random
starts, each result improved by 2opt, goes on until the time is over, and what is
under way then does not count. Both use one thread. Time is that of the
processor for SciPy and that of the clock for ordain, which has less of the
processor on a busy machine. The script prints mean and largest gap to the optima and exits with status 1
when ordain misses its gate.

Run it in a Python that has ordain and scipy; without one of them it exits with
status 75.
"""

import argparse
import csv
import importlib.metadata
import importlib.util
import sys
import time
from pathlib import Path

NOT_INSTALLED = 75
# seconds, largest mean gap of ordain in per cent
LIMITS = [(0.1, 1.0), (1.0, 0.1)]


def load(folder):
    """Return name, optimum, A and B of each instance."""
    import numpy

    instances = []
    with open(folder / "instances.csv", newline="") as table:
        for row in csv.DictReader(table):
            n = int(row["n"])
            if row["proven"].startswith("yes") and 12 <= n <= 30:
                words = (folder / "small" / f"{row['name']}.dat").read_text().split()
                numbers = numpy.array(words[-2 * n * n :], dtype=float).reshape(2, n, n)
                instances.append((row["name"], float(row["optimum"]), *numbers))
    return instances


def search_scipy(a, b, seconds, seed, optimum):
    """Return the best value of faq + 2opt from random starts that ended within the time."""
    import numpy
    from scipy.optimize import quadratic_assignment

    random = numpy.random.default_rng(seed)
    best, start = numpy.inf, time.process_time()
    while True:
        found = quadratic_assignment(a, b, method="faq", options={"P0": "randomized", "rng": random})
        guess = numpy.column_stack([numpy.arange(len(a)), found.col_ind])
        found = quadratic_assignment(a, b, method="2opt", options={"partial_guess": guess, "rng": random})
        if best < numpy.inf and time.process_time() - start > seconds:  # the first one counts, however long it took
            return best
        best = min(best, found.fun)
        if best <= optimum:  # nobody can do better
            return best


def main():
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA", help="the folder of real data")
    options = parser.parse_args()
    absent = [module for module in ("ordain", "scipy") if importlib.util.find_spec(module) is None]
    if absent:
        print("not installed:", *absent, file=sys.stderr)
        sys.exit(NOT_INSTALLED)

    import ordain

    instances = load(options.data / "matching" / "qaplib")
    version = importlib.metadata.version("scipy")
    print(f"one thread, SciPy {version}, {len(instances)} instances, gaps to the optimum in %")
    print(f"{'seconds':>8}{'':12}{'mean':>8}{'largest':>9}{'optimal':>9}{'proven':>8}{'bound below':>13}")
    failures = []
    for seconds, most in LIMITS:
        gaps = {"ordain": [], "SciPy": []}
        below, proven = [], 0
        for at, (name, optimum, a, b) in enumerate(instances):
            found = ordain.quadratic_assignment(a, b, seconds=seconds, seed=at)
            if found.bound > optimum:
                failures.append(f"{name}: the bound {found.bound} is above the optimum {optimum}")
            below.append((optimum - found.bound) / max(optimum, 1))
            proven += found.proven
            values = {"ordain": found.fun, "SciPy": search_scipy(a, b, seconds, at, optimum)}
            for tool, value in values.items():
                gaps[tool].append((value - optimum) / max(optimum, 1))
        for tool, gap in gaps.items():
            line = f"{seconds:8}  {tool:10}{100 * sum(gap) / len(gap):8.3f}{100 * max(gap):9.2f}{gap.count(0.0):9}"
            if tool == "ordain":
                line += f"{proven:8}{100 * sum(below) / len(below):13.1f}"
            print(line, flush=True)
        mean = 100 * sum(gaps["ordain"]) / len(instances)
        if mean > most:
            failures.append(f"{seconds} s: ordain's mean gap is {mean:.3f} %, more than {most} %")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
