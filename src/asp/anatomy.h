// The parts of a statement: ranges of its tokens at the outermost bracket level.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "asp/statements.h"

namespace as2::asp {

// Tokens [begin, end) of a statement.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool empty() const { return begin >= end; }
  std::size_t size() const { return empty() ? 0 : end - begin; }
};

using TokenList = std::vector<Token>;

inline constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// True if every bracket is closed by its own kind.
bool balanced(const TokenList& tokens, Range range);
// First token with this text outside all brackets of the range, or kNowhere.
std::size_t find_outside(const TokenList& tokens, Range range, std::string_view text);
// The parts between the tokens with this text outside all brackets.
std::vector<Range> split_outside(const TokenList& tokens, Range range, std::string_view separator);
// The range inside the bracket that opens at `open`, which must be closed.
Range inside(const TokenList& tokens, std::size_t open);

enum class HeadForm { kNone, kAtom, kChoice, kLiteral, kDisjunction };

// `head :- body.`
struct RuleParts {
  Range head;
  Range body;
  HeadForm form = HeadForm::kAtom;
  std::vector<std::string> signatures;  // of the head's atoms; a pool may give several arities
};
RuleParts rule_parts(const TokenList& tokens);

// Signatures of the atom in `#external a : body.`
std::vector<std::string> external_signatures(const TokenList& tokens);

// `w@p,t1,…`; the priority may be missing.
struct CostParts {
  Range weight;
  Range priority;
  std::vector<Range> terms;
  bool complete() const { return !weight.empty(); }
};
CostParts cost_parts(const TokenList& tokens, Range range);

}  // namespace as2::asp
