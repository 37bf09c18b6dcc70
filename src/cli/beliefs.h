// Beliefs and assignments as users write them: JSON keyed by position name.
// `{"cell(1,1,_)": {"1": 0.9, "2": 0.1}}` and `{"cell(1,1,_)": "5"}`.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/decoder.h"
#include "as2/error.h"
#include "cli/documents.h"

namespace as2::cli {

// A position left out is uniform, a symbol left out of a listed position is 0; a sum further than 1e-3 from
// 1 is normalised with a warning. Anything else that is not a distribution is an InputError.
decode::Beliefs parse_beliefs(const Document& document, const compile::ConstraintProgram& program,
                              std::vector<std::string>& warnings);

// Every position must be given.
compile::Assignment parse_assignment(const Document& document, const compile::ConstraintProgram& program);

// The inverse: `{"cell(1,1,_)": "5", …}` in the program's order.
nlohmann::ordered_json assignment_json(const compile::ConstraintProgram& program,
                                       const compile::Assignment& assignment);

// What `--explain` prints: [{family, file, line, positions}] and [{position, read, decoded, p_read,
// p_decoded}].
nlohmann::ordered_json groups_json(const compile::ConstraintProgram& program, const std::vector<int>& groups);
nlohmann::ordered_json changes_json(const compile::ConstraintProgram& program,
                                    const std::vector<decode::Change>& changes);

// One document of a beliefs file, read: `error` is empty, or says why `beliefs` is.
struct BeliefsEntry {
  decode::Beliefs beliefs;
  std::vector<char> believed;  // per position: the document has beliefs about it; a tensor: all but guesses
  std::vector<std::string> warnings;
  std::string error;
};

// The beliefs of a file, one entry after another: JSON documents, or a `.safetensors` file whose tensor
// `beliefs` is [batch, positions, symbols], float32 or float64, padded to max_symbols(). A bad document among
// several is an entry with `error` (answered by `{"error": …}` in its place); a bad one alone throws. An
// empty path is no file: one entry that believes nothing, every position uniform, with a warning that says
// so.
class BeliefsReader {
 public:
  BeliefsReader(const std::string& path, const compile::ConstraintProgram& program);
  ~BeliefsReader();

  // The next entries: as many as have arrived, but at most as many as fit into some memory; none at the end.
  std::vector<BeliefsEntry> some();
  // Whether the entry that some() gave is the only one.
  bool only_one();

  class Source;

 private:
  std::unique_ptr<Source> source_;
  std::size_t most_;
};

// A name that is not UTF-8 is printed with U+FFFD in place of what is not; both forms are understood.
// Index of the named position; an InputError at `location` that says what was probably meant if there is
// none.
int require_position(const compile::ConstraintProgram& program, const std::string& name,
                     const SourceLocation& location);
// Index of the symbol in the position's domain; an InputError at `location` that lists the domain.
int require_symbol(const compile::ConstraintProgram& program, int position, const std::string& symbol,
                   const SourceLocation& location);

// Splits `POSITION=VALUE` where the position's name ends: both sides may hold a quoted `=`. Position −1, and
// all that stands before the first `=`, where the program has no such position; UsageError where there is no
// `=` at all.
struct AtPosition {
  int position = -1;
  std::string name, value;
};
AtPosition split_at_position(const compile::ConstraintProgram& program, const std::string& option,
                             const std::string& argument, const std::string& expected);

}  // namespace as2::cli
