#!/bin/sh
# The README's examples work: every ```sh block after a line `<!-- run -->` is run, in order, in one scratch
# folder; where `<!-- prints -->` follows, the next block must be exactly what it printed.
# Usage: readme_test.sh SOURCE BUILD
set -eu
source=$1
work=$2/readme_test
rm -rf "$work"
mkdir -p "$work/blocks" "$work/scratch"

awk -v folder="$work/blocks" '
  /^<!-- run -->$/ { kind = "sh"; number++; next }
  /^<!-- prints -->$/ { kind = "out"; next }
  /^```/ && inside { inside = 0; kind = ""; next }
  /^```/ && kind { inside = 1; file = sprintf("%s/%02d.%s", folder, number, kind); next }
  inside { print > file }
' "$source/README.md"

# The reader calls ./as2; the test calls what it built.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$2/bin/as2" >"$work/scratch/as2"
chmod +x "$work/scratch/as2"
ln -s "$source/programs" "$source/examples" "$work/scratch/"
cd "$work/scratch"

count=0
for block in "$work"/blocks/*.sh; do
  [ -e "$block" ] || break
  count=$((count + 1))
  cat "$block"
  sh -eu "$block" >"$work/printed" 2>"$work/errors" || { echo "FAILED: exit $?"; cat "$work/printed" "$work/errors"; exit 1; }
  expected=${block%.sh}.out
  if [ -e "$expected" ]; then
    diff "$expected" "$work/printed" || { echo "FAILED: prints something else than the README says"; exit 1; }
  fi
done
echo "$count examples"
[ "$count" -ge 5 ]
rm -rf "$work"
