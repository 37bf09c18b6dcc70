#!/usr/bin/env bash
# Trains every model that ships, in parallel processes on one GPU, within a time budget, and collects weights,
# cards and metrics in one folder.
#
#   bench/train_all.sh OUT SECONDS [GROUP…]      groups: perception best paper addition (default: all)
#
# Environment: AS2 (the as2 program, default build/cuda/bin/as2), AS2_DATA (folder of MNIST's idx files),
# SEEDS (default "0 1 2"), JOBS (processes at once, default 12), DEVICE (default cuda).
# `best` starts from the perception trained first; give PERCEPTION=FILE to use another and skip that run.
set -euo pipefail

out=${1:?usage: train_all.sh OUT SECONDS [GROUP…]}
budget=${2:?usage: train_all.sh OUT SECONDS [GROUP…]}
shift 2
groups=${*:-perception best paper addition}
as2=${AS2:-$(dirname "$0")/../build/cuda/bin/as2}
seeds=${SEEDS:-0 1 2}
jobs=${JOBS:-12}
device=${DEVICE:-cuda}
perception_share=${PERCEPTION_SHARE:-20} # percent of the budget for perception, when it has to come first
mkdir -p "$out"
begin=$(date +%s)

# run NAME SECONDS ARGUMENTS…: one training in the background, its output in NAME.log.
run() {
  local name=$1 seconds=$2
  shift 2
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  "$as2" train "$@" --out "$out/$name" --time-budget "$seconds" --device "$device" --threads "${THREADS:-1}" --json \
    >"$out/$name.json" 2>"$out/$name.log" || echo "FAILED: $name, see $out/$name.log" >&2 &
}

has() { case " $groups " in *" $1 "*) true ;; *) false ;; esac }

perception=${PERCEPTION:-}
left=$budget
if has perception || { has best && [ -z "$perception" ]; }; then
  first=$((budget * perception_share / 100))
  run perception "$first" digits --preset best --seed 0
  # Meanwhile the boards that all seeds of `best` share are generated into the cache.
  ! has best || run warm-up 1 sudoku --preset best --set train.validate_seconds=1e9
  has paper && for seed in $seeds; do run "perception-paper-$seed" "$first" digits --preset paper --seed "$seed"; done
  wait
  perception=$out/perception/model.safetensors
  left=$((budget - ($(date +%s) - begin)))
fi
if has best; then
  for seed in $seeds; do run "sudoku-best-$seed" "$left" sudoku --preset best --seed "$seed" --perception "$perception"; done
fi
if has paper; then
  for seed in $seeds; do
    start=()
    [ ! -e "$out/perception-paper-$seed/model.safetensors" ] || start=(--perception "$out/perception-paper-$seed/model.safetensors")
    run "sudoku-paper-$seed" "$left" sudoku --preset paper --seed "$seed" "${start[@]}"
  done
fi
if has addition; then
  for n in 2 4 8; do
    compiled=programs/addition-n$n.as2c layers=3
    [ "$n" != 2 ] || compiled=programs/addition.as2c
    [ "$n" != 8 ] || layers=5
    size=(--set "program.compiled=$compiled" --set "program.constants=[\"n=$n\"]")
    for seed in $seeds; do
      run "addition-$n-paper-$seed" "$left" addition --preset paper --seed "$seed" --set "model.reasoner.layers=$layers" "${size[@]}"
      run "addition-$n-best-$seed" "$left" addition --preset best --seed "$seed" "${size[@]}"
      run "addition-$n-sum-only-$seed" "$left" addition --preset sum-only --seed "$seed" "${size[@]}"
    done
  done
fi
wait

# Weights, cards, metrics and curves side by side; the training states stay where they are.
mkdir -p "$out/collected"
for folder in "$out"/*/; do
  name=$(basename "$folder")
  [ -e "$folder/model.safetensors" ] && [ "$name" != warm-up ] || continue
  for file in model.safetensors model.json model.toml metrics.jsonl curves.svg; do
    cp "$folder/$file" "$out/collected/$name.${file#model.}"
  done
done
echo "$(ls "$out"/collected/*.safetensors | wc -l) models after $(($(date +%s) - begin)) s in $out/collected"
