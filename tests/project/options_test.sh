#!/bin/sh
# Every option that a message advises exists: each `--word` in a string of the sources stands in the help of
# some verb, unless it is another program's. Usage: options_test.sh SOURCE BUILD
set -u
source=$1
as2=$2/bin/as2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for verb in $("$as2" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  "$as2" "$verb" --help
  for part in $("$as2" "$verb" --help | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$as2" "$verb" "$part" --help
  done
done | grep -o -e '--[a-z][a-z-]*' | sort -u >"$work/options"
[ "$(wc -l <"$work/options")" -gt 40 ] || { echo "FAILED: the help of the verbs was not found"; exit 1; }

# Options of gringo, clingo, curl and npm, and those of as2 itself.
cat >"$work/others" <<'END'
--connect-timeout
--eq
--fail
--location
--mode
--models
--opt-mode
--outf
--output
--project
--proto
--show-error
--silent
--speed-limit
--speed-time
--version
END
grep -rhoE '"([^"\\]|\\.)*"' --include='*.cpp' --include='*.h' "$source/src" "$source/app" |
  grep -oE -e '--[a-z][a-z-]*[a-z]' | sort -u | grep -vxFf "$work/options" | grep -vxFf "$work/others" >"$work/unknown"
if [ -s "$work/unknown" ]; then
  echo "FAILED: messages name options that no verb has:"
  cat "$work/unknown"
  exit 1
fi
