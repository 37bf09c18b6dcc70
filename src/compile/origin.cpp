#include "compile/origin.h"

#include <algorithm>
#include <set>

#include "asp/symbol.h"

namespace as2::compile {

using asp::StatementKind;

Origins::Origins(const asp::GroundProgram& ground) : ground_(ground) {
  for (std::size_t k = 0; k < ground.statements.size(); ++k) {
    for (const std::string& head : ground.statements[k].heads)
      by_signature_[head].push_back(static_cast<int>(k));
  }
}

const std::vector<int>& Origins::statements_of(asp::Atom atom) const {
  static const std::vector<int> kNone;
  if (atom >= ground_.names.size() || ground_.names[atom].empty()) return kNone;
  const auto found = by_signature_.find(asp::parse_symbol(ground_.names[atom]).signature());
  return found == by_signature_.end() ? kNone : found->second;
}

int Origins::of(asp::Atom atom) const {
  const std::vector<int>& candidates = statements_of(atom);
  return candidates.empty() ? -1 : candidates.front();
}

int Origins::of_self_negation(asp::Atom atom) const {
  const std::vector<int>& candidates = statements_of(atom);
  for (const int k : candidates) {
    const std::string& name = ground_.names[atom];
    const std::string negation = "not " + name.substr(0, name.find('('));
    if (ground_.statements[static_cast<std::size_t>(k)].text.find(negation) != std::string::npos) return k;
  }
  return candidates.empty() ? -1 : candidates.front();
}

int Origins::rule_of(asp::Atom atom) const {
  int result = -1;
  for (const int k : statements_of(atom)) {
    const StatementKind kind = ground_.statements[static_cast<std::size_t>(k)].kind;
    if (kind == StatementKind::kRule || kind == StatementKind::kClue) result = k;
  }
  return result;
}

int Origins::of_disjunction(const std::vector<asp::Atom>& head) const {
  int result = -1;
  std::size_t fewest = 0;
  for (const int k : statements_of(head.front())) {
    const asp::Statement& statement = ground_.statements[static_cast<std::size_t>(k)];
    const bool has_all = std::all_of(head.begin(), head.end(), [&](asp::Atom atom) {
      const std::vector<int>& candidates = statements_of(atom);
      return std::find(candidates.begin(), candidates.end(), k) != candidates.end();
    });
    const std::size_t predicates =
        std::set<std::string>(statement.heads.begin(), statement.heads.end()).size();
    if (statement.kind != StatementKind::kRule || !has_all || (result >= 0 && predicates >= fewest)) continue;
    result = k;
    fewest = predicates;
  }
  return result < 0 ? of(head.front()) : result;
}

}  // namespace as2::compile
