"""Annif asks `ordain serve`: the real client, from the package index, against a text model and against items by their text.

    python3 scripts/test_annif.py [target/debug/ordain]

Makes an environment in target/annif (24 s, 370 MB the first time). It is no part of ./check, because it needs a network.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXTS = [
    ("a boat on the sea with waves and wind", "sea;boat"),
    ("waves of the sea on the beach", "sea"),
    ("a boat with a white sail", "boat"),
    ("trees and ferns of the forest", "forest"),
    ("a path below old trees", "forest"),
    ("a sail far out at sea", "sea;boat"),
]


def main() -> int:
    ordain = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/debug/ordain").resolve()
    place = ROOT / "target/annif"
    if not (place / "bin/annif").exists():
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/pip", "install", "--quiet", "annif"], check=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [f'{i},"{text}",{labels}' for i, (text, labels) in enumerate(TEXTS * 8)]
        (folder / "texts.csv").write_text("id,title,labels\n" + "\n".join(rows) + "\n")
        # the last label of the model is no subject of the vocabulary
        subjects = [f"<http://example.org/{label}>\t{label}" for label in ("sea", "boat")]
        (folder / "toy.tsv").write_text("\n".join(subjects) + "\n")
        fit = [ordain, "fit", "independent", "texts.csv", "-o", "m.ordain", "--input", "title:text"]
        subprocess.run(fit, cwd=folder, check=True, capture_output=True)
        words = ["serve", "m.ordain=m", "--bind", "127.0.0.1:0", "--annif", "--vocabulary", "toy.tsv"]
        (folder / "tokens").write_text("annif:a-long-token\n")
        server = subprocess.Popen([ordain, *words, "--token", "tokens"], cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            address = server.stderr.readline().split("http://")[1].split("/")[0]
            endpoint = f"http://annif:a-long-token@{address}/v1/projects/m/suggest"
            # the lines of the guide
            guide = (ROOT / "docs/serve.md").read_text().split("```text for scripts/test_annif.py\n")[1].split("```")[0]
            project = guide.replace("http://annif:TOKEN@127.0.0.1:8080/v1/projects/tags/suggest", endpoint)
            assert endpoint in project, project
            (folder / "projects.cfg").write_text(project)

            def annif(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
                command = [place / "bin/annif", *words]
                return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, input=text)

            annif("load-vocab", "toy", "toy.tsv", "--language", "en")
            said = {}
            for text in ("a boat", "old trees of the forest", "the sea with waves"):
                done = annif("suggest", "tags-en", text=text)
                said[text] = done.stdout.strip()
                print(f"{text}: {done.stdout.strip()!r}")
                assert "Traceback" not in done.stderr, done.stderr
            assert "<http://example.org/boat>" in said["a boat"].splitlines()[0]
            assert "<http://example.org/sea>" in said["the sea with waves"].splitlines()[0]
            assert "forest" not in "".join(said.values()), "a subject that the client does not know"
        finally:
            server.terminate()
            assert server.wait(20) == 0
    print("annif: all well")
    return 0


if __name__ == "__main__":
    sys.exit(main())
