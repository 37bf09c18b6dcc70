#!/bin/sh
# The page in a real browser: builds nothing, but wants what web/build.sh built. Skipped (77) where Chromium, Node or
# the page is missing; pictures of the page are kept in the build folder.
# Usage: page_test.sh SOURCE BUILD
set -eu
source=$1
build=$2
skip() {
  echo "skipped: $*"
  exit 77
}
command -v node >/dev/null || skip "there is no Node (apt install nodejs)"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  skip "there is no Chromium (apt install chromium)"
[ -e "$build/web/page/as2.wasm.gz" ] || skip "the page is not built (./as2 build --target web; it needs emscripten)"

# playwright-core drives the browser; it is fetched once.
driver=$build/web/playwright
wanted=b238f0faaacb165ae2268eb876ef842b4909819ce840fb1a6c6178941bec89dfb708d2192182e09cc8fd57a258e5584cd8f7a1db40c95885695658cb2e795ac0
if [ ! -e "$driver/package/index.js" ]; then
  mkdir -p "$driver"
  curl -fsSL --retry 2 -o "$driver/core.tgz" https://registry.npmjs.org/playwright-core/-/playwright-core-1.48.2.tgz ||
    skip "npm cannot be reached for playwright-core"
  echo "$wanted  $driver/core.tgz" | sha512sum -c --quiet -
  tar -xzf "$driver/core.tgz" -C "$driver"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec node "$source/tests/web/page_test.mjs" "$source" "$build" "$browser" "$driver/package/index.js" "$work"
