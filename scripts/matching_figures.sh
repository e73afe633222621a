#!/usr/bin/env bash
# The figures of docs/benchmarks.md on matching: scripts/matching_figures.sh DATA [PART…], with DATA the folder of data sets and PART of
# house, calibration, silhouettes, training, nulls, large (all of them without a word).
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?usage: scripts/matching_figures.sh DATA [PART…]}
shift
parts=" ${*:-house calibration silhouettes training nulls large} "
cargo build --release --quiet --workspace --bins --examples
built=${CARGO_TARGET_DIR:-target}/release
house=$data/matching/cmu-house
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }
asked() { [[ $parts == *" $1 "* ]]; }

for baseline in 0 10 20 30 40 50 60 70 80 90; do
  awk -F, -v b=$baseline 'NR == 1 || $1 == b' "$house/pairs.csv" > "$work/$baseline.csv"
done

# all baselines with some options of compare, a line of JSON each
each() {
  local list=$1
  shift
  for baseline in $list; do
    "$built/ordain" compare matchmap matchmargin --train "$house/points.csv" --pairs "$work/$baseline.csv" --quiet --json "$@" \
      | tr -d '\n'
    echo
  done
}

# the same with the settings that were chosen before, fitted on the training pairs alone
again() {
  local list=$1 line
  shift
  for baseline in $list; do
    read -r line
    mapfile -t methods < <(python3 -c '
import json, sys
for method in json.loads(sys.argv[1])["methods"]:
    print("%s[scale=%s,lambda=%r]" % (method["method"], method["chosen"][0]["scale"], method["chosen"][0]["lambda"]))' "$line")
    "$built/ordain" compare "${methods[@]}" --train "$house/points.csv" --pairs "$work/$baseline.csv" --no-refit --quiet --json "$@" \
      < /dev/null | tr -d '\n'
    echo
  done
}

# rows of a table of one metric from what each() printed: the words are a metric, a method and a name
row() {
  python3 - "$@" <<'P'
import json, sys
file, metric, method, name = sys.argv[1:]
values = [json.loads(line)["methods"][method == "matchmargin"]["metrics"][metric]["mean"] for line in open(file)]
late = values[1:] if len(values) == 10 else values
print("|", name, "|", " | ".join("%.4f" % v for v in values), "| %.4f |" % (sum(late) / len(late)))
P
}

if asked house; then
  for features in shape-context shape-context-abs,coordinates,degree; do
    say "house, error by baseline, $features"
    echo "| | 0 | 10 | 20 | 30 | 40 | 50 | 60 | 70 | 80 | 90 | mean of 10 to 90 |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for baseline in 0 10 20 30 40 50 60 70 80 90; do
      "$built/examples/unlearned" "$house/points.csv" "$work/$baseline.csv" "$features"
    done | awk '{ row = row " | " $1; if (NR > 1) sum += $1 } END { printf "| unlearned%s | %.4f |\n", row, sum / 9 }'
    each "0 10 20 30 40 50 60 70 80 90" --features "$features" --metric hamming > "$work/runs"
    again "0 10 20 30 40 50 60 70 80 90" --features "$features" --metric hamming < "$work/runs" > "$work/without"
    for method in matchmargin matchmap; do
      row "$work/runs" hamming $method $method
      row "$work/without" hamming $method "$method, fitted on the training pairs alone"
    done
  done
fi

if asked calibration; then
  for features in shape-context shape-context-abs,coordinates,degree; do
    say "house, ECE, settings chosen by nll, $features"
    echo "| | 60 | 70 | 80 | 90 | mean |"
    echo "|---|---|---|---|---|---|"
    each "60 70 80 90" --features "$features" --metric ece --choose-by nll > "$work/runs"
    row "$work/runs" ece matchmap matchmap
    row "$work/runs" ece matchmargin matchmargin
  done
fi

if asked silhouettes; then
  say "Figure 3, left"
  "$built/examples/silhouettes" "$data"
fi
if asked training; then
  say "Table 1 at M = 20"
  "$built/examples/matching_training" "$data"
fi
if asked nulls; then
  say "house with hidden landmarks, F1"
  "$built/examples/house_nulls" "$data"
fi
if asked large; then
  say "2,000 by 2,000"
  "$built/examples/large_matching"
fi
