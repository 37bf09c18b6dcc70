#!/bin/sh
# Every verb on a full disk and with little memory: exit code 4 with a message, never a cut document with exit
# code 0, a crash, or a file half-written. Usage: limits_test.sh SOURCE BUILD
set -u
. "$(dirname "$0")/checks.sh"
source=$1
as2=$2/bin/as2
tensors=$2/bin/as2-tensor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

cat >p.lp <<'END'
{a(X,1..3)} = 1 :- X=1..3.
:- a(1,V), a(2,V).
END
echo '{}' >b.json
"$as2" decode p.lp --beliefs b.json --json >answer.json || fail "decode: exit $?"
picture=$source/examples/board.png
mnist=false
"$as2" data mnist --offline --quiet >/dev/null 2>&1 && mnist=true
small="sudoku --preset tiny --epochs 1 --batch 16 --set data.train=32 --set data.validation=8
  --set train.stop_at=2 --set model.reasoner.width=16 --set model.reasoner.passes=2 --device cpu --quiet"

# promised CODE COMMAND…: expects this exit code, with a message if it is 4, and no crash of any kind.
promised() {
  expected=$1
  shift
  "$@" 2>err
  code=$?
  [ "$code" = "$expected" ] || fail "$*: exit $code, expected $expected: $(head -c 400 err)"
  [ "$expected" != 4 ] || grep -q 'error: ' err || fail "$*: says nothing"
  ! grep -q 'internal error' err || fail "$*: $(cat err)"
}

# --- A full disk: standard output.
full() {
  promised 4 "$@" >/dev/full
  grep -q 'standard output: error: cannot be written: No space left' err || fail "$*: $(head -c 400 err)"
}
full "$as2" --help
full "$as2" --version
full "$as2" check p.lp
full "$as2" check p.lp --json
full "$as2" check p.lp --show=passes
full "$as2" decode p.lp --beliefs b.json
full "$as2" decode p.lp --beliefs b.json --json
full "$as2" prob p.lp --marginals
full "$as2" prob p.lp --marginals --json
full "$as2" verify p.lp --assignment answer.json
full "$as2" verify p.lp --assignment answer.json --json
full "$as2" prob p.lp --query 'a(1,1)'
full "$as2" prob p.lp --sample 3
full "$as2" data sudoku --count 2 --box 2 --clues 6
if $mnist; then
  full "$as2" data mnist --offline
  full "$as2" data addition --split test --count 10
  full "$as2" demo --boards 1 --quiet
  full "$as2" demo --boards 1 --quiet --json
  full "$as2" eval digits --count 10 --quiet --json
fi
full "$as2" predict --model digits --image "digit(_)=$picture"
full "$as2" predict --model digits --image "digit(_)=$picture" --json
full "$as2" solve "$picture"
full "$as2" solve "$picture" --json
# served [KIB]: the exit code of `as2 serve`, interrupted once it has answered, with so much memory.
served() {
  : >err
  (
    [ $# = 0 ] || ulimit -v "$1" || exit 0
    exec "$as2" serve --port 0
  ) 2>err &
  server=$!
  until grep -q 'Ctrl-C ends' err || ! kill -0 "$server" 2>/dev/null; do sleep 0.05; done
  address=$(sed -n 's/^\(http:[^ ]*\) (Ctrl-C ends).*/\1/p' err)
  if [ -n "$address" ]; then
    curl -s --noproxy '*' -o curl-out "$address"  # whatever the answer is: from now on it listens to Ctrl-C
    kill -INT "$server"
  fi
  wait "$server"
}
# Serving writes nothing there.
served >/dev/full || grep -q 'built without its server' err || fail "serve: $(head -c 400 err)"
if [ -x "$tensors" ]; then
  full "$as2" bench tp
  full "$as2" bench peers --list
  full "$as2" bench peers --table "$source/docs/peers.jsonl"
  full "$as2" bench peers --picture "$source/docs/peers.jsonl"
  full "$as2" check sudoku --shortcuts
  full "$as2" predict --model digits --image "digit(_)=$picture" --engine torch
  full "$as2" solve "$picture" --engine torch
  full "$as2" tp p.lp --beliefs b.json
  full "$as2" tp p.lp --beliefs b.json --json
  # shellcheck disable=SC2086 # $small is a list of words
  full "$as2" train $small --out run --json
  # shellcheck disable=SC2086
  full "$as2" train $small --out run-text
fi

# --- No standard output at all, or nobody who reads it: the cause is said, and nothing is printed into a file.
promised 4 "$as2" check p.lp --save saved.as2c >&-
grep -q 'standard output: error: cannot be written: Bad file descriptor' err || fail "closed: $(head -c 400 err)"
"$as2" check saved.as2c >/dev/null || fail "check --save with its output closed wrote no program"
mkfifo nobody
exec 3<>nobody 4>nobody 3<&-  # a pipe whose reader is gone, however large it is
(trap '' PIPE; promised 4 "$as2" data sudoku --count 10 --quiet >&4; echo "$failures" >count)
exec 4>&-
failures=$(cat count)
grep -q 'standard output: error: cannot be written: Broken pipe' err || fail "no reader: $(head -c 400 err)"
"$as2" data sudoku --count 3 --box 2 --clues 6 --out boards-closed 2>&- >&- <&- || fail "data, everything closed: exit $?"
[ "$(wc -l <boards-closed)" = 3 ] || fail "data with everything closed: $(cat boards-closed)"

# --- A full disk: files. /dev/full itself must not be replaced.
full_device() {
  promised 4 "$@" /dev/full >/dev/null
  grep -q '^/dev/full: error: cannot be written: No space left' err || fail "$*: $(head -c 400 err)"
}
full_device "$as2" check p.lp --save
full_device "$as2" data sudoku --count 2 --box 2 --clues 6 --out
full_device "$as2" solve "$picture" --out
if $mnist; then
  full_device "$as2" data addition --split test --count 10 --out
  full_device "$as2" demo --boards 1 --quiet --out
fi
[ -c /dev/full ] || fail "/dev/full was replaced"

# --- Pipes and devices are written to, not replaced; a link stays a link.
"$as2" data sudoku --count 2 --box 2 --clues 6 --quiet >expected
"$as2" data sudoku --count 2 --box 2 --clues 6 --quiet --out /dev/stdout >got
cmp expected got || fail "--out /dev/stdout"
{ echo first; "$as2" data sudoku --count 2 --box 2 --clues 6 --quiet --out /dev/stdout; } >got
{ echo first; cat expected; } | cmp - got || fail "--out /dev/stdout replaces what stood there"
"$as2" data sudoku --count 2 --box 2 --clues 6 --quiet --out /dev/stdout | cmp expected - || fail "--out to a pipe"
"$as2" data sudoku --count 2 --box 2 --clues 6 --quiet --out /dev/fd/3 3>&1 >/dev/null | cmp expected - ||
  fail "--out to a pipe with a number, as >(gzip) is"
mkfifo pipe
cat pipe >got &
"$as2" data sudoku --count 2 --box 2 --clues 6 --quiet --out pipe || fail "--out to a FIFO: exit $?"
wait
cmp expected got || fail "--out to a FIFO"
[ -p pipe ] || fail "the FIFO was replaced"
mkdir folder
echo old >folder/target
ln -s folder/target link
"$as2" data sudoku --count 2 --box 2 --clues 6 --quiet --out link || fail "--out to a link: exit $?"
[ -L link ] || fail "the link was replaced"
cmp expected folder/target || fail "the file behind the link is old"

# --- An output never replaces its input.
cp p.lp copy.lp
ln -s copy.lp also.lp
promised 1 "$as2" check copy.lp --save copy.lp >/dev/null
promised 1 "$as2" check copy.lp --save also.lp >/dev/null
cmp p.lp copy.lp || fail "check --save replaced its input"
cp "$picture" board.png
promised 1 "$as2" solve board.png --out board.png >/dev/null
promised 1 "$as2" solve board.png --out . >/dev/null
cmp "$picture" board.png || fail "solve --out replaced its input"
for ending in safetensors json toml; do cp "$source/models/sudoku-best.$ending" "model.$ending"; done
for ending in safetensors json; do
  promised 1 "$as2" solve "$picture" --model model.safetensors --out "model.$ending" >/dev/null
  cmp "$source/models/sudoku-best.$ending" "model.$ending" || fail "solve --out replaced its model's .$ending"
done
echo 'b.' >included.lp
echo '#include "included.lp". {a}.' >including.lp
promised 1 "$as2" check including.lp --save included.lp >/dev/null
[ "$(cat included.lp)" = 'b.' ] || fail "check --save replaced a file that its program includes"
mkdir drawn
echo '1..4..3..2..4..1' | tee drawn/labels.jsonl >drawn/board-00000.dat
if $mnist; then
  promised 1 "$as2" data render drawn/labels.jsonl --split test --quiet --out drawn
  promised 1 "$as2" data render drawn/board-00000.dat --photos --split test --quiet --out drawn
  cmp drawn/labels.jsonl drawn/board-00000.dat || fail "data render replaced its list"
fi
if [ -x "$tensors" ]; then
  mkdir own
  cp "$source/tasks/sudoku.toml" own/config.toml
  cp "$source/tasks/sudoku/tiny.toml" own/model.toml
  for task in "own/config.toml --preset $source/tasks/sudoku/best.toml" 'sudoku --preset own/model.toml'; do
    # shellcheck disable=SC2086
    promised 1 "$as2" train $task --epochs 1 --device cpu --quiet --out own
    grep -q 'would replace the input' err || fail "train $task: $(head -c 400 err)"
  done
  rm own/*
  echo kept >own/metrics.jsonl
  # shellcheck disable=SC2086
  promised 1 "$as2" train $small --out own
  [ "$(cat own/metrics.jsonl)" = kept ] || fail "train removed another program's metrics.jsonl"
fi

# --- No file may grow beyond `ulimit -f`: an error to report, and nothing half-written.
short() {
  rm -rf short
  mkdir short
  (
    ulimit -f 1 || exit 0
    "$@" >/dev/null 2>short-err
    code=$?
    [ "$code" = 4 ] && grep -q 'cannot be written: File too large' short-err || exit 1
    ! find short -name '*.tmp' | grep -q .
  ) || fail "ulimit -f 1: $*: $(head -c 400 short-err; find short)"
}
short "$as2" check "$source/programs/sudoku.lp" -c b=2 --save short/p.as2c
short "$as2" data sudoku --count 200 --box 2 --clues 6-10 --quiet --out short/list
short "$as2" solve "$picture" --out short/solved.png
if $mnist; then
  short "$as2" data addition --split test --count 1000 --quiet --out short/list
  short "$as2" data render drawn/labels.jsonl --split test --quiet --out short/folder
  short "$as2" demo --boards 1 --quiet --out short/demo.png
fi
if [ -x "$tensors" ]; then
  # shellcheck disable=SC2086
  short "$as2" train $small --out short/run
fi

# --- Little memory: from too little to start up to enough, every verb ends with 0 or 4. A sanitizer needs
# terabytes of addresses, so there is nothing to see under one.
if ! grep -q 'AS2_SANITIZE:BOOL=ON' "$2/CMakeCache.txt"; then
  echo '{a(1..40000)}.' >large.lp
  "$as2" decode large.lp --beliefs b.json --json >large.json || fail "decode: exit $?"
  echo '1..4..3..2..4..1' >boards.txt
  yes '{}' | head -n 2000 >many.jsonl
  (ulimit -v 200000 && "$as2" decode p.lp --beliefs many.jsonl --threads 64 --json >got 2>err) ||
    fail "decode with few threads: exit $?: $(head -c 300 err)"
  [ "$(wc -l <got)" = 2000 ] || fail "decode with few threads: $(wc -l <got) answers"
  # Little memory that is enough, and a recursion that goes deeper than a small stack.
  echo '{a(1..200000)}.' >linear.lp
  (ulimit -v 400000 && "$as2" decode linear.lp --beliefs b.json >/dev/null 2>err) ||
    fail "decode of 200,000 atoms: exit $?: $(head -c 300 err)"
  (ulimit -v 800000 && timeout 900 "$as2" prob linear.lp >/dev/null 2>err) ||
    fail "prob of 200,000 atoms: exit $?: $(head -c 300 err)"
  echo '{e(0;n)}. a(X) :- e(X). a(X+1) :- a(X), X=0..n-1. a(X) :- a(X+1), X=0..n-1.' >chain.lp
  (ulimit -s 256 && "$as2" prob chain.lp -c n=5000 --query 'a(5)' >/dev/null 2>err) ||
    fail "prob of a long recursion: exit $?: $(head -c 300 err)"
  # advised_exist PROGRAM VERB…: whether the options that the message in `err` advises are this verb's own.
  advised_exist() {
    while [ "$1" != "$as2" ]; do shift; done
    help=$2
    case $help in bench | data) help="$2 $3" ;; esac
    for option in $(grep -o -- '--[a-z][a-z-]*' err | sort -u); do
      # shellcheck disable=SC2086
      "$as2" $help --help | grep -q -- "$option\\b" || { echo "advises $option"; return 1; }
    done
  }
  # A document with many values ends in a message, too, though what destroys one allocates.
  { printf '{"a": [0'; yes ,0 | head -n 3000000 | tr -d '\n'; echo ']}'; } >wide.json
  # whole_documents COMMAND…: whether what it printed to little-out, if it was asked for JSON, has an end.
  whole_documents() {
    case " $* " in *" --json "*) ;; *) return 0 ;; esac
    [ ! -s little-out ] || [ "$(tail -n 1 little-out | tail -c 2)" = '}' ]
  }
  little() {
    (
      case "$*" in
        *' serve') served "$1" >little-out ;;
        *) (ulimit -v "$1" || exit 0; shift; exec timeout 900 "$@") >little-out 2>err ;;
      esac
      code=$?
      shift
      case $code in
        0 | 4) whole_documents "$@" || { echo "half a document: $(tail -c 100 little-out)"; exit 1; } ;;
      esac
      case $code in
        0) ;;
        4) grep -q 'error: ' err || { echo "no message"; exit 1; }; advised_exist "$@" || exit 1 ;;
        127) grep -q 'error while loading shared libraries' err && exit 0; exit 1 ;;
        *) exit 1 ;;
      esac
    ) || fail "with $1 KiB: $*: exit $?: $(head -c 300 err)"
  }
  for kib in 20000 40000 80000 160000; do
    little $kib "$as2" check large.lp
    little $kib "$as2" check large.lp --json
    little $kib "$as2" check large.lp --save saved.as2c
    little $kib "$as2" decode large.lp --beliefs b.json --json
    little $kib "$as2" decode p.lp --beliefs wide.json --json
    little $kib "$as2" prob large.lp --count --json
    little $kib "$as2" prob p.lp --marginals --json
    little $kib "$as2" verify p.lp --assignment answer.json
    little $kib "$as2" verify large.lp --assignment large.json
    little $kib "$as2" predict --model digits --image "digit(_)=$picture"
    little $kib "$as2" solve "$picture"
    little $kib "$as2" demo --boards 1 --quiet
    little $kib "$as2" serve
    little $kib "$as2" data sudoku --count 20000 --box 2 --clues 6-10
    little $kib "$as2" data addition --split test --count 20000
    little $kib "$as2" data render boards.txt --split test --quiet --out drawn
    little $kib "$as2" eval digits --count 100 --quiet
    # More threads than there is room for their stacks: those there are do the work.
    little $kib "$as2" decode p.lp --beliefs many.jsonl --threads 64 --json
    little $kib "$as2" data sudoku --count 200 --box 2 --clues 6-10 --threads 64
  done
  (ulimit -v 60000 && "$as2" check large.lp --json >got 2>err)
  [ $? = 4 ] && grep -q '"error": "not enough memory"' got || fail "check --json without memory: $(head -c 300 got err)"
  (ulimit -v 160000 && "$as2" demo --boards 1 --quiet) >/dev/null 2>err
  grep -q 'raise the limit (ulimit -v)' err || fail "demo has no remedy that helps: $(head -c 300 err)"
  if [ -x "$tensors" ]; then
    # With less memory than LibTorch needs to load, nothing is tried: loading might never end.
    for kib in 100000 600000 4000000; do
      little $kib "$as2" bench tp
      little $kib "$as2" tp p.lp --beliefs b.json
      little $kib "$as2" solve "$picture" --engine torch
      little $kib "$as2" predict --model digits --image "digit(_)=$picture" --engine torch
      little $kib "$as2" eval digits --count 100 --engine torch --quiet
      # shellcheck disable=SC2086
      little $kib "$as2" train $small --out "little-$kib"
    done
    for kib in 100000 600000; do
      little $kib "$as2" eval sudoku --model little-4000000/model.safetensors --count 4 --no-clingo --quiet
      for subject in decode misreading photos prob solve train; do little $kib "$as2" bench $subject --json; done
      little $kib "$as2" bench peers --list
    done
  fi
fi

[ "$failures" = 0 ]
