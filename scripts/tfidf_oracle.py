"""Writes crates/ordain/tests/data/tfidf.txt: TF-IDF of made-up texts by scikit-learn (pip install scikit-learn)."""

from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

SIGNS = [" ", ", ", ". ", "-", "'", "_", " (", ") ", "\n"]
state = 5


def draw(n: int) -> int:
    global state
    state = (state * 6_364_136_223_846_793_005 + 1_442_695_040_888_963_407) % 2**64
    return (state >> 33) % n


texts = []
for _ in range(200):
    text = ""
    for _ in range(draw(30)):
        word = draw(40)
        text += f"W{word * word % 97}{['', 'x', 'Ab'][draw(3)]}"
        text += " a " if draw(9) == 0 else SIGNS[draw(9)]
    texts.append(text)

lines = []
for name, pairs in [("words", 1), ("pairs", 2)]:
    made = TfidfVectorizer(ngram_range=(1, pairs))
    rows = made.fit_transform(texts).tocsr()
    rows.sort_indices()
    terms = made.get_feature_names_out()
    for n in range(len(texts)):
        row = rows[n]
        lines.append("\t".join([name, *(f"{terms[j]}:{x:.8f}" for j, x in zip(row.indices, row.data))]))
target = Path(__file__).parents[1] / "crates" / "ordain" / "tests" / "data" / "tfidf.txt"
target.write_text("\n".join(lines) + "\n")
