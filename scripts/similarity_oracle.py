"""Writes crates/ordain/tests/data/rapidfuzz.txt: likenesses of made-up words by Python's rapidfuzz (pip install rapidfuzz).

Each line is of ten pairs: the sums of 1 to 10 times the likeness by Jaro, by Levenshtein and of sorted words.
"""

from pathlib import Path

from rapidfuzz import fuzz
from rapidfuzz.distance import Jaro, Levenshtein

LETTERS = ["a", "b", "c", "d", "e", " ", "é", "ß", "1", "漢"]
state = 1


def draw(n: int) -> int:
    global state
    state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
    return (state >> 33) % n


def word() -> str:
    return "".join([LETTERS[draw(10)] for _ in range(draw(25))])


lines = []
for _ in range(1000):
    sums = [0.0, 0.0, 0.0]
    for n in range(10):
        a, b = word(), word()
        own = [Jaro.normalized_similarity(a, b), Levenshtein.normalized_similarity(a, b), fuzz.token_sort_ratio(a, b) / 100]
        sums = [total + (n + 1) * x for total, x in zip(sums, own)]
    lines.append(" ".join(f"{x:.9f}" for x in sums))
target = Path(__file__).parents[1] / "crates" / "ordain" / "tests" / "data" / "rapidfuzz.txt"
target.write_text("\n".join(lines) + "\n")
