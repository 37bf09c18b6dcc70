#include "as2/decoder.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "decode/conflict.h"
#include "decode/greedy.h"
#include "decode/scoring.h"
#include "decode/search.h"
#include "decode/unique.h"
#include "share_work.h"

namespace as2::decode {

const char* name_of(Status status) {
  switch (status) {
    case Status::kOptimal:
      return "optimal";
    case Status::kSatisfied:
      return "satisfied";
    case Status::kUnsatisfiable:
      return "unsatisfiable";
    case Status::kDeadEnd:
      return "dead_end";
    case Status::kUnknown:
      return "unknown";
  }
  return "";
}

struct Decoder::Impl {
  explicit Impl(std::shared_ptr<const compile::ConstraintProgram> source)
      : shared(std::move(source)),
        problem(program),
        rows(RowTables::of(problem)),
        stride(program.max_symbols()) {}

  // A workspace: one that is free, or a new one.
  std::unique_ptr<Search> acquire() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty()) return std::make_unique<Search>(problem, rows);
    std::unique_ptr<Search> search = std::move(idle.back());
    idle.pop_back();
    return search;
  }
  void release(std::unique_ptr<Search> search) {
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(search));
  }

  void check(const Query& query, const DecodeOptions& options) const;
  Model model_of(const Query& query, compile::Assignment assignment) const;
  Decoded decode(Search& search, const Query& query, const DecodeOptions& options);

  const std::shared_ptr<const compile::ConstraintProgram> shared;
  const compile::ConstraintProgram& program = *shared;
  const Problem problem;
  const std::shared_ptr<const RowTables> rows;
  const int stride;
  std::mutex mutex;
  std::vector<std::unique_ptr<Search>> idle;
};

void Decoder::Impl::check(const Query& query, const DecodeOptions& options) const {
  const std::size_t size = program.positions.size() * static_cast<std::size_t>(stride);
  AS2_REQUIRE(query.beliefs.size() == size, "beliefs must be [positions, max_symbols]");
  AS2_REQUIRE(query.guide.empty() || query.guide.size() == size, "the guide must have the beliefs' layout");
  AS2_REQUIRE(options.models >= 1, "at least one model must be asked for");
  for (const Pin& pin : query.pins) {
    AS2_REQUIRE(pin.position >= 0 && pin.position < problem.real,
                "a pin names a position that does not exist");
    AS2_REQUIRE(pin.symbol >= 0 &&
                    pin.symbol < problem.value_begin[pin.position + 1] - problem.value_begin[pin.position],
                "a pin names a symbol that does not exist");
  }
  for (const int position : query.evidence) {
    AS2_REQUIRE(position >= 0 && position < problem.real, "evidence names a position that does not exist");
  }
  if (!options.unique) return;
  AS2_REQUIRE(!query.evidence.empty(), "a unique reading needs evidence");
  AS2_REQUIRE(options.method == Method::kMap, "unique is an option of map");
  AS2_REQUIRE(!options.objective_first && options.objective_weights.empty(),
              "objectives do not decide which reading is unique");
  AS2_REQUIRE(options.unique_margin >= 0 && options.unique_readings >= 1,
              "unique needs a margin of at least 0 and at least one reading");
}

Model Decoder::Impl::model_of(const Query& query, compile::Assignment assignment) const {
  Model model;
  model.log_probability = log_probability(query.beliefs, stride, assignment);
  if (!program.objectives.empty()) model.cost = compile::cost_of(program, assignment);
  model.assignment = std::move(assignment);
  return model;
}

Decoded Decoder::Impl::decode(Search& search, const Query& query, const DecodeOptions& options) {
  check(query, options);
  if (options.method == Method::kGreedy) return greedy(program, search.state(), query);

  Limits limits;
  limits.nodes = options.node_budget;
  limits.patience = options.learn_after;
  limits.stop = options.stop;
  limits.timed = options.stop != nullptr;
  if (options.time_budget_seconds > 0) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> budget(options.time_budget_seconds);
    limits.timed = true;
    limits.halfway = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget / 2);
    limits.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
  }
  if (options.unique) {
    UniqueReading reading;
    std::unique_ptr<Search> tester = acquire();
    SearchResult result = find_unique(search, *tester, query, stride, options, limits, reading);
    release(std::move(tester));
    Decoded decoded;
    if (reading.found) {
      decoded.status = result.complete ? Status::kOptimal : Status::kSatisfied;
      for (Found& found : result.found)
        decoded.models.push_back(model_of(query, std::move(found.assignment)));
    } else {
      DecodeOptions ordinary = options;
      ordinary.unique = false;
      decoded = decode(search, query, ordinary);
    }
    decoded.nodes += result.nodes;
    decoded.unique = reading;
    return decoded;
  }
  const std::vector<double> units = fill_losses(problem, query, stride, options, search.losses);
  SearchResult result = search.run(search.losses, query.pins, options.models, limits);

  Decoded decoded;
  decoded.nodes = result.nodes;
  for (Found& found : result.found) decoded.models.push_back(model_of(query, std::move(found.assignment)));
  if (decoded.models.empty()) {
    decoded.status = result.complete ? Status::kUnsatisfiable : Status::kUnknown;
    if (result.complete && options.minimal_conflict) {
      decoded.conflict = minimal_conflict(program, query.pins, limits);
    }
    return decoded;
  }
  // For the other criteria the only known bound is the sum of each position's least loss, which is 0.
  const std::vector<std::int64_t>& loss = result.found.front().loss;
  for (std::size_t c = 0; c < loss.size() && decoded.gap == 0 && !result.complete; ++c) {
    const bool counts = c + 1 < loss.size() || query.guide.empty();  // the guide only breaks ties
    if (counts) decoded.gap = static_cast<double>(loss[c] - (c == 0 ? result.bound : 0)) / units[c];
  }
  decoded.status = result.complete ? Status::kOptimal : Status::kSatisfied;
  return decoded;
}

Decoder::Decoder(std::shared_ptr<const compile::ConstraintProgram> program)
    : impl_(std::make_unique<Impl>(std::move(program))) {}
Decoder::Decoder(compile::ConstraintProgram program)
    : Decoder(std::make_shared<const compile::ConstraintProgram>(std::move(program))) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

const compile::ConstraintProgram& Decoder::program() const {
  return impl_->program;
}

Decoded Decoder::decode(const Query& query, const DecodeOptions& options) const {
  std::unique_ptr<Search> search = impl_->acquire();
  Decoded decoded = impl_->decode(*search, query, options);
  impl_->release(std::move(search));
  return decoded;
}

std::vector<Decoded> Decoder::decode_batch(const std::vector<Query>& queries, const DecodeOptions& options,
                                           int threads) const {
  std::vector<Decoded> results(queries.size());
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max(1U, std::thread::hardware_concurrency());
  // Large enough that threads seldom contend for the next chunk, small enough that even few instances keep
  // all of them busy.
  const std::size_t chunk = std::clamp<std::size_t>(queries.size() / (4 * wanted), 1, 16);
  const std::size_t count = std::min(wanted, (queries.size() + chunk - 1) / chunk);
  std::atomic<std::size_t> next{0};
  share_work(count, [&] {
    std::unique_ptr<Search> search = impl_->acquire();
    for (std::size_t begin; (begin = next.fetch_add(chunk)) < queries.size();) {
      for (std::size_t k = begin; k < std::min(begin + chunk, queries.size()); ++k) {
        results[k] = impl_->decode(*search, queries[k], options);
      }
    }
    impl_->release(std::move(search));
  });
  return results;
}

}  // namespace as2::decode
