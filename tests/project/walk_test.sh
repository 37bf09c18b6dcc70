#!/bin/sh
# ARCHITECTURE.md's walk of a board tells the truth: every `symbol` (`file`) in it, and every `symbol`, `file`,
# names a function that the file defines; and its steps are numbered in order.
# Usage: walk_test.sh SOURCE
set -eu
source=$1
failures=0
walk=$(sed -n '/^## How a board travels/,/^## Decisions/p' "$source/ARCHITECTURE.md")
named=$(printf '%s\n' "$walk" |
  grep -oE '`[A-Za-z_:]+`(,| \() ?`(src|include)/[a-z_0-9/.]+`' | tr -d '`(,')
count=0
while read -r symbol file; do
  count=$((count + 1))
  [ -e "$source/$file" ] || { echo "FAILED: $file does not exist"; failures=$((failures + 1)); continue; }
  # A definition starts a line, after its type unless it is a constructor; a declaration ends with a semicolon.
  grep -qE "^([A-Za-z].*[ *&>])?$symbol\\([^;]*$" "$source/$file" ||
    { echo "FAILED: $file does not define $symbol"; failures=$((failures + 1)); }
done <<END
$named
END
echo "$count functions looked for"
[ "$count" -ge 20 ] || { echo "FAILED: the walk names only $count functions"; failures=$((failures + 1)); }
steps=$(printf '%s\n' "$walk" | sed -n 's/^\([0-9]*\)\. .*/\1/p')
[ "$(echo "$steps" | wc -l)" -ge 5 ] && [ "$steps" = "$(seq "$(echo "$steps" | wc -l)")" ] ||
  { echo "FAILED: the steps are numbered" $steps; failures=$((failures + 1)); }
[ "$failures" = 0 ]
