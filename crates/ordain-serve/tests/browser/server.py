"""Data, models and a server for a test. Models are fitted once for a run."""

import functools
import json
import os
import random
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
ORDAIN = os.environ.get("ORDAIN_BIN", str(ROOT / "target" / "debug" / "ordain"))
LABELS = ["sea", "sky", "boat", "beach", "sunset", "people", "harbour", "mountain", "cloud", "city", "night", "animal"]
NAMES = ["Anna Schmidt", "Bernd Maier", "Carla Weiss", "Dieter Kraus", "Eva Lang", "Franz Huber"]
TOWNS = ["Bern", "Basel", "Chur", "Genf", "Luzern", "Sion"]


@functools.cache
def folder():
    """Return the folder of this run; it goes when the run ends."""
    return tempfile.TemporaryDirectory()


def likelihood(random, own):
    """Draw the likeness of two names: of the same person, or of two."""
    return round(random.uniform(0.2, 1) if own else random.uniform(0, 0.8), 3)


def items(path, labels):
    """Write items with labels as text, the names of labels beside it."""
    draw = random.Random(1)
    names = LABELS + [f"label {i:05}" for i in range(labels - len(LABELS))]
    (path / "labels.txt").write_text("\n".join(names) + "\n")
    with (path / "items.txt").open("w") as file:
        for i in range(40):
            x = [draw.random() for _ in range(4)]
            own = [j for j in range(12) if draw.random() < min(1, max(0, 1.4 * x[j % 4] - 0.1 * (j // 4)))]
            features = " ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(x))
            file.write(f"{','.join(map(str, own))} {features} # {i + 1}\n")
    return ["cstar" if labels == 12 else "independent", "items.txt", "--set", "lambda=1", "--set", "features=direct", "--set", "max_iter=20"], []


def pairs(path):
    """Write problems with both records of each pair."""
    draw = random.Random(2)
    with (path / "pairs.csv").open("w") as file:
        file.write("problem,left,right,name likeness,town likeness,born likeness,left_name,right_name,")
        file.write("left_town,right_town,left_born,right_born,matched\n")
        for problem in range(1, 9):
            for i in range(6):
                for j in range(6):
                    if abs(i - j) > 2:
                        continue
                    values = [likelihood(draw, i == j) for _ in range(3)]
                    name = NAMES[j] if i == j else NAMES[j].replace("a", "e")
                    town = TOWNS[j] if values[1] < 0.9 else TOWNS[i]
                    fields = [NAMES[i], name, TOWNS[i], town, str(1950 + i), str(1950 + j) if j != 3 else ""]
                    file.write(f"p{problem},a{i + 1},b{j + 1},{','.join(map(str, values + fields))},{int(i == j)}\n")
    shown = "left_name,right_name,left_town,right_town,left_born,right_born"
    return ["matchmap", "pairs.csv", "--ignore", shown, "--set", "lambda=0.1"], ["--show", shown]


def queries(path):
    """Write queries with the titles of their documents."""
    draw = random.Random(3)
    with (path / "queries.csv").open("w") as file:
        file.write("qid,docid,title,bm25,age,grade\n")
        for query in range(1, 7):
            for doc in range(1, 13):
                x = [draw.random(), draw.random()]
                grade = min(4, max(0, int(5 * x[0] - 2 * x[1] + draw.random())))
                file.write(f"q{query},d{doc},On rivers and what became of them ({doc}),{x[0]:.3f},{x[1]:.3f},{grade}\n")
    return ["ranksvm", "queries.csv", "--ignore", "title", "--set", "lambda=0.1"], ["--show", "title"]


MARKUP = "<img src=x onerror=alert(1)>"


def pictures(path):
    """Write items whose ids, texts and labels are markup, with a picture each; one picture is not there."""
    draw = random.Random(4)
    (path / "media").mkdir()
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))  # noqa: E731
    for i in range(1, 4):
        pixels = b"".join(b"\0" + bytes([80 * i, 90, 140] * 24) for _ in range(16))
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 16, 8, 2, 0, 0, 0))
        (path / "media" / f"a & b {i}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))
    with (path / "items.csv").open("w") as file:
        file.write("id,photo,note,x,y,labels\n")
        for i in range(30):
            x, y = draw.random(), draw.random()
            own = [name for name, value in [(f"{MARKUP} sea", x), ("</script><b>boat", y)] if value > 0.5]
            file.write(f"<b>{i}</b>,a & b {i % 4 + 1}.png,<script>alert({i})</script>,{x:.3f},{y:.3f},{';'.join(own)}\n")
    return ["independent", "items.csv", "--ignore", "photo,note", "--set", "lambda=1"], ["--show", "photo,note", "--media", str(path / "media")]


@functools.cache
def fitted(task, labels):
    """Return the model, the data and the options that show them."""
    path = Path(folder().name) / f"{task}{labels}"
    path.mkdir()
    make = {"annotate": functools.partial(items, labels=labels), "match": pairs, "rank": queries, "pictures": pictures}[task]
    method, show = make(path)
    command = [ORDAIN, "fit", *method, "-o", "photos.ordain", "--quiet"]
    subprocess.run(command, cwd=path, check=True, capture_output=True)
    return path / "photos.ordain", path / method[1], show


class Server:
    """`ordain serve` on a free port."""

    def __init__(self, folder, task, labels=12, token=False, more=()):
        model, data, show = fitted(task, labels)
        self.file = folder / "answers.jsonl"
        command = [ORDAIN, "serve", str(model), "--items", str(data), "--answers", str(self.file), *show]
        command += ["--bind", "127.0.0.1:0", *([] if token else ["--token", "none"]), *more]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            if "http://" in line:
                break
        else:
            raise RuntimeError("".join(said))
        self.address = line[line.index("http://") :].strip()
        self.base = self.address.partition("#")[0]

    def hear(self, words):
        """Wait until it says so on standard error."""
        assert any(words in line for line in self.process.stderr)

    def answers(self):
        """Return the answers that stand, from the file."""
        lines = [json.loads(line) for line in self.file.read_text().splitlines()[1:]]
        standing = {}
        for line in lines:
            of = line["n"]
            if "undo" in line:
                old = standing.pop(line["undo"]).get("instead")
                standing |= {old: lines[old - 1]} if old else {}
                continue
            if "redo" in line:
                of = lines[line["redo"] - 1]["undo"]
            standing[of] = lines[of - 1]
            standing.pop(standing[of].get("instead"), None)
        return list(standing.values())

    def stop(self):
        """End it as a person would, and wait for that."""
        self.process.terminate()
        self.process.stderr.close()
        self.process.wait()
