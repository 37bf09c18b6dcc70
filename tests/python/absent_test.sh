#!/bin/sh
# Where LibTorch is absent, or a Python with its PyTorch, a line says what is left out, and the rest is there. So it is
# where import as2 is not wanted.
# Usage: absent_test.sh SOURCE BUILD TORCH_DIR
set -eu
work=$2/absent_test
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "FAILED: $*"
  cat "$work/said"
  exit 1
}
configure() { cmake -G Ninja -S "$source" -B "$work/build" "$@" >"$work/said" 2>&1 || fail "configuring with $*"; }
targets() { ninja -C "$work/build" -t targets all; }
tests() { ctest --test-dir "$work/build" -N 2>/dev/null | sed "s/.*: //"; }
source=$1

configure -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON
grep -q 'left out: `import as2` (it needs LibTorch)' "$work/said" || fail "no word of import as2"
targets | grep -q '^bin/as2:' || fail "the command line is gone, too"
tests | grep -qx decode_random || fail "the other tests are gone, too"
if targets | grep -q as2_python || tests | grep -q python; then fail "import as2 is to be built without LibTorch"; fi
ninja -C "$work/build" test_files >"$work/said" 2>&1 || fail "the rest does not build"
ctest --test-dir "$work/build" -R '^files$' >"$work/said" 2>&1 || fail "a test of the rest fails"
grep -q '100% tests passed, 0 tests failed out of 1' "$work/said" || fail "no test of the rest was run"

rm -rf "$work/build"
printf '#!/bin/sh\necho 0.4.1\n' >"$work/python-of-another-pytorch"
chmod +x "$work/python-of-another-pytorch"
configure -DTorch_DIR="$3" -DAS2_PYTHONS="/nowhere/python3;$work/python-of-another-pytorch"
grep -q 'left out: the tests of `import as2` (no Python with PyTorch' "$work/said" || fail "no word of the tests"
targets | grep -q '^python/as2/libas2_python.so:' || fail "the library needs no Python, and is gone"

rm -rf "$work/build"
configure -DTorch_DIR="$3" -DAS2_WITH_PYTHON=OFF
if grep -q 'left out: .*import as2' "$work/said"; then fail "what is not wanted is not left out"; fi
if targets | grep -q as2_python || tests | grep -qx python; then fail "import as2 is to be built all the same"; fi
tests | grep -qx tp_kernels || fail "the other tests on LibTorch are gone, too"
rm -rf "$work"
