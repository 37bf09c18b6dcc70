#!/bin/sh
# A kind of group or node that somebody forgets must not compile: with one more alternative in a copy of
# constraint_program.h, every source that walks over the alternatives is refused, at each of its visits.
# Usage: kinds_test.sh SOURCE BUILD
set -eu
. "$(dirname "$0")/checks.sh"
source=$1
build=$2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# Each line: the number of visits of groups, of visits of nodes, and the file.
cat >"$copy/walkers" <<'END'
2 2 compile/constraint_program.cpp
1 1 compile/dump.cpp
1 1 compile/groups.cpp
1 0 compile/residual_terms.cpp
0 1 compile/support.cpp
2 2 decode/problem.cpp
1 0 tp/collected_terms.cpp
1 0 tp/kernel_tables.cpp
1 0 tp/cuda_slots.cpp
0 3 tp/circuit_builder.cpp
1 1 train/fuzzy_truth.cpp
END
# These files only ask whether something is of one particular kind; for any new kind "no" is right.
askers='bench/prob.cpp compile/dump.cpp decode/problem.cpp eval/observed.cpp infer/card.cpp infer/pooled_position.cpp prob/compiler.cpp
  prob/observation.cpp train/fuzzy_truth.cpp train/requirements.cpp'

# The lists are complete: every file that looks into the variants is in one of them.
cd "$source/src"
kinds='SetLiteral|Conjunction|Disjunction|Bound|Slots|Linears|Nogoods|DerivedNogoods'
for file in $(grep -rlE --include='*.cpp' --include='*.h' "\b($kinds)\b" .); do
  file=${file#./}
  if grep -q 'std::visit' "$file" && ! grep -q " $file\$" "$copy/walkers"; then
    fail "src/$file visits kinds: list it in tests/project/kinds_test.sh"
  fi
  if grep -qE 'std::(get_if|holds_alternative)<' "$file" && ! echo " $askers " | tr "\n" " " | grep -q " $file "; then
    fail "src/$file asks for one kind: list it in tests/project/kinds_test.sh"
  fi
done

mkdir -p "$copy/include/as2"
header=$copy/include/as2/constraint_program.h
sed -e 's/^using NodeContent = .*/struct NewNode {};\nusing NodeContent = std::variant<SetLiteral, Conjunction, Disjunction, Bound, NewNode>;/' \
  -e 's/^using GroupContent = .*/struct NewGroup {};\nusing GroupContent = std::variant<Slots, Linears, Nogoods, DerivedNogoods, NewGroup>;/' \
  "$source/include/as2/constraint_program.h" >"$header"
[ "$(grep -cE 'New(Node|Group)>;' "$header")" = 2 ] || fail "the copy of the header has no new kinds"

# The compiler's own command for a file, with the copied header in front. Several sources are compiled as one: the
# command is that of the source which includes the file.
command_for() {
  joined=$(grep -l "\"$source/src/$1\"" "$build"/src/*/CMakeFiles/*/Unity/*.cxx | head -n 1)
  awk -v file="${joined:-$source/src/$1}" \
    '/"command":/ { command = $0 } index($0, "\"file\": \"" file "\"") { print command }' \
    "$build/compile_commands.json" | head -n 1 |
    sed -e 's/^ *"command": "//' -e 's/",$//' -e 's/\\"/"/g' -e 's/\\\\/\\/g' -e "s| -I| -I$copy/include -I|" \
      -e "s| -c .*| -c '$source/src/$1'|"
}

# Whether this build leaves a file out because LibTorch or CUDA is missing.
is_left_out() {
  case $1 in
    train/*) ! ls "$build"/src/train/CMakeFiles/*/Unity/*.cxx >/dev/null 2>&1 ;;
    tp/cuda_slots.cpp) ! grep -q '/exclusive_cuda\.cu"' "$build/compile_commands.json" ;;
    *) false ;;
  esac
}

while read -r groups nodes file; do
  command=$(command_for "$file")
  if [ -z "$command" ]; then
    if is_left_out "$file"; then
      echo "src/$file is not part of this build"
    else
      fail "src/$file: the build has no command for it"
    fi
    continue
  fi
  if (cd "$build" && eval "$command -fsyntax-only -fmax-errors=0") >"$copy/errors" 2>&1; then
    fail "src/$file compiles with kinds that it does not know"
    continue
  fi
  places=$(grep -oE "src/$file:[0-9]+:[0-9]+:.*(required from here|requested here)" "$copy/errors" | cut -d: -f2 |
    sort -nu | tr '\n' ' ')
  count=$(echo "$places" | wc -w)
  echo "src/$file is refused at line ${places% }"
  [ "$count" = $((groups + nodes)) ] || fail "src/$file: expected $((groups + nodes)) refused visits"
done <"$copy/walkers"

[ "$failures" = 0 ]
