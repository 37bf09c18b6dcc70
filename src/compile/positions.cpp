// Names. An argument belongs to the symbol if it varies inside at least one ground choice of the statement;
// the others name the position: cell(1,1,_). Where that fails (mixed predicates, nothing varies, two
// positions would share a name) the position is called after its smallest atom, `{green(1),...}`.
#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "asp/symbol.h"
#include "compile/positions.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::Symbol;

// A position before it has its place among the others.
struct Draft {
  Position position;
  Symbol order;             // what it is sorted by
  std::vector<Atom> atoms;  // per symbol; 0 for `false` and `_`
  int group = 0;
};

struct NamedAtom {
  Atom atom = 0;
  Symbol symbol;
};

bool same_predicate(const Symbol& a, const Symbol& b) {
  return a.kind == b.kind && a.negative == b.negative && a.name == b.name &&
         a.arguments.size() == b.arguments.size();
}

bool mixed(const std::vector<NamedAtom>& atoms) {
  return std::any_of(atoms.begin(), atoms.end(), [&](const NamedAtom& atom) {
    return !same_predicate(atom.symbol, atoms.front().symbol);
  });
}

class Namer {
 public:
  Namer(const asp::GroundProgram& ground, const Choices& choices) : ground_(ground), choices_(choices) {}

  Positions run() {
    atoms_.reserve(choices_.groups.size());
    for (const ChoiceGroup& group : choices_.groups) {
      std::vector<NamedAtom> atoms;
      for (const Atom atom : group.atoms) atoms.push_back({atom, asp::parse_symbol(ground_.names[atom])});
      std::sort(atoms.begin(), atoms.end(),
                [](const NamedAtom& a, const NamedAtom& b) { return a.symbol < b.symbol; });
      if (!group.boolean && !mixed(atoms)) note_varying(group.statement, atoms);
      atoms_.push_back(std::move(atoms));
    }
    for (std::size_t k = 0; k < choices_.groups.size(); ++k) drafts_.push_back(draft(static_cast<int>(k)));
    rename_duplicates();
    std::sort(drafts_.begin(), drafts_.end(), [](const Draft& a, const Draft& b) {
      const int order = compare(a.order, b.order);
      return order != 0 ? order < 0 : a.position.name < b.position.name;
    });
    Positions result;
    result.place.resize(ground_.names.size());
    for (Draft& draft : drafts_) {
      for (std::size_t symbol = 0; symbol < draft.atoms.size(); ++symbol) {
        if (draft.atoms[symbol] == 0) continue;
        result.place[draft.atoms[symbol]] = {static_cast<int>(result.positions.size()),
                                             static_cast<int>(symbol)};
      }
      result.positions.push_back(std::move(draft.position));
      result.group.push_back(draft.group);
    }
    return result;
  }

 private:
  // Arguments that vary, by statement and predicate.
  using Key = std::pair<int, std::string>;

  static Key key(int statement, const Symbol& symbol) { return {statement, symbol.signature()}; }

  void note_varying(int statement, const std::vector<NamedAtom>& atoms) {
    std::set<std::size_t>& varying = varying_[key(statement, atoms.front().symbol)];
    for (std::size_t k = 1; k < atoms.size(); ++k) {
      for (std::size_t a = 0; a < atoms[k].symbol.arguments.size(); ++a) {
        if (compare(atoms[k].symbol.arguments[a], atoms.front().symbol.arguments[a]) != 0) varying.insert(a);
      }
    }
  }

  Draft draft(int index) const {
    const ChoiceGroup& group = choices_.groups[static_cast<std::size_t>(index)];
    const std::vector<NamedAtom>& atoms = atoms_[static_cast<std::size_t>(index)];
    Draft result;
    result.group = index;
    result.order = atoms.front().symbol;
    Position& position = result.position;
    if (group.statement >= 0)
      position.location = ground_.statements[static_cast<std::size_t>(group.statement)].location;
    if (group.boolean) {
      position.boolean = true;
      position.guess = group.guess;
      position.name = ground_.names[atoms.front().atom];
      position.symbols = {"false", "true"};
      position.atoms = {"", position.name};
      result.atoms = {0, atoms.front().atom};
      return result;
    }
    static const std::set<std::size_t> kNone;
    const auto found =
        mixed(atoms) ? varying_.end() : varying_.find(key(group.statement, atoms.front().symbol));
    const std::set<std::size_t>& varying = found == varying_.end() ? kNone : found->second;
    if (varying.empty()) {
      position.name = name_after_smallest(atoms);
    } else {
      for (const std::size_t a : varying) {
        Symbol& argument = result.order.arguments[a];
        argument = Symbol{};
        argument.kind = Symbol::Kind::kInfimum;
      }
      position.name = name_with_gaps(atoms.front().symbol, varying);
    }
    for (const NamedAtom& atom : atoms) {
      position.symbols.push_back(varying.empty() ? ground_.names[atom.atom]
                                                 : symbol_text(atom.symbol, varying));
      position.atoms.push_back(ground_.names[atom.atom]);
      result.atoms.push_back(atom.atom);
    }
    if (!group.body.empty()) {
      position.symbols.emplace_back("_");
      position.atoms.emplace_back();
      result.atoms.push_back(0);
    }
    return result;
  }

  static std::string name_after_smallest(const std::vector<NamedAtom>& atoms) {
    return "{" + atoms.front().symbol.str() + (atoms.size() > 1 ? ",...}" : "}");
  }

  static std::string name_with_gaps(const Symbol& atom, const std::set<std::size_t>& varying) {
    std::string text = (atom.negative ? "-" : "") + atom.name + "(";
    for (std::size_t a = 0; a < atom.arguments.size(); ++a) {
      text += (a > 0 ? "," : "") + (varying.count(a) > 0 ? std::string("_") : atom.arguments[a].str());
    }
    return text + ")";
  }

  static std::string symbol_text(const Symbol& atom, const std::set<std::size_t>& varying) {
    if (varying.size() == 1) return atom.arguments[*varying.begin()].str();
    Symbol tuple;
    tuple.kind = Symbol::Kind::kFunction;
    for (const std::size_t a : varying) tuple.arguments.push_back(atom.arguments[a]);
    return tuple.str();
  }

  void rename_duplicates() {
    std::unordered_map<std::string, int> uses;
    for (const Draft& draft : drafts_) ++uses[draft.position.name];
    for (Draft& draft : drafts_) {
      if (uses[draft.position.name] > 1) {
        draft.position.name = name_after_smallest(atoms_[static_cast<std::size_t>(draft.group)]);
        draft.order = atoms_[static_cast<std::size_t>(draft.group)].front().symbol;
      }
    }
  }

  const asp::GroundProgram& ground_;
  const Choices& choices_;
  std::vector<std::vector<NamedAtom>> atoms_;  // per group, in term order
  std::map<Key, std::set<std::size_t>> varying_;
  std::vector<Draft> drafts_;
};

}  // namespace

Positions name_positions(const asp::GroundProgram& ground, const Choices& choices) {
  return Namer(ground, choices).run();
}

}  // namespace as2::compile
