"""Schemathesis asks `ordain serve` whatever its OpenAPI document allows, and much that it does not: no answer may be a fault of the server.

    python3 scripts/test_openapi.py [target/debug/ordain] [--examples 200]

Makes an environment in target/openapi (OPENAPI_VENV names another place). It is no part of ./check, because it needs a network.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SECRET = "a-long-secret"


def main() -> int:
    """Run everything."""
    words = sys.argv[1:]
    examples = words.pop(words.index("--examples") + 1) if "--examples" in words else "200"
    names = [word for word in words if not word.startswith("--")]
    ordain = Path(names[0] if names else ROOT / "target/debug/ordain").resolve()
    place = Path(os.environ.get("OPENAPI_VENV", ROOT / "target/openapi"))
    if not (place / "bin/schemathesis").exists():
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin/pip", "install", "--quiet", "schemathesis"], check=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [f"{i},picture {i},{i % 7},{i * 5 % 11},{'sea' if i % 2 else 'boat'};forest" for i in range(60)]
        (folder / "items.csv").write_text("id,title,a,b,labels\n" + "\n".join(rows) + "\n")
        (folder / "toy.tsv").write_text("".join(f"<http://example.org/{label}>\t{label}\n" for label in ("sea", "boat", "forest")))
        (folder / "tokens").write_text(f"ann:{SECRET}\n")
        fit = [ordain, "fit", "independent", "items.csv", "-o", "m.ordain", "--ignore", "title", "--quiet"]
        subprocess.run(fit, cwd=folder, check=True)
        serve = ["serve", "m.ordain", "--items", "items.csv", "--show", "title", "--media", ".", "--token", "tokens", "--bind", "127.0.0.1:0"]
        serve += ["--label-studio", "--annif", "--vocabulary", "toy.tsv", "--accept-learn"]
        server = subprocess.Popen([ordain, *serve], cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            address = next(line for line in server.stderr if "http://" in line).split("http://")[1].split("/")[0]
            request = urllib.request.Request(f"http://{address}/api/v1/models/m", headers={"Authorization": f"Bearer {SECRET}"})
            version = json.load(urllib.request.urlopen(request))["version"]
            # known names, so that requests come farther than to 404
            known = {"model": "m", "project": "m", "secret": SECRET, "item": "3", "version": version}
            lines = [f'{key} = "{value}"' for key, value in known.items()]
            (folder / "schemathesis.toml").write_text("[parameters]\n" + "\n".join(lines) + "\n")
            checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
            command = [place / "bin/schemathesis", "run", f"http://{address}/openapi.json", "--checks", checks]
            command += ["--header", f"Authorization: Bearer {SECRET}", "--max-examples", examples, "--seed", "1", "--workers", "1"]
            command += ["--suppress-health-check", "all", "--continue-on-failure", "--warnings", "off"]
            done = subprocess.run(command, cwd=folder)
        finally:
            server.terminate()
            code, said = server.wait(20), server.stderr.read()
        assert code == 0, said
        assert "panicked" not in said, said
    print("openapi: all well" if done.returncode == 0 else "openapi: see above")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
