#!/usr/bin/env bash
# What a method takes by itself (scorer=auto: weights, kernels or trees) beside its weights alone, as a table of docs/benchmarks.md.
# Usage: scripts/auto_figures.sh DATA [SET…]   (after cargo build --release; SET is one of the list below, all of them without a word)
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?usage: scripts/auto_figures.sh DATA [SET…]}
shift
sets=${*:-trec-news corel5k bibtex mirflickr delicious willow house}
ordain=${ORDAIN:-target/release/ordain}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Rows of the table: both means, what auto has more (with its interval over items, queries or problems), p, seconds of both fits; then what
# auto took.
rows='
import json, sys
said = json.load(sys.stdin)
methods = {m["label"]: m for m in said["methods"]}
for test in said["tests"]:
    both = test["a"], test["b"]
    values = tuple(methods[m]["metrics"][test["metric"]]["mean"] for m in both)
    more = (-test["difference"], -test["high"], -test["low"], test["p"])
    seconds = tuple(methods[m]["seconds"]["fit"] for m in both)
    print("| %s | `%s` | %s |" % (sys.argv[1], both[0], test["metric"]), "%.4f | %.4f | %+.4f [%+.4f, %+.4f] | %.4f | %.3g, %.3g |" % (values + more + seconds))
print("    auto took", methods[both[1]]["chosen"])'

# beside NAME METRICS METHOD SETTINGS WORDS…: METHOD with and without scorer=auto, both with SETTINGS (as ,core=3, or nothing)
beside() {
  local name=$1 metrics=$2 linear=$3 auto="$3[scorer=auto$4]"
  [[ -z $4 ]] || linear="$3[${4#,}]"
  shift 4
  "$ordain" compare "$linear" "$auto" "$@" --metric "$metrics" --quiet --json | python3 -c "$rows" "$name"
}

# labels SET N METHOD SETTINGS: published parts, of the training part every Nth item
labels() {
  local folder=$data/annotation/$1
  zcat -f "$folder"/*train*.arff* | awk -v n="$2" 'rows && NF { if (i++ % n == 0) print; next } { print } tolower($1) ~ /^@data/ { rows = 1 }' \
    >"$work/train.arff"
  beside "$1, 1 of $2" bep,f1 "$3" "$4" --train "$work/train.arff" --test "$(ls "$folder"/*test*.arff*)" --labels "$(ls "$folder"/*.xml)"
}

for set in $sets; do
  case $set in
    trec-news)
      cat "$data"/ranking/trec-news-2018-entity/trec_news_2018.{train,test} >"$work/trec.txt"
      for method in ranksvm rankmatch; do
        beside $set ndcg@10,map $method "" --cv 5 "$work/trec.txt"
      done
      ;;
    corel5k)
      labels $set 1 independent ""
      labels $set 4 independent ""
      labels $set 4 cstar ",core=3"
      ;;
    bibtex) labels $set 4 independent "" ;;
    delicious) labels $set 32 independent "" ;;
    mirflickr) # no published parts: items 0 mod 5 test, every fourth of the others trains
      zcat -f "$data/annotation/mirflickr25k-tags/all.svm.gz" >"$work/all.svm"
      awk 'NR % 5 == 1' "$work/all.svm" >"$work/test.svm"
      awk 'NR % 5 != 1 && i++ % 4 == 0' "$work/all.svm" >"$work/train.svm"
      for method in independent cstar; do
        settings=""
        [[ $method == independent ]] || settings=",core=3"
        beside "$set, 1 of 4" bep,f1 $method "$settings" --train "$work/train.svm" --test "$work/test.svm" \
          --labels "$data/annotation/mirflickr25k-tags/labels.txt"
      done
      ;;
    willow) # pictures i and i + 3, whose number mod 3 is the part; each picture is in one pair
      for class in duck winebottle; do
        awk -F, -v class=$class 'BEGIN { print "frame,point,x,y" } $1 == class { if (!($2 in f)) f[$2] = ++n; print f[$2] "," $5 "," $6 "," $7 }' \
          "$data/matching/willow/keypoints.csv" >"$work/points.csv"
        tail -n 1 "$work/points.csv" | awk -F, '{
          split("train validate test", part, " "); print "split,frame_a,frame_b"
          for (a = 1; a + 3 <= $1; a++) if (int((a - 1) / 3) % 2 == 0) print part[(a - 1) % 3 + 1] "," a "," a + 3 }' >"$work/pairs.csv"
        beside "willow, $class" hamming,nll matchmap "" --train "$work/points.csv" --pairs "$work/pairs.csv" \
          --features shape-context-abs,coordinates,degree
      done
      ;;
    house) # every second landmark: trees on sums over matchings of all 30 take too long
      awk -F, 'NR == 1 || $2 % 2 == 0' "$data/matching/cmu-house/points.csv" >"$work/points.csv"
      for features in shape-context shape-context-abs,coordinates,degree; do
        for baseline in 60 90; do
          awk -F, -v b=$baseline 'NR == 1 || $1 == b' "$data/matching/cmu-house/pairs.csv" >"$work/pairs.csv"
          beside "house, $baseline, $features" hamming,nll matchmap "" --train "$work/points.csv" --pairs "$work/pairs.csv" --features "$features"
        done
      done
      ;;
    *)
      echo "no set $set" >&2
      exit 1
      ;;
  esac
done
