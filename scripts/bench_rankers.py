#!/usr/bin/env python3
"""Compare rankers of ordain with LightGBM's lambdarank on the five folds of a LETOR set, query by query.

FOLDER has parts S1 to S5 (`.txt` or `.txt.zst`). Fold i trains on parts i, i+1, i+2, chooses on part i+3 and is tested on part i+4.
LightGBM is tuned on the validation part of each fold: the best of six settings by NDCG@10, each stopped early after 50 rounds without
gain. Nothing is chosen on a test part. ordain chooses by itself on the same validation part and is not fitted again.

Prints NDCG@10 and MAP as means of the folds, and the paired difference over queries with its 95 % interval (10,000 bootstrap samples).
Metrics of both come from `ordain evaluate --scores` under the convention standard with empty queries 0 and ties in the order of the
file. After `cargo build --release`.

NumPy, LightGBM and zstandard are installed in the virtual environment target/venv on first use.
"""

import argparse
import itertools
import json
import subprocess
import tempfile
from pathlib import Path

import own_venv

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"numpy": "numpy", "lightgbm": "lightgbm", "zstandard": "zstandard"}
RULES = ["--convention", "standard", "--empty", "zero", "--ties", "input"]
METRICS = ["ndcg@10", "map"]
SETTINGS = [
    {"num_leaves": leaves, "feature_fraction": share, "min_data_in_leaf": rows}
    for leaves, (share, rows) in itertools.product([7, 15, 31], [(1.0, 20), (0.5, 50)])
]


def text_of(folder, part):
    """Return the lines of a part."""
    plain = folder / f"S{part}.txt"
    if plain.exists():
        return plain.read_text()
    import zstandard

    with open(f"{plain}.zst", "rb") as file:
        return zstandard.ZstdDecompressor().stream_reader(file).read().decode()


def parsed(text):
    """Return features, grades and sizes of queries of LETOR text."""
    import numpy

    rows, grades, queries = [], [], []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        grades.append(float(words[0]))
        queries.append(words[1])
        rows.append({int(k): float(v) for k, v in (word.split(":") for word in words[2:])})
    x = numpy.zeros((len(rows), max(max(row) for row in rows)), numpy.float32)
    for i, row in enumerate(rows):
        for k, v in row.items():
            x[i, k - 1] = v
    return x, numpy.array(grades), [len(list(run)) for _, run in itertools.groupby(queries)]


def ordain(binary, *words):
    """Run the program and return what it prints."""
    return subprocess.run([binary, *map(str, words)], check=True, capture_output=True, text=True).stdout


def measured(binary, data, scores):
    """Return the metrics of every query."""
    said = ordain(
        binary, "evaluate", data, "--scores", scores, "--metric", ",".join(METRICS), *RULES, "--per-query", "--json"
    )
    return [[one[metric] for metric in METRICS] for one in json.loads(said)["per_query"]]


def lightgbm_scores(train, valid, test):
    """Return the scores of the best of all settings on the validation part, and what it was."""
    import lightgbm

    best = None
    for setting in SETTINGS:
        how = {
            "objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "learning_rate": 0.05, "bagging_freq": 1,
            "bagging_fraction": 0.8, "deterministic": True, "force_row_wise": True, "seed": 0, "verbosity": -1, **setting,
        }
        data = lightgbm.Dataset(train[0], train[1], group=train[2])
        held = lightgbm.Dataset(valid[0], valid[1], group=valid[2], reference=data)
        stop = lightgbm.early_stopping(50, verbose=False)
        model = lightgbm.train(how, data, 1000, valid_sets=[held], callbacks=[stop])
        worth = model.best_score["valid_0"]["ndcg@10"]
        if best is None or worth > best[0]:
            best = (worth, model.predict(test[0], num_iteration=model.best_iteration), setting, model.best_iteration)
    return best[1:]


def main():
    """Run all folds and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("methods", nargs="+", help="as in ordain compare")
    parser.add_argument("--ordain", default=str(ROOT / "target" / "release" / "ordain"))
    args = parser.parse_args()
    own_venv.enter(PACKAGES)
    import numpy

    found = {name: [] for name in ["lightgbm", *args.methods]}
    with tempfile.TemporaryDirectory() as place:
        place = Path(place)
        texts = [text_of(args.folder, part) for part in range(1, 6)]
        for fold in range(5):
            parts = {
                "train": "".join(texts[(fold + i) % 5] for i in range(3)),
                "valid": texts[(fold + 3) % 5],
                "test": texts[(fold + 4) % 5],
            }
            for name, text in parts.items():
                (place / name).write_text(text)
            scores, setting, rounds = lightgbm_scores(*(parsed(text) for text in parts.values()))
            print(f"fold {fold + 1}: lightgbm takes {setting}, {rounds} trees", flush=True)
            numpy.savetxt(place / "scores", scores, fmt="%.17g")
            found["lightgbm"].append(measured(args.ordain, place / "test", place / "scores"))
            for method in args.methods:
                ordain(
                    args.ordain, "fit", method, place / "train", "--valid", place / "valid", "--no-refit", *RULES,
                    "-o", place / "model", "--quiet",
                )
                (place / "scores").write_text(ordain(args.ordain, "predict", place / "model", place / "test"))
                found[method].append(measured(args.ordain, place / "test", place / "scores"))
    random = numpy.random.default_rng(0)
    print(f"\n{'':44}" + "".join(f"{metric:>10}" for metric in METRICS))
    for name, folds in found.items():
        means = numpy.mean([numpy.mean(fold, axis=0) for fold in folds], axis=0)
        print(f"{name:44}" + "".join(f"{mean:10.4f}" for mean in means))
    base = numpy.concatenate(found["lightgbm"])
    for name in args.methods:
        gain = numpy.concatenate(found[name]) - base
        drawn = [gain[random.integers(len(gain), size=len(gain))].mean(axis=0) for _ in range(10_000)]
        low, high = numpy.quantile(drawn, [0.025, 0.975], axis=0)
        said = [f"{m} {a:+.4f} [{b:+.4f}, {c:+.4f}]" for m, a, b, c in zip(METRICS, gain.mean(axis=0), low, high)]
        print(f"{name} less lightgbm: " + ", ".join(said))


if __name__ == "__main__":
    main()
