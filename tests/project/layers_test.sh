#!/bin/sh
# The layers of ARCHITECTURE.md hold: nothing reaches upward, by its #include lines or by the symbols its
# library asks for; what should be free of LibTorch is, so that the light verbs start at once.
# Usage: layers_test.sh SOURCE BUILD
set -eu
. "$(dirname "$0")/checks.sh"
source=$1
build=$2

# The layers that a layer may use besides itself and as2_base.
below() {
  case $1 in
    asp) ;;
    compile) echo asp ;;
    decode | tp) echo compile ;;
    prob) echo asp compile decode ;;
    prob_tensor) echo compile prob ;;
    verify) echo asp compile ;;
    formats) ;;
    datasets) echo formats ;;
    sudoku) echo formats datasets ;;
    vision) echo formats datasets sudoku ;;
    infer) echo asp compile decode formats ;;
    boards) echo compile formats sudoku vision infer ;;
    native) echo compile decode formats infer tp ;;
    nn) echo compile formats tp infer ;;
    infer/tensor) echo compile decode tp nn infer ;;
    task) echo compile decode prob formats datasets sudoku infer ;;
    eval) echo compile decode prob verify infer native task ;;
    task/tensor) echo compile sudoku infer infer/tensor task ;;
    train) echo asp compile tp decode prob prob_tensor formats datasets sudoku infer nn infer/tensor task task/tensor ;;
    bench) echo asp compile tp decode prob prob_tensor verify formats datasets sudoku vision infer boards native nn infer/tensor task task/tensor train eval ;;
    serve) ;;
    cli) echo serve asp compile tp decode prob prob_tensor verify formats datasets sudoku vision infer boards native nn infer/tensor task task/tensor train eval bench ;;
    python) echo asp compile tp decode prob prob_tensor verify formats datasets sudoku vision infer boards native nn infer/tensor ;;
    *)
      echo "src/$1 has no place among the layers: give it one here and in ARCHITECTURE.md" >&2
      exit 1 ;;
  esac
}
# The public headers that belong to one layer; the others declare what all share.
layer_of_header() {
  case $1 in
    decoder) echo decode ;;
    probability) echo prob ;;
    circuit_operator) echo prob_tensor ;;
    verifier) echo verify ;;
    soft_tp) echo tp ;;
    solver) echo infer ;;
    # as2/open_solver.h declares what native and boards define.
  esac
}

# A layer is a folder of src/; infer/ and task/ each have a second half on LibTorch, a layer of its own, in tensor/. The
# layer python is the folder python/library/.
for folder in "$source"/src/*/ "$source"/src/infer/tensor/ "$source"/src/task/tensor/ "$source"/python/library/; do
  layer=${folder#"$source/"}
  layer=${layer#src/}
  layer=${layer%/}
  layer=${layer%/library}
  allowed=" $layer $(below "$layer") "
  for used in $(find "$folder" -type f -not -path "$source/src/$layer/tensor/*" -exec sed -n 's/^#include "\([a-z_0-9]*\)\/\([a-z_0-9]*\).*/\1:\2/p' {} + | sort -u); do
    case $used in
      as2:*) used=$(layer_of_header "${used#as2:}") ;;
      infer:tensor | task:tensor) used=${used%:*}/tensor ;;
      library:*) used=python ;;
      *) used=${used%%:*} ;;
    esac
    case "$allowed" in
      *" $used "*) ;;
      *) [ -z "$used" ] || fail "src/$layer includes something of $used" ;;
    esac
  done
  library=$build/src/$layer/libas2_$(echo "$layer" | tr / _).a
  [ -e "$library" ] || continue
  symbols=$(nm -C --undefined-only "$library")
  for used in $(echo "$symbols" | sed -nE 's/^ *U (typeinfo for |vtable for )?as2::([a-z_]+)::.*/\2/p' | sort -u); do
    case "$allowed" in
      *" $used "*) ;;
      *) fail "libas2_$layer.a needs symbols of as2::$used" ;;
    esac
  done
  case $layer in
    asp | compile | decode | prob | verify | formats | datasets | sudoku | vision | infer | boards | native | task | eval | serve)
      torch=$(echo "$symbols" | grep -E '(^|[^a-zA-Z_:])(c10|at|torch|caffe2)::' || true)
      [ -z "$torch" ] || fail "libas2_$layer.a needs LibTorch: $torch" ;;
  esac
done
# Sources are listed by hand: one that no list names, in its folder's CMakeLists.txt or the next above, is dead.
for file in $(cd "$source" && find src \( -name '*.cpp' -o -name '*.cu' \) | sort); do
  folder=$(dirname "$file")
  while [ ! -e "$source/$folder/CMakeLists.txt" ]; do folder=$(dirname "$folder"); done
  name=$(echo "${file#"$folder/"}" | sed 's/\./\\./g')
  grep -qE "(^|[ /(])$name([ )]|$)" "$source/$folder/CMakeLists.txt" || fail "$file is in no CMakeLists.txt"
done
# The page's engine uses of cli only the documents.
for used in $(sed -n 's/^#include "\([a-z_]*\)\/\([a-z_]*\)\.h".*/\1\/\2/p' "$source"/web/engine/*.cpp "$source"/web/engine/*.h | sort -u); do
  case $used in
    asp/* | compile/* | decode/* | formats/* | vision/* | infer/* | boards/* | native/* | as2/*) ;;
    cli/beliefs | cli/board_text | cli/check_document | cli/decode_document) ;;
    *) fail "web/engine includes $used" ;;
  esac
done
# The half of tp that works on plain arrays.
torch=$(nm -C --undefined-only "$build/src/tp/libas2_tp_core.a" | grep -E '(^|[^a-zA-Z_:])(c10|at|torch|caffe2)::' || true)
[ -z "$torch" ] || fail "libas2_tp_core.a needs LibTorch: $torch"
if readelf -d "$build/bin/as2" | grep -E 'NEEDED.*(torch|c10)'; then fail "bin/as2 links LibTorch"; fi
# LibTorch's wheels export parts of another libstdc++: the system's must be found first.
for program in "$build/bin/as2-tensor" "$build/python/as2/libas2_python.so" "$build"/tests/*/test_*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
  first=$(echo "$needed" | grep -m 1 -E '^lib(stdc\+\+|torch|c10)' || true)
  case $first in
    libtorch* | libc10*) fail "$(basename "$program") loads LibTorch before libstdc++:" $needed ;;
  esac
done
# One library for every Python: it asks for nothing of Python's own.
if [ -e "$build/python/as2/libas2_python.so" ]; then
  if nm -D --undefined-only "$build/python/as2/libas2_python.so" | grep -E ' _?Py[A-Z_]'; then
    fail "libas2_python.so needs Python"
  fi
fi

[ "$failures" = 0 ]
