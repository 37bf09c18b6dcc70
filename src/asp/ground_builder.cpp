// Resolves the tags of as2/ground_program.h. The tags of choices and clues are true atoms in bodies: they are
// left out, and say which statement the rule is from. gringo splits a choice into several rules that share an
// auxiliary atom in place of the body (`aux :- tag, body`): such an atom carries the tag's statement to the
// rules that use it, and is itself true where the tag was all of the body.

#include "asp/ground_builder.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "asp/aspif.h"
#include "asp/symbol.h"
#include "text.h"

namespace as2::asp {
namespace {

constexpr int kNone = -1;

struct Output {
  std::string text;
  std::vector<Lit> condition;
  int line = 0;  // of the text; a whole location each would take more room than the rest
};

struct Edge {
  int from = 0;
  int to = 0;
  std::vector<Lit> condition;
};

// Collects the whole aspif text, unchanged.
class Collector : public AspifHandler {
 public:
  explicit Collector(std::int64_t size_limit) : size_limit_(size_limit) {}

  void rule(Rule&& rule) override {
    for (const Atom atom : rule.head) see(atom);
    for (const auto& literal : rule.body) see(literal.lit);
    literals += static_cast<std::int64_t>(rule.head.size() + rule.body.size());
    if (fits()) rules.push_back(std::move(rule));
  }
  void minimize(Minimize&& minimize) override {
    for (const auto& literal : minimize.literals) see(literal.lit);
    literals += static_cast<std::int64_t>(minimize.literals.size());
    if (fits()) minimizes.push_back(std::move(minimize));
  }
  void output(std::string&& text, const std::vector<Lit>& condition) override {
    for (const Lit lit : condition) see(lit);
    if (condition.empty()) ++facts;
    if (source.empty()) source = here().file;
    if (fits()) outputs.push_back({std::move(text), condition, here().line});
  }
  void external(Atom atom, int value) override {
    see(atom);
    constexpr ExternalValue kValues[] = {ExternalValue::kFree, ExternalValue::kTrue, ExternalValue::kFalse,
                                         ExternalValue::kFalse};
    externals.push_back({atom, kValues[value]});
  }
  void edge(int from, int to, const std::vector<Lit>& condition) override {
    for (const Lit lit : condition) see(lit);
    edges.push_back({from, to, condition});
  }
  void comment(std::string_view /*text*/) override {}

  std::vector<Rule> rules;
  std::vector<Minimize> minimizes;
  std::vector<Output> outputs;
  std::vector<External> externals;
  std::vector<Edge> edges;
  std::size_t atoms = 1;      // last atom + 1
  std::int64_t facts = 0;     // that have no atom
  std::int64_t literals = 0;  // of rules and objectives
  std::string source;         // what messages call the text

  std::int64_t size() const { return static_cast<std::int64_t>(atoms) - 1 + facts + literals; }

 private:
  // What is too large is counted to its end, so that the message can say the number, but not kept.
  bool fits() const { return size() <= size_limit_; }
  void see(std::int64_t lit) { atoms = std::max(atoms, static_cast<std::size_t>(std::abs(lit)) + 1); }

  const std::int64_t size_limit_;
};

class Builder {
 public:
  Builder(Collector collected, SourceMap map) : in_(std::move(collected)) {
    program_.statements = std::move(map.statements);
    program_.show_all = map.show_all;
    program_.shown_signatures = std::move(map.shown_signatures);
    shown_places_ = std::move(map.shown_places);
    program_.warnings = std::move(map.warnings);
    program_.names.resize(in_.atoms);
    is_true_.resize(in_.atoms);
    carried_.resize(in_.atoms, kNone);
    constraint_.resize(in_.atoms, kNone);
    instances_.resize(program_.statements.size());
  }

  GroundProgram run() {
    for (auto& output : in_.outputs) read_output(output);
    in_.outputs = {};
    for (const External& external : in_.externals) {
      if (!is_true_[external.atom]) program_.externals.push_back(external);
    }
    carry_tags();
    keep_auxiliary_bodies();
    program_.rules.reserve(in_.rules.size());
    for (auto& rule : in_.rules) add_rule(std::move(rule));
    in_.rules = {};
    settle_externals();
    if (!in_.edges.empty()) add_acyclicity();
    program_.minimize = std::move(in_.minimizes);
    for (auto& minimize : program_.minimize) drop_true(minimize);
    warn_of_empty_families();
    warn_of_idle_shows();
    return std::move(program_);
  }

 private:
  SourceLocation place_of(const Output& output) const {
    SourceLocation place;
    place.file = in_.source;
    place.line = output.line;
    return place;
  }

  void read_output(Output& output) {
    if (output.text.rfind("__as2_", 0) == 0) return read_tag(output);
    if (output.condition.empty()) {
      program_.facts.push_back(std::move(output.text));
    } else if (output.condition.size() == 1 && output.condition[0] > 0) {
      auto& name = program_.names[static_cast<std::size_t>(output.condition[0])];
      if (!name.empty())
        throw InputError(place_of(output), "atom `" + name + "` has a second name `" + output.text + "`");
      name = std::move(output.text);
    } else {
      throw InputError(place_of(output), "output `" + output.text + "` is expected to name one atom");
    }
  }

  void read_tag(const Output& output) {
    const Symbol tag = parse_symbol(output.text);
    const auto bad = [&](const std::string& expected) {
      throw InputError(place_of(output), "tag `" + output.text + "`: " + expected);
    };
    if (tag.arguments.empty() || tag.arguments[0].kind != Symbol::Kind::kNumber ||
        tag.arguments[0].number < 0 ||
        static_cast<std::size_t>(tag.arguments[0].number) >= program_.statements.size()) {
      bad("number of a statement expected");
    }
    const int k = tag.arguments[0].number;
    if (output.condition.size() > 1 || (output.condition.size() == 1 && output.condition[0] <= 0)) {
      bad("at most one atom expected");
    }
    const Lit lit = output.condition.empty() ? 0 : output.condition[0];
    if (tag.name == kConstraintTag) {
      if (lit == 0) {
        add_violated(k);
      } else {
        constraint_[static_cast<std::size_t>(lit)] = k;
      }
    } else if (tag.name == kChoiceTag || tag.name == kClueTag) {
      if (lit == 0) bad("an atom expected");
      is_true_[static_cast<std::size_t>(lit)] = true;
      carried_[static_cast<std::size_t>(lit)] = k;
    } else if (tag.name == kCostTag) {
      if (tag.arguments.size() < 3) bad("weight and priority expected");
      add_cost(k, tag, lit);
    } else if (tag.name == kShowTag) {
      if (tag.arguments.size() != 2) bad("one term expected");
      program_.shown_terms.emplace_back(tag.arguments[1].str(), lit);
    } else {
      bad("a tag of AS2 expected");
    }
  }

  // Adds a constraint that is violated whatever is chosen.
  void add_violated(int k) {
    Rule rule;
    rule.statement = k;
    push(std::move(rule));
  }

  void add_cost(int k, const Symbol& tag, Lit lit) {
    const Symbol& weight = tag.arguments[1];
    const Symbol& priority = tag.arguments[2];
    // gringo ignores weights and priorities that are not numbers, and warns about them.
    if (weight.kind != Symbol::Kind::kNumber || priority.kind != Symbol::Kind::kNumber) return;
    CostTuple cost;
    cost.statement = k;
    cost.weight = weight.number;
    cost.priority = priority.number;
    cost.lit = lit;
    program_.cost_tuples.push_back(std::move(cost));
  }

  // The statement whose tag stands in the body, directly or through an auxiliary atom.
  int carrier(const Rule& rule) const {
    for (const auto& literal : rule.body) {
      if (literal.lit > 0 && carried_[static_cast<std::size_t>(literal.lit)] != kNone) {
        return carried_[static_cast<std::size_t>(literal.lit)];
      }
    }
    return kNone;
  }

  bool is_true(Lit lit) const { return lit > 0 && is_true_[static_cast<std::size_t>(lit)]; }
  bool is_false(Lit lit) const { return lit < 0 && is_true_[static_cast<std::size_t>(-lit)]; }

  bool is_auxiliary(const Rule& rule) const {
    return !rule.choice && rule.head.size() == 1 && program_.names[rule.head[0]].empty() &&
           constraint_[rule.head[0]] == kNone;
  }

  void carry_tags() {
    std::vector<int> definitions(in_.atoms);
    std::vector<const Rule*> open;
    for (const auto& rule : in_.rules) {
      for (const Atom atom : rule.head) ++definitions[atom];
      if (is_auxiliary(rule) && !rule.sum && !rule.body.empty()) open.push_back(&rule);
    }
    for (bool changed = true; changed;) {
      changed = false;
      std::unordered_map<Atom, std::pair<int, int>>
          found;  // atom → (statement, number of the atom's rules that carry its tag)
      for (const Rule* rule : open) {
        const Atom atom = rule->head[0];
        const int k = carrier(*rule);
        if (k == kNone || carried_[atom] != kNone) continue;
        auto& [statement, count] = found.emplace(atom, std::make_pair(k, 0)).first->second;
        if (statement == k) ++count;
        if (count < definitions[atom]) continue;
        carried_[atom] = k;
        changed = true;
      }
      for (const Rule* rule : open) {
        const bool holds = std::all_of(rule->body.begin(), rule->body.end(),
                                       [&](const WeightedLit& literal) { return is_true(literal.lit); });
        if (!holds || carried_[rule->head[0]] == kNone || is_true_[rule->head[0]]) continue;
        is_true_[rule->head[0]] = true;
        changed = true;
      }
    }
  }

  // clingo's integers have 32 bits; where a sum may exceed them, gringo has already let its bounds wrap
  // around.
  void check_sum(const Rule& rule) const {
    std::int64_t most = 0;
    std::string atoms;
    for (const WeightedLit& literal : rule.body) {
      most += literal.weight;
      const std::string& name = program_.names[static_cast<std::size_t>(std::abs(literal.lit))];
      if (!name.empty()) atoms += (atoms.empty() ? "" : ", ") + name;
    }
    if (most <= std::numeric_limits<std::int32_t>::max()) return;
    throw InputError("a sum may reach " + std::to_string(most) + ", and clingo's integers end at " +
                         std::to_string(std::numeric_limits<std::int32_t>::max()),
                     {"it is the sum over " + shortened(atoms.empty() ? "auxiliary atoms" : atoms) +
                      "; use smaller weights"});
  }

  void add_rule(Rule&& rule) {
    if (rule.sum) check_sum(rule);
    rule.statement = carrier(rule);
    if (!drop_true(rule)) return;
    if (is_auxiliary(rule)) {
      if (is_true_[rule.head[0]]) return;
      rule.statement = kNone;
    } else if (!rule.choice && rule.head.size() == 1 && constraint_[rule.head[0]] != kNone) {
      rule.statement = constraint_[rule.head[0]];
      rule.head.clear();
    } else if (rule.head.empty() && rule.statement == kNone) {
      rule.statement = is_classical_negation(rule) ? classical_negation() : conditional_head(rule);
    }
    push(std::move(rule));
  }

  bool is_classical_negation(const Rule& rule) const {
    if (rule.sum || rule.body.size() != 2 || rule.body[0].lit < 0 || rule.body[1].lit < 0) return false;
    const std::string& a = program_.names[static_cast<std::size_t>(rule.body[0].lit)];
    const std::string& b = program_.names[static_cast<std::size_t>(rule.body[1].lit)];
    return a == "-" + b || b == "-" + a;
  }

  // Only programs with disjunctive heads have constraints that no statement is known of.
  void keep_auxiliary_bodies() {
    const bool disjunctive = std::any_of(in_.rules.begin(), in_.rules.end(), [](const Rule& rule) {
      return !rule.choice && rule.head.size() > 1;
    });
    for (const Rule& rule : in_.rules) {
      if (disjunctive && is_auxiliary(rule)) auxiliary_bodies_.emplace(rule.head[0], rule.body);
    }
  }

  // gringo splits a constraint `:- x, not c` off a conditional head `a : c`, where x :- a, c. The statement
  // is one that has a in its head.
  int conditional_head(const Rule& constraint) {
    std::vector<Lit> open;
    for (const WeightedLit& literal : constraint.body) open.push_back(literal.lit);
    for (std::size_t k = 0; k < open.size() && k < 64; ++k) {
      if (open[k] < 0) continue;
      const std::string& name = program_.names[static_cast<std::size_t>(open[k])];
      const auto body = auxiliary_bodies_.find(static_cast<Atom>(open[k]));
      if (body != auxiliary_bodies_.end()) {
        for (const WeightedLit& literal : body->second) open.push_back(literal.lit);
      }
      if (name.empty()) continue;
      const std::string signature = parse_symbol(name).signature();
      for (std::size_t s = 0; s < program_.statements.size(); ++s) {
        const auto& heads = program_.statements[s].heads;
        if (std::find(heads.begin(), heads.end(), signature) != heads.end()) return static_cast<int>(s);
      }
    }
    return kNone;
  }

  Atom new_atom() {
    program_.names.emplace_back();
    return static_cast<Atom>(program_.names.size() - 1);
  }

  void add_plain_rule(std::vector<Atom> head, const std::vector<Lit>& body, int statement = kNone) {
    Rule rule;
    rule.head = std::move(head);
    for (const Lit lit : body) rule.body.push_back({lit, 1});
    rule.statement = statement;
    push(std::move(rule));
  }

  // A node is ok if for every edge that leads to it, the edge is not there or the node it comes from is ok.
  // In the least solution all are ok if and only if there is no cycle.
  void add_acyclicity() {
    int statement = kNone;
    for (std::size_t k = program_.statements.size(); k-- > 0;) {
      if (program_.statements[k].kind == StatementKind::kEdge) statement = static_cast<int>(k);
    }
    if (statement != kNone) program_.statements[static_cast<std::size_t>(statement)].name = "acyclic";
    std::map<int, Atom> ok;
    std::map<int, std::vector<Lit>> before;
    for (const Edge& edge : in_.edges) {
      for (const int node : {edge.from, edge.to}) {
        if (ok.count(node) == 0) ok.emplace(node, new_atom());
      }
    }
    for (const Edge& edge : in_.edges) {
      Lit passed = static_cast<Lit>(ok.at(edge.from));
      if (!edge.condition.empty()) {
        const Atom absent_or_ok = new_atom();
        add_plain_rule({absent_or_ok}, {passed});
        for (const Lit lit : edge.condition) add_plain_rule({absent_or_ok}, {-lit});
        passed = static_cast<Lit>(absent_or_ok);
      }
      before[edge.to].push_back(passed);
    }
    for (const auto& [node, atom] : ok) {
      add_plain_rule({atom}, before[node]);
      add_plain_rule({}, {-static_cast<Lit>(atom)}, statement);
    }
  }

  void push(Rule&& rule) {
    if (rule.statement != kNone) {
      instances_[static_cast<std::size_t>(rule.statement)] = true;
      auto& kind = program_.statements[static_cast<std::size_t>(rule.statement)].kind;
      if (kind == StatementKind::kClue && !rule.body.empty()) kind = StatementKind::kRule;
    }
    program_.rules.push_back(std::move(rule));
  }

  // Leaves tags out of the body; false if a negated tag makes it false.
  bool drop_true(Rule& rule) {
    std::int64_t bound = rule.bound;
    bool satisfiable = true;
    const auto drop = [&](const WeightedLit& literal) {
      if (is_true(literal.lit)) bound -= literal.weight;
      if (is_false(literal.lit) && !rule.sum) satisfiable = false;
      return is_true(literal.lit) || is_false(literal.lit);
    };
    rule.body.erase(std::remove_if(rule.body.begin(), rule.body.end(), drop), rule.body.end());
    if (rule.sum) rule.bound = in_range(bound);
    return satisfiable;
  }

  void drop_true(Minimize& minimize) const {
    for (const auto& literal : minimize.literals) {
      if (is_true(literal.lit) || is_false(literal.lit)) throw InputError("tag in a minimize statement");
    }
  }

  static std::int32_t in_range(std::int64_t bound) {
    if (bound < std::numeric_limits<std::int32_t>::min() ||
        bound > std::numeric_limits<std::int32_t>::max()) {
      throw InputError("the bound " + std::to_string(bound) + " of a sum does not fit into 32 bits");
    }
    return static_cast<std::int32_t>(bound);
  }

  // The statement for the constraints `:- a, -a.` that gringo adds.
  int classical_negation() {
    if (classical_negation_ == kNone) {
      Statement statement;
      statement.kind = StatementKind::kClassicalNegation;
      statement.name = "classical negation";
      statement.text = ":- a, -a.";
      for (const auto& other : program_.statements) {
        const bool negates = std::any_of(other.heads.begin(), other.heads.end(),
                                         [](const std::string& head) { return head[0] == '-'; });
        if (!negates) continue;
        statement.location = other.location;
        break;
      }
      classical_negation_ = static_cast<int>(program_.statements.size());
      program_.statements.push_back(std::move(statement));
      instances_.push_back(true);
    }
    return classical_negation_;
  }

  void warn_of_empty_families() {
    for (std::size_t k = 0; k < program_.statements.size(); ++k) {
      const Statement& statement = program_.statements[k];
      if (statement.kind != StatementKind::kConstraint || instances_[k]) continue;
      program_.warnings.push_back(
          {statement.location,
           "constraint `" + statement.name + "` has no ground instances; is a predicate misspelt?"});
    }
  }

  // Of several statements on one atom the last that gringo writes counts. An atom that a rule defines is not
  // external; but which rules define anything clasp decides while it simplifies (`e :- e.` does not), so an
  // atom of which that would make a difference may not stand in a head.
  void settle_externals() {
    if (program_.externals.empty()) return;
    std::set<Atom> heads, settled;
    for (const Rule& rule : program_.rules) heads.insert(rule.head.begin(), rule.head.end());
    std::vector<External> externals;
    for (auto external = program_.externals.rbegin(); external != program_.externals.rend(); ++external) {
      const std::string& name = program_.names[external->atom];
      if (name.empty()) continue;  // a fact
      if (heads.count(external->atom) > 0) {
        if (external->value != ExternalValue::kFalse) refuse_derived_external(name, external->value);
      } else if (settled.insert(external->atom).second) {
        externals.push_back(*external);
      }
    }
    std::reverse(externals.begin(), externals.end());
    program_.externals = std::move(externals);
  }

  [[noreturn]] void refuse_derived_external(const std::string& name, ExternalValue value) const {
    SourceLocation place;
    const std::string predicate = parse_symbol(name).name;
    for (const Statement& statement : program_.statements) {
      if (statement.kind != StatementKind::kExternal || statement.text.find(predicate) == std::string::npos)
        continue;
      place = statement.location;
      break;
    }
    const bool free = value == ExternalValue::kFree;
    throw InputError(place,
                     "`" + name + "` is external with [" + (free ? "free" : "true") +
                         "], and it stands in the head of a rule",
                     {std::string("clingo takes it for external only where no rule is left for it; write ") +
                      (free ? "`{ " + name + " }.`" : "`" + name + ".`") + " instead of `#external`"});
  }

  // A signature that no atom and no head has is most likely misspelt.
  void warn_of_idle_shows() {
    if (shown_places_.empty()) return;
    std::set<std::string> known;
    for (const Statement& statement : program_.statements)
      known.insert(statement.heads.begin(), statement.heads.end());
    const auto& shown = program_.shown_signatures;
    const bool open = std::any_of(shown.begin(), shown.end(),
                                  [&](const std::string& signature) { return known.count(signature) == 0; });
    for (const auto* names : {&program_.names, &program_.facts}) {
      for (const std::string& name : *names)
        if (open && !name.empty()) known.insert(parse_symbol(name).signature());
    }
    for (std::size_t k = 0; k < shown_places_.size(); ++k) {
      if (known.count(shown[k]) > 0) continue;
      program_.warnings.push_back(
          {shown_places_[k], "`#show " + shown[k] + ".`: no atom has this signature; is it misspelt?"});
    }
  }

  Collector in_;
  GroundProgram program_;
  std::vector<SourceLocation> shown_places_;  // of program_.shown_signatures
  std::vector<bool> is_true_;                 // by atom: a tag, or an auxiliary atom that stands for one
  std::vector<int> carried_;                  // by atom: the statement whose tag it carries
  std::vector<int> constraint_;               // by atom: the constraint whose head it is
  std::vector<bool> instances_;               // by statement: it has a ground rule
  std::unordered_map<Atom, std::vector<WeightedLit>> auxiliary_bodies_;  // of the first rule of each
  int classical_negation_ = kNone;
};

}  // namespace

GroundProgram build_ground_program(std::string_view aspif, const std::string& name, SourceMap map,
                                   std::int64_t size_limit) {
  Collector collector(size_limit);
  read_aspif(aspif, name, collector);
  if (collector.size() > size_limit) {
    throw InputError("the program grounds to " + std::to_string(collector.size() - collector.literals) +
                         " atoms and facts, and " + std::to_string(collector.literals) +
                         " literals of rules, together more than " + std::to_string(size_limit),
                     {"make its domains smaller, or raise the limit with --grounding-size"});
  }
  return Builder(std::move(collector), std::move(map)).run();
}

}  // namespace as2::asp
