// Branch and bound under a growing cap.
//
// Depth-first search alone would meet a misread clue badly: having trusted 36 near-certain readings, of which
// one is wrong, it would try every alternative of the last ones first. So the loss is capped, as in iterative
// deepening: first 0 (every position takes its best symbol, uniform ones stay open), then a little more than
// the least loss the cap has refused, until the models asked for lie under it. Under a cap the bound removes
// every symbol that costs too much, which fixes near-certain positions at the root. The last round dominates
// the cost. Where the first rounds do not settle it, losses are shifted for a stronger bound (dual.h). Within
// a round: propagate, decide the most certain position (largest loss of its second-best symbol), among
// uniform ones the one with fewest symbols left; on a conflict jump back to the deepest decision it involves.
#include "decode/search.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "decode/dual.h"

namespace as2::decode {
namespace {

constexpr std::int64_t kCheckEvery = 64;   // nodes between looks at the clock
constexpr std::int64_t kDearRound = 2000;  // nodes after which the cap doubles
constexpr std::int64_t kPatient = 2000;    // nodes of plain search before learning
constexpr std::int64_t kImpatient = 300;
constexpr std::int64_t kRowNodes = 1000;  // nodes of the search on rows of bits, before any other
constexpr std::int64_t kEasy = 100;       // nodes after which a stronger bound is worth its cost

}  // namespace

Search::Search(const Problem& problem, std::shared_ptr<const RowTables> rows)
    : state_(problem), rows_(rows ? std::make_unique<RowSearch>(std::move(rows)) : nullptr) {}

SearchResult Search::run(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins,
                         int models, const Limits& limits, Filter* filter) {
  SearchResult by_rows;
  if (rows_ && !filter && search_rows(given, pins, models, limits, by_rows)) return by_rows;
  Limits rest = limits;
  if (limits.nodes > 0) rest.nodes = std::max<std::int64_t>(1, limits.nodes - by_rows.nodes);
  SearchResult result = run_rounds(given, pins, models, rest, filter);
  result.nodes += by_rows.nodes;
  return result;
}

// Looks for answers without a loss; true: it has found all that were asked for, or shown that there are no
// more. Whoever says when to learn wants the other searches from the start. Where answers without a loss
// differ in a later criterion, only a single one is known to be the best.
bool Search::search_rows(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins,
                         int models, const Limits& limits, SearchResult& result) {
  const bool one_criterion = given.size() == 1;
  if (limits.patience >= 0 || (models > 1 && !one_criterion)) return false;
  const auto wanted = static_cast<std::size_t>(one_criterion ? models : 2);
  const std::int64_t nodes = limits.nodes > 0 ? std::min(limits.nodes, kRowNodes) : kRowNodes;
  RowResult rows = rows_->run(given[0], state_.problem(), pins, wanted, nodes);
  result.nodes = rows.nodes;
  const auto flat = [&] {
    return std::all_of(given[0].begin(), given[0].end(), [](std::int64_t x) { return x == 0; });
  };
  const bool settled = one_criterion ? rows.found.size() == wanted || (rows.complete && flat())
                                     : rows.complete && rows.found.size() == 1;
  if (!settled) return false;
  for (compile::Assignment& assignment : rows.found) {
    Found found{std::move(assignment), {}};
    for (const auto& row : given) {
      std::int64_t sum = 0;
      for (int i = 0; i < state_.problem().real && !one_criterion; ++i) {
        sum += row[state_.problem().value_begin[i] + found.assignment[i]];
      }
      found.loss.push_back(sum);
    }
    result.found.push_back(std::move(found));
  }
  return true;
}

SearchResult Search::run_rounds(const std::vector<std::vector<std::int64_t>>& given,
                                const std::vector<Pin>& pins, int models, const Limits& limits,
                                Filter* filter) {
  result_ = {};
  limits_ = limits;
  filter_ = filter;
  patience_ = patience(given[0]);
  models_ = static_cast<std::size_t>(models);
  abandoned_ = false;
  impatient_ = false;
  offset_ = 0;
  learning_.reset();
  proven_.clear();
  bool shifted = state_.problem().exact.rows() == 0;
  const std::vector<std::vector<std::int64_t>>* used = &given;
  for (cap_ = 0;;) {
    result_.found.clear();
    const std::int64_t before = result_.nodes;
    if (!start(*used, pins, cap_)) return result_;
    for (explore(); impatient_; explore()) {
      impatient_ = false;
      if (learn(*used, pins)) return result_;
    }
    if (abandoned_) {
      abandoned_ = false;
      cap_ = kNoCap;
      continue;
    }
    const std::int64_t refused = state_.least_refused();
    if (!result_.complete || result_.found.size() == models_ || cap_ == kNoCap) break;
    if (refused > largest_cap(filter_, offset_)) break;
    // Whatever lies under the cap has been found: the best of it, if there is any, is the best of all.
    for (Found& model : result_.found) model.loss[0] += offset_;
    if (!result_.found.empty()) proven_ = std::move(result_.found);
    result_.bound = proven_.empty() ? offset_ + refused : proven_.front().loss[0];
    cap_ = refused + (result_.nodes - before > kDearRound ? refused : refused / (filter_ ? kFineSteps : 3));
    cap_ = std::min(cap_, largest_cap(filter_, offset_));
    if (!shifted && result_.nodes > kEasy) {
      shifted = true;
      start(given, pins, kNoCap);
      shifted_ = given;
      offset_ = shift_losses(state_, given[0], shifted_[0]);
      used = &shifted_;
      if (proven_.empty()) result_.bound = std::max(result_.bound, offset_);
      cap_ = std::max<std::int64_t>(0, refused - offset_);
    }
  }
  for (Found& model : result_.found) model.loss[0] += offset_;
  if (!result_.complete) {
    if (learning_) result_.bound = std::max(result_.bound, learning_->bound());
    if (learning_) keep_found(learning_->found());
    keep_found(std::move(proven_));
  }
  learning_.reset();
  if (result_.complete && !result_.found.empty()) result_.bound = result_.found.front().loss[0];
  return result_;
}

// A round that a limit ended early may have missed what an earlier one, or learning, had found.
void Search::keep_found(std::vector<Found> models) {
  auto& found = result_.found;
  for (Found& model : models) {
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Found& other) { return other.assignment == model.assignment; });
    if (!known) found.push_back(std::move(model));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.loss < b.loss; });
  if (found.size() > models_) found.resize(models_);
  if (!found.empty()) result_.bound = std::min(result_.bound, found.front().loss[0]);
}

bool Search::start(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins,
                   std::int64_t cap) {
  if (!state_.consistent()) return false;
  state_.reset();
  const Problem& p = state_.problem();
  for (const Pin& pin : pins) {
    if (!state_.fix(p.value_begin[pin.position] + pin.symbol, 0)) return false;
  }
  state_.set_losses(given);
  settle_loose();
  std::vector<std::int64_t> cutoff(given.size(), std::numeric_limits<std::int64_t>::min());
  cutoff[0] = cap + 1;
  state_.set_cutoff(cutoff);
  return true;
}

// Loose positions are independent of everything, so only the cheapest alternatives of all of them together
// can stand in one of the K best assignments: K − 1 of them. All others leave before the search begins, which
// therefore decides, and remembers reasons for, the rest alone.
void Search::settle_loose() {
  const Problem& p = state_.problem();
  if (filter_) {  // the filter has its own opinion of what is good
    open_.resize(static_cast<std::size_t>(p.real));
    std::iota(open_.begin(), open_.end(), 0);
    state_.set_most_levels(open_.size());
    return;
  }
  const auto cheaper = [&](int a, int best_a, int b, int best_b) {
    for (int c = 0; c < state_.criteria(); ++c) {
      const std::int64_t more_a = state_.loss(c, a) - state_.loss(c, best_a);
      const std::int64_t more_b = state_.loss(c, b) - state_.loss(c, best_b);
      if (more_a != more_b) return more_a < more_b;
    }
    return a < b;
  };
  std::vector<std::pair<int, int>> others;  // a value, and the best one of its position
  for (const int i : p.loose) {
    int best = state_.first_value(i);
    for (int v = state_.next_value(i, best); v >= 0; v = state_.next_value(i, v)) {
      if (cheaper(v, best, best, best)) best = v;
    }
    for (int v = state_.first_value(i); v >= 0; v = state_.next_value(i, v)) {
      if (v != best) others.emplace_back(v, best);
    }
  }
  const std::size_t kept = std::min(others.size(), models_ - 1);
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(kept);
  std::nth_element(others.begin(), middle, others.end(), [&](const auto& a, const auto& b) {
    return cheaper(a.first, a.second, b.first, b.second);
  });
  std::for_each(middle, others.end(), [&](const auto& other) { state_.remove(other.first, 0); });
  open_ = p.tied;
  for (const int i : p.loose) {
    if (state_.size(i) > 1) open_.push_back(i);
  }
  std::sort(open_.begin(), open_.end());
  state_.set_most_levels(open_.size());
}

void Search::explore() {
  if (!state_.propagate()) return;
  for (;;) {
    const int value = choose();
    if (value < 0) {
      record();
      if (!resolve()) return;
      continue;
    }
    if (out_of_budget()) return;
    ++result_.nodes;
    state_.decide(value);
    if (!state_.propagate() && !resolve()) return;
  }
}

// Undoes the deepest decision of the conflict and removes the value it had decided; false if no decision is
// left.
bool Search::resolve() {
  for (;;) {
    const int level = state_.deepest_conflict_level();
    if (level == 0) return false;
    const int value = state_.decision(level);
    state_.backtrack(level - 1);
    if (state_.remove(value, state_.reason_without(level)) && state_.propagate()) return true;
  }
}

// Every position is fixed: keeps the model and makes it a conflict, so that the search goes on.
void Search::record() {
  const Problem& p = state_.problem();
  Found model;
  model.loss = state_.bound();
  model.assignment.resize(static_cast<std::size_t>(p.real));
  for (int i = 0; i < p.real; ++i) model.assignment[i] = state_.first_value(i) - p.value_begin[i];
  if (!accepted(filter_, model, offset_)) {
    state_.conflict_with(filter_->positions);
    return;
  }
  keep_best(result_.found, std::move(model), models_);
  const auto& found = result_.found;
  state_.conflict_with_all();
  if (found.size() < models_) return;
  state_.set_cutoff(found.back().loss);
  if (state_.bound() >= found.back().loss) state_.conflict_with_bound();
}

// Slots alone are what plain search is fastest at, and where beliefs differ its bound is worth a longer try;
// nogoods, sums and definitions without either are what learning is for.
std::int64_t Search::patience(const std::vector<std::int64_t>& loss) const {
  const Problem& p = state_.problem();
  const bool slots_alone = p.nogoods.rows() == 0 && p.linears.empty() && p.components.empty();
  const bool flat = std::all_of(loss.begin(), loss.end(), [](std::int64_t x) { return x == 0; });
  const std::int64_t nodes = limits_.patience >= 0  ? limits_.patience
                             : slots_alone || !flat ? kPatient
                                                    : kImpatient;
  return filter_ ? nodes * filter_->patience : nodes;
}

// An instalment of learning; true: it has ended the search. Where all losses are equal it does not come back,
// else the two take turns: plain search proves more by its bound, learning more by its clauses.
bool Search::learn(const std::vector<std::vector<std::int64_t>>& given, const std::vector<Pin>& pins) {
  const Problem& p = state_.problem();
  if (!learning_) {
    // Positions that nothing is about were settled before the search began.
    std::vector<Pin> held = pins;
    for (const int i : p.loose) {
      if (models_ == 1 && !filter_) held.push_back({i, state_.first_value(i) - p.value_begin[i]});
    }
    learning_ = std::make_unique<LearningSearch>(p, held, given, offset_, models_, filter_);
    const bool flat = std::all_of(given[0].begin(), given[0].end(), [](std::int64_t x) { return x == 0; });
    instalment_ = flat ? 0 : kPatient;
  }
  std::vector<Found> found = result_.found;
  for (Found& model : found) model.loss[0] += offset_;
  learning_->hear_of(found, proven_.empty() ? result_.bound : 0);
  const std::int64_t nodes_before = result_.nodes;
  const std::int64_t decisions_before = learning_->decisions();
  std::int64_t steps = 0;
  const auto stop = [&](std::int64_t decisions) {
    if (filter_ && filter_->exhausted) return true;
    const bool any = filter_ || !found.empty() || !proven_.empty() || learning_->has_found();
    if (limits_.nodes > 0 && nodes_before + decisions > node_limit(any)) return true;
    return limits_.timed && ++steps % kCheckEvery == 0 && limits_.now() >= limits_.deadline;
  };
  const LearningSearch::Halt halt = learning_->go_on(instalment_, stop);
  result_.nodes = nodes_before + learning_->decisions() - decisions_before;
  patience_ = result_.nodes + instalment_;
  instalment_ *= 2;
  if (halt == LearningSearch::Halt::kPaused) return false;
  if (halt == LearningSearch::Halt::kDone) {
    result_.found = learning_->found();
    result_.bound = learning_->bound();
    learning_.reset();
    return true;
  }
  result_.complete = false;
  result_.found = std::move(found);
  result_.bound = std::max(result_.bound, learning_->bound());
  keep_found(learning_->found());
  keep_found(std::move(proven_));
  learning_.reset();
  return true;
}

int Search::choose() const {
  const Problem& p = state_.problem();
  std::int64_t most_regret = 0;
  int certain = -1;
  int least_size = std::numeric_limits<int>::max();
  int smallest = -1;
  for (const int i : open_) {
    const int size = state_.size(i);
    if (size == 1) continue;
    if (state_.costed(i)) {
      std::int64_t first = std::numeric_limits<std::int64_t>::max();
      std::int64_t second = first;
      for (int v = state_.first_value(i); v >= 0; v = state_.next_value(i, v)) {
        const std::int64_t loss = state_.loss(0, v);
        second = std::min(second, std::max(first, loss));
        first = std::min(first, loss);
      }
      if (second - first > most_regret) {
        most_regret = second - first;
        certain = i;
      }
    }
    if (size < least_size) {
      least_size = size;
      smallest = i;
    }
  }
  if (certain < 0 && smallest < 0) return -1;
  if (certain < 0 && least_size > 2) {
    for (int e = 0; e < p.exact.rows(); ++e) {
      if (state_.open(e) != 2) continue;
      for (const int* v = p.exact.first(e); v != p.exact.last(e); ++v) {
        if (state_.has(*v)) return *v;
      }
    }
  }
  const int position = certain >= 0 ? certain : smallest;
  int best = state_.first_value(position);
  if (!state_.costed(position)) return best;
  for (int v = state_.next_value(position, best); v >= 0; v = state_.next_value(position, v)) {
    for (int c = 0; c < state_.criteria(); ++c) {
      if (state_.loss(c, v) == state_.loss(c, best)) continue;
      if (state_.loss(c, v) < state_.loss(c, best)) best = v;
      break;
    }
  }
  return best;
}

// What was settled in n nodes is settled within a budget of n: nothing changes before the budget is spent.
// If nothing has been found by then, the cap goes, and as many nodes again may be spent on finding anything.
std::int64_t Search::node_limit(bool found) const {
  return found ? limits_.nodes : 2 * limits_.nodes;
}

bool Search::out_of_budget() {
  if (result_.nodes >= patience_) {
    impatient_ = true;
    return true;
  }
  if (filter_ && filter_->exhausted) {
    result_.complete = false;
    return true;
  }
  const bool found =
      filter_ || !result_.found.empty() || !proven_.empty() || (learning_ && learning_->has_found());
  const bool looking = !found && cap_ != kNoCap;
  if (limits_.nodes > 0 && result_.nodes >= (looking ? limits_.nodes : node_limit(found))) {
    (looking ? abandoned_ : result_.complete) = looking;
    return true;
  }
  if (limits_.timed && result_.nodes % kCheckEvery == 0) {
    const auto now = limits_.now();
    if (now >= limits_.deadline) {
      result_.complete = false;
      return true;
    }
    if (looking && now >= limits_.halfway) {
      abandoned_ = true;
      return true;
    }
  }
  return false;
}

}  // namespace as2::decode
