#include "asp/anatomy.h"

#include <set>

namespace as2::asp {
namespace {

bool opens(const Token& token) {
  return token_is(token, "(") || token_is(token, "{") || token_is(token, "[");
}
bool closes(const Token& token) {
  return token_is(token, ")") || token_is(token, "}") || token_is(token, "]");
}

// Signatures of the atom `[-]name[(…)]` that fills the range; none if it is something else.
std::vector<std::string> atom_signatures(const TokenList& tokens, Range range) {
  std::string name;
  if (!range.empty() && token_is(tokens[range.begin], "-")) {
    name = "-";
    ++range.begin;
  }
  if (range.empty() || tokens[range.begin].kind != Token::Kind::kName ||
      token_is(tokens[range.begin], "not")) {
    return {};
  }
  name += tokens[range.begin].text;
  if (range.size() == 1) return {name + "/0"};
  if (!token_is(tokens[range.begin + 1], "(")) return {};
  std::vector<std::string> signatures;
  for (const Range pool : split_outside(tokens, inside(tokens, range.begin + 1), ";")) {
    const std::size_t arity = pool.empty() ? 0 : split_outside(tokens, pool, ",").size();
    signatures.push_back(name + "/" + std::to_string(arity));
  }
  return signatures;
}

// Signatures of the atoms in `{ a : c ; b }` or `#sum { t : a : c }`.
std::vector<std::string> choice_signatures(const TokenList& tokens, Range head, std::size_t brace) {
  const bool aggregate = brace > head.begin && tokens[brace - 1].kind == Token::Kind::kDirective;
  std::set<std::string> signatures;
  for (const Range element : split_outside(tokens, inside(tokens, brace), ";")) {
    const auto parts = split_outside(tokens, element, ":");
    const std::size_t which = aggregate ? 1 : 0;
    if (parts.size() <= which) continue;
    for (auto& signature : atom_signatures(tokens, parts[which])) signatures.insert(signature);
  }
  return {signatures.begin(), signatures.end()};
}

// Signatures of the atoms in `a : c ; b | d, e`. A comma behind a colon belongs to the condition.
std::vector<std::string> disjunction_signatures(const TokenList& tokens, Range head) {
  std::set<std::string> signatures;
  for (const Range part : split_outside(tokens, head, ";")) {
    for (const Range element : split_outside(tokens, part, "|")) {
      const Range atoms = split_outside(tokens, element, ":").front();
      for (const Range atom : split_outside(tokens, atoms, ",")) {
        for (auto& signature : atom_signatures(tokens, atom)) signatures.insert(signature);
      }
    }
  }
  return {signatures.begin(), signatures.end()};
}

HeadForm head_form(const TokenList& tokens, Range head) {
  if (head.empty() || (head.size() == 1 && token_is(tokens[head.begin], "#false"))) return HeadForm::kNone;
  if (find_outside(tokens, head, "{") != kNowhere) return HeadForm::kChoice;
  for (const char* separator : {";", "|", ",", ":"}) {
    if (find_outside(tokens, head, separator) != kNowhere) return HeadForm::kDisjunction;
  }
  if (token_is(tokens[head.begin], "not")) return HeadForm::kLiteral;
  for (const char* comparison : {"<", ">", "<=", ">=", "=", "==", "!=", "<>"}) {
    if (find_outside(tokens, head, comparison) != kNowhere) return HeadForm::kLiteral;
  }
  return HeadForm::kAtom;
}

}  // namespace

bool balanced(const TokenList& tokens, Range range) {
  std::string open;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (opens(tokens[i])) {
      open += tokens[i].text;
    } else if (closes(tokens[i])) {
      const char expected = token_is(tokens[i], ")") ? '(' : token_is(tokens[i], "}") ? '{' : '[';
      if (open.empty() || open.back() != expected) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

std::size_t find_outside(const TokenList& tokens, Range range, std::string_view text) {
  int depth = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (closes(tokens[i])) --depth;
    if (depth == 0 && token_is(tokens[i], text)) return i;
    if (opens(tokens[i])) ++depth;
  }
  return kNowhere;
}

std::vector<Range> split_outside(const TokenList& tokens, Range range, std::string_view separator) {
  std::vector<Range> parts;
  for (;;) {
    const std::size_t at = find_outside(tokens, range, separator);
    if (at == kNowhere) break;
    parts.push_back({range.begin, at});
    range.begin = at + 1;
  }
  parts.push_back(range);
  return parts;
}

Range inside(const TokenList& tokens, std::size_t open) {
  int depth = 0;
  std::size_t at = open;
  do {
    if (opens(tokens[at])) ++depth;
    if (closes(tokens[at])) --depth;
    ++at;
  } while (depth > 0 && at < tokens.size());
  return {open + 1, at - 1};
}

RuleParts rule_parts(const TokenList& tokens) {
  RuleParts parts;
  const Range whole{0, tokens.size() - 1};
  const std::size_t arrow = find_outside(tokens, whole, ":-");
  parts.head = {whole.begin, arrow == kNowhere ? whole.end : arrow};
  if (arrow != kNowhere) parts.body = {arrow + 1, whole.end};
  if (whole.empty()) return parts;
  parts.form = head_form(tokens, parts.head);
  if (parts.form == HeadForm::kAtom) parts.signatures = atom_signatures(tokens, parts.head);
  if (parts.form == HeadForm::kDisjunction) parts.signatures = disjunction_signatures(tokens, parts.head);
  if (parts.form == HeadForm::kChoice) {
    parts.signatures = choice_signatures(tokens, parts.head, find_outside(tokens, parts.head, "{"));
  }
  return parts;
}

std::vector<std::string> external_signatures(const TokenList& tokens) {
  const std::size_t dot = find_outside(tokens, {0, tokens.size()}, ".");
  const Range statement{1, dot == kNowhere ? tokens.size() : dot};
  return atom_signatures(tokens, split_outside(tokens, statement, ":").front());
}

CostParts cost_parts(const TokenList& tokens, Range range) {
  CostParts parts;
  parts.terms = split_outside(tokens, range, ",");
  parts.weight = parts.terms.front();
  parts.terms.erase(parts.terms.begin());
  // An `@` in front of the weight calls a function; one behind the weight sets the priority.
  const std::size_t at = find_outside(tokens, {parts.weight.begin + 1, parts.weight.end}, "@");
  if (at != kNowhere) {
    parts.priority = {at + 1, parts.weight.end};
    parts.weight.end = at;
  }
  return parts;
}

}  // namespace as2::asp
