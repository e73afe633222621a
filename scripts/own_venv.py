"""A virtual environment of the project's own, in target/venv, for scripts that measure other tools."""
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

# The exit status where a package cannot be had; ./check tells it from a gate that was missed.
NOT_INSTALLED = 75
VENV = Path(__file__).resolve().parent.parent / "target" / "venv"


def enter(packages):
    """Go on in target/venv, made and filled if need be; packages maps the name to install to the module it brings."""
    python = VENV / "bin" / "python"
    if Path(sys.prefix).resolve() != VENV.resolve():
        if not python.exists():
            print("making target/venv", flush=True)
            try:
                subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True, timeout=300)
            except BaseException:
                shutil.rmtree(VENV, ignore_errors=True)
                raise
        os.execv(python, [str(python), *sys.argv])
    if not all(importlib.util.find_spec(module) for module in packages.values()):
        print("installing", *packages, flush=True)
        done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], timeout=600)
        if done.returncode != 0:
            print("cannot install", *packages, file=sys.stderr)
            sys.exit(NOT_INSTALLED)
        importlib.invalidate_caches()
