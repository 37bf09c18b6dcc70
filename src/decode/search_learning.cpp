// Rounds under a cap, between what is proved and what was found, alternate with rounds that ask for a better
// answer, by leaps that double with success: the first are quick where the beliefs are good and prove lower
// bounds, the second find answers where the beliefs are of no help. Each round ends after a number of
// conflicts that grows, so neither can starve the other, and what one learns the other uses.
#include "decode/search_learning.h"

#include <numeric>

namespace as2::decode {
namespace {

constexpr std::int64_t kFirstRound = 300;  // conflicts
constexpr std::int64_t kFirstLeap = 16;  // the first improvement demanded is this fraction (1/16) of the gap

bool all_zero(const std::vector<std::int64_t>& row) {
  return std::all_of(row.begin(), row.end(), [](std::int64_t x) { return x == 0; });
}

}  // namespace

LearningSearch::LearningSearch(const Problem& problem, const std::vector<Pin>& pins,
                               const std::vector<std::vector<std::int64_t>>& losses, std::int64_t offset,
                               std::size_t models, Filter* filter)
    : learner_(problem, pins, losses),
      losses_(losses),
      offset_(offset),
      models_(models),
      filter_(filter),
      flat_(all_zero(losses[0])),
      everything_(static_cast<std::size_t>(problem.real)),
      round_(kFirstRound),
      below_(!flat_) {
  std::iota(everything_.begin(), everything_.end(), 0);
}

void LearningSearch::add(Found model) {
  if (models_ > 1) learner_.exclude(model.assignment, everything_);
  keep_best(found_, std::move(model), models_);
  if (found_.size() == models_) learner_.set_cutoff(found_.back().loss);
}

void LearningSearch::hear_of(const std::vector<Found>& found, std::int64_t bound) {
  for (Found model : found) {
    model.loss[0] -= offset_;
    const bool known = std::any_of(found_.begin(), found_.end(),
                                   [&](const Found& other) { return other.assignment == model.assignment; });
    if (!known && (found_.size() < models_ || model.loss < found_.back().loss)) add(std::move(model));
  }
  lower_ = std::max(lower_, bound - offset_);
  if (step_ == 1) step_ = std::max<std::int64_t>(1, lower_ / (filter_ ? kFineSteps : 3));
}

std::vector<Found> LearningSearch::found() const {
  std::vector<Found> result = found_;
  for (Found& model : result) model.loss[0] += offset_;
  return result;
}

std::int64_t LearningSearch::bound() const {
  return offset_ + (found_.empty() ? lower_ : std::min(lower_, found_.front().loss[0]));
}

LearningSearch::Halt LearningSearch::go_on(std::int64_t conflicts,
                                           const std::function<bool(std::int64_t)>& stop) {
  const std::int64_t decisions_before = learner_.decisions();
  const std::int64_t pause_at = conflicts > 0 ? learner_.conflicts() + conflicts : kNoCap;
  bool stopped = false;
  const auto stopping = [&](std::int64_t decisions) {
    stopped = stop(decisions - decisions_before);
    return stopped;
  };
  while (learner_.conflicts() < pause_at) {
    const bool full = found_.size() == models_;
    const std::int64_t upper = full ? found_.back().loss[0] : 0;
    if (full && losses_.size() == 1 && upper <= lower_) return Halt::kDone;
    if (!full && lower_ > largest_cap(filter_, offset_)) return Halt::kDone;
    if (full && leap_ < 0) leap_ = (upper - lower_) / kFirstLeap;
    if (full) leap_ = std::min(leap_, (upper - lower_) / 2);
    const bool capped = full ? upper - lower_ >= 2 && (below_ || leap_ > 0) : below_;
    std::int64_t cap = 0;
    if (capped) {
      cap = !full    ? std::min(lower_ + step_, largest_cap(filter_, offset_))
            : below_ ? lower_ + (upper - lower_) / 2
                     : upper - 1 - leap_;
      learner_.set_cap(cap);
    } else {
      learner_.drop_cap();
    }
    if (!below_ && !found_.empty()) learner_.suggest(found_.front().assignment);
    // Until something is found, most of the effort goes to finding anything.
    const bool brief = !full && capped && !filter_;
    const Learner::Outcome outcome = learner_.search(brief ? round_ / 3 : round_, stopping);
    if (outcome == Learner::Outcome::kRefuted) return Halt::kDone;
    if (outcome == Learner::Outcome::kCapRefuted) {
      lower_ = cap + 1;
      step_ = filter_ ? std::max<std::int64_t>(1, lower_ / kFineSteps) : 2 * step_;
      if (full) leap_ = std::min(leap_, (upper - lower_) / kFirstLeap);
    } else if (outcome == Learner::Outcome::kModel) {
      Found model{learner_.assignment(), learner_.bound()};
      if (!accepted(filter_, model, offset_)) {
        learner_.exclude(model.assignment, filter_->positions);
        continue;
      }
      add(std::move(model));
      leap_ *= 2;
    } else if (stopped) {
      return Halt::kStopped;
    } else {
      if (!below_) leap_ /= 4;
      below_ = (filter_ || !below_) && !flat_;
      round_ += round_ / 2;
    }
  }
  return Halt::kPaused;
}

}  // namespace as2::decode
