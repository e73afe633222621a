#!/usr/bin/env python3
"""Compare how fast ordain and XGBoost's DMatrix read one large LETOR file.

The file is MQ2007 ten times over, about 327 MB. Both readers get two threads
and a warm page cache, and their runs alternate. The script then checks the
peak memory of `ordain fit ranksvm` on the same file. It exits with status 1
when ordain is not fast enough or uses too much memory.

XGBoost is installed in the virtual environment target/venv on first use.
"""

import argparse
import importlib.metadata
import io
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
# Package name -> module name.
PACKAGES = {"xgboost-cpu": "xgboost", "numpy": "numpy", "zstandard": "zstandard"}

COPIES = 10
QUERY_ID_STEP = 100_000
FEATURES = 46
ROWS = 59_135 * COPIES
FILE_BYTES = 328_665_297

THREADS = 2
TIMEOUT = 300  # seconds, for every child process
MB = 2**20

# Prints the seconds of the DMatrix construction alone, then rows and columns.
# Verbosity 0 drops the warning that XGBoost means to give up reading text files.
XGBOOST_READER = f"""
import json, sys, time
import xgboost
xgboost.set_config(verbosity=0)
start = time.perf_counter()
data = xgboost.DMatrix(sys.argv[1] + "?format=libsvm", nthread={THREADS})
seconds = time.perf_counter() - start
print(json.dumps([seconds, data.num_row(), data.num_col()]))
"""


def run(command, **options):
    """Run a child; return its standard output, wall-clock seconds and peak memory in bytes.

    Linux counts the memory of the process that starts a child into the child's
    peak, so this script must itself stay small: it never holds a file in memory.
    """
    command = [str(part) for part in command]
    name = " ".join(command[:3])
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        try:
            child = subprocess.Popen(command, stdout=output, **options)
        except OSError as error:
            sys.exit(f"cannot start {command[0]}: {error.strerror}")
        late = threading.Event()

        def stop():
            late.set()
            os.kill(child.pid, signal.SIGKILL)

        timer = threading.Timer(TIMEOUT, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(child.pid, 0)
        finally:
            timer.cancel()
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if late.is_set():
            sys.exit(f"{name} did not finish within {TIMEOUT} s")
        if child.returncode != 0:
            sys.exit(f"{name} failed with status {child.returncode}")
        output.seek(0)
        # ru_maxrss is in bytes on macOS and in KiB elsewhere.
        unit = 1 if sys.platform == "darwin" else 1024
        return output.read().decode(), seconds, usage.ru_maxrss * unit


def build_file(data_folder, path):
    """Write the ten copies without comments, each with its own query ids."""
    import zstandard

    sources = [data_folder / "ranking" / "mq2007-subset" / f"S{n}.txt.zst" for n in range(1, 6)]
    for source in sources:
        if not source.is_file():
            sys.exit(f"{source} is not there")
    rows = 0
    part = path.with_suffix(".part")
    with part.open("wb") as output:
        for copy in range(COPIES):
            for source in sources:
                with source.open("rb") as packed:
                    stream = zstandard.ZstdDecompressor().stream_reader(packed)
                    for line in io.BufferedReader(stream, MB):
                        grade, query, values = line.split(b"#")[0].rstrip().split(b" ", 2)
                        query_id = int(query.removeprefix(b"qid:")) + copy * QUERY_ID_STEP
                        output.write(b"%s qid:%d %s\n" % (grade, query_id, values))
                        rows += 1
    size = part.stat().st_size
    if (rows, size) != (ROWS, FILE_BYTES):
        part.unlink()
        sys.exit(
            f"built {rows} rows in {size} bytes where {ROWS} rows in {FILE_BYTES} bytes "
            f"were expected: is {data_folder} the right folder?"
        )
    part.replace(path)


def read_with_ordain(ordain, path):
    """Return the seconds of the loading alone and of the whole process."""
    output, process, _ = run([ordain, "inspect", path, "--json", "--threads", THREADS])
    report = json.loads(output)
    check_shape("ordain", report["rows"], report["features"], FEATURES)
    return report["seconds"]["load"], process


def read_with_xgboost(path):
    """Return the seconds of the DMatrix construction alone and of the whole process."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    output, process, _ = run([sys.executable, "-c", XGBOOST_READER, path], env=environment)
    load, rows, columns = json.loads(output.splitlines()[-1])
    # XGBoost counts features from 0, so the file's 1..46 make 47 columns.
    check_shape("XGBoost", rows, columns, FEATURES + 1)
    return load, process


def check_shape(reader, rows, columns, expected_columns):
    if (rows, columns) != (ROWS, expected_columns):
        sys.exit(
            f"{reader} read {rows} rows and {columns} columns "
            f"where {ROWS} and {expected_columns} were expected"
        )


def compare_speed(ordain, path, runs):
    """Time both readers in turn, print the table and return XGBoost's time over ordain's."""
    readers = (lambda: read_with_ordain(ordain, path), lambda: read_with_xgboost(path))
    for read in readers:
        read()  # warm-up
    # One row per run: ordain load, ordain process, XGBoost load, XGBoost process.
    table = [[seconds for read in readers for seconds in read()] for _ in range(runs)]
    medians = [statistics.median(column) for column in zip(*table)]

    print(f"{'seconds':8}{'ordain':>20}{'XGBoost':>20}")
    print(f"{'':8}" + f"{'load':>10}{'process':>10}" * 2)
    for label, row in [*enumerate(table, 1), ("median", medians)]:
        print(f"{label!s:8}" + "".join(f"{seconds:10.3f}" for seconds in row))
    size = path.stat().st_size / MB
    print(f"{'MB/s':8}" + "".join(f"{size / seconds:10.0f}" for seconds in medians))
    ratio = medians[2] / medians[0]
    print(f"XGBoost / ordain, medians: load {ratio:.2f}, process {medians[3] / medians[1]:.2f}")
    return ratio


def measure_memory(ordain, path, folder):
    """Fit a model; print and return its peak resident memory and the limit, in MB."""
    model = folder / "model.ordain"
    command = [ordain, "fit", "ranksvm", path, "-o", model, "--threads", THREADS, "--quiet"]
    _, seconds, peak = run(command)
    peak /= MB
    limit = 1.3 * ROWS * FEATURES * 4 / MB + 64
    print(f"ordain fit ranksvm: {seconds:.1f} s, peak memory {peak:.1f} MB, limit {limit:.1f} MB")
    return peak, limit


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data_folder", type=Path, help="holds ranking/mq2007-subset/S1.txt.zst ...")
    parser.add_argument(
        "--ordain",
        type=Path,
        default=ROOT / "target" / "release" / "ordain",
        help="the program to measure (default: target/release/ordain)",
    )
    parser.add_argument("--runs", type=positive, default=5, help="timed runs each (default: 5)")
    parser.add_argument(
        "--work",
        type=Path,
        help="keep the built file here and reuse it (default: a temporary folder)",
    )
    parser.add_argument(
        "--min-ratio", type=float, default=2.5, help="least XGBoost / ordain ratio (default: 2.5)"
    )
    options = parser.parse_args()
    ordain = options.ordain.resolve()
    if not ordain.is_file():
        sys.exit(f"{options.ordain} is not there: build it with cargo build --release")

    own_venv.enter(PACKAGES)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.work or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "mq2007-10x.txt"
        if not path.exists() or path.stat().st_size != FILE_BYTES:
            build_file(options.data_folder, path)
        print(f"{path.name}: {ROWS} rows, {FILE_BYTES / MB:.1f} MB (1 MB = 2^20 bytes)")
        print(f"{THREADS} threads, XGBoost {importlib.metadata.version('xgboost-cpu')}")
        ratio = compare_speed(ordain, path, options.runs)
        peak, limit = measure_memory(ordain, path, folder)

    failures = []
    if ratio < options.min_ratio:
        failures.append(
            f"ordain reads only {ratio:.2f} times as fast as XGBoost, "
            f"less than the {options.min_ratio:g} times required."
        )
    if peak > limit:
        failures.append(
            f"ordain fit used {peak:.1f} MB of memory, more than the limit of {limit:.1f} MB."
        )
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
