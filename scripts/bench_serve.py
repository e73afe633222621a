"""How fast `ordain serve` answers, beside FastAPI with LightGBM, and whether its memory stays flat.

    python3 scripts/bench_serve.py [target/release/ordain] [--requests 1000000]

Needs `wrk` on the path (apt-get install wrk), and makes an environment in target/serve for the other server (SERVE_VENV names another
place). Ends with 1 if a gate is missed and with 75 if something cannot be installed. On an idle machine.
"""

import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, DOCUMENTS = 136, 10
PEER = """
import lightgbm, numpy
from fastapi import FastAPI
from pydantic import BaseModel

class Item(BaseModel):
    id: str
    row: list[float]

class Query(BaseModel):
    id: str
    items: list[Item]

class Request(BaseModel):
    queries: list[Query]

app, model = FastAPI(), lightgbm.Booster(model_file="peer.txt")

@app.post("/rank")
def rank(request: Request):
    out = []
    for query in request.queries:
        scores = model.predict(numpy.array([item.row for item in query.items]), num_threads=1)
        order = numpy.argsort(-scores, kind="stable")
        items = [{"id": query.items[i].id, "score": float(scores[i]), "rank": n + 1} for n, i in enumerate(order)]
        out.append({"query": query.id, "items": items})
    return {"queries": out}
"""
missed = []


def gate(what: str, value: float, limit: float, at_least: bool) -> None:
    """Print a figure with its gate, and note whether it is missed."""
    well = value >= limit if at_least else value <= limit
    print(f"{what}: {value:,.3f} (gate: {'at least' if at_least else 'at most'} {limit:,}){'' if well else '  MISSED'}", flush=True)
    if not well:
        missed.append(what)


class Server:
    """`ordain serve` on a free port."""

    def __init__(self, ordain: Path, folder: Path, *words: str) -> None:
        command = [ordain, "serve", *words, "--bind", "127.0.0.1:0"]
        if "--token" not in words:
            command += ["--token", "none"]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        line = next(line for line in self.process.stderr if "http://" in line)
        self.address = line.split("http://")[1].split("/")[0]

    def memory(self) -> float:
        """Return the resident memory in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def processor(self) -> float:
        """Return the seconds of the processor that it has used."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it, and wait for that."""
        self.process.terminate()
        assert self.process.wait(30) == 0


def wrk(folder: Path, address: str, path: str, body: str | None, seconds: int = 8) -> float:
    """Return requests per second of 16 connections, all of which were answered well."""
    script = folder / "wrk.lua"
    lines = [f'wrk.path = "{path}"']
    if body is not None:
        (folder / "body.json").write_text(body)
        lines += ['wrk.method = "POST"', 'wrk.headers["Content-Type"] = "application/json"', f'local f = io.open("{folder}/body.json")', 'wrk.body = f:read("*a")']
    script.write_text("\n".join(lines) + "\n")
    command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", script, f"http://{address}"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in told, told
    return float(re.search(r"Requests/sec:\s+([\d.]+)", told).group(1))


def queries(folder: Path) -> None:
    """Write made-up queries of 136 features."""
    draw = random.Random(1)
    weights = [draw.gauss(0, 1) for _ in range(COLUMNS)]
    with (folder / "train.txt").open("w") as file:
        for query in range(200):
            for _ in range(DOCUMENTS):
                row = [draw.random() for _ in range(COLUMNS)]
                worth = sum(w * x for w, x in zip(weights, row, strict=True)) + draw.gauss(0, 1)
                features = " ".join(f"{j + 1}:{x:.4f}" for j, x in enumerate(row))
                file.write(f"{min(4, max(0, int(2 + worth / 2)))} qid:{query + 1} {features}\n")


def items(folder: Path, labels: int, count: int) -> None:
    """Write items with so many labels, few of which are on any."""
    draw = random.Random(2)
    (folder / "labels.txt").write_text("".join(f"label {j:05}\n" for j in range(labels)))
    with (folder / "items.txt").open("w") as file:
        for _ in range(count):
            x = [draw.random() for _ in range(8)]
            own = sorted({j for j in range(24) if draw.random() < x[j % 8] * 0.7} | {draw.randrange(labels) for _ in range(3)})
            file.write(f"{','.join(map(str, own))} {' '.join(f'{j + 1}:{value:.3f}' for j, value in enumerate(x))}\n")


def rankings(ordain: Path, python: Path, folder: Path, requests: int) -> None:
    """Measure rankings, the other server, and memory."""
    queries(folder)
    subprocess.run([ordain, "fit", "ranksvm", "train.txt", "-o", "m.ordain", "--set", "lambda=1", "--quiet"], cwd=folder, check=True)
    server = Server(ordain, folder, "m.ordain")
    names = json.loads(ask(http.client.HTTPConnection(server.address), "GET", "/api/v1/models/m")[1])["features"]
    draw = random.Random(3)
    rows = [[round(draw.random(), 4) for _ in names] for _ in range(DOCUMENTS)]
    body = json.dumps({"queries": [{"id": "q", "items": [{"id": f"d{i}", "row": row} for i, row in enumerate(rows)]}]})
    named = [{"id": f"d{i}", "features": dict(zip(names, row, strict=True))} for i, row in enumerate(rows)]
    path = "/api/v1/models/m/rank"
    wrk(folder, server.address, path, body, 2)
    health = wrk(folder, server.address, "/healthz", None)
    plain = wrk(folder, server.address, path, body)
    by_name = wrk(folder, server.address, path, json.dumps({"queries": [{"id": "q", "items": named}]}))
    print(f"/healthz {health:,.0f} requests/s", flush=True)
    gate("rankings of rows, requests/s", plain, 3000, True)
    gate("rows beside /healthz", plain / health, 0.1, True)
    gate("by name beside /healthz", by_name / health, 0.05, True)
    (folder / "peer.py").write_text(PEER)
    fit = "import lightgbm as l, numpy as n\nd=[x.split() for x in open('train.txt')]\ny=[int(r[0]) for r in d]\n"
    fit += "x=n.array([[float(c.split(':')[1]) for c in r[2:]] for r in d])\n"
    fit += "l.train({'objective':'lambdarank','verbose':-1},l.Dataset(x,y,group=[10]*200),100).save_model('peer.txt')"
    subprocess.run([python, "-c", fit], cwd=folder, check=True)
    command = [python, "-m", "uvicorn", "peer:app", "--port", "18355", "--workers", "2", "--log-level", "error"]
    peer = subprocess.Popen(command, cwd=folder)
    try:
        for _ in range(240):
            try:
                http.client.HTTPConnection("127.0.0.1:18355").connect()
                break
            except ConnectionError:
                time.sleep(0.25)
        wrk(folder, "127.0.0.1:18355", "/rank", body, 2)
        # in turns, so that whatever else runs slows both
        rounds = [(wrk(folder, server.address, path, body, 3), wrk(folder, "127.0.0.1:18355", "/rank", body, 3)) for _ in range(3)]
    finally:
        peer.terminate()
        peer.wait()
    own, other = (sum(each) / len(rounds) for each in zip(*rounds, strict=True))
    print(f"in turns {own:,.0f}, FastAPI with LightGBM and two workers {other:,.0f} requests/s", flush=True)
    gate("rankings beside FastAPI with LightGBM", own / other, 10, True)
    if requests:
        tenth = max(1, int(requests / 10 / plain))
        wrk(folder, server.address, path, body, tenth)
        before, done = server.memory(), 0.0
        while done < requests:
            done += 10 * wrk(folder, server.address, path, body, 10)
        after = server.memory()
        print(f"memory after {requests / 10:,.0f} requests {before:.1f} MB, after {done:,.0f} more {after:.1f} MB", flush=True)
        gate("growth of the memory, MB", after - before, 2, False)
    server.stop()


def percentile(times: list[float], share: float) -> float:
    """Return a percentile in ms."""
    return 1000 * sorted(times)[min(len(times) - 1, int(share * len(times)))]


def ask(plain: http.client.HTTPConnection, method: str, path: str, body: object = None, token: str | None = None) -> tuple[int, bytes]:
    """Send a request on an open connection."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    plain.request(method, path, json.dumps(body) if body is not None else None, headers)
    reply = plain.getresponse()
    return reply.status, reply.read()


def answered(plain: http.client.HTTPConnection) -> tuple[list[float], str]:
    """Answer ten questions on each of 60 items; how long each took, and the strategy."""
    times, n = [], 0
    for item in range(1, 61):
        state = json.loads(ask(plain, "GET", f"/api/v1/items/{item}")[1])
        for _ in range(10):
            if state["question"] is None:
                break
            body = {"key": f"k{n}", "item": state["item"], "label": state["question"]["label"], "answer": n % 3 == 0, "seen": state["seq"]}
            begun = time.perf_counter()
            status, text = ask(plain, "POST", "/api/v1/answers", body)
            times.append(time.perf_counter() - begun)
            assert status == 200, text
            state, n = json.loads(text), n + 1
    return times, state["session"]["strategy"]


def questions(ordain: Path, folder: Path) -> None:
    """Measure the next question with 1,000 labels, and the search with 50,000."""
    items(folder, 1000, 200)
    fit = [ordain, "fit", "cstar[core=5,features=direct,max_iter=30,lambda=1]", "items.txt", "-o", "tags.ordain", "--quiet"]
    subprocess.run(fit, cwd=folder, check=True)
    for what, words in {"next question": [], "next question while models are learned": ["--learn", "30"]}.items():
        answers = f"{len(words)}.jsonl"
        server = Server(ordain, folder, "tags.ordain", "--items", "items.txt", "--answers", answers, *words)
        before = server.processor()
        times, strategy = answered(http.client.HTTPConnection(server.address))
        used = 1000 * (server.processor() - before) / len(times)
        shown = f"{len(times)} answers, p50 {percentile(times, 0.5):.1f} ms, {used:.1f} ms of the processor each"
        print(f"{what}, 1,000 labels, core of 5, strategy {strategy}: {shown}", flush=True)
        gate(f"{what} p99, ms", percentile(times, 0.99), 60, False)
        server.stop()
    items(folder, 50_000, 40)
    fit = [ordain, "fit", "independent", "items.txt", "-o", "many.ordain", "--quiet", "--set", "lambda=1", "--set", "features=direct", "--set", "max_iter=20"]
    subprocess.run(fit, cwd=folder, check=True)
    server = Server(ordain, folder, "many.ordain", "--items", "items.txt", "--answers", "many.jsonl")
    plain, times, draw = http.client.HTTPConnection(server.address), [], random.Random(4)
    for _ in range(500):
        text = f"{draw.randrange(100_000):05}"[: draw.randint(0, 5)]
        begun = time.perf_counter()
        status, _ = ask(plain, "GET", f"/api/v1/labels?q={text}&n=30")
        times.append(time.perf_counter() - begun)
        assert status == 200
    print(f"search over 50,000 labels: p50 {percentile(times, 0.5):.1f} ms", flush=True)
    gate("search over 50,000 labels p99, ms", percentile(times, 0.99), 20, False)
    server.stop()


def tokens(ordain: Path, folder: Path) -> None:
    """Measure whether the time of a refusal tells how much of a token is right."""
    right = "0123456789abcdef" * 64
    (folder / "token").write_text(right + "\n")
    server = Server(ordain, folder, "m.ordain", "--token", "token")
    plain = http.client.HTTPConnection(server.address)
    wrong = {"first": "x" + right[1:], "last": right[:-1] + "x"}
    times: dict[str, list[float]] = {name: [] for name in wrong}
    for _ in range(3000):
        for name, token in wrong.items():
            begun = time.perf_counter()
            status, _ = ask(plain, "GET", "/api/v1/models", token=token)
            times[name].append(time.perf_counter() - begun)
            assert status == 401
    a, b = (statistics.median(times[name]) for name in wrong)
    print(f"a token of 1,024 characters that is wrong at the first / the last: {1e6 * a:.1f} / {1e6 * b:.1f} us", flush=True)
    gate("difference of the two medians", abs(a - b) / max(a, b), 0.05, False)
    server.stop()


def main() -> int:
    """Run everything."""
    words = sys.argv[1:]
    requests = int(words.pop(words.index("--requests") + 1)) if "--requests" in words else 0
    names = [word for word in words if not word.startswith("--")]
    ordain = Path(names[0] if names else ROOT / "target/release/ordain").resolve()
    if not shutil.which("wrk"):
        print("expected wrk on the path (apt-get install wrk), found none")
        return 75
    place = Path(os.environ.get("SERVE_VENV", ROOT / "target/serve"))
    if not (place / "bin/uvicorn").exists():
        venv.create(place, with_pip=True)
        made = subprocess.run([place / "bin/pip", "install", "--quiet", "fastapi", "uvicorn", "lightgbm", "numpy"])
        if made.returncode:
            return 75
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rankings(ordain, place / "bin/python", folder, requests)
        questions(ordain, folder)
        tokens(ordain, folder)
    print("missed: " + ", ".join(missed) if missed else "serve: all gates are met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
