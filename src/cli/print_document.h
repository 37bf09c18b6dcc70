// What `--json` prints.
#pragma once

#include <iostream>

#include "json_text.h"

namespace as2::cli {

// One document on standard output, with its line's end.
template <typename Json>
void print_document(const Json& document, int indent = -1) {
  std::cout << json_text(document, indent) << '\n';
}

}  // namespace as2::cli
