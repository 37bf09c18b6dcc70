#include "as2/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace as2::infer {
namespace {

// Instances per batch; with more, every step's tensors would be large enough to be mapped anew by the system.
constexpr std::size_t kAtOnce = 16;

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

decode::DecodeOptions within_budget(const SolverOptions& options) {
  decode::DecodeOptions decoding;
  decoding.time_budget_seconds = options.time_budget_seconds;
  decoding.node_budget = options.node_budget;
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
  std::vector<Answer> answers;
  for (std::size_t first = 0; first < scenes.size(); first += kAtOnce) {
    const std::vector<Scene> some(
        scenes.begin() + static_cast<std::ptrdiff_t>(first),
        scenes.begin() + static_cast<std::ptrdiff_t>(std::min(scenes.size(), first + kAtOnce)));
    for (Answer& one : answer(look(some, times), times)) answers.push_back(std::move(one));
  }
  return answers;
}

std::vector<Evidence> Solver::look(const std::vector<Scene>& scenes, SolveTimes* times) {
  Stopwatch watch;
  std::vector<Evidence> seen = look_together(scenes.data(), scenes.size());
  if (times) times->perception += watch.lap();
  return seen;
}

std::vector<Answer> Solver::answer(std::vector<Evidence> evidence, SolveTimes* times) {
  std::vector<Answer> answers;
  SolveTimes spent;
  for (std::size_t first = 0; first < evidence.size(); first += kAtOnce) {
    for (Answer& one : answer_together(&evidence[first], std::min(kAtOnce, evidence.size() - first), spent))
      answers.push_back(std::move(one));
  }
  if (times) {
    times->reasoning += spent.reasoning;
    times->decoding += spent.decoding;
  }
  return answers;
}

std::vector<Answer> Solver::answer_together(Evidence* first, std::size_t count, SolveTimes& times) {
  Stopwatch watch;
  std::vector<Guidance> guided;
  if (guide_) guided = guide_->guide({first, first + count}, {options_.passes, options_.restarts});
  times.reasoning += watch.lap();
  std::vector<Answer> answers(count);
  for (std::size_t n = 0; n < count; ++n) {
    answers[n].beliefs = std::move(first[n].beliefs);
    answers[n].evidence = std::move(first[n].positions);
    answers[n].reasoned = guide_ ? std::move(guided[n].beliefs) : answers[n].beliefs;
  }
  decode::DecodeOptions options = within_budget(options_);
  options.models = 2;
  options.minimal_conflict = false;
  std::vector<decode::Query> queries;
  for (const Answer& answer : answers) queries.push_back({answer.beliefs, {}, {}, answer.reasoned});
  std::vector<decode::Decoded> decoded = decoder_.decode_batch(queries, options, options_.threads);
  for (std::size_t n = 0; n < count; ++n) {
    answers[n].decoded = std::move(decoded[n]);
    conclude(answers[n]);
    // Then only the next best, or the guide's choice among equals, is not proved.
    if (answers[n].decoded.status == decode::Status::kSatisfied && answers[n].decoded.gap == 0)
      answers[n].decoded.status = decode::Status::kOptimal;
    if (options_.unique && answers[n].completable && answers[n].unique == std::optional(false))
      read_again(answers[n]);
  }
  times.decoding += watch.lap();
  return answers;
}

std::vector<Evidence> Solver::look_together(const Scene* first, std::size_t count) {
  const decode::Beliefs uniform = uniform_beliefs(*program_);
  const auto stride = static_cast<std::size_t>(program_->max_symbols());
  std::vector<Evidence> seen(count, Evidence{uniform, {}});
  std::vector<const Picture*> pictures;
  for (std::size_t n = 0; n < count; ++n) {
    for (const Picture& picture : first[n]) {
      AS2_REQUIRE(picture.position >= 0 &&
                      static_cast<std::size_t>(picture.position) < program_->positions.size() &&
                      (seen[n].positions.empty() || seen[n].positions.back() < picture.position),
                  "the pictures of a scene stand at ascending positions of the program");
      seen[n].positions.push_back(picture.position);
      if (picture.symbol < 0) pictures.push_back(&picture);
    }
  }
  const auto perceived = perceiver_->perceive(pictures);
  AS2_REQUIRE(perceived.size() == pictures.size(), "one distribution per picture");
  auto row = perceived.begin();
  for (std::size_t n = 0; n < count; ++n) {
    for (const Picture& picture : first[n]) {
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

void Solver::read_again(Answer& answer) const {
  decode::DecodeOptions options = within_budget(options_);
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
  if (again.completable) answer = std::move(again);
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
  return belief(given ? answer.beliefs : answer.reasoned, position, symbol);
}

}  // namespace as2::infer
