#include "task/contradictions.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_set>

#include "as2/decoder.h"
#include "as2/error.h"
#include "prob/observation.h"
#include "task/drawing.h"

namespace as2::task {
namespace {

using prob::Observable;

// What a line says, and how a user would write it.
struct Said {
  std::string text;
  Observable about;
};

class Line {
 public:
  // Without a circuit derived atoms are left out of account.
  Line(const Task& task, const decode::Decoder& decoder, const prob::Circuit* circuit,
       const Instances& examples, std::int64_t n)
      : task_(task), decoder_(decoder), circuit_(circuit) {
    const compile::ConstraintProgram& program = task.program();
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      const int position = static_cast<int>(i), shown = examples.shows[n][i];
      const bool given =
          examples.evidence[n][i] != 0 && shown >= 0 && !has_picture(examples, task.pictures(), n, position);
      const int symbol = given ? shown : examples.labels[n][i];
      if (symbol < 0) continue;
      const compile::Position& named = program.positions[i];
      Observable about;
      about.kind = named.symbols.size() > 1 ? Observable::Kind::kSet : Observable::Kind::kAlways;
      about.set = {position, {symbol}};
      const bool label = !given && examples.observed[n][i] == 0;
      said_.push_back(
          {named.name + "=" + named.symbols[static_cast<std::size_t>(symbol)] + (label ? " (label)" : ""),
           about});
    }
    const auto& atoms = task.supervision().atoms;
    for (std::size_t a = 0; circuit && examples.atoms.defined() && a < atoms.size(); ++a) {
      const int truth = examples.atoms[n][a];
      if (truth < 0) continue;
      said_.push_back({(truth == 1 ? "" : "not ") + atoms[a].name,
                       truth == 1 ? atoms[a].about : prob::negation(program, atoms[a].about)});
    }
  }

  std::string text() const {
    std::string all;
    for (const Said& one : said_) all += (all.empty() ? "" : ", ") + one.text;
    return all;
  }

  bool possible() const {
    if (!circuit_) {
      decode::DecodeOptions options;
      options.node_budget = kNodes;
      options.minimal_conflict = false;
      return decoder_.decode(pinned(), options).status != decode::Status::kUnsatisfiable;
    }
    prob::Weights weights(static_cast<std::size_t>(circuit_->inputs()), 1.0);
    prob::Observation all;
    for (const Said& one : said_) all.push_back(one.about);
    return prob::observe(*circuit_, all, weights) && !std::isinf(prob::log_value(*circuit_, weights));
  }

  // Leaves out whatever is not needed for the contradiction.
  [[noreturn]] void refuse(const SourceLocation& place) {
    for (std::size_t k = said_.size(); k-- > 0;) {
      const Said left_out = said_[k];
      said_.erase(said_.begin() + static_cast<std::ptrdiff_t>(k));
      if (possible()) said_.insert(said_.begin() + static_cast<std::ptrdiff_t>(k), left_out);
    }
    if (said_.empty()) throw InputError(place, "the program has no answer set, whatever the pictures show");
    if (said_.size() == 1)
      throw InputError(place, "the line says " + text() + ", which holds in no answer set of the program",
                       notes("correct the line, or the program"));
    throw InputError(
        place, "the line says " + text() + ", which hold together in no answer set of the program",
        notes("without any one of them there is an answer set; correct the line, or the program"));
  }

 private:
  static constexpr std::int64_t kNodes = 10000;  // of a search that proves nothing, for each line

  // What is said of positions.
  decode::Query pinned() const {
    const compile::ConstraintProgram& program = task_.program();
    decode::Query query{
        decode::Beliefs(program.positions.size() * static_cast<std::size_t>(program.max_symbols()), 1.0)};
    for (const Said& one : said_) {
      if (one.about.kind == Observable::Kind::kSet && one.about.set.symbols.size() == 1)
        query.pins.push_back({one.about.set.position, one.about.set.symbols[0]});
    }
    return query;
  }

  // The constraints that are broken, where it is all about positions.
  std::vector<std::string> notes(const std::string& last) const {
    const compile::ConstraintProgram& program = task_.program();
    const decode::Query query = pinned();
    std::set<std::string> broken;
    if (query.pins.size() == said_.size()) {
      for (const int g : decoder_.decode(query).conflict.groups) {
        const auto family = program.groups[static_cast<std::size_t>(g)].family;
        const auto& named = program.families[static_cast<std::size_t>(family)];
        broken.insert("it breaks " + named.name + " (" + named.location.file + ":" +
                      std::to_string(named.location.line) + ")");
      }
    }
    std::vector<std::string> all(broken.begin(), broken.end());
    all.push_back(last);
    return all;
  }

  const Task& task_;
  const decode::Decoder& decoder_;
  const prob::Circuit* circuit_;  // null: it is too large
  std::vector<Said> said_;
};

}  // namespace

void refuse_contradictions(const Task& task, const std::vector<infer::ExampleLine>& lines,
                           const Instances& examples, const prob::Budget& budget) {
  using Clock = std::chrono::steady_clock;
  const std::vector<ObservedAtom>& atoms = task.supervision().atoms;
  const std::vector<std::uint8_t>& observed = examples.observed.cells;
  if (atoms.empty() && std::find(observed.begin(), observed.end(), 1) == observed.end()) return;
  std::vector<int> nodes;
  for (const ObservedAtom& atom : atoms) prob::collect_nodes(atom.about, nodes);
  std::optional<prob::Circuit> circuit;
  try {
    circuit = prob::compile_circuit(task.program(), nodes, budget);
  } catch (const prob::CircuitTooLarge&) {
  }
  const decode::Decoder decoder(task.shared_program());
  const auto end = Clock::now() + std::chrono::duration<double>(budget.seconds);
  std::unordered_set<std::string> fine;  // many lines say the same
  std::size_t n = 0;
  for (; n < lines.size() && (circuit || Clock::now() < end); ++n) {
    Line line(task, decoder, circuit ? &*circuit : nullptr, examples, static_cast<std::int64_t>(n));
    if (fine.insert(line.text()).second && !line.possible()) line.refuse(lines[n].place);
  }
  if (!task.options().report || circuit || (n == lines.size() && atoms.empty())) return;
  task.options().report(
      lines[0].place.file +
      ": the program is too large to look for every contradiction: positions were checked in " +
      std::to_string(n) + " of " + std::to_string(lines.size()) + " lines" +
      (atoms.empty() ? "" : ", derived atoms in none"));
}

}  // namespace as2::task
