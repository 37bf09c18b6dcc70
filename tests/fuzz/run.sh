#!/bin/sh
# Builds the fuzz targets with clang, under AddressSanitizer and UBSan, and runs each on its committed seeds and then,
# 3,000 times (always the same) or for AS2_FUZZ_SECONDS, on what libFuzzer makes of them, one after another on one core:
#   [AS2_FUZZ_SECONDS=N] tests/fuzz/run.sh [OUT [TARGET…]]
# OUT (build/fuzz) holds the build, the corpora, which a later run goes on from, the logs, and the inputs that were
# findings. The test `fuzz` is this script. A minute for each reader would be ten minutes of every test run; a reader
# that a change has broken shows it within seconds of its seeds. Before a release it is an hour each:
#   AS2_FUZZ_SECONDS=3600 tests/fuzz/run.sh
set -eu
limit="-seed=1 -runs=3000"
[ -z "${AS2_FUZZ_SECONDS-}" ] || limit=-max_total_time=$AS2_FUZZ_SECONDS
source=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$source/build/fuzz}
[ $# = 0 ] || shift

mkdir -p "$out"
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
  clang++ -x c++ -fsanitize=fuzzer,address,undefined -o "$out/tried" - >"$out/build.log" 2>&1; then
  echo "skipped: no clang++ with libFuzzer here; apt-get install clang libclang-rt-dev"
  exit 77
fi
if ! (cd "$source" && cmake --preset fuzz -B "$out/build" &&
  cmake --build "$out/build" --target fuzz_targets) >"$out/build.log" 2>&1; then
  cat "$out/build.log"
  exit 1
fi
# shellcheck disable=SC2046 # a list of words
[ $# -gt 0 ] || set -- $(ls "$source/tests/fuzz/seeds")
failed=
for target; do
  if [ ! -x "$out/build/bin/fuzz_$target" ]; then
    echo "$target: left out: what it reads is not built here"
    continue
  fi
  mkdir -p "$out/corpus/$target" "$out/findings"
  # shellcheck disable=SC2086 # $limit is a list of words
  if (cd "$out" && "$out/build/bin/fuzz_$target" $limit -timeout=300 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$out/findings/$target-" "$out/corpus/$target" "$source/tests/fuzz/seeds/$target") >"$out/$target.log" 2>&1; then
    echo "$target: $(sed -n 's/stat::number_of_executed_units: *//p' "$out/$target.log") executions, no finding"
  else
    echo "$target: FAILED; the input lies in $out/findings"
    tail -n 60 "$out/$target.log"
    failed="$failed $target"
  fi
done
[ -z "$failed" ]
