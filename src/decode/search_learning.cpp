// Branch and bound by learning. Rounds under a cap, between what is proved and what was found, alternate with
// rounds under the best answer's loss alone: the first are quick where the beliefs are good and prove lower
// bounds, the second find answers where the beliefs are of no help. Each round ends after a number of
// conflicts that grows, so neither can starve the other, and what one learns the other uses.
#include <algorithm>
#include <numeric>

#include "decode/learner.h"
#include "decode/search.h"

namespace as2::decode {
namespace {

constexpr std::int64_t kFirstRound = 300;  // conflicts
constexpr std::int64_t kFineSteps = 16;    // see search.cpp
constexpr std::int64_t kFirstLeap = 16;   // the first improvement demanded is this fraction (1/16) of the gap
constexpr std::int64_t kClockEvery = 32;  // steps between looks at the clock

}  // namespace

void Search::learn(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins,
                   std::int64_t lower) {
  const Problem& p = state_.problem();
  // Positions that nothing is about were settled before the search began.
  std::vector<Pin> held = pins;
  state_.backtrack(0);
  for (const int i : p.loose) {
    if (models_ == 1 && !filter_) held.push_back({i, state_.first_value(i) - p.value_begin[i]});
  }
  Learner learner(p, held, given);
  auto& found = result_.found;
  std::vector<int> everything(static_cast<std::size_t>(p.real));
  std::iota(everything.begin(), everything.end(), 0);
  lower_ = lower;
  if (models_ > 1) {
    for (const Found& model : found) learner.exclude(model.assignment, everything);
  }
  if (found.size() == models_) learner.set_cutoff(found.back().loss);

  const std::int64_t nodes_before = result_.nodes;
  std::int64_t steps = 0;
  bool stopped = false;
  const auto stop = [&](std::int64_t decisions) {
    stopped =
        (filter_ && filter_->exhausted) || (limits_.nodes > 0 && nodes_before + decisions >= limits_.nodes);
    if (limits_.timed && ++steps % kClockEvery == 0) {
      stopped = stopped || std::chrono::steady_clock::now() >= limits_.deadline;
    }
    return stopped;
  };
  const bool flat = std::all_of(given[0].begin(), given[0].end(), [](std::int64_t x) { return x == 0; });
  std::int64_t round = kFirstRound;
  std::int64_t step = std::max<std::int64_t>(1, lower_ / (filter_ ? kFineSteps : 3));
  std::int64_t leap = -1;  // by how much the next answer has to be better; -1: no answer has been found yet
  bool below = !flat;      // this round searches near the proved bound, not near the best answer
  for (;;) {
    const bool full = found.size() == models_;
    const std::int64_t upper = full ? found.back().loss[0] : 0;
    if (full && given.size() == 1 && upper <= lower_) break;
    if (!full && lower_ > largest_cap()) break;
    if (full && leap < 0) leap = (upper - lower_) / kFirstLeap;
    if (full) leap = std::min(leap, (upper - lower_) / 2);
    const bool capped = full ? upper - lower_ >= 2 && (below || leap > 0) : below;
    std::int64_t cap = 0;
    if (capped) {
      cap = !full   ? std::min(lower_ + step, largest_cap())
            : below ? lower_ + (upper - lower_) / 2
                    : upper - 1 - leap;
      learner.set_cap(cap);
    } else {
      learner.drop_cap();
    }
    if (!below && !found.empty()) learner.suggest(found.front().assignment);
    // Until something is found, most of the effort goes to finding anything.
    const Learner::Outcome outcome = learner.search(!full && capped && !filter_ ? round / 3 : round, stop);
    result_.nodes = nodes_before + learner.decisions();
    if (outcome == Learner::Outcome::kRefuted) break;
    if (outcome == Learner::Outcome::kCapRefuted) {
      lower_ = cap + 1;
      step = filter_ ? std::max<std::int64_t>(1, lower_ / kFineSteps) : 2 * step;
      leap = std::min(leap, (upper - lower_) / kFirstLeap);
    } else if (outcome == Learner::Outcome::kModel) {
      const Found model{learner.assignment(), learner.bound()};
      if (!accepts(model)) {
        learner.exclude(model.assignment, filter_->positions);
        continue;
      }
      keep(model);
      if (models_ > 1) learner.exclude(model.assignment, everything);
      if (found.size() == models_) learner.set_cutoff(found.back().loss);
      leap *= 2;
    } else if (stopped) {
      result_.complete = false;
      return;
    } else {
      if (!below) leap /= 4;
      below = (filter_ || !below) && !flat;
      round += round / 2;
    }
  }
}

}  // namespace as2::decode
