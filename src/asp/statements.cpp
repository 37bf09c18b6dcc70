#include "asp/statements.h"

#include <deque>
#include <filesystem>
#include <iostream>
#include <set>
#include <utility>

#include "files.h"

namespace as2::asp {
namespace {

namespace fs = std::filesystem;

// `:~ a. [1]`, `#external a. [true]`, `#heuristic a. [1,sign]` and `#const n=2. [default]` go on behind their
// dot.
bool has_tail(const Token& first) {
  return token_is(first, ":~") || token_is(first, "#external") || token_is(first, "#heuristic") ||
         token_is(first, "#const");
}

class Loader {
 public:
  explicit Loader(bool includes) : includes_(includes) {}

  void load(const std::string& path) {
    if (path != "-" && !remember(path)) return;
    split(add_file(path, read_source(path)));
  }

  void load_text(const std::string& text, const std::string& name) {
    remember(name);
    split(add_file(name, text));
  }

  SourceProgram take() { return std::move(program_); }

 private:
  // False if the file was read already.
  bool remember(const std::string& path) {
    std::error_code ignored;
    const fs::path canonical = fs::weakly_canonical(path, ignored);
    return seen_.insert(canonical.empty() ? path : canonical.string()).second;
  }

  const SourceFile& add_file(const std::string& name, const std::string& text) {
    program_.files.push_back(std::make_unique<SourceFile>(name, text));
    return *program_.files.back();
  }

  // A file that is being read, up to a token and a comment.
  struct Open {
    const SourceFile& file;
    const Tokens scanned;
    std::size_t begin = 0, comment = 0;

    explicit Open(const SourceFile& given) : file(given), scanned(tokenize(given)) {}
  };

  // The files that include each other stand on a list, as there may be more than the thread's stack is deep.
  void split(const SourceFile& first) {
    std::deque<Open> open;
    open.emplace_back(first);
    while (!open.empty()) {
      auto& [file, scanned, begin, comment] = open.back();
      const auto& tokens = scanned.tokens;
      if (begin >= tokens.size()) {
        open.pop_back();
        continue;
      }
      const std::size_t end = statement_end(file, tokens, begin);
      SourceStatement statement;
      statement.file = &file;
      statement.tokens.assign(tokens.begin() + static_cast<std::ptrdiff_t>(begin),
                              tokens.begin() + static_cast<std::ptrdiff_t>(end));
      const std::size_t last = statement.tokens.back().end;
      while (comment < scanned.comments.size() && scanned.comments[comment].begin < last) ++comment;
      if (comment < scanned.comments.size() &&
          file.line(scanned.comments[comment].begin) == file.line(last) &&
          (end >= tokens.size() || tokens[end].begin > scanned.comments[comment].begin)) {
        statement.comment = scanned.comments[comment].content;
      }
      begin = end;
      if (!token_is(statement.tokens.front(), "#include")) {
        program_.statements.push_back(std::move(statement));
      } else if (const SourceFile* included = include(statement)) {
        open.emplace_back(*included);
      }
    }
  }

  // One past the last token of the statement that begins at `begin`.
  static std::size_t statement_end(const SourceFile& file, const std::vector<Token>& tokens,
                                   std::size_t begin) {
    const auto unexpected_end = [&](std::size_t first) {
      throw InputError(file.location(tokens[first].begin, tokens.back().end),
                       "the file ends inside a statement, `.` expected");
    };
    std::size_t at = begin;
    // `#include <name.lp>`: the dot in the name ends nothing.
    if (token_is(tokens[at], "#include") && at + 1 < tokens.size() && token_is(tokens[at + 1], "<")) {
      while (at < tokens.size() && !token_is(tokens[at], ">")) ++at;
    }
    while (at < tokens.size() && !token_is(tokens[at], ".")) ++at;
    if (at >= tokens.size()) unexpected_end(begin);
    ++at;
    if (has_tail(tokens[begin]) && at < tokens.size() && token_is(tokens[at], "[")) {
      while (at < tokens.size() && !token_is(tokens[at], "]")) ++at;
      if (at >= tokens.size()) unexpected_end(begin);
      ++at;
    }
    return at;
  }

  // The file that the statement includes; nullptr: it was read already.
  const SourceFile* include(const SourceStatement& statement) {
    if (!includes_) {
      throw InputError(statement.location(), "`#include` is refused here",
                       {"write the text of the file in its place"});
    }
    const auto& tokens = statement.tokens;
    std::string wanted;
    if (tokens.size() == 3 && tokens[1].kind == Token::Kind::kString) {
      wanted = std::string(tokens[1].text.substr(1, tokens[1].text.size() - 2));
    } else if (tokens.size() > 3 && token_is(tokens[1], "<") && token_is(tokens[tokens.size() - 2], ">")) {
      wanted = std::string(statement.file->slice(tokens[1].end, tokens[tokens.size() - 2].begin));
    } else {
      throw InputError(statement.location(), "file name expected in `" + statement.text() + "`",
                       {"write #include \"file.lp\"."});
    }
    if (wanted == "incmode" || wanted == "iclingo") {
      throw InputError(statement.location(),
                       "`" + statement.text() + "`: incremental grounding is not supported",
                       {"write the program for one fixed horizon, given by -c"});
    }
    // gringo's order: as given, then beside the including file.
    const fs::path beside = fs::path(statement.file->name()).parent_path() / wanted;
    const auto is_readable = [](const fs::path& path) {  // a file, or a pipe, but no folder
      std::error_code ignored;
      return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
    };
    const std::string found = is_readable(wanted) ? wanted : is_readable(beside) ? beside.string() : "";
    if (found.empty()) {
      throw InputError(statement.location(), "included file `" + wanted + "` cannot be found",
                       {"looked for it here and in the folder of " + statement.file->name()});
    }
    if (!remember(found)) {
      program_.repeated_includes.push_back(statement.location());
      return nullptr;
    }
    return &add_file(found, read_file(found, kLargestText));
  }

  bool includes_;
  SourceProgram program_;
  std::set<std::string> seen_;
};

}  // namespace

SourceLocation SourceStatement::location() const {
  return file->location(tokens.front().begin, tokens.back().end);
}

std::string SourceStatement::text() const {
  return std::string(file->slice(tokens.front().begin, tokens.back().end));
}

SourceProgram read_program(const std::vector<std::string>& files, bool includes) {
  Loader loader(includes);
  for (const auto& file : files) loader.load(file);
  return loader.take();
}

SourceProgram read_program_text(const std::string& text, const std::string& name, bool includes) {
  Loader loader(includes);
  loader.load_text(text, name);
  return loader.take();
}

std::string read_source(const std::string& path) {
  return path == "-" ? read_standard_input(kLargestText) : read_file(path, kLargestText);
}

}  // namespace as2::asp
