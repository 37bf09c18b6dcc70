// Source files and the statements in them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "as2/error.h"
#include "asp/tokenizer.h"

namespace as2::asp {

// One statement as it stands in a file: its tokens from the first to the closing `.` (or `]`).
struct SourceStatement {
  const SourceFile* file = nullptr;
  std::vector<Token> tokens;
  std::string_view comment;  // the comment behind it on its last line, trimmed; empty if there is none

  SourceLocation location() const;
  std::string text() const;
};

// The statements of several files, `#include` replaced by what it includes, each file read once.
struct SourceProgram {
  std::vector<std::unique_ptr<SourceFile>> files;
  std::vector<SourceStatement> statements;
  std::vector<SourceLocation> repeated_includes;  // `#include` of a file that was read already
};

// Reads program files in the order given (`-`: standard input).
SourceProgram read_program(const std::vector<std::string>& files, bool includes = true);
// The same for text held in memory; its `#include`s are looked up beside `name`.
SourceProgram read_program_text(const std::string& text, const std::string& name, bool includes = true);

// The whole content of a file (`-`: standard input); throws InputError if it cannot be read.
std::string read_source(const std::string& path);

}  // namespace as2::asp
