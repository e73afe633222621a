#!/usr/bin/env python3
"""Measure how fast ordain reads one large table as CSV, Parquet, Feather and LETOR text, and what a fit costs beside reading.

    target/python/bin/python scripts/bench_tables.py [--rows N] [--work FOLDER] [--before PROGRAM]

The table has 136 features (float32 rounded to four decimals) and queries of 100 documents. Runs alternate; the least time of each counts.
Gates: Parquet takes at most half the time of CSV, its peak memory is at most 1.3 times the matrix + 128 MB, and a fit of ranksvm with
fixed settings on the CSV takes, reading not counted, at most 1.5 times the processor time of reading. With --before the files are read
by that program too, and the ratio of processor times is printed. The script ends with status 1 if a gate is missed. It needs numpy and
pyarrow.

With --open it measures one thing alone: `fit ranksvm` with no setting at all on the CSV, on one thread, beside `inspect` on one thread
and LightGBM (lambdarank, 100 trees, one thread, which needs lightgbm) on the same file. Gates: at most 3 times the processor time of
reading and 60 s, and a peak of at most 1.5 times the matrix + 128 MB.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEATURES = 136
MB = 2**20
KINDS = ("csv", "parquet", "feather", "txt")


def build(folder, rows, ordain):
    """Write the table in every format (LETOR text by ordain, if it is given), in a process of its own: peak memory is counted from the process that starts a program."""
    if all((folder / f"table.{kind}").exists() for kind in KINDS):
        return
    if ordain is None and (folder / "table.csv").exists():
        return
    subprocess.run([sys.executable, __file__, "--build", "--rows", str(rows), "--work", str(folder)], check=True)
    if ordain is None:
        return
    command = [ordain, "convert", folder / "table.csv", folder / "table.txt"]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def write(folder, rows):
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    rng = np.random.default_rng(1)
    weights = rng.normal(size=FEATURES)
    columns, score = {}, np.zeros(rows)
    for j in range(FEATURES):
        # some columns are small, some count, some are mostly 0, as in web search
        x = rng.normal(size=rows, scale=10.0 ** (j % 4 - 1))
        x = np.floor(np.abs(x)) if j % 4 == 3 else x * (rng.random(rows) < 0.3) if j % 4 == 2 else x
        columns[f"f{j}"] = np.round(x, 4).astype(np.float32)
        score += weights[j] * columns[f"f{j}"] / 10.0 ** (j % 4 - 1)
    score = score / score.std() + rng.normal(size=rows)
    grade = np.digitize(score, [0.5, 1.5, 2.5]).astype(np.int64)
    head = {"label": grade, "qid": np.arange(rows) // 100}
    table = pa.table(head | columns)
    pa.parquet.write_table(table, folder / "table.parquet")
    pa.feather.write_feather(table, folder / "table.feather")
    # four decimals as they are: a float32 is written with the digits that tell it from others
    with (folder / "table.csv").open("wb") as file:
        # names without quotes, which LightGBM does not take
        file.write((",".join(table.column_names) + "\n").encode())
        pa.csv.write_csv(table, file, pa.csv.WriteOptions(include_header=False, quoting_style="none"))


def run(words):
    """Run a program; return the clock, the processor time and the peak memory in MB."""
    start = time.perf_counter()
    child = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{words} failed with status {child.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def least(turns):
    """The least of each figure."""
    return tuple(min(figure) for figure in zip(*turns, strict=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ordain", type=Path, default=ROOT / "target" / "release" / "ordain")
    parser.add_argument("--before", type=Path, help="another ordain to compare reading with")
    parser.add_argument("--work", type=Path, help="keep the files here and use them again")
    parser.add_argument("--open", action="store_true", help="a fit with everything open, beside LightGBM")
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lightgbm", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.build:
        return write(args.work, args.rows)
    if args.lightgbm:
        return lightgbm(args.work)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.work or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        build(folder, args.rows, None if args.open else args.ordain)
        (measure_open if args.open else measure)(args, folder)


def lightgbm(folder):
    import lightgbm as lgb

    read = {"header": True, "label_column": "name:label", "group_column": "name:qid"}
    params = {"objective": "lambdarank", "num_threads": 1, "verbose": -1}
    lgb.train(params | read, lgb.Dataset(str(folder / "table.csv"), params=params | read), 100)


def measure_open(args, folder):
    ordain, table = args.ordain.resolve(), folder / "table.csv"
    read = least([run([ordain, "inspect", table, "--threads", 1]) for _ in range(args.runs)])
    fitted = least([run([ordain, "fit", "ranksvm", table, "-o", folder / "open.ordain", "--threads", 1, "--quiet"])
                    for _ in range(args.runs)])
    other = run([sys.executable, __file__, "--lightgbm", "--work", folder])
    matrix = args.rows * FEATURES * 4 / MB
    print(f"{args.rows} rows, a matrix of {matrix:.0f} MB\n{'':24}{'clock':>9}{'processor':>11}{'peak MB':>9}")
    rows = {"inspect": read, "fit ranksvm, all open": fitted, "LightGBM, 100 trees": other}
    for name, figures in rows.items():
        print(f"{name:24}{figures[0]:9.2f}{figures[1]:11.2f}{figures[2]:9.0f}")
    judge([
        ("fit with everything open, processor", fitted[1], 3 * read[1] + 60, True),
        ("its peak in MB", fitted[2], 1.5 * matrix + 128, True),
    ])


def judge(gates):
    """Print gates, and end with status 1 if one is missed."""
    missed = False
    for what, value, gate, most in gates:
        fine = value <= gate if most else value >= gate
        missed |= not fine
        print(f"{what}: {value:.2f}, {'at most' if most else 'at least'} {gate:.2f}: {'reached' if fine else 'MISSED'}")
    sys.exit(int(missed))


def measure(args, folder):
    programs = {"ordain": args.ordain.resolve()} | ({"before": args.before.resolve()} if args.before else {})
    turns = {(name, kind): [] for kind in KINDS for name in programs}
    fits = []
    fit = ["fit", "ranksvm", folder / "table.csv", "-o", folder / "m.ordain", "--set=lambda=1", "--set=scale=global", "--quiet"]
    for _ in range(args.runs):
        for (name, kind), all_turns in turns.items():
            all_turns.append(run([programs[name], "inspect", folder / f"table.{kind}"]))
        fits.append(run([programs["ordain"], *fit]))
    read = {key: least(all_turns) for key, all_turns in turns.items()}
    matrix = args.rows * FEATURES * 4 / MB
    print(f"{args.rows} rows, a matrix of {matrix:.0f} MB\n{'':18}{'clock':>9}{'processor':>11}{'peak MB':>9}{'file MB':>9}")
    for (name, kind), figures in read.items():
        size = (folder / f"table.{kind}").stat().st_size / MB
        print(f"{name + ' ' + kind:18}{figures[0]:9.2f}{figures[1]:11.2f}{figures[2]:9.0f}{size:9.0f}")
    fitted = least(fits)
    print(f"{'fit ranksvm csv':18}{fitted[0]:9.2f}{fitted[1]:11.2f}{fitted[2]:9.0f}")
    for kind in KINDS if args.before else ():
        ratios = [a[1] / b[1] for a, b in zip(turns["ordain", kind], turns["before", kind], strict=True)]
        print(f"{kind}: processor time over that before {sorted(ratios)[len(ratios) // 2]:.3f} (median of turns)")
    csv, parquet = read["ordain", "csv"], read["ordain", "parquet"]
    judge([
        ("CSV over Parquet, clock", csv[0] / parquet[0], 2.0, False),
        ("CSV over Parquet, processor", csv[1] / parquet[1], 2.0, False),
        ("peak of Parquet in MB", parquet[2], 1.3 * matrix + 128, True),
        ("fit without reading over reading, processor", (fitted[1] - csv[1]) / csv[1], 1.5, True),
    ])


if __name__ == "__main__":
    main()
