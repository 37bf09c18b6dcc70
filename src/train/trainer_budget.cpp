// Keeping to a time budget.
//
// A step is not interrupted, so the budget must have room for a whole one. Before the first, forward and
// backward are measured on one example, then on two, on four and so on, until what a step takes is known well
// enough; nothing of it is kept, so that training is the same with and without. Where no step fits, the run
// is refused before it has a folder, with what would fit. While it trains, the steps themselves are measured,
// and it ends before one that would not fit.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "as2/error.h"
#include "random.h"
#include "random_scope.h"
#include "text.h"
#include "torch_compat.h"
#include "train/trainer.h"

namespace as2::train {
namespace {

constexpr double kSurelyFits = 0.1;   // of the budget: a step that takes no more need not be known better
constexpr double kLongEnough = 0.02;  // of the budget: what took as long tells how long the rest will take
constexpr double kFewSteps = 10;      // fewer are worth a warning

// Seconds, as a message says them.
std::string in_seconds(double seconds) {
  const double rounded = seconds < 10 ? std::ceil(seconds * 10) / 10 : std::ceil(seconds);
  return in_digits(rounded) + " s";
}

}  // namespace

double Trainer::clock() const {
  if (hooks_.clock) return hooks_.clock();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Sets what a step takes. `begin`: when the run's clock stood at 0.
void Trainer::measure_step(double begin) {
  const auto room = [&] { return config_.train.time_budget - reserve_ - seconds_; };
  const auto measure = [&](double at_most) {
    const double step = std::min(at_most, probed_step());
    agree_on_time(clock() - begin, step);
    return step_seconds_ <= room();
  };
  const bool first = step_ == 0;
  // At the first measurement the machine may have been busy with something else.
  const bool fits = measure(std::numeric_limits<double>::infinity()) || (first && measure(step_seconds_));
  if (first && !fits && workers_.writes()) refuse_budget();
  if (hooks_.on_warning && workers_.writes() && kFewSteps * step_seconds_ > room())
    hooks_.on_warning("a step takes about " + in_seconds(step_seconds_) + ": the time budget has room for " +
                      std::to_string(std::max<std::int64_t>(1, std::llround(room() / step_seconds_))));
}

// Seconds of a step, as far as they must be known.
double Trainer::probed_step() {
  const double budget = config_.train.time_budget;
  const Batch whole = batches_->batch(epoch_, index_);
  const std::int64_t all = batches_->rows();
  seconds_of(whole.narrow(0, 1));  // the first call of all sets up what later ones find
  double half = 0;                 // seconds of half as many
  for (std::int64_t rows = 1;; rows = std::min(2 * rows, all)) {
    const double seconds = seconds_of(whole.narrow(0, rows)),
                 at_most = seconds * static_cast<double>(all) / static_cast<double>(rows);
    if (rows == all || at_most <= kSurelyFits * budget) return at_most;
    if (rows > 1 && seconds >= kLongEnough * budget) {
      const double each = std::max(0.0, seconds - half) / (static_cast<double>(rows) / 2);
      return std::min(at_most, seconds + each * static_cast<double>(all - rows));
    }
    half = seconds;
  }
}

// Every rank gives the same answer: they send one another gradients as often.
double Trainer::seconds_of(const Batch& part) {
  const RandomScope random(device_, config_.seed);
  const double begin = clock();
  optimizer_->zero_grad();
  ForwardOptions forward = forward_;
  forward.state = nullptr;
  Prediction prediction;
  {
    const compat::AutocastScope autocast(device_.type(), low_precision());
    prediction = network_->forward(part, forward);
  }
  const torch::Tensor loss =
      objective_->total(objective_->values(part, prediction, objective_->counts(part)));
  loss.backward();
  averager_->finish();
  loss.item<double>();  // waits for the device
  stage("measure", part.labels.size(0));
  const torch::Tensor seconds = torch::tensor({clock() - begin}, torch::kFloat64);
  workers_.average(seconds);
  return seconds.item<double>();
}

// Thrown by one rank; the others lose it.
void Trainer::refuse_budget() const {
  const double budget = config_.train.time_budget;
  const std::int64_t fits = static_cast<std::int64_t>(static_cast<double>(config_.train.batch) *
                                                      (1 - kValidationShare) * budget / step_seconds_ / 2);
  std::string smaller;
  if (fits >= workers_.world()) {
    const std::int64_t each = fits / workers_.world() * workers_.world();
    smaller = ", or train.batch = " + std::to_string(each) + " at most";
  }
  throw InputError("a step of " + std::to_string(config_.train.batch) + " examples takes about " +
                       in_seconds(step_seconds_) + " here, and a time budget of " +
                       in_digits(budget) + " s has no room for one",
                   {"set train.time_budget to at least " + in_seconds(1.5 * step_seconds_) + smaller});
}

}  // namespace as2::train
