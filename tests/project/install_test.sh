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
if ldd "$work/consumer/core" | grep -E 'torch|c10'; then echo "as2::core links LibTorch"; exit 1; fi

# Only layers with a public header are offered, and what those are built on.
for layer in formats datasets sudoku vision nn train eval; do
  if grep -q "as2::$layer\b" "$work/stage"/lib*/cmake/as2/as2Targets.cmake; then
    echo "as2::$layer is exported without a header"; exit 1
  fi
done

# The installed programs find each other and what ships with them.
"$work/stage/bin/as2" --version
for file in $(cd "$source" && ls -d programs/* models/* 2>/dev/null); do
  [ -e "$work/stage/share/as2/$file" ] || { echo "not installed: $file"; exit 1; }
done
for header in $(cd "$source/include" && find as2 -name '*.h'); do
  [ -e "$work/stage/include/$header" ] || { echo "not installed: $header"; exit 1; }
done
rm -rf "$work"
