"""Texts: topics of made-up documents by `cstar` beside one logistic regression per topic on scikit-learn's TF-IDF.

`python scripts/bench_text.py ORDAIN [--documents 5000] [--topics 40]` (pip install scikit-learn numpy). With --speed it
only compares the seconds of TF-IDF of 20,000 documents of 200 words on one thread: `TfidfVectorizer.fit_transform` of
texts in memory, and `ordain inspect --input text:text`, which reads a table and learns and applies the step.
"""

import argparse
import csv
import json
import resource
import subprocess
import sys
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
words.add_argument("--speed", action="store_true")
args = words.parse_args()


def seconds(command):
    """Run a command and return its seconds of the processor."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed():
    """Print the seconds of both, three times in turn."""
    rng = np.random.default_rng(args.seed)
    law = 1 / np.arange(1, 30001)
    law /= law.sum()
    texts = [" ".join(f"w{word}" for word in rng.choice(30000, size=200, p=law)) for _ in range(20000)]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "texts.csv"
        with table.open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["id", "text", "labels"])
            out.writerows([n, text, "ab"[n % 2]] for n, text in enumerate(texts))
        for _ in range(3):
            start = time.process_time()
            TfidfVectorizer(max_features=50000).fit_transform(texts)
            peer = time.process_time() - start
            own = seconds([args.ordain, "inspect", table, "--input", "text:text", "--threads", "1"])
            print(f"scikit-learn {peer:.2f} s, ordain {own:.2f} s, reading included", flush=True)


if args.speed:
    speed()
    sys.exit()

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
given = binary.transform(labels[:cut])


def logistic(c, rows):
    """One logistic regression per topic."""
    return OneVsRestClassifier(LogisticRegression(C=c, max_iter=1000)).fit(train[rows], given[rows])


# C and the cut of the probabilities by every fifth document of the training part
held = np.arange(cut) % 5 == 4
cuts = np.linspace(0.02, 0.6, 59)
tried = {}
for c in (1, 10, 100, 1000, 10_000, 100_000):
    p = logistic(c, ~held).predict_proba(train[held])
    reached = [f1_score(given[held], p > at, average="micro", zero_division=0) for at in cuts]
    tried[c] = (max(reached), cuts[int(np.argmax(reached))])
c = max(tried, key=lambda c: tried[c][0])
tested = made.transform(texts[cut:])
plain, model = logistic(1, slice(None)), logistic(c, slice(None))
usual = f1_score(truth, plain.predict(tested), average="micro")
peer = f1_score(truth, model.predict_proba(tested) > tried[c][1], average="micro")
print(
    f"scikit-learn: micro-F1 {usual:.4f} (C = 1, cut at .5), {peer:.4f} (C = {c:g}, cut at {tried[c][1]:.2f}, both chosen); "
    f"{time.process_time() - start:.1f} s of processor, TF-IDF {tfidf:.2f}"
)

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
found = binary.transform([answer["chosen"] for answer in answers])
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
print(f"{args.method}: micro-F1 {f1_score(truth, found, average='micro'):.4f}; {used:.1f} s of processor")
