#!/bin/sh
# Every source file stands as clang-format 14 with .clang-format leaves it. Usage: format_test.sh ROOT
set -eu
cd "$1"
# clang-format takes a list of sources for C++ and its comments for directives: `#The half …`.
if find . -path './build*' -prune -o \( -name CMakeLists.txt -o -name '*.cmake' \) -print0 |
  xargs -0 grep -nE '^ *#[^ ]'; then
  echo "these are no comments of CMake: was clang-format run on them?"
  exit 1
fi
for tool in clang-format-14 clang-format; do
  if command -v $tool >/dev/null && $tool --version | grep -q 'version 14\.'; then
    find . -path './build*' -prune -o \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) \
      -print0 | xargs -0 $tool --dry-run -Werror
    exit
  fi
done
echo "no clang-format 14 here"
exit 77
