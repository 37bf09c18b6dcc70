// The page's files, read once: a request is answered from memory and never opens a path.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace as2::serve {

struct Page {
  std::string content;
  std::string type;  // MIME
};

// By URL path: `/` and `/index.html`, `/as2.wasm`, `/models/sudoku-best.safetensors`. InputError or
// EnvironmentError where a file cannot be read.
std::map<std::string, Page> read_pages(const std::filesystem::path& folder);

// The page that was built beside the running program, or installed with it; empty where there is none.
std::filesystem::path default_page();

}  // namespace as2::serve
