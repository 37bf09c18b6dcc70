#include "as2/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace as2::infer {
namespace {

// Nodes of search before the guide is asked: they take less time than it does.
constexpr std::int64_t kUnguidedNodes = 1000;
// An answer whose log p is larger than the next one's by more than this is the best whatever the guide
// believes. A difference may be wrong by the decoder's rounding, which is at most 2⁻³⁵ for each position: far
// less, even with a million positions.
constexpr double kTie = 1e-3;

constexpr double kLeastSeconds = 1e-3;  // 0 would be no limit

class Stopwatch {
 public:
  // Seconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

decode::DecodeOptions within_budget(const SolverOptions& options, Deadline until = {}) {
  decode::DecodeOptions decoding;
  decoding.time_budget_seconds = options.time_budget_seconds;
  if (until) {
    const double left = std::chrono::duration<double>(*until - std::chrono::steady_clock::now()).count();
    const double own = decoding.time_budget_seconds > 0 ? decoding.time_budget_seconds : left;
    decoding.time_budget_seconds = std::max(std::min(own, left), kLeastSeconds);
  }
  decoding.node_budget = options.node_budget;
  decoding.stop = options.stop;
  return decoding;
}

}  // namespace

decode::Beliefs uniform_beliefs(const compile::ConstraintProgram& program) {
  const auto stride = static_cast<std::size_t>(program.max_symbols());
  decode::Beliefs beliefs(program.positions.size() * stride, 0);
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const std::size_t symbols = program.positions[i].symbols.size();
    std::fill_n(beliefs.begin() + static_cast<std::ptrdiff_t>(i * stride), symbols,
                1.0 / static_cast<double>(symbols));
  }
  return beliefs;
}

std::vector<Evidence> look(Perceiver* perceiver, const compile::ConstraintProgram& program,
                           const std::vector<Scene>& scenes) {
  const auto stride = static_cast<std::size_t>(program.max_symbols());
  std::vector<Evidence> seen(scenes.size(), Evidence{uniform_beliefs(program), {}});
  std::vector<const Picture*> pictures;
  for (std::size_t n = 0; n < scenes.size(); ++n) {
    for (const Picture& picture : scenes[n]) {
      AS2_REQUIRE(picture.position >= 0 &&
                      static_cast<std::size_t>(picture.position) < program.positions.size() &&
                      (seen[n].positions.empty() || seen[n].positions.back() < picture.position),
                  "the pictures of a scene stand at ascending positions of the program");
      seen[n].positions.push_back(picture.position);
      if (picture.symbol < 0) pictures.push_back(&picture);
    }
  }
  AS2_REQUIRE(perceiver || pictures.empty(), "pictures need a perceiver");
  std::vector<std::vector<double>> perceived;
  if (!pictures.empty()) perceived = perceiver->perceive(pictures);
  AS2_REQUIRE(perceived.size() == pictures.size(), "one distribution per picture");
  auto row = perceived.begin();
  for (std::size_t n = 0; n < scenes.size(); ++n) {
    for (const Picture& picture : scenes[n]) {
      double* const own = seen[n].beliefs.data() + static_cast<std::size_t>(picture.position) * stride;
      if (picture.symbol < 0) {
        std::copy(row->begin(), row->end(), own);
        ++row;
      } else {
        std::fill_n(own, stride, 0);
        own[picture.symbol] = 1;
      }
    }
  }
  return seen;
}

Solver::Solver(std::shared_ptr<const compile::ConstraintProgram> program,
               std::unique_ptr<Perceiver> perceiver, std::unique_ptr<Guide> guide,
               const SolverOptions& options)
    : program_(std::move(program)),
      perceiver_(std::move(perceiver)),
      guide_(std::move(guide)),
      options_(options),
      decoder_(program_) {
  AS2_REQUIRE(program_ && perceiver_, "a solver needs a program and a perceiver");
}

Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;

std::vector<Answer> Solver::solve(const std::vector<Scene>& scenes, SolveTimes* times) {
  return answer(look(scenes, times), times);
}

std::vector<Evidence> Solver::look(const std::vector<Scene>& scenes, SolveTimes* times) {
  Stopwatch watch;
  std::vector<Evidence> seen = infer::look(perceiver_.get(), *program_, scenes);
  if (times) times->perception += watch.lap();
  return seen;
}

std::vector<Answer> Solver::answer(std::vector<Evidence> evidence, SolveTimes* times, Deadline until) {
  Stopwatch watch;
  SolveTimes nobody;
  SolveTimes& spent = times ? *times : nobody;
  std::vector<Answer> answers(evidence.size());
  for (std::size_t n = 0; n < evidence.size(); ++n) {
    answers[n].beliefs = std::move(evidence[n].beliefs);
    answers[n].evidence = std::move(evidence[n].positions);
    if (!guide_) answers[n].reasoned = answers[n].beliefs;
  }
  std::vector<Answer*> open;
  for (Answer& answer : answers) open.push_back(&answer);
  if (may_spare_guide()) {
    decode(open, kUnguidedNodes, until);
    open.erase(
        std::remove_if(open.begin(), open.end(), [](const Answer* answer) { return is_settled(*answer); }),
        open.end());
  }
  spent.decoding += watch.lap();
  if (guide_ && !open.empty()) {
    guide(open);
    spent.asked += open.size();
  }
  spent.reasoning += watch.lap();
  decode(open, options_.node_budget, until);
  for (Answer& answer : answers) {
    conclude(answer);
    // Then only the next best, or the guide's choice among equals, is not proved.
    if (answer.decoded.status == decode::Status::kSatisfied && answer.decoded.gap == 0)
      answer.decoded.status = decode::Status::kOptimal;
    if (options_.unique && answer.completable && answer.unique == std::optional(false))
      read_again(answer, until);
  }
  spent.decoding += watch.lap();
  return answers;
}

// A budget of nodes is that of the search that the guide orders; with objectives, answers of equal score may
// differ in log p.
bool Solver::may_spare_guide() const {
  return guide_ && !options_.reasoned && options_.node_budget == 0 && program_->objectives.empty();
}

bool Solver::is_settled(const Answer& answer) {
  const auto& models = answer.decoded.models;
  if (answer.decoded.status == decode::Status::kUnsatisfiable) return true;
  return answer.decoded.status == decode::Status::kOptimal &&
         (models.size() < 2 || models[0].log_probability - models[1].log_probability > kTie);
}

void Solver::guide(const std::vector<Answer*>& answers) {
  std::vector<Evidence> instances;
  for (const Answer* answer : answers) instances.push_back({answer->beliefs, answer->evidence});
  std::vector<Guidance> guided = guide_->guide(instances, {options_.passes, options_.restarts});
  AS2_REQUIRE(guided.size() == answers.size(), "one guidance per instance");
  for (std::size_t n = 0; n < answers.size(); ++n) answers[n]->reasoned = std::move(guided[n].beliefs);
}

void Solver::decode(const std::vector<Answer*>& answers, std::int64_t node_budget, Deadline until) const {
  decode::DecodeOptions options = within_budget(options_, until);
  options.node_budget = node_budget;
  options.models = 2;
  options.minimal_conflict = false;
  std::vector<decode::Query> queries;
  for (const Answer* answer : answers) queries.push_back({answer->beliefs, {}, {}, answer->reasoned});
  std::vector<decode::Decoded> decoded = decoder_.decode_batch(queries, options, options_.threads);
  for (std::size_t n = 0; n < answers.size(); ++n) answers[n]->decoded = std::move(decoded[n]);
}

void Solver::read_again(Answer& answer, Deadline until) const {
  decode::DecodeOptions options = within_budget(options_, until);
  options.unique = true;
  options.unique_margin = options_.misreading;
  options.minimal_conflict = false;
  decode::Decoded decoded = decoder_.decode({answer.beliefs, {}, answer.evidence, answer.reasoned}, options);
  answer.reread = decoded.unique;
  if (!decoded.unique || !decoded.unique->found) return;
  Answer again = answer;
  again.decoded = std::move(decoded);
  again.margin.reset();
  conclude(again);
  again.unique = true;
  if (again.completable)
    answer = std::move(again);
  else
    answer.reread->found = false;  // the answer stays what it was, and has several completions
}

void Solver::conclude(Answer& answer) const {
  const auto& models = answer.decoded.models;
  if (models.empty()) return;
  answer.correction = 0;
  answer.explanation = decode::explain(*program_, answer.beliefs, models[0].assignment);
  for (const decode::Change& change : answer.explanation.changed)
    answer.correction += std::log(change.p_read) - std::log(std::max(change.p_decoded, 1e-30));
  answer.completable = answer.correction <= options_.misreading;
  if (models.size() > 1) {
    answer.margin = models[0].log_probability - models[1].log_probability;
    answer.unique = std::any_of(answer.evidence.begin(), answer.evidence.end(), [&](int position) {
      return models[0].assignment[position] != models[1].assignment[position];
    });
  } else if (answer.decoded.status == decode::Status::kOptimal) {
    answer.unique = true;
  }
}

std::vector<int> Solver::conflict(const Answer& answer) const {
  if (answer.explanation.changed.empty()) return {};
  if (!answer.explanation.broken_groups.empty()) return answer.explanation.broken_groups;
  decode::Query query{answer.beliefs, {}, {}, {}};
  for (const int position : answer.evidence) query.pins.push_back({position, read_at(answer, position)});
  return decoder_.decode(query, within_budget(options_)).conflict.groups;
}

int Solver::read_at(const Answer& answer, int position) const {
  const auto begin = answer.beliefs.begin() + static_cast<std::ptrdiff_t>(position) * program_->max_symbols();
  const auto end = begin + static_cast<std::ptrdiff_t>(program_->positions[position].symbols.size());
  return static_cast<int>(std::max_element(begin, end) - begin);
}

double Solver::belief(const decode::Beliefs& beliefs, int position, int symbol) const {
  return beliefs[static_cast<std::size_t>(position) * program_->max_symbols() + symbol];
}

double Solver::confidence(const Answer& answer, int position, int symbol) const {
  const bool given = std::binary_search(answer.evidence.begin(), answer.evidence.end(), position);
  AS2_REQUIRE(given || !answer.reasoned.empty(), "confidence in what is no evidence is the guide's");
  return belief(given ? answer.beliefs : answer.reasoned, position, symbol);
}

}  // namespace as2::infer
