"""Damages small tables of every format, and reads what is left with ordain and with another reader.

    target/python/bin/python scripts/damage_tables.py [COUNT] [FORMAT…]

Of every damaged file ordain either says what is wrong (FormatError) or gives the numbers that the other reader gives: pyarrow for
Parquet and Feather, Python's csv for text. Files that raise anything else, or are read otherwise, are kept and named, and the run
fails in the end; a crash leaves its file as case.FORMAT in the folder that is named first. All cases run in one process.
"""

import csv
import io
import math
import random
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import ordain

COLUMNS = ["qid", "label", "docid", "x", "y"]


def table(rng: random.Random) -> dict[str, list]:
    n = rng.randint(1, 12)
    return {
        "qid": [f"q{rng.randint(0, 2)}" for _ in range(n)],
        "label": [rng.randint(0, 3) for _ in range(n)],
        "docid": [f"d{i}" for i in range(n)],
        "x": [rng.choice([rng.uniform(-9, 9), float(rng.randint(-50, 50))]) for _ in range(n)],
        "y": [rng.randint(-9, 9) for _ in range(n)],
    }


def text(data: dict[str, list], sep: str, mark: str) -> bytes:
    def shown(value: object) -> str:
        return str(value).replace(".", mark) if isinstance(value, float) else str(value)

    lines = [sep.join(COLUMNS)] + [sep.join(shown(data[c][i]) for c in COLUMNS) for i in range(len(data["qid"]))]
    return ("\n".join(lines) + "\n").encode()


def made(kind: str, data: dict[str, list], rng: random.Random, folder: Path) -> bytes:
    path = folder / f"made.{kind}"
    if kind == "parquet":
        codec = rng.choice(["none", "snappy", "zstd", "gzip"])
        pq.write_table(pa.table(data), path, compression=codec, row_group_size=rng.randint(1, 8))
        return path.read_bytes()
    if kind == "feather":
        feather.write_feather(pa.table(data), path, compression=rng.choice(["uncompressed", "lz4", "zstd"]))
        return path.read_bytes()
    sep, mark = {"csv": (",", "."), "semicolon": (";", ","), "tsv": ("\t", "."), "utf16": (";", ",")}[kind]
    raw = text(data, sep, mark)
    return b"\xff\xfe" + raw.decode().encode("utf-16-le") if kind == "utf16" else raw


def damaged(raw: bytes, rng: random.Random) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(out)) if out else 0
        match rng.randrange(6):
            case 0:
                out[at : at + 1] = bytes([out[at] ^ (1 << rng.randrange(8))]) if out else b""
            case 1:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 2:
                del out[at : at + rng.randint(1, 8)]
            case 3:
                out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
            case 4:
                del out[at:]
            case 5:
                out[at : at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff\xff\xff\xff", b",;\t\n", b"1,2.", b'"x"'])
    return bytes(out)


def by_arrow(kind: str, path: Path) -> dict[str, list] | None:
    try:
        read = pq.ParquetFile(path).read() if kind == "parquet" else feather.read_table(path, memory_map=False)
        read.validate(full=True)
        return {name: read.column(name).to_pylist() for name in read.column_names}
    except Exception:  # noqa: BLE001  whatever it cannot read it cannot judge
        return None


def by_chunk(path: Path, whole: dict[str, list]) -> list[dict] | None:
    """Of a Parquet file that pyarrow refuses as a whole: each column of each row group as pyarrow reads it, else as it was."""
    try:
        file = pq.ParquetFile(path)
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
    except Exception:  # noqa: BLE001
        return None
    columns: dict[str, list] = {name: [] for name in whole}
    for group, size in enumerate(sizes):
        start = sum(sizes[:group])
        for name, values in columns.items():
            try:
                read = file.read_row_group(group, columns=[name])
                read.validate(full=True)
                values.extend(read.column(name).to_pylist())
            except Exception:  # noqa: BLE001
                values.extend(whole[name][start : start + size])
    if len({len(values) for values in columns.values()}) != 1:
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def by_csv(kind: str, raw: bytes) -> list[dict[str, str]] | None:
    try:
        words = raw.decode("utf-16" if kind == "utf16" else "utf-8-sig")
    except UnicodeDecodeError:
        return None
    first = next((line for line in words.split("\n") if line.strip("\r")), "")
    usual = {"csv": ",", "tsv": "\t"}.get(kind, ",")
    sep = max([usual, ",", ";", "\t"], key=first.count)
    try:
        return list(csv.DictReader(io.StringIO(words, newline=""), delimiter=sep, strict=True))
    except csv.Error:
        return None


def number(cell: object) -> float:
    if isinstance(cell, (bool, int, float)):
        return float(cell)
    word = str(cell).strip()
    if word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    try:
        return float(word)
    except ValueError:
        return float(word.replace(",", "."))


def agree(data: ordain.datasets.Ranking, truth: list[dict]) -> str | None:
    """What differs."""
    if len(truth) != len(data.X):
        return f"{len(data.X)} rows, not {len(truth)}"
    names = data.feature_names or []
    for i, row in enumerate(truth):
        lower = {str(name).strip().lower(): value for name, value in row.items()}
        for name, ids in (("qid", data.qid), ("docid", data.docid)):
            if name not in lower or ids is None:
                continue
            word = lower[name]
            word = word.decode(errors="replace") if isinstance(word, bytes) else "" if word is None else str(word)
            # a document without an id has the number of its row
            word = word.strip() or (str(i + 1) if name == "docid" else "")
            if str(ids[i]).strip() != word:
                return f"the {name} {ids[i]!r}, not {word!r}, in row {i}"
        if lower.get("label") is not None and data.y is not None and data.y[i] != number(lower["label"]):
            return f"the grade {data.y[i]}, not {lower['label']!r}, in row {i}"
        for j, name in enumerate(names):
            cell = row.get(name, lower.get(name.strip().lower()))
            if cell is None:
                return f"a value {data.X[i, j]} where there is none, in row {i}, column {name!r}"
            with np.errstate(over="ignore"):
                want = np.float32(number(cell))
            if data.X[i, j] != want and not (math.isnan(want)):
                return f"{data.X[i, j]}, not {want}, in row {i}, column {name!r}"
    return None


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    kinds = sys.argv[2:] or ["parquet", "feather", "csv", "semicolon", "tsv", "utf16"]
    memory = Path("/dev/shm")  # files that live for a moment need no disk
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    print(f"files in {folder}", flush=True)
    wrong = 0
    for kind in kinds:
        rng = random.Random(kind)
        said, right, unjudged = 0, 0, 0
        ending = {"semicolon": "csv", "utf16": "csv"}.get(kind, kind)
        raw, whole = b"", {}
        for turn in range(count):
            if turn % 20 == 0:
                whole = table(rng)
                raw = made(kind, whole, rng, folder)
            path = folder / f"case.{ending}"
            path.write_bytes(bad := damaged(raw, rng))
            try:
                with warnings.catch_warnings(action="ignore"):
                    data = ordain.read_letor(path)
            except ValueError:
                said += 1
                continue
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                wrong += keep(path, kind, turn, f"{type(error).__name__}: {error}")
                continue
            if kind in ("parquet", "feather"):
                read = by_arrow(kind, path)
                truth = None if read is None else [dict(zip(read, row, strict=True)) for row in zip(*read.values(), strict=True)]
            else:
                truth = by_csv(kind, bad)
            if truth is None and kind not in ("parquet", "feather"):
                unjudged += 1
                continue
            if truth is None:
                # the damage lies where nothing is read, or the numbers are others than they were
                truth = by_chunk(path, whole) if kind == "parquet" else None
                truth = truth or [dict(zip(whole, row, strict=True)) for row in zip(*whole.values(), strict=True)]
                unjudged += 1
            if (differ := agree(data, truth)) is not None:
                wrong += keep(path, kind, turn, differ)
                continue
            right += 1
        print(
            f"{kind}: {count} files, {said} refused, {right} read as the other reader does, {unjudged} that the other reader"
            " refuses, but that are whole where they are read",
            flush=True,
        )
    sys.exit(f"{wrong} files are read wrongly" if wrong else 0)


def keep(path: Path, kind: str, turn: int, what: str) -> int:
    """Keeps a file that was read wrongly, and says so."""
    kept = path.with_name(f"{kind}-{turn}{path.suffix}")
    path.rename(kept)
    print(f"{kind}, case {turn}: {what}; the file is {kept}", flush=True)
    return 1


main()
