#!/usr/bin/env bash
# The figures of docs/benchmarks.md on labels and questions: scripts/annotation_figures.sh DATA, with DATA the folder of data sets.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?usage: scripts/annotation_figures.sh DATA}/annotation
cargo build --release --quiet
ordain=target/release/ordain
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }

say "mirflickr25k-tags, items 0 mod 5"
"$ordain" compare 'independent[count_bias=false]' independent 'cstar[core=5]' 'cstar[core=5,trainer=margin]' \
  'cstar[core=5,features=direct]' 'cstar[core=5,features=both]' --cv 5 "$data/mirflickr25k-tags/all.svm.gz" --only-fold 0 --quiet

sets() {
  for set in scene yeast flags medical mediamill_reduced corel5k bibtex; do
    train=$(ls "$data/$set"/*train*.arff*) test=$(ls "$data/$set"/*test*.arff*)
    say "$set, published split"
    "$ordain" compare 'independent[count_bias=false]' independent 'cstar[core=3]' 'cstar[core=5]' --train "$train" --test "$test" --quiet
  done
  say "cal500, items 0 mod 5"
  "$ordain" compare 'independent[count_bias=false]' independent 'cstar[core=3]' --cv 5 "$data/cal500/cal500.arff" --only-fold 0 --quiet
}
sets

say "delicious, published split, one lambda for all"
"$ordain" compare 'independent[lambda=1e-4]' 'cstar[core=3,lambda=1e-4,link_lambda=1e-4]' --metric bep,p@5 \
  --train "$data/delicious/delicious-train.arff.gz" --test "$data/delicious/delicious-test.arff" --quiet

for set in mediamill_reduced corel5k; do
  say "$set, questions"
  train=$(ls "$data/$set"/*train*.arff*) test=$(ls "$data/$set"/*test*.arff*)
  for method in 'cstar[core=5]' independent; do
    "$ordain" fit "$method" "$train" -o "$work/${method%%[*}.ordain" --quiet
  done
  "$ordain" simulate "$work/cstar.ordain" "$test" --against "$work/independent.ordain" --items 500 --quiet
done

# Table 1 of [QAP]: scores and kernel rows, independent and with a core of five labels
for set in scene yeast; do
  say "$set, all items in five folds, questions"
  "$ordain" convert "$data/$set"/*train*.arff* "$data/$set"/*test*.arff* "$work/$set.arff" --labels "$data/$set/$set.xml" --quiet
  "$ordain" compare independent 'cstar[core=5]' 'cstar[core=5,core_by=rest]' 'independent[kernel=laplace,gamma=0.3]' \
    'cstar[core=5,kernel=laplace,gamma=0.3]' --questions 1,5,10 --metric bep --cv 5 "$work/$set.arff" --quiet
done
say "mirflickr25k-tags, all items in five folds, questions"
"$ordain" compare independent 'cstar[core=5]' 'cstar[core=5,core_by=rest]' 'independent[kernel=rbf,gamma=0.3,lambda=1e-3]' \
  'cstar[core=5,kernel=rbf,gamma=0.3,lambda=1e-3,link_lambda=1e-3]' --questions 1,5,10 --metric bep --cv 5 "$data/mirflickr25k-tags/all.svm.gz" --quiet
