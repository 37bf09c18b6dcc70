# Sourced by tests that go on after a failure: `fail WHAT` says it and counts it, and the test ends with
# [ "$failures" = 0 ].
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
