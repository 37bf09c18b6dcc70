// An interpretation I is an answer set if the least model of its reduct is I. Loops, the strongly connected
// components of positive dependency, can be checked one by one: the least model of a loop, everything
// outside it and everything negated read from I, must be I on the loop. So only positive literals of a loop's
// own atoms must be read from what is being derived. All other literals read I, and I on an atom is either
// computed, once the loop that derives it has been, or guessed: its position says it, and family `founded`
// compares the two.
//
// Loops that read each other's atoms in a circle (some of them negated, or they would be one loop) cannot be
// computed one after the other. Guessing an atom takes away what reads it. We look for few such atoms: the
// one most read and with most to read first, again in what is still circular, and in the end those that turn
// out not to be needed are given back. A smallest set is a feedback vertex set, NP-hard; this is near.
//
// What a choice offers has a position anyway. It joins the list if a rule derives it too, or if it stands in
// a loop: then it must not be taken as given, or atoms would support one another in a circle.
#include "compile/guesses.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <unordered_map>

#include "compile/graph.h"
#include "compile/refusals.h"

namespace as2::compile {
namespace {

using asp::Atom;
using asp::atom_of;
using asp::Lit;
using asp::WeightedLit;

// Steps to spend on giving guesses back, and on looking for cycles to name.
constexpr std::int64_t kMostPruning = 50'000'000;
constexpr std::int64_t kMostNaming = 20'000'000;
// A sum over its own loop with more partial sums than this is refused.
constexpr std::size_t kMostPartialSums = 1 << 18;
// Of a large circle, one atom in so many is guessed at a time.
constexpr std::size_t kBatch = 64;

template <class F>
void for_each_rule(const NormalProgram& program, const F& visit) {
  for (const auto* rules : {&program.rules, &program.choices}) {
    for (const NormalRule& rule : *rules) {
      for (const Atom head : rule.head) {
        // A clue needs no support.
        if (!program.clue[head]) visit(head, rule);
      }
    }
  }
}

Components positive_components(const NormalProgram& program) {
  std::vector<std::pair<int, int>> edges;
  for_each_rule(program, [&](Atom head, const NormalRule& rule) {
    for (const WeightedLit& literal : rule.body) {
      if (literal.lit > 0) edges.emplace_back(static_cast<int>(head), literal.lit);
    }
  });
  return components_of(Graph(static_cast<int>(program.truth.size()), edges));
}

// Σ weight·[literal] ≥ bound as rules over partial sums: "the literals from k on reach at least s".
class SumUnfolder {
 public:
  SumUnfolder(const asp::GroundProgram& ground, NormalProgram& program)
      : ground_(ground), program_(program) {}

  // The literals of a body that says the same.
  std::vector<WeightedLit> unfold(const NormalRule& rule) {
    literals_ = rule.body;
    std::stable_sort(literals_.begin(), literals_.end(),
                     [](const WeightedLit& a, const WeightedLit& b) { return a.weight > b.weight; });
    rest_.assign(literals_.size() + 1, 0);
    for (std::size_t k = literals_.size(); k-- > 0;) rest_[k] = rest_[k + 1] + literals_[k].weight;
    sums_.clear();
    statement_ = rule.statement;
    const Atom all = reach(0, rule.bound);
    while (!open_.empty()) {
      const auto [k, bound] = open_.back();
      open_.pop_back();
      if (sums_.size() > kMostPartialSums) refuse_aggregate_cycle(ground_, rule.head);
      const Atom atom = sums_.at({k, bound});
      // With the literal, without it.
      add(atom, k, bound - literals_[k].weight, {literals_[k]});
      add(atom, k, bound, {});
    }
    return {{static_cast<Lit>(all), 1}};
  }

 private:
  using PartialSum = std::pair<std::size_t, std::int64_t>;

  Atom reach(std::size_t k, std::int64_t bound) {
    const auto [place, is_new] = sums_.emplace(PartialSum{k, bound}, 0);
    if (is_new) {
      place->second = program_.add_atom();
      open_.emplace_back(k, bound);
    }
    return place->second;
  }

  void add(Atom atom, std::size_t k, std::int64_t bound, std::vector<WeightedLit> body) {
    if (bound > rest_[k + 1]) return;
    if (bound > 0) body.push_back({static_cast<Lit>(reach(k + 1, bound)), 1});
    for (WeightedLit& literal : body) literal.weight = 1;
    NormalRule rule;
    rule.head = {atom};
    rule.body = std::move(body);
    rule.statement = statement_;
    program_.add_rule(std::move(rule));
  }

  const asp::GroundProgram& ground_;
  NormalProgram& program_;
  std::vector<WeightedLit> literals_;
  std::vector<std::int64_t> rest_;
  std::map<PartialSum, Atom> sums_;
  std::vector<PartialSum> open_;  // those without rules yet
  int statement_ = -1;
};

// True if something was unfolded.
bool unfold_recursive_sums(const asp::GroundProgram& ground, NormalProgram& program,
                           const Components& loops) {
  SumUnfolder unfolder(ground, program);
  bool any = false;
  for (auto* rules : {&program.rules, &program.choices}) {
    for (std::size_t r = 0; r < rules->size(); ++r) {
      const NormalRule rule = (*rules)[r];
      const bool recursive =
          rule.sum && std::any_of(rule.head.begin(), rule.head.end(), [&](Atom head) {
            return std::any_of(rule.body.begin(), rule.body.end(), [&](const WeightedLit& literal) {
              return literal.lit > 0 && head < loops.of.size() &&
                     loops.of[head] == loops.of[static_cast<std::size_t>(literal.lit)];
            });
          });
      if (!recursive) continue;
      std::vector<WeightedLit> body = unfolder.unfold(rule);
      (*rules)[r].sum = false;
      (*rules)[r].body = std::move(body);
      any = true;
    }
  }
  return any;
}

class Guesser {
 public:
  Guesser(const asp::GroundProgram& ground, const NormalProgram& program, const Components& loops)
      : ground_(ground), program_(program), component_(loops.of), local_(loops.is_cycle.size(), -1) {
    result_.guessed.assign(program.truth.size(), 0);
    result_.loop = loops.of;
    for (int& loop : result_.loop) {
      if (!loops.is_cycle[static_cast<std::size_t>(loop)]) loop = -1;
    }
    collect_reads();
  }

  Guesses run() {
    std::vector<int> all;
    for (std::size_t k = 0; k + 1 < begin_.size(); ++k) {
      if (begin_[k + 1] > begin_[k]) all.push_back(static_cast<int>(k));
    }
    for (std::vector<int>& circle : circles(all)) {
      std::vector<Atom> cut;
      std::vector<std::vector<int>> open = {circle};
      while (!open.empty()) {
        const std::vector<int> nodes = std::move(open.back());
        open.pop_back();
        for (const Atom atom : best(nodes)) {
          result_.guessed[atom] = 1;
          cut.push_back(atom);
        }
        for (std::vector<int>& rest : circles(nodes)) open.push_back(std::move(rest));
      }
      give_back(circle, cut);
    }
    list();
    return std::move(result_);
  }

 private:
  // Which loops read the truth of which atoms.
  void collect_reads() {
    std::vector<std::pair<int, Atom>> reads;
    for_each_rule(program_, [&](Atom head, const NormalRule& rule) {
      if (program_.chosen(head) && result_.loop[head] < 0) return;
      for (const WeightedLit& literal : rule.body) {
        const Atom atom = atom_of(literal.lit);
        if (!program_.chosen(atom) && !(literal.lit > 0 && component_[atom] == component_[head]))
          reads.emplace_back(component_[head], atom);
      }
    });
    std::sort(reads.begin(), reads.end());
    reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
    begin_.assign(local_.size() + 1, 0);
    for (const auto& read : reads) {
      ++begin_[static_cast<std::size_t>(read.first) + 1];
      atoms_.push_back(read.second);
    }
    for (std::size_t k = 1; k < begin_.size(); ++k) begin_[k] += begin_[k - 1];
  }

  template <class F>
  void for_each_read(int component, const F& visit) const {
    for (std::size_t k = begin_[static_cast<std::size_t>(component)];
         k < begin_[static_cast<std::size_t>(component) + 1]; ++k) {
      const Atom atom = atoms_[k];
      const int target = local_[static_cast<std::size_t>(component_[atom])];
      if (target >= 0 && !result_.guessed[atom]) visit(atom, target);
    }
  }

  // The sets of loops, among these, that read each other in a circle.
  std::vector<std::vector<int>> circles(const std::vector<int>& nodes) {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      local_[static_cast<std::size_t>(nodes[k])] = static_cast<int>(k);
    std::vector<std::pair<int, int>> edges;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      for_each_read(nodes[k], [&](Atom, int target) { edges.emplace_back(static_cast<int>(k), target); });
    }
    for (const int node : nodes) local_[static_cast<std::size_t>(node)] = -1;
    spent_ += static_cast<std::int64_t>(nodes.size() + edges.size());
    const Components found = components_of(Graph(static_cast<int>(nodes.size()), edges));
    std::map<int, std::vector<int>> result;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (found.is_cycle[static_cast<std::size_t>(found.of[k])]) result[found.of[k]].push_back(nodes[k]);
    }
    std::vector<std::vector<int>> list;
    for (auto& entry : result) list.push_back(std::move(entry.second));
    return list;
  }

  bool named(Atom atom) const { return atom < ground_.names.size() && !ground_.names[atom].empty(); }

  // The atoms to guess next in this circle.
  std::vector<Atom> best(const std::vector<int>& nodes) {
    for (std::size_t k = 0; k < nodes.size(); ++k)
      local_[static_cast<std::size_t>(nodes[k])] = static_cast<int>(k);
    std::unordered_map<Atom, std::int64_t> readers;
    std::vector<std::int64_t> reads(nodes.size(), 0);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      for_each_read(nodes[k], [&](Atom atom, int) {
        if (named(atom)) ++readers[atom];
        ++reads[k];
      });
    }
    std::vector<std::pair<std::int64_t, Atom>> scored;
    for (const auto& [atom, count] : readers) {
      const auto own = static_cast<std::size_t>(local_[static_cast<std::size_t>(component_[atom])]);
      scored.emplace_back(-count * reads[own], atom);
    }
    for (const int node : nodes) local_[static_cast<std::size_t>(node)] = -1;
    if (scored.empty()) refuse_unnamed(nodes);
    const std::size_t count = 1 + scored.size() / kBatch;
    // Names decide between equals, so that gringo's numbering does not.
    std::partial_sort(scored.begin(), scored.begin() + static_cast<std::ptrdiff_t>(count), scored.end(),
                      [&](const auto& a, const auto& b) {
                        return a.first != b.first ? a.first < b.first
                                                  : ground_.names[a.second] < ground_.names[b.second];
                      });
    std::vector<Atom> result;
    for (std::size_t k = 0; k < count; ++k) result.push_back(scored[k].second);
    return result;
  }

  [[noreturn]] void refuse_unnamed(const std::vector<int>& nodes) const {
    std::vector<char> member(local_.size(), 0);
    for (const int node : nodes) member[static_cast<std::size_t>(node)] = 1;
    std::vector<Atom> atoms;
    for (Atom atom = 1; atom < component_.size(); ++atom) {
      if (member[static_cast<std::size_t>(component_[atom])]) atoms.push_back(atom);
    }
    // What the user wrote stands around the auxiliary atoms.
    for_each_rule(program_, [&](Atom head, const NormalRule& rule) {
      const bool touches = std::any_of(rule.body.begin(), rule.body.end(), [&](const WeightedLit& literal) {
        return member[static_cast<std::size_t>(component_[atom_of(literal.lit)])] != 0;
      });
      if (touches && named(head)) atoms.push_back(head);
    });
    refuse_aggregate_cycle(ground_, atoms);
  }

  void give_back(const std::vector<int>& circle, const std::vector<Atom>& cut) {
    spent_ = 0;
    for (auto atom = cut.rbegin(); atom != cut.rend() && spent_ < kMostPruning; ++atom) {
      result_.guessed[*atom] = 0;
      if (!circles(circle).empty()) result_.guessed[*atom] = 1;
    }
  }

  void list() {
    for (Atom atom = 1; atom < program_.truth.size(); ++atom) {
      const bool chosen = program_.chosen(atom) && !program_.clue[atom] && named(atom);
      if (result_.guessed[atom]) {
        result_.atoms.push_back({atom, GuessReason::kNegation, cycle_through(atom, true)});
      } else if (chosen && result_.loop[atom] >= 0) {
        result_.atoms.push_back({atom, GuessReason::kChoiceInLoop, cycle_through(atom, false)});
      } else if (chosen && !program_.rules_of[atom].empty()) {
        result_.atoms.push_back({atom, GuessReason::kChosenAndDerived, {}});
      }
    }
  }

  // A shortest way from the atom back to it, through a negation or through positive literals only.
  std::vector<Lit> cycle_through(Atom atom, bool negative) {
    if (spent_naming_ > kMostNaming) return {};
    // A state is an atom and whether a negation has been passed.
    using State = std::pair<Atom, bool>;
    std::map<State, std::pair<State, Lit>> reached;
    std::vector<State> queue = {{atom, false}};
    const State goal{atom, negative};
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const State state = queue[next];
      const auto look = [&](const std::vector<NormalRule>& rules, const std::vector<int>& indices) {
        for (const int index : indices) {
          for (const WeightedLit& literal : rules[static_cast<std::size_t>(index)].body) {
            ++spent_naming_;
            if (literal.lit < 0 && !negative) continue;
            const State to{atom_of(literal.lit), state.second || literal.lit < 0};
            if (reached.emplace(to, std::make_pair(state, literal.lit)).second) queue.push_back(to);
          }
        }
      };
      look(program_.rules, program_.rules_of[state.first]);
      look(program_.choices, program_.choices_of[state.first]);
      if (reached.count(goal) > 0) break;
    }
    std::vector<Lit> cycle;
    for (State state = goal; reached.count(state) > 0 && (cycle.empty() || state != State{atom, false});
         state = reached.at(state).first) {
      cycle.push_back(reached.at(state).second);
    }
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }

  const asp::GroundProgram& ground_;
  const NormalProgram& program_;
  const std::vector<int>& component_;  // per atom: its positive component
  std::vector<std::size_t> begin_;     // per component: what it reads, in atoms_
  std::vector<Atom> atoms_;
  std::vector<int> local_;  // per component: its place in the circle that is looked at, or -1
  std::int64_t spent_ = 0;
  std::int64_t spent_naming_ = 0;
  Guesses result_;
};

}  // namespace

Guesses find_guesses(const asp::GroundProgram& ground, NormalProgram& program) {
  Components loops = positive_components(program);
  if (unfold_recursive_sums(ground, program, loops)) loops = positive_components(program);
  return Guesser(ground, program, loops).run();
}

}  // namespace as2::compile
