"""Label Studio asks `ordain serve`: the real server, from the package index, with items by their text and their id.

    python3 scripts/test_label_studio.py [target/debug/ordain]

Makes an environment in target/label-studio (1.5 GB, minutes the first time: it makes its database too). It is no part of ./check,
because it needs a network.
"""

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = "1.23.2"
TOKEN = "5e" * 20
SECRET = "a-long-secret"
LABELS = ["sea", "boat", "forest", "house"]
GUIDE = (ROOT / "docs/serve.md").read_text()
# what the guide says to paste: how to start it, and the labelling setup
START = GUIDE.split("```text for scripts/test_label_studio.py\n")[1].split("```")[0]
CONFIG = GUIDE.split("```xml for scripts/test_label_studio.py\n")[1].split("```")[0]


def items(folder: Path) -> list[str]:
    """Write items with features, a text and labels; the texts."""
    draw = random.Random(1)
    texts, rows = [], ["id,text," + ",".join(f"x{j}" for j in range(4)) + ",labels"]
    for i in range(60):
        own = [label for label in LABELS if draw.random() < 0.5] or ["sea"]
        numbers = [round((label in own) + draw.gauss(0, 0.3), 2) for label in LABELS]
        texts.append(f"picture {i + 1}")
        rows.append(f"{i + 1},{texts[-1]},{','.join(map(str, numbers))},{';'.join(own)}")
    (folder / "items.csv").write_text("\n".join(rows) + "\n")
    return texts


class Studio:
    """Label Studio on a free port."""

    def __init__(self, place: Path, data: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        own = dict(word.split("=") for word in START.split() if "=" in word)
        own |= {"COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}
        own |= {"LABEL_STUDIO_BASE_DATA_DIR": str(data), "LABEL_STUDIO_USER_TOKEN": TOKEN}
        command = [place / "bin/label-studio", "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(self.port)]
        command += ["--data-dir", data, "--username", "ann@example.org", "--password", "a-long-password"]
        command += ["--user-token", TOKEN, "--enable-legacy-api-token"]
        self.log = (data / "log.txt").open("w")
        self.process = subprocess.Popen(command, env=os.environ | own, stdout=self.log, stderr=subprocess.STDOUT)
        while self.process.poll() is None:
            try:
                self.ask("GET", "/api/version")
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(1)
        raise RuntimeError((data / "log.txt").read_text()[-3000:])

    def ask(self, method: str, path: str, body: object = None) -> object:
        """Send a request to its API."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        request.add_header("Authorization", f"Token {TOKEN}")
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, data, timeout=120) as reply:
            text = reply.read()
        return json.loads(text) if text else None


def wait_for(what: str, found, expected: object) -> None:
    """Wait until something is so: webhooks come after the reply that they are about."""
    for _ in range(60):
        if found() == expected:
            return
        time.sleep(0.5)
    raise AssertionError(f"{what}: expected {expected}, found {found()}")


def standing(path: Path) -> list[tuple[str, str, bool]]:
    """Return the answers that stand: item, label, answer."""
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    stands: dict[int, dict] = {}
    for line in lines:
        if "undo" in line:
            old = stands.pop(line["undo"]).get("instead")
            stands |= {old: lines[old - 1]} if old else {}
        else:
            stands.pop(line.get("instead"), None)
            stands[line["n"]] = line
    return sorted((line["item"], line["label"], line["answer"]) for line in stands.values())


def connected(studio: Studio, address: str, texts: list[str]) -> tuple[int, str, list[dict]]:
    """Make a project, give it tasks and the model; its number, the version of the model and the tasks."""
    backend = f"http://{address}/label-studio/{SECRET}"
    with urllib.request.urlopen(backend + "/versions", timeout=30) as reply:
        version = json.load(reply)["versions"][0]
    project = studio.ask("POST", "/api/projects", {"title": "pictures", "label_config": CONFIG, "sampling": "Uncertainty sampling", "show_collab_predictions": True})["id"]
    tasks = [{"text": texts[0]}, {"id": "2", "text": "other words"}, {"text": texts[2]}, {"text": texts[4]}, {"text": "nobody knows"}]
    studio.ask("POST", f"/api/projects/{project}/import", tasks)
    studio.ask("POST", "/api/ml", {"url": backend, "project": project, "title": version})
    told = studio.ask("GET", f"/api/projects/{project}")
    print(f"model version of the project: {told['model_version']}")
    assert told["model_version"] == version
    found = studio.ask("GET", f"/api/tasks?project={project}&fields=all")["tasks"]
    return project, version, sorted(found, key=lambda task: task["id"])


def predicted(studio: Studio, project: int, version: str, tasks: list[dict]) -> None:
    """Open a task, ask for all predictions, and take the next task of the queue."""
    first = studio.ask("GET", f"/api/tasks/{tasks[0]['id']}?project={project}")
    assert first["predictions"], "opening a task asks the model"
    studio.ask("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", {"selectedItems": {"all": True, "excluded": []}})
    all_of = studio.ask("GET", f"/api/predictions?project={project}")
    of_task = {one["task"]: one for one in all_of if one["result"]}
    print(f"predictions of {len(of_task)} of {len(tasks)} tasks (one is no item of the model)")
    assert len(of_task) == len(tasks) - 1
    choices = {choice for one in of_task.values() for choice in one["result"][0]["value"]["choices"]}
    assert choices <= {"sea", "boat", "forest"}, choices
    assert all(one["model_version"] == version and 0 <= one["score"] <= 1 for one in of_task.values())
    following = studio.ask("GET", f"/api/projects/{project}/next")
    scores = {task: one["score"] for task, one in of_task.items()}
    print(f"next task: {following['id']}, score {scores.get(following['id'], 0):.4f} of {sorted(round(s, 4) for s in scores.values())}")
    # a task without a prediction has no score, and may come first
    assert scores.get(following["id"], min(scores.values())) == min(scores.values())


def annotated(studio: Studio, tasks: list[dict], answers: Path) -> None:
    """Annotate, change, repeat and delete; what stands in the file of answers after each."""

    def result(*choices: str) -> list[dict]:
        return [{"from_name": "tags", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}]

    def told(what: str, expected: list[tuple[str, str, bool]]) -> None:
        wait_for(what, lambda: standing(answers), sorted(expected))
        print(f"{what}: {expected}")

    one = studio.ask("POST", f"/api/tasks/{tasks[0]['id']}/annotations", {"result": result("sea", "forest")})["id"]
    told("created", [("1", "sea", True), ("1", "forest", True)])
    studio.ask("PATCH", f"/api/annotations/{one}", {"result": result("sea")})
    told("changed", [("1", "sea", True)])
    again = studio.ask("POST", f"/api/tasks/{tasks[0]['id']}/annotations", {"result": result("sea", "boat")})["id"]
    told("a second one of the same", [("1", "sea", True), ("1", "boat", True)])
    studio.ask("DELETE", f"/api/annotations/{one}")
    told("the first one deleted", [("1", "sea", True), ("1", "boat", True)])
    studio.ask("POST", f"/api/tasks/{tasks[1]['id']}/annotations", {"result": result("boat")})
    told("another task, by its id", [("1", "sea", True), ("1", "boat", True), ("2", "boat", True)])
    studio.ask("DELETE", f"/api/annotations/{again}")
    told("the second one deleted", [("2", "boat", True)])


def learned(studio: Studio, server: subprocess.Popen, address: str, project: int, tasks: list[dict]) -> None:
    """Annotate an item that is held out, wait for the model that is learned, and tell Label Studio of it as the server says."""
    result = [{"from_name": "tags", "to_name": "text", "type": "choices", "value": {"choices": ["sea", "boat", "forest"]}}]
    for task in (tasks[3], tasks[2]):
        studio.ask("POST", f"/api/tasks/{task['id']}/annotations", {"result": result})
    told = next(line for line in server.stderr if "m: " in line)
    assert "in the place of" in told, told
    print(f"learned: {told.split(', learned')[0].strip()}")
    version = f"m@{told.split()[1]}"
    backend = studio.ask("GET", f"/api/ml?project={project}")[0]
    studio.ask("PATCH", f"/api/ml/{backend['id']}", {"title": version, "url": f"http://{address}/label-studio/{SECRET}", "project": project})
    told = studio.ask("PATCH", f"/api/projects/{project}", {"model_version": version})
    assert told["model_version"] == version
    studio.ask("POST", f"/api/dm/actions?id=retrieve_tasks_predictions&project={project}", {"selectedItems": {"all": True, "excluded": []}})
    new = [one for one in studio.ask("GET", f"/api/predictions?project={project}") if one["model_version"] == version]
    print(f"predictions of the new version: {len(new)}")
    assert len(new) >= len(tasks) - 1


def main() -> int:
    """Run everything."""
    ordain = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/ordain").resolve()
    place = Path(os.environ.get("LABEL_STUDIO_VENV", ROOT / "target/label-studio"))
    if not (place / "bin/label-studio").exists():
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/pip", "install", "--quiet", f"label-studio=={VERSION}"], check=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = items(folder)
        fit = [ordain, "fit", "cstar[core=2]", "items.csv", "-o", "m.ordain", "--ignore", "text", "--quiet"]
        subprocess.run(fit, cwd=folder, check=True)
        (folder / "tokens").write_text(f"{SECRET}\n")
        words = ["serve", "m.ordain", "--items", "items.csv", "--show", "text", "--token", "tokens", "--bind", "127.0.0.1:0", "--label-studio", "--learn", "7"]
        server = subprocess.Popen([ordain, *words], cwd=folder, stderr=subprocess.PIPE, text=True)
        studio = None
        try:
            address = next(line for line in server.stderr if "http://" in line).split("http://")[1].split("/")[0]
            data = Path(os.environ.get("LABEL_STUDIO_DATA", folder / "studio"))
            data.mkdir(exist_ok=True)
            studio = Studio(place, data)
            project, version, tasks = connected(studio, address, texts)
            predicted(studio, project, version, tasks)
            annotated(studio, tasks, folder / "answers.jsonl")
            learned(studio, server, address, project, tasks)
        finally:
            if studio:
                studio.process.terminate()
                studio.process.wait(30)
            server.terminate()
            assert server.wait(20) == 0
    print("label studio: all well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
