#!/bin/sh
# Builds the page into a folder that any static host can serve: WebAssembly by emscripten, and beside it the page's
# files, the weights and the shipped programs.
# Usage: build.sh SOURCE BUILD (the page is BUILD/page)
set -eu
source=$(readlink -f -- "$1")
mkdir -p "$2"
build=$(readlink -f -- "$2")

# Headers without those of the system's C library, which are not WebAssembly's.
headers=$build/headers
mkdir -p "$headers"
ln -sfn /usr/include/nlohmann "$headers/nlohmann"
ln -sfn /usr/include/stb "$headers/stb"

# Each layer is compiled as one file, in a third of the time; so no two files of a layer may define the same name.
if [ ! -e "$build/engine/build.ninja" ]; then
  EM_CONFIG=${EM_CONFIG:-/usr/share/emscripten/.emscripten} emcmake cmake -G Ninja -S "$source" -B "$build/engine" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DAS2_WITH_TORCH=OFF -DAS2_WITH_TESTS=OFF \
    -DCMAKE_CXX_FLAGS="-msimd128 -fwasm-exceptions" -DCMAKE_EXE_LINKER_FLAGS="-fwasm-exceptions" \
    -DAS2_HEADERS="$headers" \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
fi
# Node finds emscripten's own modules where Debian puts them, even if it is not Debian's Node.
NODE_PATH=/usr/share/nodejs cmake --build "$build/engine" --target as2 --parallel "$(nproc)" >"$build/build.log" 2>&1 ||
  { cat "$build/build.log" >&2; exit 1; }

page=$build/page.new
rm -rf "$page"
mkdir -p "$page/models" "$page/programs"
cp -R "$source/web/page/." "$page"
cp "$source/examples/board.png" "$page/examples/"
cp "$build/engine/web/engine/as2.js" "$page"
gzip -9nc "$build/engine/web/engine/as2.wasm" >"$page/as2.wasm.gz"
for model in sudoku-best cells-best sudoku-paper; do
  node "$source/web/narrow.mjs" "$source/models/$model.safetensors" "$page/models"
done
cp "$source"/programs/*.lp "$page/programs"
{
  separator='['
  for program in "$source"/programs/*.lp; do
    name=$(basename "$program" .lp)
    [ -e "$source/programs/$name.as2c" ] || continue
    gzip -9nc "$source/programs/$name.as2c" >"$page/programs/$name.as2c.gz"
    printf '%s\n{"name": "%s", "file": "%s.lp", "compiled": "%s.as2c"}' "$separator" "$name" "$name" "$name"
    separator=,
  done
  echo ']'
} >"$page/programs/index.json"

# The grounder, from npm; without it the shipped programs still work, since they are compiled.
clingo=$build/clingo-wasm.tgz
wanted=c1ef0447cb10d75bc27cef5f75929ba59ba3ae40e7525195be2fd70ed7520648b6e6f3c716664a1ccc1d4a38045818ecc00753be24fafce68d490b9b06bde3a0
if [ ! -e "$clingo" ]; then
  curl -fsSL --retry 2 -o "$clingo.new" https://registry.npmjs.org/clingo-wasm/-/clingo-wasm-0.5.0.tgz || rm -f "$clingo.new"
  if [ -e "$clingo.new" ]; then
    echo "$wanted  $clingo.new" | sha512sum -c --quiet - && mv "$clingo.new" "$clingo"
  fi
fi
if [ -e "$clingo" ]; then
  tar -xzf "$clingo" -C "$build" package/src/clingo.js package/src/clingo.wasm package/LICENSE
  { cat "$build/package/src/clingo.js" && echo 'export default Module;'; } >"$page/clingo.js"
  gzip -9nc "$build/package/src/clingo.wasm" >"$page/clingo.wasm.gz"
  cp "$build/package/LICENSE" "$page/clingo-LICENSE.txt"
else
  echo "web: no clingo-wasm (npm cannot be reached), so programs cannot be edited in the page" >&2
fi

# What the service worker loads beforehand: all that the page needs at its start, and the programs.
(cd "$page" && { printf '["./"'; find . -type f ! -name 'sudoku-paper*' ! -name 'clingo*' ! -name files.json | sort |
  sed 's/.*/, "&"/'; echo ']'; } | tr -d '\n') >"$page/files.json"
rm -rf "$build/page"
mv "$page" "$build/page"
