#!/usr/bin/env bash
# Trains and scores every task that learns from observations alone, and prints the table of docs/WEAK_LABELS.md.
#
#   bench/weak_labels.sh OUT [RUN…]      runs: patterns like n1-seed0 or 'n*' (default: all)
#
# What is done is not done again: a run with its figures is skipped, one that was stopped is resumed. Each run is
# OUT/RUN, a folder of `as2 train`. OUT/models holds weights, card and settings under the names that models/ has.
#
# Environment: AS2 (the as2 program, default build/cuda/bin/as2), AS2_DATA (folder of MNIST's idx files), DEVICE
# (default auto), SCALE (of every time budget, which are those of one H200; default 1), JOBS (runs at once, default
# 1), THREADS (of each, default 4), MOST (unseen examples at most, default as many as each run has), SYMBOLS (the
# folder that `as2 data symbols` writes; default OUT/symbols, made there for the formula).
set -euo pipefail

out=${1:?usage: weak_labels.sh OUT [RUN…]}
shift
wanted=("${@:-*}")
as2=${AS2:-$(dirname "$0")/../build/cuda/bin/as2}
device=${DEVICE:-auto}
symbols=${SYMBOLS:-$out/symbols}
data=()
[ -z "${AS2_DATA:-}" ] || data=(--data-dir "$AS2_DATA")
mkdir -p "$out/models"

# train_and_score RUN SECONDS EXAMPLES SHIPPED "TRAIN ARGUMENTS" "EVAL ARGUMENTS": SHIPPED is the name of the weights, or -.
train_and_score() {
  local run=$out/$1 examples=$3 begin kept
  local budget
  budget=$(awk "BEGIN { print $2 * ${SCALE:-1} }")
  [ -z "${MOST:-}" ] || [ "$MOST" -gt "$examples" ] || examples=$MOST
  local -a train score
  read -ra train <<<"$5"
  read -ra score <<<"$6"
  if [ ! -e "$run/eval.json" ]; then
    if [ ! -e "$run/trained.json" ]; then
      begin=("${train[@]}" --time-budget "$budget" --out "$run")
      [ ! -e "$run/state.safetensors" ] || begin=(--resume "$run")
      mkdir -p "$run"
      "$as2" train "${begin[@]}" --device "$device" --threads "${THREADS:-4}" "${data[@]}" --json \
        >"$run/trained.part" 2>>"$run/train.log" || { echo "FAILED: $1, see $run/train.log" >&2; return 1; }
      mv "$run/trained.part" "$run/trained.json"
    fi
    "$as2" eval "${score[@]}" --model "$run/model.safetensors" --count "$examples" --engine torch --device "$device" \
      --threads "${THREADS:-4}" "${data[@]}" --quiet --json >"$run/eval.part" 2>"$run/eval.log" ||
      { echo "FAILED: $1, see $run/eval.log" >&2; return 1; }
    mv "$run/eval.part" "$run/eval.json"
    echo "done: $1" >&2
  fi
  [ "$4" != - ] || return 0
  for kept in safetensors json toml; do cp "$run/model.$kept" "$out/models/$4.$kept"; done
}

# One line per run: RUN|SECONDS|EXAMPLES|SHIPPED|TRAIN|EVAL. The seed that ships is the first, whatever its figures.
runs() {
  local task=multi_digit_addition n seed seconds examples preset compiled shipped
  for n in 15 1 2 4; do
    preset="--preset n$n" compiled=programs/$task-n$n.as2c seconds=80 examples=$((5000 / n))
    [ $n != 2 ] || preset= compiled=programs/$task.as2c
    [ $n != 15 ] || seconds=100 examples=300
    for seed in 0 1 2; do
      shipped=-
      [ $seed != 0 ] || shipped=$task-n$n
      echo "n$n-seed$seed|$seconds|$examples|$shipped|$task $preset --seed $seed|$task --set program.compiled=$compiled"
    done
  done
  echo "greater-rule|80|5000|greater-best|greater|greater"
  echo "greater-sum|80|5000|-|greater --preset sum|greater --set program.compiled=programs/greater_sum.as2c"
  echo "greater-nogoods|80|5000|-|greater --preset nogoods|greater --set program.compiled=programs/greater_nogoods.as2c"
  echo "addition-rule|80|5000|-|addition --preset rule|addition"
  echo "addition-neurasp|80|5000|-|addition --preset neurasp|addition"
  echo "grid_path|40|1000|grid_path-best|grid_path|grid_path --no-clingo"
  echo "shortest_path|80|1000|-|shortest_path|shortest_path --no-clingo"
  echo "formula|80|1000|formula-best|formula --set images.source=$symbols|formula --set images.source=$symbols --no-clingo"
  echo "sudoku-blanks|80|1000|sudoku-blanks|sudoku --preset blanks|sudoku --set program.compiled=programs/sudoku-b2.as2c --set data.box=2 --clues 4-8 --no-clingo"
}

chosen=()
while IFS= read -r line; do
  for pattern in "${wanted[@]}"; do
    # shellcheck disable=SC2053 (a pattern on purpose)
    [[ ${line%%|*} == $pattern ]] || continue
    chosen+=("$line")
    break
  done
done < <(runs)
[ ${#chosen[@]} -gt 0 ] || { echo "no run is named ${wanted[*]}; there are: $(runs | cut -d'|' -f1 | tr '\n' ' ')" >&2; exit 2; }
if printf '%s\n' "${chosen[@]}" | grep -q '^formula|' && [ ! -d "$symbols" ]; then
  "$as2" data symbols --out "$symbols" "${data[@]}"
fi

for line in "${chosen[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n || true; done
  IFS='|' read -r run seconds examples shipped train score <<<"$line"
  train_and_score "$run" "$seconds" "$examples" "$shipped" "$train" "$score" &
done
wait
failed=0
for line in "${chosen[@]}"; do [ -e "$out/${line%%|*}/eval.json" ] || failed=1; done

python3 - "$out" <<'P'
import glob, json, os, re, sys

def read(path):
    with open(path) as file:
        return json.load(file)

groups = {}
for path in glob.glob(os.path.join(sys.argv[1], "*", "eval.json")):
    folder = os.path.dirname(path)
    name, _, seed = os.path.basename(folder).partition("-seed")
    groups.setdefault(name, []).append((int(seed or 0), folder))

print("| run | seconds of training | seconds per epoch | unseen examples | right, % | pictures read right, % |")
print("|---|---|---|---|---|---|")
for name in sorted(groups, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]):
    seconds, epochs, examples, right, pictures = [], [], set(), [], []
    for _, folder in sorted(groups[name]):
        trained, scored = read(folder + "/trained.json")["runs"][0], read(folder + "/eval.json")
        with open(folder + "/metrics.jsonl") as lines:
            validated = [line for line in map(json.loads, lines) if "validation" in line]
        seconds.append(f"{trained['seconds']:.0f}")
        # From one validation to the next: with both, and the checkpoint, inside.
        each = sorted((b["seconds"] - a["seconds"]) / (b["epoch"] - a["epoch"])
                      for a, b in zip(validated, validated[1:]) if b["epoch"] > a["epoch"])
        epochs.append(f"{each[len(each) // 2]:.2f}" if each else "–")
        examples.add(scored.get("examples", scored.get("boards")))
        answer = scored.get("sum_accuracy", scored.get("observed_accuracy"))
        if answer is None:
            answer = scored["perceived_clues"]["map"]["board"]
        right.append(f"{100 * answer:.2f}")
        pictures.append(f"{100 * scored.get('digit_accuracy', scored.get('clue_accuracy')):.2f}")
    cells = [name, " / ".join(seconds), " / ".join(epochs), ", ".join(map(str, sorted(examples))), " / ".join(right),
             " / ".join(pictures)]
    print("| " + " | ".join(cells) + " |")
P
exit $failed
