#!/bin/sh
# Installs into a folder, moves it, and builds a small project against it. Usage: install_test.sh SOURCE BUILD
set -eu
source=$1
build=$2
work=$build/install_test
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/stage"

cmake -G Ninja -S "$source/tests/project/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/stage" \
  -DCMAKE_BUILD_TYPE=Release >"$work/configure.log"
cmake --build "$work/consumer"
out=$("$work/consumer/core")
case $out in
  'p(1,1) p(2,2) '*) ;;
  *) echo "the consumer printed: $out"; exit 1 ;;
esac
if [ -x "$work/consumer/everything" ]; then
  out=$("$work/consumer/everything")
  [ "$out" = 0 ] || { echo "the tensor consumer printed: $out"; exit 1; }
fi
# The board of the example, solved by the installed library, and by the installed program.
best=$work/stage/share/as2/models/sudoku-best
"$work/consumer/solver" "$best.safetensors" "$source/examples/board.png" >"$work/board"
[ "$(wc -l <"$work/board")" = 9 ] || { echo "the solver printed:"; cat "$work/board"; exit 1; }
[ "$(sort -u "$work/board" | wc -l)" = 9 ] || { echo "not a board:"; cat "$work/board"; exit 1; }
solved=$("$work/stage/bin/as2" solve "$source/examples/board.png" --json |
  grep -o '"cell([1-9],[1-9],_)":"[1-9]"' | head -n 81 | cut -d'"' -f4 | tr -d '\n')
[ "$(tr -d ' \n' <"$work/board")" = "$solved" ] || { echo "as2 solve says $solved"; exit 1; }

# Whoever has no LibTorch finds the solver without it.
cmake -G Ninja -S "$source/tests/project/consumer" -B "$work/bare" -DCMAKE_PREFIX_PATH="$work/stage" \
  -DCMAKE_BUILD_TYPE=Release -DWITHOUT_TORCH=ON -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON >"$work/configure.log"
cmake --build "$work/bare" --target solver
for program in "$work/bare/solver" "$work/stage/bin/as2"; do
  if ldd "$program" | grep -E 'lib(torch|c10)'; then echo "$program links LibTorch"; exit 1; fi
done
# What `as2 solve` loads: the program, the networks of digits and of cells, and the rules.
models=$work/stage/share/as2/models
size=$(cat "$work/stage/bin/as2" "$models/sudoku-best".* "$models/cells-best".* \
  "$work/stage/share/as2/programs/sudoku".* "$work/stage/share/as2/programs/cell".* | wc -c)
echo "what solving takes has $size bytes"
[ "$size" -lt 10000000 ] || { echo "more than 10 MB"; exit 1; }
if ldd "$work/consumer/core" | grep -E 'lib(torch|c10)'; then echo "as2::core links LibTorch"; exit 1; fi

# What is offered is core, solver and as2. The layers behind them are archives without an interface of their own, and
# those that no public header reaches are not installed at all.
targets=$(cat "$work/stage"/lib*/cmake/as2/as2*Targets.cmake)
layers=$(echo "$targets" | sed -n 's/^add_library(as2::\([a-z0-9_]*\) STATIC IMPORTED)/\1/p')
[ "$(echo "$layers" | wc -w)" -ge 10 ] || { echo "exported are only: $layers"; exit 1; }
for layer in nn task eval train bench serve cli infer_tensor task_tensor; do
  if echo "$targets" | grep -qw "as2::$layer"; then echo "as2::$layer is exported without a header"; exit 1; fi
done
for layer in $layers; do
  if echo "$targets" | sed -n "/^set_target_properties(as2::$layer /,/^)/p" | grep -q 'INCLUDE_DIRECTORIES "[^"]'; then
    echo "as2::$layer offers headers; as2::core does"; exit 1
  fi
done
echo "$targets" | sed -n '/^set_target_properties(as2::core /,/^)/p' | grep -q 'INCLUDE_DIRECTORIES "[^"]' ||
  { echo "as2::core offers no headers"; exit 1; }

# The installed programs find each other and what ships with them.
"$work/stage/bin/as2" --version
for file in $(cd "$source" && ls -d programs/* models/* 2>/dev/null); do
  [ -e "$work/stage/share/as2/$file" ] || { echo "not installed: $file"; exit 1; }
done
for header in $(cd "$source/include" && find as2 -name '*.h'); do
  [ -e "$work/stage/include/$header" ] || { echo "not installed: $header"; exit 1; }
done
rm -rf "$work"
