#include "as2/decoder.h"

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "decode/conflict.h"
#include "decode/greedy.h"
#include "decode/scoring.h"
#include "decode/search.h"

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
  explicit Impl(const compile::ConstraintProgram& source)
      : program(source), problem(source), stride(source.max_symbols()) {}

  // A workspace, from those at hand.
  std::unique_ptr<Search> acquire() {
    const std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty()) return std::make_unique<Search>(problem);
    std::unique_ptr<Search> search = std::move(idle.back());
    idle.pop_back();
    return search;
  }
  void release(std::unique_ptr<Search> search) {
    const std::lock_guard<std::mutex> lock(mutex);
    idle.push_back(std::move(search));
  }

  void check(const Beliefs& beliefs, const DecodeOptions& options) const;
  Decoded decode(Search& search, const Beliefs& beliefs, const DecodeOptions& options) const;

  const compile::ConstraintProgram& program;
  const Problem problem;
  const int stride;
  std::mutex mutex;
  std::vector<std::unique_ptr<Search>> idle;
};

void Decoder::Impl::check(const Beliefs& beliefs, const DecodeOptions& options) const {
  const std::size_t size = program.positions.size() * static_cast<std::size_t>(stride);
  AS2_REQUIRE(beliefs.size() == size, "beliefs must be [positions, max_symbols]");
  AS2_REQUIRE(!options.guide || options.guide->size() == size, "the guide must have the beliefs' layout");
  AS2_REQUIRE(options.models >= 1, "at least one model must be asked for");
  for (const Pin& pin : options.pins) {
    AS2_REQUIRE(pin.position >= 0 && pin.position < problem.real, "a pin names no position");
    AS2_REQUIRE(pin.symbol >= 0 &&
                    pin.symbol < problem.value_begin[pin.position + 1] - problem.value_begin[pin.position],
                "a pin names no symbol");
  }
  for (const int position : options.evidence) {
    AS2_REQUIRE(position >= 0 && position < problem.real, "evidence names no position");
  }
}

Decoded Decoder::Impl::decode(Search& search, const Beliefs& beliefs, const DecodeOptions& options) const {
  check(beliefs, options);
  if (options.method == Method::kGreedy) return greedy(program, search.state(), beliefs, options);

  Limits limits;
  limits.nodes = options.node_budget;
  if (options.time_budget_seconds > 0) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> budget(options.time_budget_seconds);
    limits.timed = true;
    limits.halfway = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget / 2);
    limits.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(budget);
  }
  const double scale = fill_losses(problem, beliefs, stride, options, search.losses);
  SearchResult result = search.run(search.losses, options.pins, options.models, limits);

  Decoded decoded;
  decoded.nodes = result.nodes;
  for (Found& found : result.found) {
    Model model;
    model.log_probability = log_probability(beliefs, stride, found.assignment);
    if (!program.objectives.empty()) model.cost = compile::cost_of(program, found.assignment);
    model.assignment = std::move(found.assignment);
    decoded.models.push_back(std::move(model));
  }
  if (decoded.models.empty()) {
    decoded.status = result.complete ? Status::kUnsatisfiable : Status::kUnknown;
    if (result.complete && options.minimal_conflict) {
      decoded.conflict = minimal_conflict(program, options.pins, limits);
    }
    return decoded;
  }
  decoded.status = result.complete ? Status::kOptimal : Status::kSatisfied;
  if (!result.complete) {
    decoded.gap = static_cast<double>(result.found.front().loss[0] - result.bound) / scale;
  }
  return decoded;
}

Decoder::Decoder(const compile::ConstraintProgram& program) : impl_(new Impl(program)) {}
Decoder::~Decoder() {
  delete impl_;
}
Decoder::Decoder(Decoder&& other) noexcept : impl_(other.impl_) {
  other.impl_ = nullptr;
}

Decoded Decoder::decode(const Beliefs& beliefs, const DecodeOptions& options) const {
  std::unique_ptr<Search> search = impl_->acquire();
  Decoded decoded = impl_->decode(*search, beliefs, options);
  impl_->release(std::move(search));
  return decoded;
}

std::vector<Decoded> Decoder::decode_batch(const std::vector<Beliefs>& beliefs, const DecodeOptions& options,
                                           int threads) const {
  std::vector<Decoded> results(beliefs.size());
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max(1U, std::thread::hardware_concurrency());
  constexpr std::size_t kChunk = 16;
  const std::size_t count = std::min(wanted, (beliefs.size() + kChunk - 1) / kChunk);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto work = [&] {
    try {
      std::unique_ptr<Search> search = impl_->acquire();
      for (std::size_t begin; (begin = next.fetch_add(kChunk)) < beliefs.size();) {
        for (std::size_t k = begin; k < std::min(begin + kChunk, beliefs.size()); ++k) {
          results[k] = impl_->decode(*search, beliefs[k], options);
        }
      }
      impl_->release(std::move(search));
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < count; ++t) pool.emplace_back(work);
  if (count > 0) work();
  for (std::thread& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace as2::decode
