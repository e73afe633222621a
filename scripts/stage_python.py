#!/usr/bin/env python3
"""Put the Python package together out of a build of the workspace, in the environment of the Python that runs this.

BUILD is the folder of the build (target/debug): its library `_ordain` becomes the compiled half, so that the package is tested without
a second build. Without BUILD only what the tests need is installed. That is done when python/pyproject.toml names something else than
the last time. The package that is published is made by `pip install ./python`.
"""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ["lib_ordain.so", "lib_ordain.dylib", "_ordain.dll"]


def project():
    """Return the table `project` of python/pyproject.toml."""
    if importlib.util.find_spec("tomllib"):
        import tomllib
    else:  # Python 3.10
        from pip._vendor import tomli as tomllib
    return tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]


def version():
    """Return the version of the workspace."""
    described = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version=1"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    packages = json.loads(described.stdout)["packages"]
    return next(package["version"] for package in packages if package["name"] == "ordain-python")


def install(wanted, stamp):
    """Install packages unless the same ones were installed before."""
    if stamp.exists() and stamp.read_text() == "\n".join(wanted):
        return
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    stamp.write_text("\n".join(wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, nargs="?", help="the folder of the build")
    args = parser.parse_args()
    about = project()
    install(about["dependencies"] + about["optional-dependencies"]["test"], Path(sys.prefix) / "installed.txt")
    if args.build is None:
        return
    library = next((path for name in LIBRARIES if (path := args.build / name).exists()), None)
    if library is None:
        sys.exit(f"{args.build}: expected the library _ordain of cargo build --workspace, found none")
    site = Path(sysconfig.get_path("platlib"))
    for old in [site / "ordain", *site.glob("ordain-*.dist-info")]:
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(ROOT / "python" / "ordain", site / "ordain", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    shutil.copy(library, site / "ordain" / ("_ordain.pyd" if library.suffix == ".dll" else "_ordain.abi3.so"))
    info = site / f"ordain-{version()}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ordain\nVersion: {version()}\n")


if __name__ == "__main__":
    main()
