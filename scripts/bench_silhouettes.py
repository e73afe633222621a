#!/usr/bin/env python3
"""Retrieval of the silhouettes of MPEG-7 by rankers, from the pixel on: by category and by example.

1,400 pictures of 70 classes (`matching/mpeg7-ce1-b` of the data folder) become 46 numbers of shape each
(`ordain features --shape`). Even rows train and odd ones test. By category every class is a query with a
model of its own, and all pictures of the half are its documents; by example the first four pictures of each
class of the half are queries, and the others its documents. All settings but the method are default, chosen
inside the training half. Beside them what learns nothing: by example the sum of the differences of features,
by category those from the mean of the class in the training half, each feature divided by its mean.

    scripts/bench_silhouettes.py ORDAIN [DATA]

NumPy and zstandard are installed in the virtual environment target/venv on first use.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import tarfile
import tempfile
from pathlib import Path

import own_venv

PACKAGES = {"numpy": "numpy", "zstandard": "zstandard"}
ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 1200  # seconds, for every child process
METHODS = {
    "category": ["ranksvm[kernel=linear,blocks=true]", "ranksvm[kernel=rbf,blocks=true]", "ballrank[blocks=true]"],
    "example": ["ranksvm", "ranksvm[kernel=rbf,documents=300]", "ballrank[kernel=rbf]"],
}
QUERIES = {"category": ["category=category"], "example": ["image=category", "--per-category", "4"]}


def ordain(program, *words):
    """Run ordain; what it printed, and its seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [program, *map(str, words), "-q"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT)
    return done.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def unpack(archive, folder):
    """Write the pictures of the archive into a folder for each class."""
    import zstandard

    with archive.open("rb") as packed, tarfile.open(fileobj=zstandard.ZstdDecompressor().stream_reader(packed), mode="r|") as all_files:
        for entry in all_files:
            if entry.isfile() and entry.name.endswith(".png"):
                name = Path(entry.name).name
                place = folder / name.rsplit("-", 1)[0]
                place.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(all_files.extractfile(entry).read())


def rows(path):
    """Grades, queries and numbers of ranking data in a table."""
    import numpy

    with path.open(newline="") as file:
        table = csv.reader(file)
        next(table)
        cells = list(table)
    return [float(row[0]) for row in cells], [row[1] for row in cells], numpy.array([row[3:] for row in cells], dtype=float)


def unlearned(queries, train, test):
    """Scores of the test rows that nothing was learned for."""
    import numpy

    grades, names, x = rows(train)
    _, asked, y = rows(test)
    unit = numpy.abs(x).mean(axis=0)
    unit[unit == 0] = 1
    if queries == "example":
        return -(y / unit).sum(axis=1)
    good = numpy.array(grades) > 0
    mean = {name: x[good & (numpy.array(names) == name)].mean(axis=0) for name in set(names)}
    return numpy.array([-(numpy.abs(row - mean[name]) / unit).sum() for row, name in zip(y, asked, strict=True)])


def shown(said):
    """NDCG of whole lists with its interval, NDCG@10 and MAP."""
    metrics = json.loads(said)["metrics"]
    whole = metrics["ndcg"]
    return f"{whole['mean']:.4f} [{whole['low']:.3f}, {whole['high']:.3f}]  {metrics['ndcg@10']['mean']:.4f}   {metrics['map']['mean']:.4f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data", nargs="?", type=Path, default=Path(os.environ.get("ORDAIN_DATA", ROOT.parent / "shared" / "data")))
    asked = parser.parse_args()
    own_venv.enter(PACKAGES)
    measure = ["--metric", "ndcg,ndcg@10,map", "--json"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack(asked.data / "matching" / "mpeg7-ce1-b" / "mpeg7b-png.tar.zst", folder / "png")
        table, model = folder / "t.csv", folder / "m.ordain"
        _, seconds = ordain(asked.program, "features", folder / "png", "-o", table, "--shape")
        print(f"features of all pictures: {seconds:.1f} s of the processor")
        print("queries   method                              NDCG of the list        ndcg@10  map     seconds  support")
        for queries, methods in METHODS.items():
            train, test = folder / "train.csv", folder / "test.csv"
            for half, path in (("even", train), ("odd", test)):
                ordain(asked.program, "convert", table, path, "--queries", *QUERIES[queries], "--rows", half)
            scores = folder / "scores.txt"
            scores.write_text("".join(f"{score!r}\n" for score in unlearned(queries, train, test).tolist()))
            said, _ = ordain(asked.program, "evaluate", test, "--scores", scores, *measure)
            print(f"{queries:9} {'nothing learned':34}  {shown(said)}", flush=True)
            for method in methods:
                _, seconds = ordain(asked.program, "fit", method, train, "-o", model)
                said, _ = ordain(asked.program, "evaluate", model, test, *measure)
                facts = json.loads(ordain(asked.program, "inspect", model, "--json")[0])
                support = (facts.get("expansion") or {"documents": "-"})["documents"]
                print(f"{queries:9} {method:34}  {shown(said)}  {seconds:6.2f}   {support}", flush=True)


if __name__ == "__main__":
    main()
