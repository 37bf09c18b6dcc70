#!/bin/sh
# ARCHITECTURE.md's walk of a board tells the truth: every `symbol` (`file`) in it, and every `symbol`, `file`,
# names a function or class that the file defines or declares.
# Usage: walk_test.sh SOURCE
set -eu
source=$1
failures=0
named=$(sed -n '/^## How a board travels/,/^## Decisions/p' "$source/ARCHITECTURE.md" |
  grep -oE '`[A-Za-z_:]+`(,| \() ?`(src|include)/[a-z_0-9/.]+`' | tr -d '`(,')
count=0
while read -r symbol file; do
  count=$((count + 1))
  [ -e "$source/$file" ] || { echo "FAILED: $file does not exist"; failures=$((failures + 1)); continue; }
  # At its definition: after a type, or as a class.
  grep -qE "(^|[ *&>])$symbol\\(|class $symbol\\b" "$source/$file" ||
    { echo "FAILED: $file has no $symbol"; failures=$((failures + 1)); }
done <<END
$named
END
echo "$count functions looked for"
[ "$count" -ge 20 ] || { echo "FAILED: the walk names only $count functions"; failures=$((failures + 1)); }
[ "$failures" = 0 ]
