// Rewrites a program so that its ground rules tell which statement they come from. Refuses what the compiler
// cannot lift, with the place and a remedy.
//
//   `:- body.`            becomes  `__as2_c(k) :- body.`
//   `{ … } = 1 :- body.`  becomes  `{ … } = 1 :- body, __as2_h(k).`   (`__as2_h(k)` is external: true)
//   `p(t) :- body.`       becomes  `p(t) :- body, __as2_f(k).`        only where p/n is also chosen
//   `:~ body. [w@p,t]`    keeps its form and gets the twin  `__as2_w(k,w,p,t) :- body.`
//   `#show t : body.`     becomes  `__as2_s(k,t) :- body.`
//   `#minimize{w@p,t : c}` keeps its form and gets twins likewise (`#maximize`: with -w)
// `#edge (u,v) : body.` keeps its form; the reader turns the edges into rules that strike off, as one sorts a
// graph topologically, what no cycle leads to, and a constraint that nothing is left.
// The atoms of the `__as2_w` and `__as2_s` twins stay as unnamed atoms with their rules: they define the
// literals of `cost_tuples` and `shown_terms`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "as2/ground_program.h"
#include "asp/statements.h"

namespace as2::asp {

// What kinds of statements are called in `.as2c` files and in the names given to unnamed statements.
inline constexpr std::pair<StatementKind, const char*> kKindNames[] = {
    {StatementKind::kConstraint, "constraint"},
    {StatementKind::kChoice, "choice"},
    {StatementKind::kClue, "clue"},
    {StatementKind::kWeak, "weak"},
    {StatementKind::kMinimize, "minimize"},
    {StatementKind::kShow, "show"},
    {StatementKind::kRule, "rule"},
    {StatementKind::kExternal, "external"},
    {StatementKind::kEdge, "acyclic"},
};
const char* kind_name(StatementKind kind);

// What a `.as2c` file keeps beside the tagged aspif.
struct SourceMap {
  std::vector<Statement> statements;
  bool show_all = true;
  std::vector<std::string> shown_signatures;
  std::vector<SourceLocation> shown_places;  // of the statements they come from; a `.as2c` file has none
  std::vector<Warning> warnings;
};

// Text put together from slices of source files and inserted pieces; finds the way back from its offsets.
class TaggedText {
 public:
  void copy(const SourceFile& file, std::size_t begin, std::size_t end);
  // Inserted text; a range that begins in it begins at `begin` of `file`, one that ends in it ends at `end`.
  void insert(const std::string& text, const SourceFile& file, std::size_t begin, std::size_t end);

  const std::string& text() const { return text_; }
  // Place in the user's files of [line:column, end_line:end_column) of the text; none if it lies outside.
  // `slice` gets the source text there, if it is not empty.
  std::optional<SourceLocation> origin(int line, int column, int end_line, int end_column,
                                       std::string* slice = nullptr) const;

 private:
  struct Chunk {
    std::size_t begin = 0;  // in text_
    const SourceFile* file = nullptr;
    std::size_t offset = 0;  // in the file
    std::size_t end = 0;     // likewise, of inserted text
    bool copied = false;
  };
  std::optional<std::size_t> offset_of(int line, int column) const;
  const Chunk* chunk_at(std::size_t offset) const;

  std::string text_;
  std::vector<Chunk> chunks_;
  std::vector<std::size_t> line_starts_ = {0};
};

struct TaggedProgram {
  TaggedText text;
  SourceMap map;
};

TaggedProgram tag(const SourceProgram& program);

// The names of the tags.
inline constexpr const char* kConstraintTag = "__as2_c";
inline constexpr const char* kChoiceTag = "__as2_h";
inline constexpr const char* kClueTag = "__as2_f";
inline constexpr const char* kCostTag = "__as2_w";
inline constexpr const char* kShowTag = "__as2_s";

}  // namespace as2::asp
