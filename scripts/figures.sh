#!/usr/bin/env bash
# The experiments of the paper on exponential families of matchings (Petterson et al. 2009) as commands.
# Usage: scripts/figures.sh DATA_FOLDER   (after cargo build --release --workspace --bins --examples)
set -euo pipefail
cd "$(dirname "$0")/.."
data=$1/ranking/ohsumed-letor2
ordain=target/release/ordain
fixed=scale=query,lambda=0.1

rankers=(rankmatch dorm ranksvm listnet svmmap ranknet structrank ccrf sortnet rankboost adarank 'adarank[metric=ndcg@10]' frank qbrank isorank)
measure="$(seq -s, -f 'ndcg@%g' 1 10),map"

# The values of every method, and its fold means from seed to seed where it draws.
rows='
import json, sys
said = json.load(sys.stdin)
for name, row in [(m["label"], {k: v["fold_mean"] for k, v in m["metrics"].items()}) for m in said["methods"]] + [
    ("published: " + name, row) for name, row in (said.get("published") or {}).items()
]:
    print(" ".join("%.3f" % row[m] for m in [f"ndcg@{k}" for k in range(1, 11)] + ["map"]), name)'

# The comparison as JSON, its table, and its report.
figure2() {
  local name=$1
  shift
  "$ordain" compare "${rankers[@]}" "$@" --seeds 5 --metric "$measure" --report "target/figure2-$name.html" --json --quiet >"target/figure2-$name.json"
  python3 -c "$rows" <"target/figure2-$name.json"
}
echo "Figure 2: every ranker, settings by validation, five seeds where a method draws (curves: target/figure2-*.html)"
figure2 ohsumed --folds "$data" --convention letor2 --published "$data/published/reference_algorithms.csv"
echo "Every ranker on OHSUMED in one comparison, one seed, timed"
time "$ordain" compare "${rankers[@]}" ballrank 'ranksvm[loss=hinge]' quadrank --folds "$data" --convention letor2 --quiet
for set in mq2008 mq2007-subset; do
  echo "The same on $set (TD2003 and TD2004 cannot be had)"
  figure2 "$set" --folds "$1/ranking/$set" --empty zero --ties input
done
scripts/figure2.py OHSUMED=target/figure2-ohsumed.json MQ2008=target/figure2-mq2008.json \
  "MQ2007, 85 %=target/figure2-mq2007-subset.json" -o docs/figure2.svg

echo "Figure 2, right: OHSUMED, NDCG@1..10 (fold means), M = R = 3"
"$ordain" compare "rankmatch[$fixed,subset=R]" "dorm[$fixed]" "rankmatch[$fixed,places=3]" --folds "$data" --convention letor2 \
  --metric "$(seq -s, -f 'ndcg@%g' 1 10)" --quiet --json | python3 -c '
import json, sys
for method in json.load(sys.stdin)["methods"]:
    print(" ".join("%.3f" % method["metrics"][f"ndcg@{k}"]["fold_mean"] for k in range(1, 11)), method["label"])'
python3 - "$data/published/reference_algorithms.csv" <<'P'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["set"] == "test" and r["metric"].startswith("NDCG@")]
for name in dict.fromkeys(r["algorithm"] for r in rows):
    folds = {}
    for r in rows:
        if r["algorithm"] == name and r["fold"].isdigit():
            folds.setdefault(int(r["metric"][5:]), []).append(float(r["value"]))
    print(" ".join("%.3f" % (sum(folds[k]) / len(folds[k])) for k in range(1, 11)), "published:", name)
P

echo "Figure 3, right: NDCG@1 against subsets per query (share of documents times M), mean of 5 seeds, the same subsets for both"
for draws in 0.03 0.1 0.2 0.4 1.0; do
  for method in rankmatch dorm; do
    for seed in 0 1 2 3 4; do
      "$ordain" compare "$method[$fixed,subset=R,draws=$draws]" --folds "$data" --convention letor2 --metric ndcg@1,ndcg@10 --seed $seed --quiet --json
    done | python3 -c '
import json, statistics, sys
runs = [json.loads(line)["methods"][0]["metrics"] for line in sys.stdin]
one = [run["ndcg@1"]["fold_mean"] for run in runs]
ten = [run["ndcg@10"]["fold_mean"] for run in runs]
print("draws=%s %-10s NDCG@1 %.4f +- %.4f   NDCG@10 %.4f" % (sys.argv[1], sys.argv[2], statistics.mean(one), statistics.stdev(one), statistics.mean(ten)))' "$draws" "$method"
  done
done

echo "Figure 3, right, with lambda by validation"
for draws in 0.03 0.1 0.2 0.4 1.0; do
  "$ordain" compare "rankmatch[scale=query,subset=R,draws=$draws]" "dorm[scale=query,draws=$draws]" --folds "$data" --convention letor2 \
    --seeds 5 --metric ndcg@1,ndcg@10,map --quiet
done

echo "Table 1: seconds per subset of a whole training on OHSUMED (fit on fold 1), published exponential model .00067 .0011 .0030, max-margin .00090 .0016 .0015"
for m in 3 4 5; do
  for method in rankmatch dorm; do
    "$ordain" fit "$method[$fixed,subset=$m]" "$data"/S1.txt "$data"/S2.txt.zst "$data"/S3.txt.zst -o /dev/null --threads 1 --json --quiet | python3 -c '
import json, sys
fit = json.load(sys.stdin)
print("M = %s %-10s %.2e s per subset (%d steps, %.3f s)" % (sys.argv[1], sys.argv[2], fit["seconds"] / fit["examples"], fit["iterations"], fit["seconds"]))' "$m" "$method"
  done
done
echo "Table 1, continued: seconds per evaluation (log Z and all marginals) of square problems"
target/release/examples/permanent --large
echo "Table 1, continued: seconds per observation of a whole training on square problems"
target/release/examples/training --large
