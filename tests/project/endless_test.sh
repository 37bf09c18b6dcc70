#!/bin/sh
# Input that does not end: every verb stops with exit code 1 and says at which limit, or answers as it comes; in
# bounded memory either way. Usage: endless_test.sh SOURCE BUILD
set -u
. "$(dirname "$0")/checks.sh"
as2=$2/bin/as2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# A sanitizer needs terabytes of addresses.
bounded() { grep -q 'AS2_SANITIZE:BOOL=ON' "$build/CMakeCache.txt" || ulimit -v "$1"; }
build=$2

cat >p.lp <<'END'
{a(X,1..3)} = 1 :- X=1..3.
:- a(1,V), a(2,V).
END
{ cat p.lp && echo '#external e. {f} :- e.'; } >e.lp

# stops PLACE COMMAND…: with /dev/zero as standard input.
stops() {
  place=$1
  shift
  (bounded 4000000 && exec timeout 900 "$as2" "$@") </dev/zero >out 2>err
  code=$?
  [ $code = 1 ] || fail "$*: exit $code: $(head -c 300 err)"
  grep -q "^\(note: \)\?$place: error: is larger than [0-9]* MiB, or has no end" err || fail "$*: $(head -c 300 err)"
  grep -q 'note: split it into smaller ones' err || fail "$* has no remedy: $(head -c 300 err)"
}
for program in - /dev/zero; do
  place=$program
  [ "$program" = - ] && place='<stdin>'
  stops "$place" check $program
  stops "$place" check $program --json
  stops "$place" decode $program --beliefs p.lp
done
ln -s /dev/zero zero.as2c
ln -s /dev/zero zero.safetensors
stops zero.as2c check zero.as2c
for verb in decode prob; do
  stops '<stdin>:1' $verb p.lp --beliefs -
  stops '<stdin>:1' $verb p.lp --beliefs - --json
  stops '<stdin>:1' $verb e.lp --beliefs -
  stops '/dev/zero:1' $verb p.lp --beliefs /dev/zero
  stops zero.safetensors $verb p.lp --beliefs zero.safetensors
done
stops '<stdin>:1' verify p.lp --assignment -
stops '<stdin>:1' predict --model digits --instances -
stops /dev/zero predict --model digits --image 'digit(_)=/dev/zero'
stops /dev/zero solve /dev/zero
stops /dev/zero data sudoku --hard 10 --near /dev/zero --count 1
stops /dev/zero data render /dev/zero --split test --out drawn
# Files that say beforehand how large they are.
truncate -s 2G huge.lp
stops huge.lp check huge.lp
if [ -x "$build/bin/as2-tensor" ]; then
  stops '<stdin>:1' tp p.lp --beliefs -
  truncate -s 2G huge.toml
  stops huge.toml check huge.toml --shortcuts
  stops huge.toml train huge.toml --out run
fi
echo '{}' >one.json
truncate -s 3G one.json
stops one.json:2 decode p.lp --beliefs one.json
# Documents that never end a line, or never end at all, and lines of nothing.
for bytes in '[1,' '{"a": [' ' '; do
  yes "$bytes" | (bounded 4000000 && timeout 900 "$as2" decode p.lp --beliefs -) >out 2>err
  grep -q '^<stdin>:[0-9]*: error: is larger than 64 MiB, or has no end' err || fail "yes '$bytes': $(head -c 300 err)"
done

# Documents that keep coming are answered as they come. 200,000 at once would not fit.
answered() {
  line=$1
  shift
  yes "$line" | head -n 200000 | (bounded 100000 && timeout 900 "$as2" "$@" --json) >out 2>err || fail "$*: $(head -c 300 err)"
  [ "$(wc -l <out)" = 200000 ] || fail "$*: $(wc -l <out) answers"
}
answered '{"a(1,_)": {"1": 0.5, "2": 0.25, "3": 0.25}}' decode p.lp --beliefs -
answered '{}' prob p.lp --beliefs -

# Who waits for an answer before asking on gets it; so does who reads the error in its place.
mkfifo questions answers
"$as2" decode p.lp --beliefs - --json <questions >answers 2>err &
exec 3>questions 4<answers
for question in '{"a(1,_)": {"4": 1}}' '{"a(1,_)": {"2": 1}}' '{"a(1,_)": {"3": 1}}'; do
  echo "$question" >&3
  timeout 900 head -n 1 <&4
done >got
exec 3>&- 4<&-
wait
[ "$(grep -c '"assignment":{"a(1,_)":"[23]"' got)" = 2 ] || fail "answers one at a time: $(cat got err)"
grep -q '{"error":"<stdin>:1: error: position .a(1,_). has no symbol .4' got || fail "an error in its place: $(cat got err)"

# A search that would go on for hours gives what it has found when it is interrupted.
cat >long.lp <<'END'
{ a(X,1..6) } = 1 :- X=1..24.
:~ a(X,V), a(Y,W), X < Y, (X*V+Y*W+V*W+X*Y) \ 5 < 3. [1,X,Y]
END
echo '{}' >nothing.json
"$as2" decode long.lp --beliefs nothing.json --json >out 2>err &
searching=$!
tries=0  # until it catches SIGINT
until sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$searching/status | grep -q '[2367abef]$' || [ $tries = 3000 ]; do
  tries=$((tries + 1))
  sleep 0.1
done
sleep 1  # for a first answer; none would be `unknown`
kill -INT $searching
wait $searching || fail "an interrupted search: exit $?: $(cat err)"
grep -q '"status":"\(satisfied\|unknown\)"' out || fail "an interrupted search: $(head -c 300 out)"
grep -q '^stopped: ' err || fail "an interrupted search says nothing: $(cat err)"

# Where the reader of the answers is gone, or the disk is full, an endless stream is not read on.
yes '{}' | (timeout 900 "$as2" decode p.lp --beliefs - --json; echo $? >code) 2>err | head -n 1 >out
case $(cat code) in
  141 | 4) ;;  # 4 where whoever runs this test ignores SIGPIPE
  *) fail "a closed pipe: exit $(cat code)" ;;
esac
yes '{}' | timeout 900 "$as2" decode p.lp --beliefs - --json >/dev/full 2>err
[ $? = 4 ] || fail "a full disk: $(cat err)"

[ "$failures" = 0 ]
