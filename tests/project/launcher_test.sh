#!/bin/sh
# The launcher, on a copy of it in an empty project, with every program it calls replaced by a stand-in that
# writes down how it was called. Usage: launcher_test.sh path/to/as2
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
failures=0

fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
}
expect_log() { grep -q -- "$1" "$log" || fail "$2: the log has no '$1':
$(cat "$log")"; }
expect_no_log() { ! grep -q -- "$1" "$log" || fail "$2: the log has '$1'"; }

# A project with a fresh copy of the launcher.
new_project() {
  rm -rf "$work/project"
  mkdir -p "$work/project/cmake" "$work/project/app" "$work/project/src" "$work/project/include" \
    "$work/project/python" "$work/project/web"
  cp "$1" "$work/project/as2"
  touch "$work/project/CMakeLists.txt" "$work/project/CMakePresets.json" "$work/project/src/a.cpp"
  : >"$log"
}

stand_in() {
  cat >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

mkdir "$work/bin"
for tool in sh readlink find cat touch mv mkdir nproc flock env dirname grep sed sleep rm chmod; do
  ln -s "$(command -v $tool)" "$work/bin/$tool"
done
stand_in cmake <<EOF
#!/bin/sh
echo "cmake \$* in \$PWD" >>"$log"
case "\$*" in
  *--build*)
    if [ -e "$work/busy" ]; then echo "two builds at once" >>"$log"; fi
    touch "$work/busy"; while [ -e "$work/slow" ]; do sleep 0.05; done; sleep 0.2; rm "$work/busy"
    if [ -e "$work/broken" ]; then echo "a.cpp:1: error: broken"; exit 1; fi
    mkdir -p build/release/bin
    printf '#!/bin/sh\necho "program \$*"\n' >build/release/bin/as2
    chmod +x build/release/bin/as2
    mkdir -p build/release/python/as2
    touch build/release/python/as2/libas2_python.so
    chmod +x build/release/python/as2/libas2_python.so ;;
  *)
    echo "configure chatter"
    mkdir -p build/release
    touch build/release/build.ninja
    echo "AS2_PYTHON:FILEPATH=$work/bin/interpreter" >build/release/CMakeCache.txt ;;
esac
EOF
stand_in interpreter <<EOF
#!/bin/sh
echo "python \$PYTHONPATH \$*"
exit 5
EOF
stand_in ctest <<EOF
#!/bin/sh
echo "ctest \$*" >>"$log"
EOF
stand_in dpkg-query <<EOF
#!/bin/sh
for last; do :; done
if grep -qx "\$last" "$work/installed"; then echo "install ok installed"; else exit 1; fi
EOF
stand_in apt-get <<EOF
#!/bin/sh
echo "apt-get \$*" >>"$log"
if [ -e "$work/locked" ]; then
  sed -i 1d "$work/locked"
  [ -s "$work/locked" ] || rm "$work/locked"
  echo "E: Could not get lock /var/lib/apt/lists/lock" >&2
  exit 100
fi
if [ -e "$work/offline" ]; then
  echo "E: Unable to fetch some archives" >&2
  exit 100
fi
echo "apt chatter"
EOF
stand_in sudo <<EOF
#!/bin/sh
echo "sudo \$*" >>"$log"
exec "\$@"
EOF
stand_in id <<EOF
#!/bin/sh
cat "$work/uid"
EOF
echo 0 >"$work/uid"
: >"$work/installed"
launch() { PATH=$work/bin "$work/project/as2" "$@"; }

# The first use installs what is missing, says so, configures, builds and runs; only the program writes to stdout.
new_project "$1"
echo cmake >"$work/installed"
out=$(launch check p.lp 2>"$work/err") || fail "first use: exit $?"
[ "$out" = "program check p.lp" ] || fail "first use printed: $out"
grep -q 'installing.*gringo' "$work/err" || fail "does not say what it installs"
expect_log 'apt-get .*install.* gringo' "first use"
expect_log 'apt-get .*Lock::Timeout=[1-9].* install' "first use waits for dpkg"
expect_no_log 'apt-get .*install.* cmake ' "first use"
expect_no_log libtorch "a verb without LibTorch"
expect_no_log httplib "a verb that serves nothing"
expect_no_log sudo "as root"
expect_log 'cmake --preset release in .*/project$' "first use"
expect_log 'cmake --build .*--target as2 ' "first use"
! grep -q 'configure chatter' "$work/err" || fail "configuring is not quiet without a terminal"

# If nothing changed, nothing is done; also from another folder and through a symbolic link.
: >"$log"
for words in a demo 'eval sudoku' 'solve a.png' predict; do launch $words >/dev/null; done
ln -s "$work/project/as2" "$work/link"
(cd / && PATH=$work/bin "$work/link" a >/dev/null)
[ ! -s "$log" ] || fail "something was done though nothing changed: $(cat "$log")"

# A verb that needs LibTorch installs it, configures again and builds the rest; then nothing is left to do for
# either half.
for words in 'train sudoku' 'solve a.png --engine torch' 'solve --engine=torch a.png' 'eval sudoku --engine torch' 'demo --engine=torch' 'check parity --shortcuts'; do
  rm -f "$work/project/build/release/.built-tensor"
  echo light >"$work/project/build/release/.packages"
  : >"$log"
  launch $words >/dev/null 2>"$work/err" || fail "$words: exit $?"
  grep -q 'installing.*libtorch-dev' "$work/err" || fail "$words: does not say that it installs LibTorch"
  expect_log 'apt-get .*install.* libtorch-dev' "$words"
  expect_log 'cmake --preset release' "$words"
  expect_log 'cmake --build .*--target as2-programs ' "$words"
done
: >"$log"
launch train sudoku >/dev/null
launch solve a.png >/dev/null
[ ! -s "$log" ] || fail "something was done though nothing changed: $(cat "$log")"

# python installs PyTorch for Python, builds the library and starts the interpreter that configuring found, with the
# package on its path.
: >"$log"
status=0
out=$(launch python -c 'x y' 2>"$work/err") || status=$?
[ "$status" = 5 ] || fail "python: exit status $status, expected the interpreter's 5"
[ "$out" = "python $work/project/build/release/python -c x y" ] || fail "python started: $out"
grep -q 'installing.*python3-torch' "$work/err" || fail "python: does not say that it installs PyTorch"
expect_log 'cmake --build .*--target as2-python ' "python"
: >"$log"
launch python >/dev/null || true
launch train sudoku >/dev/null
[ ! -s "$log" ] || fail "something was done though nothing changed: $(cat "$log")"

# `serve` brings emscripten and the page, and not LibTorch.
new_project "$1"
: >"$work/installed"
launch serve --port 0 >/dev/null 2>"$work/err" || fail "serve: exit $?"
expect_log 'apt-get .*install.* libcpp-httplib-dev emscripten' "serve"
expect_no_log libtorch "serve"
expect_no_log chromium "serve"
expect_log 'cmake --build .*--target as2-and-page ' "serve"
: >"$log"
launch serve --port 0 >/dev/null
launch check p.lp >/dev/null
[ ! -s "$log" ] || fail "something was done though nothing changed: $(cat "$log")"
touch "$work/project/web/new.js"
launch serve >/dev/null 2>&1
expect_log 'cmake --build' "a changed page"
: >"$log"
launch train sudoku >/dev/null 2>&1
expect_log 'apt-get .*install.* libtorch-dev' "train after serve"
: >"$log"

# A changed or added source builds again, without configuring.
sleep 0.05
touch "$work/project/src/b.cpp"
launch a >/dev/null
expect_log 'cmake --build' "a new source"
expect_no_log 'cmake --preset' "a new source"

# A broken build shows its errors, fails, and is tried again next time.
sleep 0.05
touch "$work/project/src/b.cpp" "$work/broken"
if launch a >"$work/out" 2>"$work/err"; then fail "a broken build succeeded"; fi
grep -q 'error: broken' "$work/err" || fail "a broken build's errors are not shown"
[ ! -s "$work/out" ] || fail "a broken build wrote to standard output"
if launch a >/dev/null 2>&1; then fail "a broken build is forgotten"; fi
rm "$work/broken"
launch a >/dev/null 2>&1 || fail "a mended build fails"

# The program's exit status is passed on, and so are arguments with spaces.
printf '#!/bin/sh\nfor a; do echo "[$a]"; done\nexit 7\n' >"$work/project/build/release/bin/as2"
status=0
out=$(launch 'x y' z) || status=$?
[ "$status" = 7 ] || fail "exit status $status, expected 7"
[ "$out" = "[x y]
[z]" ] || fail "arguments arrive as $out"

# build and test.
: >"$log"
launch build --verbose 2>/dev/null
expect_log 'cmake --build.*--target all.*--verbose' "build"
expect_no_log ctest "build"
expect_no_log chromium "build"
launch test -R decode 2>/dev/null
expect_log 'ctest .*-R decode' "test"
expect_log 'apt-get .*install.* chromium clang libclang-rt-dev' "test"

# Two at once.
new_project "$1"
launch a >/dev/null 2>&1 &
launch a >/dev/null 2>&1
wait
expect_no_log 'two builds at once' "two at once"
[ "$(grep -c 'cmake --build' "$log")" = 1 ] || fail "two at once: built $(grep -c 'cmake --build' "$log") times"

# A launcher that is killed leaves its build running; the next one waits for it.
new_project "$1"
touch "$work/slow"
PATH=$work/bin "$work/project/as2" a >/dev/null 2>&1 &
killed=$!
until [ -e "$work/busy" ]; do sleep 0.05; done
kill -9 "$killed"
wait "$killed" 2>/dev/null || true
launch a >/dev/null 2>&1 &
waiting=$!
sleep 0.5  # time enough for a second build to start; on a busy machine the test may miss a fault, never invent one
rm "$work/slow"
wait "$waiting" || fail "after a killed launcher: exit $?"
expect_no_log 'two builds at once' "after a killed launcher"

# Another installation that holds apt's lock is waited for; nothing else is tried again.
rm "$work/bin/sleep"
stand_in sleep <<EOF
#!/bin/sh
echo "sleep \$*" >>"$log"
EOF
new_project "$1"
printf 'busy\nbusy\n' >"$work/locked"
launch a >/dev/null 2>"$work/err" || fail "a held lock: exit $?"
[ "$(grep -c 'apt-get .* update' "$log")" = 3 ] || fail "a held lock: $(cat "$log")"
[ "$(grep -c 'waiting for another installation' "$work/err")" = 1 ] || fail "a held lock: $(cat "$work/err")"
new_project "$1"
yes busy | head -n 100 >"$work/locked"
if launch a >/dev/null 2>"$work/err"; then fail "a lock that is never released: went on"; fi
[ "$(grep -c sleep "$log")" = 60 ] || fail "a lock that is never released: $(grep -c sleep "$log") waits"
grep -q 'Could not get lock' "$work/err" || fail "a lock that is never released: $(cat "$work/err")"
rm "$work/locked"
new_project "$1"
touch "$work/offline"
if launch a >/dev/null 2>"$work/err"; then fail "went on without packages"; fi
grep -q 'Unable to fetch' "$work/err" || fail "no packages: apt's words are lost: $(cat "$work/err")"
expect_no_log sleep "no packages"
rm "$work/offline" "$work/bin/sleep"
ln -s "$(command -v sleep)" "$work/bin/sleep"

# Without root rights sudo is used; without sudo the launcher stops and lists the packages.
new_project "$1"
echo 1000 >"$work/uid"
launch a >/dev/null 2>&1 || fail "with sudo: exit $?"
expect_log 'sudo env .*DEBIAN_FRONTEND=noninteractive apt-get .* update' "not root"
expect_log 'sudo env .*DEBIAN_FRONTEND=noninteractive apt-get .* install' "not root"
new_project "$1"
rm "$work/bin/sudo"
if launch a >/dev/null 2>"$work/err"; then fail "went on without sudo"; fi
grep -q 'no sudo.*gringo' "$work/err" || fail "without sudo: $(cat "$work/err")"

# On another distribution it only prints the list; a build folder configured by hand is used.
new_project "$1"
rm "$work/bin/apt-get"
if launch a >/dev/null 2>"$work/err"; then fail "went on without apt"; fi
grep -q gringo "$work/err" || fail "another distribution: no list"
! grep -q libtorch "$work/err" || fail "another distribution: more than the verb needs"
[ ! -s "$log" ] || fail "another distribution: $(cat "$log")"
mkdir -p "$work/project/build/release"
touch "$work/project/build/release/build.ninja"
[ "$(launch a 2>/dev/null)" = "program a" ] || fail "a folder configured by hand is not used"

[ "$failures" = 0 ]
