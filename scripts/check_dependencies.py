"""Licences, duplicates and sources of all crates, by the rules of deny.toml; without a network and without cargo-deny.

    python3 scripts/check_dependencies.py

`cargo deny check` reads the same file, and knows advisories too (`./check --deny`). This is the part that needs nothing
but cargo: every licence is allowed, no crate is there in two versions that deny.toml does not name, every crate comes
from crates.io or from here, and nothing in deny.toml is without use.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def satisfied(expression: str, allowed: set[str]) -> bool:
    """Whether a licence expression can be met with allowed licences: AND binds closer than OR, `/` is an old OR."""
    words = re.findall(r"\(|\)|[^\s()/]+|/", expression)
    at = 0

    def some() -> bool:
        nonlocal at
        found = every()
        while at < len(words) and words[at] in ("OR", "/"):
            at += 1
            found = every() or found
        return found

    def every() -> bool:
        nonlocal at
        found = one()
        while at < len(words) and words[at] == "AND":
            at += 1
            found = one() and found
        return found

    def one() -> bool:
        nonlocal at
        word = words[at]
        at += 1
        if word == "(":
            found = some()
            at += 1
            return found
        if at + 1 < len(words) and words[at] == "WITH":
            word = f"{word} WITH {words[at + 1]}"
            at += 2
        return word in allowed

    return some()


def main() -> int:
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed, skipped = set(rules["licenses"]["allow"]), {skip["crate"] for skip in rules["bans"]["skip"]}
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    packages = json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout)["packages"]
    wrong, versions, used = [], defaultdict(set), set()
    for package in packages:
        name = f"{package['name']}@{package['version']}"
        versions[package["name"]].add(package["version"])
        if package["source"] not in (None, REGISTRY):
            wrong.append(f"{name}: expected a crate of crates.io, found {package['source']}")
        licence = package["license"]
        if licence is None or not satisfied(licence, allowed):
            wrong.append(f"{name}: expected a licence of deny.toml, found {licence}")
        else:
            used |= {licence for licence in allowed if licence in package["license"]}
    for name, own in versions.items():
        left = {version for version in own if f"{name}@{version}" not in skipped}
        if len(left) > 1:
            wrong.append(f"{name}: expected one version, found {', '.join(sorted(own))}; deny.toml can name one of them")
    for crate in skipped:
        name, version = crate.split("@")
        if version not in versions[name] or len(versions[name]) == 1:
            wrong.append(f"deny.toml: expected duplicates only, found {crate}")
    wrong += [f"deny.toml: expected licences in use only, found {licence}" for licence in sorted(allowed - used)]
    print("\n".join(wrong) if wrong else f"{len(packages)} crates: licences, duplicates and sources as deny.toml has them")
    return 1 if wrong else 0


if __name__ == "__main__":
    assert satisfied("MIT OR Apache-2.0", {"MIT"}) and satisfied("MIT/Apache-2.0", {"Apache-2.0"})
    assert not satisfied("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT"})
    assert satisfied("Apache-2.0 WITH LLVM-exception OR GPL-2.0", {"Apache-2.0 WITH LLVM-exception"})
    sys.exit(main())
