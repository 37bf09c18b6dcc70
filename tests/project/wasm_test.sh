#!/bin/sh
# The portable kernels compile for WebAssembly and use its SIMD. Skipped where clang has no such target.
# Usage: wasm_test.sh SOURCE
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int x;' >"$work/probe.cpp"
clang++ --target=wasm32 -msimd128 -S "$work/probe.cpp" -o "$work/probe.s" 2>/dev/null || exit 77

# The kernels include nothing of the standard library but this.
cat >"$work/cstdint" <<'END'
#include <stdint.h>
namespace std {
using ::int32_t;
using ::int64_t;
}
END
clang++ --target=wasm32 -msimd128 -O3 -std=c++17 -ffreestanding -nostdinc++ -I"$work" -I"$source/src" -Wall -Werror \
  -DAS2_ISA=portable -DAS2_ISA_NAME='"portable"' -DAS2_LANES=4 -DAS2_ROWS=4 \
  -S "$source/src/native/kernels/lanes.cpp" -o "$work/lanes.s"
count=$(grep -c f32x4.mul "$work/lanes.s")
echo "$count multiplications of four numbers at once"
[ "$count" -gt 50 ]
