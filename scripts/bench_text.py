"""Texts: topics of made-up documents by `cstar` beside one logistic regression per topic on scikit-learn's TF-IDF.

`python scripts/bench_text.py ORDAIN [--documents 5000] [--topics 40]` (pip install scikit-learn numpy).
"""

import argparse
import csv
import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

words = argparse.ArgumentParser()
words.add_argument("ordain")
words.add_argument("--documents", type=int, default=5000)
words.add_argument("--topics", type=int, default=40)
words.add_argument("--method", default="cstar")
words.add_argument("--seed", type=int, default=1)
args = words.parse_args()

rng = np.random.default_rng(args.seed)
vocabulary = 8000
zipf = 1 / np.arange(1, vocabulary + 1)
zipf /= zipf.sum()
# every topic prefers some words: its own Zipf law over a random order of them
own = [rng.permutation(vocabulary)[:400] for _ in range(args.topics)]
near = rng.integers(args.topics, size=args.topics)  # topics come together
share = 1 / np.arange(1, 401)
share /= share.sum()
texts, labels = [], []
for _ in range(args.documents):
    first = int(rng.integers(args.topics))
    mine = {first}
    if rng.random() < 0.5:
        mine.add(int(near[first]))
    if rng.random() < 0.2:
        mine.add(int(rng.integers(args.topics)))
    mine = sorted(mine)
    length = int(rng.integers(30, 120))
    drawn = rng.choice(vocabulary, size=length, p=zipf)
    for at in np.flatnonzero(rng.random(length) < 0.25):
        drawn[at] = own[mine[int(rng.integers(len(mine)))]][rng.choice(400, p=share)]
    texts.append(" ".join(f"w{word}" for word in drawn))
    labels.append([f"t{topic}" for topic in mine])
cut = args.documents * 4 // 5
binary = MultiLabelBinarizer().fit(labels)
truth = binary.transform(labels[cut:])

start = time.process_time()
made = TfidfVectorizer()
train = made.fit_transform(texts[:cut])
tfidf = time.process_time() - start
model = OneVsRestClassifier(LogisticRegression(C=10, max_iter=1000)).fit(train, binary.transform(labels[:cut]))
peer = f1_score(truth, model.predict(made.transform(texts[cut:])), average="micro")
usual = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(train, binary.transform(labels[:cut]))
plain = f1_score(truth, usual.predict(made.transform(texts[cut:])), average="micro")
print(f"scikit-learn: micro-F1 {plain:.4f} (C=1), {peer:.4f} (C=10); {time.process_time() - start:.1f} s of processor, TF-IDF {tfidf:.2f}")

with tempfile.TemporaryDirectory() as folder:
    for name, part in [("train", range(cut)), ("test", range(cut, args.documents))]:
        with (Path(folder) / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", "text", "labels"])
            out.writerows([n, texts[n], ";".join(labels[n])] for n in part)
    said = Path(folder) / "model.ordain"
    subprocess.run(
        [args.ordain, "fit", args.method, f"{folder}/train.csv", "-o", said, "--input", "text:text", "--choose-by", "f1"],
        check=True,
    )
    done = subprocess.run(
        [args.ordain, "--json", "predict", said, f"{folder}/test.csv"], check=True, capture_output=True, text=True
    )
answers = [json.loads(line) for line in done.stdout.splitlines()]
found = binary.transform([[label["label"] for label in answer["labels"]] for answer in answers])
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
print(f"{args.method}: micro-F1 {f1_score(truth, found, average='micro'):.4f}; {used:.1f} s of processor")
