#!/bin/sh
# Every CUDA source compiles for an H100 (sm_90), wherever there is an nvcc: no GPU and no LibTorch with CUDA is
# needed, for the kernels include no LibTorch. So CUDA code never lands uncompiled. Objects that are newer than
# all sources are kept. The host sources around the kernels are compiled too, as far as LibTorch's headers allow.
# Usage: cuda_compile_test.sh SOURCE BUILD TORCH_INCLUDE (empty: no LibTorch)
set -eu
source=$1
objects=$2/cuda_compile_test
torch=$3
nvcc=$(command -v nvcc || true)
[ -n "$nvcc" ] || nvcc=/usr/local/cuda/bin/nvcc
[ -x "$nvcc" ] || { echo "no nvcc here"; exit 77; }
mkdir -p "$objects"
# nvcc may be a wrapper that stands elsewhere than its toolkit, so it is asked for its folder of headers.
toolkit=$("$nvcc" --dryrun -x cu /dev/null -c -o /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')
[ -e "$toolkit/include/cuda_runtime_api.h" ] || { echo "FAILED: $nvcc names no toolkit with cuda_runtime_api.h ('$toolkit')"; exit 1; }
failures=0
cd "$source"

# True if nothing that the object may depend on has changed since it was compiled.
fresh() { [ -e "$1" ] && [ -z "$(find src include "$0" -newer "$1" -type f -print -quit)" ]; }

count=0
for file in $(find src -name '*.cu' | sort); do
  count=$((count + 1))
  object=$objects/$(echo "$file" | tr / _).o
  fresh "$object" && continue
  if "$nvcc" -arch=sm_90 -std=c++17 -Isrc -Iinclude -c "$file" -o "$object.new"; then
    mv "$object.new" "$object"
  else
    echo "FAILED: $file"
    failures=$((failures + 1))
  fi
done
# Debian's LibTorch has the headers of its CUDA half without the one that its build would generate.
headers=
if [ -n "$torch" ] && [ -e "$torch/ATen/cuda/CUDAContext.h" ] && [ ! -e "$torch/c10/cuda/impl/cuda_cmake_macros.h" ]; then
  mkdir -p "$objects/include/c10/cuda/impl"
  : >"$objects/include/c10/cuda/impl/cuda_cmake_macros.h"
  headers="-isystem $objects/include -isystem $torch/torch/csrc/api/include -isystem $toolkit/include"
  # The system's own folder must not be named: the C++ headers look for C's behind themselves.
  [ "$torch" = /usr/include ] || headers="$headers -isystem $torch"
fi
for file in $(grep -lE 'AS2_HAS_CUDA|ATen/cuda' -r src --include='*.cpp' | grep -v '^src/cli/version' | sort); do
  [ -n "$headers" ] || break
  count=$((count + 1))
  stamp=$objects/$(echo "$file" | tr / _).checked
  fresh "$stamp" && continue
  # shellcheck disable=SC2086 # $headers is a list of words
  if g++ -fsyntax-only -std=c++17 -DAS2_HAS_CUDA -Isrc -Iinclude $headers "$file"; then
    touch "$stamp"
  else
    echo "FAILED: $file"
    failures=$((failures + 1))
  fi
done
[ "$count" -gt 0 ] || { echo "FAILED: there are no CUDA sources"; failures=1; }
echo "$count CUDA sources compiled"
[ "$failures" = 0 ]
