// Names. An argument belongs to the symbol if it varies inside at least one ground choice of the statement;
// the others name the position: cell(1,1,_). Where that fails (mixed predicates, nothing varies, two
// positions would share a name) the position is called after its smallest atom, `{green(1),...}`.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "asp/symbol.h"
#include "compile/positions.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::Symbol;

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

  Positions run(std::vector<Position>& positions) {
    const std::size_t count = choices_.groups.size();
    atoms_.resize(count);
    drafts_.resize(count);
    order_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      const ChoiceGroup& group = choices_.groups[k];
      if (group.boolean) continue;
      std::vector<NamedAtom>& atoms = atoms_[k];
      for (const Atom atom : group.atoms) atoms.push_back({atom, asp::parse_symbol(ground_.names[atom])});
      std::sort(atoms.begin(), atoms.end(),
                [](const NamedAtom& a, const NamedAtom& b) { return a.symbol < b.symbol; });
      if (!mixed(atoms)) note_varying(group.statement, atoms);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const ChoiceGroup& group = choices_.groups[k];
      if (group.statement >= 0)
        drafts_[k].location = ground_.statements[static_cast<std::size_t>(group.statement)].location;
      group.boolean ? name_boolean(k) : name_choice(k);
    }
    rename_duplicates();
    Positions result;
    result.positions = &positions;
    result.group.resize(count);
    std::iota(result.group.begin(), result.group.end(), 0);
    // Indices are sorted, because a position is large and there may be a million of them; gringo often has
    // them in this order.
    const auto before = [&](int a, int b) {
      const auto k = static_cast<std::size_t>(a);
      const auto m = static_cast<std::size_t>(b);
      const int order = compare(order_[k], order_[m]);
      return order != 0 ? order < 0 : drafts_[k].name < drafts_[m].name;
    };
    if (!std::is_sorted(result.group.begin(), result.group.end(), before)) {
      std::sort(result.group.begin(), result.group.end(), before);
    }
    result.place.resize(ground_.names.size());
    positions.reserve(count);
    for (const int k : result.group) {
      const int place = static_cast<int>(positions.size());
      const std::vector<NamedAtom>& atoms = atoms_[static_cast<std::size_t>(k)];
      for (std::size_t symbol = 0; symbol < atoms.size(); ++symbol)
        result.place[atoms[symbol].atom] = {place, static_cast<int>(symbol)};
      const ChoiceGroup& group = choices_.groups[static_cast<std::size_t>(k)];
      if (group.boolean) result.place[group.atoms.front()] = {place, 1};
      positions.push_back(std::move(drafts_[static_cast<std::size_t>(k)]));
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

  void name_boolean(std::size_t index) {
    const ChoiceGroup& group = choices_.groups[index];
    Position& position = drafts_[index];
    position.boolean = true;
    position.guess = group.guess;
    position.name = ground_.names[group.atoms.front()];
    position.symbols = {"false", "true"};
    position.atoms = {"", position.name};
    order_[index] = asp::parse_symbol(position.name);
  }

  void name_choice(std::size_t index) {
    const ChoiceGroup& group = choices_.groups[index];
    const std::vector<NamedAtom>& atoms = atoms_[index];
    Position& position = drafts_[index];
    order_[index] = atoms.front().symbol;
    static const std::set<std::size_t> kNone;
    const auto found =
        mixed(atoms) ? varying_.end() : varying_.find(key(group.statement, atoms.front().symbol));
    const std::set<std::size_t>& varying = found == varying_.end() ? kNone : found->second;
    if (varying.empty()) {
      position.name = name_after_smallest(atoms);
    } else {
      for (const std::size_t a : varying) {
        Symbol& argument = order_[index].arguments[a];
        argument = Symbol{};
        argument.kind = Symbol::Kind::kInfimum;
      }
      position.name = name_with_gaps(atoms.front().symbol, varying);
    }
    for (const NamedAtom& atom : atoms) {
      position.symbols.push_back(varying.empty() ? ground_.names[atom.atom]
                                                 : symbol_text(atom.symbol, varying));
      position.atoms.push_back(ground_.names[atom.atom]);
    }
    if (!group.body.empty()) {
      position.symbols.emplace_back("_");
      position.atoms.emplace_back();
    }
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

  // Boolean positions are called after their atoms, and no atom is called like another position.
  void rename_duplicates() {
    std::unordered_map<std::string, int> uses;
    for (const Position& position : drafts_) {
      if (!position.boolean) ++uses[position.name];
    }
    for (std::size_t k = 0; k < drafts_.size(); ++k) {
      if (drafts_[k].boolean || uses[drafts_[k].name] == 1) continue;
      drafts_[k].name = name_after_smallest(atoms_[k]);
      order_[k] = atoms_[k].front().symbol;
    }
  }

  const asp::GroundProgram& ground_;
  const Choices& choices_;
  std::vector<std::vector<NamedAtom>> atoms_;  // per group that is not Boolean, in term order
  std::map<Key, std::set<std::size_t>> varying_;
  std::vector<Position> drafts_;  // per group
  std::vector<Symbol> order_;     // per group: what it is sorted by
};

}  // namespace

Positions name_positions(const asp::GroundProgram& ground, const Choices& choices,
                         std::vector<Position>& positions) {
  return Namer(ground, choices).run(positions);
}

}  // namespace as2::compile
