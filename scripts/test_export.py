#!/usr/bin/env python3
"""Replay exported models in the real engines: onnxruntime, SQLite, DuckDB, XGBoost, LightGBM and Python.

    scripts/test_export.py [MODELS] [TARGET …]

For each target MODELS models (default: 200) are fitted on made-up queries with settings drawn at
random (scaling, transforms, kernels, trees, gaps, categories), exported with a self-check on other
queries, and the rows of the self-check are scored by the engine. Prints a line per target: the
largest difference from the formula of the model and from what `predict` says, over the largest
score, and in how many models the order of two documents changed whose scores differ by more than
that. The two differ where `predict` itself computes in single precision: kernels. Their difference
stands in the self-check. Exits with status 1 if an engine is further than 2e-6 from the formula, or
from `predict` where the self-check does not say so. After `cargo build --workspace --bin ordain` (ORDAIN_BIN names another program). The engines
are installed in the virtual environment target/venv on first use.
"""

import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
ORDAIN = os.environ.get("ORDAIN_BIN", str(ROOT / "target" / "debug" / "ordain"))
PACKAGES = {
    "numpy": "numpy",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "duckdb": "duckdb",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
}
TARGETS = ["onnx", "sqlite", "duckdb", "xgboost", "lightgbm", "python"]
TOLERANCE = 2e-6


def table(draw, path, gaps, queries=10):
    """Made-up queries: a column of sizes, one of few values, one that is constant in many queries."""
    lines = ["label,qid,docid,plain,size,kind,flat"]
    for query in range(queries):
        flat = draw.random() < 0.5
        for document in range(draw.randint(1, 12)):
            x = [draw.gauss(0, 1), draw.lognormvariate(0, 1.5), draw.randint(0, 5), 0 if flat else draw.gauss(5, 2)]
            grade = (x[0] + draw.gauss(0, 1) > 0) + (x[2] in (1, 4))
            cells = ["" if gaps and draw.random() < 0.1 else f"{value:.6g}" for value in x]
            lines.append(",".join([str(int(grade)), f"q{query}", f"d{query}_{document}", *cells]))
    path.write_text("\n".join(lines) + "\n")


def settings(draw, target):
    """Settings of a model that the target has words for, and its rule for gaps."""
    how = {"lambda": draw.choice(["0.1", "1"]), "weight": "query"}
    kind = "trees" if target in ("xgboost", "lightgbm") else draw.choice(["linear", "kernel", "trees", "linear+trees"])
    missing = draw.choice(["error", "zero", "mean", "indicator"])
    if kind != "trees":
        how["scale"] = draw.choice(["none", "global", "query", "minmax"])
    elif draw.random() < 0.5:
        missing = "keep"
    if kind != "trees":
        how["transform"] = draw.choice(["none", "log", "quantile"])
    if kind == "kernel":
        how["kernel"] = draw.choice(["rbf", "poly", "laplace"])
        how |= {"gamma": "0.3", "documents": "40"} | ({"degree": "2"} if how["kernel"] == "poly" else {})
    elif kind != "linear":
        how |= {"scorer": kind, "rounds": str(draw.randint(1, 30))}
    return how, missing


def run(*words):
    done = subprocess.run([ORDAIN, *map(str, words)], capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")


def rows_of(check):
    import numpy

    return numpy.array([[numpy.nan if x is None else x for x in row] for row in check["input"]], numpy.float32)


def queries_of(check):
    """The places of the rows of each query."""
    places = {}
    for at, query in enumerate(check["query"]):
        places.setdefault(query, []).append(at)
    return list(places.values())


def by_onnx(path, check):
    import numpy
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load(path), full_check=True)
    engine = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    x, scores = rows_of(check), numpy.zeros(len(check["input"]))
    whole = "contract" not in engine.get_modelmeta().custom_metadata_map
    for places in [list(range(len(x)))] if whole else queries_of(check):
        scores[places] = engine.run(None, {"X": x[places]})[0][:, 0]
    return scores


def by_sql(connect, path, check):
    base = connect()
    columns = ", ".join(f'"{name}" DOUBLE' for name in check["columns"])
    base.execute(f"CREATE TABLE documents (qid VARCHAR, docid INTEGER, {columns})")
    cells = [[query, at, *row] for at, (query, row) in enumerate(zip(check["query"], check["input"]))]
    base.executemany(f"INSERT INTO documents VALUES ({', '.join('?' * len(cells[0]))})", cells)
    query = path.read_text().rstrip().rstrip(";")
    return [row[2] for row in sorted(base.execute(query).fetchall(), key=lambda row: row[1])]


def by_sqlite(path, check):
    import sqlite3

    return by_sql(lambda: sqlite3.connect(":memory:"), path, check)


def by_duckdb(path, check):
    import duckdb

    return by_sql(duckdb.connect, path, check)


def by_xgboost(path, check):
    import xgboost

    model = xgboost.Booster(model_file=str(path))
    return model.predict(xgboost.DMatrix(rows_of(check), feature_names=check["columns"]))


def by_lightgbm(path, check):
    import lightgbm
    import numpy

    return lightgbm.Booster(model_str=path.read_text()).predict(rows_of(check).astype(numpy.float64))


def by_python(path, check):
    import numpy

    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scores = numpy.zeros(len(check["input"]))
    for places in queries_of(check):
        scores[places] = module.scores([check["input"][at] for at in places])
    return scores


ENGINES = {
    "onnx": (by_onnx, "model.onnx", ["--to", "onnx"]),
    "sqlite": (by_sqlite, "model.sql", ["--to", "sql"]),
    "duckdb": (by_duckdb, "model.sql", ["--to", "sql", "--dialect", "duckdb"]),
    "xgboost": (by_xgboost, "model.json", ["--to", "xgboost"]),
    "lightgbm": (by_lightgbm, "model.txt", ["--to", "lightgbm"]),
    "python": (by_python, "model.py", ["--to", "python"]),
}


def one(draw, target, folder):
    """Fits, exports and replays one model; the difference, and whether the order changed."""
    import numpy

    engine, name, words = ENGINES[target]
    how, missing = settings(draw, target)
    table(draw, folder / "train.csv", missing != "error", 20)
    table(draw, folder / "check.csv", missing != "error")
    chosen = [word for pair in how.items() for word in ("--set", "=".join(pair))]
    run("fit", "ranksvm", folder / "train.csv", "-o", folder / "m.ordain", "--missing", missing, "-q", *chosen)
    if target == "onnx" and how.get("scale") in ("query", "minmax"):
        words = [*words, "--one-query-per-call"]
    run("export", folder / "m.ordain", "-o", folder / name, "--check", folder / "check.csv", "-q", *words)
    check = json.loads((folder / f"{name}.check.json").read_text())
    truth = numpy.array(check["expected"])
    scores = numpy.array(engine(folder / name, check), float)
    largest = max(abs(truth).max(), 1e-9)
    apart = abs(scores - truth).max() / largest
    exact = abs(scores - numpy.array(check["target"])).max() / largest
    changed = False
    for places in queries_of(check):
        a, b = truth[places], scores[places]
        order = numpy.argsort(-a, kind="stable")
        clear = a[order][:-1] - a[order][1:] > 2 * TOLERANCE * largest
        changed |= bool((b[order][:-1] <= b[order][1:])[clear].any())
    if not exact <= TOLERANCE or not apart <= TOLERANCE + check["difference"]:
        print(f"{target} {how} missing={missing}: {exact:.2e}, {apart:.2e}", flush=True)
    return exact, apart, apart - check["difference"], changed


def main():
    own_venv.enter(PACKAGES)
    words = sys.argv[1:]
    models = int(words.pop(0)) if words and words[0].isdigit() else 200
    failed = False
    for target in words or TARGETS:
        draw = random.Random(TARGETS.index(target))
        with tempfile.TemporaryDirectory() as folder:
            found = [one(draw, target, Path(folder)) for _ in range(models)]
        exact, apart, unsaid, _ = (max(column) for column in zip(*found))
        changed = sum(one[3] for one in found)
        failed |= not max(exact, unsaid) <= TOLERANCE or changed > 0
        print(
            f"{target}: {models} models, largest difference {exact:.1e} from the formula, {apart:.1e} from predict, "
            f"order changed in {changed}",
            flush=True,
        )
    sys.exit(failed)


if __name__ == "__main__":
    main()
