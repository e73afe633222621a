#!/usr/bin/env python3
"""Retrieval of sequences of frames by rankers: tensor features beside principal components of the same size.

347 sequences of five frames in 10 classes, the sizes of the video retrieval in the paper on ball ranking machines:
silhouettes that turn, lean and grow (`ordain make videos`), made up, or of pictures (--from, a folder for each class).
Even sequences train and odd ones test. Reductions (5 x 5 x 4 by D-1 orthogonal tensor decomposition, 100 principal
components) are learned on the training part. Queries are the categories, or four sequences of each as examples; all
settings but the method are default.

    scripts/bench_videos.py ORDAIN [--from DIR] [--seed 1]

NumPy and Pillow are needed.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

# a category has a model of its own, in one fit; examples share one
METHODS = {
    "category": ["ranksvm[kernel=linear,blocks=true]", "ranksvm[kernel=rbf,blocks=true]", "ballrank[blocks=true]"],
    "example": ["ranksvm", "ranksvm[kernel=rbf,documents=300]", "ballrank[kernel=rbf]"],
}
SHAPE = (5, 5, 4)
TIMEOUT = 1200  # seconds, for every child process

words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
words.add_argument("ordain")
words.add_argument("--from", dest="pictures")
words.add_argument("--seed", type=int, default=1)
args = words.parse_args()


def ordain(*command):
    """Run ordain; what it printed, and its seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([args.ordain, *map(str, command)], check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def table(path):
    """Ids, categories and numbers of a table of features."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [row[:2] for row in rows], np.array([row[2:] for row in rows], dtype=np.float64)


def frames(folder):
    """The pixels of all frames of a sequence, from 0 to 1."""
    return np.concatenate([np.asarray(Image.open(path), np.float64).ravel() / 255 for path in sorted(folder.glob("*.png"))])


def write(path, rows, values):
    """Write a table of features."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "category", *(f"pca{k}" for k in range(values.shape[1]))])
        out.writerows([*row, *map(repr, own.tolist())] for row, own in zip(rows, values.astype(np.float32), strict=True))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = ["--from", args.pictures] if args.pictures else []
        ordain("make", "videos", "-o", folder / "all", "--seed", args.seed, *given)
        for n, sequence in enumerate(sorted((folder / "all").glob("*/*"))):
            place = folder / ("test" if n % 2 else "train") / sequence.parent.name
            place.mkdir(parents=True, exist_ok=True)
            os.rename(sequence, place / sequence.name)
        kept, size = folder / "kept.json", "x".join(map(str, SHAPE))
        ordain("features", folder / "train", "-o", folder / "tensor-train.csv", "--tensor", size, "--keep", kept)
        ordain("features", folder / "test", "-o", folder / "tensor-test.csv", "--learned", kept)
        # principal components of all pixels of the training part
        rows, pixels = {}, {}
        for part in ("train", "test"):
            rows[part], _ = table(folder / f"tensor-{part}.csv")
            pixels[part] = np.array([frames(folder / part / own[0]) for own in rows[part]])
        mean = pixels["train"].mean(axis=0)
        _, _, axes = np.linalg.svd(pixels["train"] - mean, full_matrices=False)
        for part in ("train", "test"):
            write(folder / f"pca-{part}.csv", rows[part], (pixels[part] - mean) @ axes[: np.prod(SHAPE)].T)
        print("queries  features  method                                  ndcg@10  map     seconds  support")
        for queries, more in (("category", []), ("example", ["--per-category", "4"])):
            kind = "category=category" if queries == "category" else "image=category"
            for features in ("tensor", "pca"):
                for part in ("train", "test"):
                    source, to = folder / f"{features}-{part}.csv", folder / f"q-{part}.csv"
                    ordain("convert", source, to, "--queries", kind, *more, "-q")
                for method in METHODS[queries]:
                    model = folder / "m.ordain"
                    _, seconds = ordain("fit", method, folder / "q-train.csv", "-o", model, "-q")
                    said = json.loads(ordain("--json", "evaluate", model, folder / "q-test.csv", "--metric", "ndcg@10,map")[0])
                    shown = json.loads(ordain("--json", "inspect", model)[0])
                    support = (shown.get("expansion") or {"documents": "-"})["documents"]
                    ndcg, mean_ap = (said["metrics"][metric]["mean"] for metric in ("ndcg@10", "map"))
                    print(f"{queries:8} {features:9} {method:38}  {ndcg:.4f}   {mean_ap:.4f}  {seconds:6.2f}   {support}", flush=True)


if __name__ == "__main__":
    main()
