// Conflict analysis: resolve the conflict with the reasons of its latest literals until one literal of the
// deepest level is left (the first unique implication point), drop what the rest implies, keep the clause.
#include <algorithm>

#include "decode/learner.h"

namespace as2::decode {
namespace {

constexpr double kVariableDecay = 0.95;
constexpr double kClauseDecay = 0.999;
constexpr double kRescale = 1e100;
constexpr int kGlue = 2;  // clauses over so few levels are never deleted
constexpr int kMinimiseDepth = 40;

}  // namespace

void Learner::explain(Literal l, std::vector<Literal>& out) {
  const int variable = l >> 1;
  const Reason reason = reason_[variable];
  const int when = trail_place_[variable];
  switch (reason.kind) {
    case Kind::kNone:
      break;
    case Kind::kImplied:
      out.push_back(static_cast<Literal>(reason.index ^ 1U));
      break;
    case Kind::kClause:
      bump_clause(reason.index);
      for (std::uint32_t k = 0; k < clauses_[reason.index]; ++k) {
        const Literal other = static_cast<Literal>(clauses_[reason.index + 1 + k]);
        if (other != l) out.push_back(other);
      }
      break;
    case Kind::kSum:
      explain_sum(static_cast<int>(reason.index), value_of_[l ^ 1], when, out);
      break;
    case Kind::kTable:
      explain_table(static_cast<int>(reason.index), value_of_[l ^ 1], when, out);
      break;
    case Kind::kStored: {
      const std::size_t end =
          reason.index + 1 < stored_.size() ? stored_[reason.index + 1].begin : stored_literals_.size();
      for (std::size_t k = stored_[reason.index].begin; k < end; ++k) out.push_back(stored_literals_[k]);
      break;
    }
    case Kind::kBound:
      explain_bound(value_of_[l ^ 1], when, out);
      break;
  }
}

void Learner::add_removals(int position, int when, const std::vector<int>& needed,
                           std::vector<Literal>& out) {
  if (needed.size() > 1) {
    for (int v = p_.value_begin[position]; v < p_.value_begin[position + 1]; ++v) {
      const Literal l = of_literal(v);
      if (!is_true(l) || trail_place_[l >> 1] >= when) continue;
      const auto after = [&](int w) { return trail_place_[of_literal(w) >> 1] > trail_place_[l >> 1]; };
      if (std::count_if(needed.begin(), needed.end(), after) < 2) break;
      out.push_back(l ^ 1);
      return;
    }
  }
  for (const int v : needed) out.push_back(of_literal(v));
}

// Takes a literal into the clause under construction: one of a lower level is kept, one of the deepest level
// is counted.
void Learner::meet(Literal l, int deepest, int& open) {
  const int variable = l >> 1;
  if (seen_[variable] || level_of_[variable] == 0) return;
  seen_[variable] = 1;
  seen_list_.push_back(variable);
  bump_variable(variable);
  if (level_of_[variable] == deepest) {
    ++open;
  } else {
    learned_clause_.push_back(l);
  }
}

// Fills learned_clause_, the asserting literal first and one of the next deepest level second.
int Learner::analyze() {
  int deepest = 0;
  for (const Literal l : conflict_) deepest = std::max(deepest, level_of_[l >> 1]);
  if (deepest == 0) return -1;
  learned_clause_.assign(1, 0);
  int open = 0;
  for (const Literal l : conflict_) meet(l, deepest, open);
  std::size_t place = trail_.size();
  for (;;) {
    const auto counts = [&](Literal l) { return seen_[l >> 1] && level_of_[l >> 1] == deepest; };
    do --place;
    while (!counts(trail_[place]));
    if (open == 1) break;
    --open;
    reason_literals_.clear();
    explain(trail_[place], reason_literals_);
    for (const Literal l : reason_literals_) meet(l, deepest, open);
  }
  learned_clause_[0] = trail_[place] ^ 1;
  const auto implied = [&](Literal l) {
    return reason_[l >> 1].kind != Kind::kNone && implied_by_seen(l ^ 1, 0);
  };
  learned_clause_.erase(std::remove_if(learned_clause_.begin() + 1, learned_clause_.end(), implied),
                        learned_clause_.end());
  for (const int variable : seen_list_) seen_[variable] = 0;
  seen_list_.clear();
  if (learned_clause_.size() == 1) return 0;
  std::size_t second = 1;
  for (std::size_t k = 2; k < learned_clause_.size(); ++k) {
    if (level_of_[learned_clause_[k] >> 1] > level_of_[learned_clause_[second] >> 1]) second = k;
  }
  std::swap(learned_clause_[1], learned_clause_[second]);
  return level_of_[learned_clause_[1] >> 1];
}

// Whether every literal of the (true) literal's reason is seen, of level 0, or itself implied. Only reasons
// that are already stored are followed. seen_: 1 in the clause, 2 known to be implied, 3 known not to be.
bool Learner::implied_by_seen(Literal l, int depth) {
  const Reason reason = reason_[l >> 1];
  const auto fine = [&](Literal failed) {
    const int variable = failed >> 1;
    if (level_of_[variable] == 0 || seen_[variable] == 1 || seen_[variable] == 2) return true;
    if (seen_[variable] == 3 || depth >= kMinimiseDepth) return false;
    const bool good = reason_[variable].kind != Kind::kNone && implied_by_seen(failed ^ 1, depth + 1);
    seen_[variable] = good ? 2 : 3;
    seen_list_.push_back(variable);
    return good;
  };
  if (reason.kind == Kind::kImplied) return fine(static_cast<Literal>(reason.index ^ 1U));
  if (reason.kind == Kind::kClause) {
    for (std::uint32_t k = 0; k < clauses_[reason.index]; ++k) {
      const Literal other = static_cast<Literal>(clauses_[reason.index + 1 + k]);
      if (other != l && !fine(other)) return false;
    }
    return true;
  }
  if (reason.kind == Kind::kStored) {
    const std::size_t end =
        reason.index + 1 < stored_.size() ? stored_[reason.index + 1].begin : stored_literals_.size();
    for (std::size_t k = stored_[reason.index].begin; k < end; ++k) {
      if (!fine(stored_literals_[k])) return false;
    }
    return true;
  }
  return false;
}

// Stores the learned clause and assigns the literal it asserts.
void Learner::install() {
  const Literal first = learned_clause_[0];
  if (learned_clause_.size() == 1) {
    assign(first, {});
  } else if (learned_clause_.size() == 2) {
    implies_[learned_clause_[0] ^ 1].push_back(learned_clause_[1]);
    implies_[learned_clause_[1] ^ 1].push_back(learned_clause_[0]);
    assign(first, {Kind::kImplied, static_cast<std::uint32_t>(learned_clause_[1] ^ 1)});
  } else {
    int levels = 0;
    ++stamp_;
    for (std::size_t k = 1; k < learned_clause_.size(); ++k) {
      std::int64_t& stamp = level_stamp_[level_of_[learned_clause_[k] >> 1]];
      if (stamp != stamp_) ++levels;
      stamp = stamp_;
    }
    const auto clause = static_cast<std::uint32_t>(clauses_.size());
    clauses_.push_back(static_cast<std::uint32_t>(learned_clause_.size()));
    for (const Literal l : learned_clause_) clauses_.push_back(static_cast<std::uint32_t>(l));
    watches_[first].push_back({clause, learned_clause_[1]});
    watches_[learned_clause_[1]].push_back({clause, first});
    learned_.push_back({clause, levels + 1, clause_step_});
    assign(first, {Kind::kClause, clause});
  }
  variable_step_ /= kVariableDecay;
  clause_step_ /= kClauseDecay;
}

void Learner::bump_variable(int variable) {
  activity_[variable] += variable_step_;
  if (activity_[variable] > kRescale) {
    for (double& activity : activity_) activity /= kRescale;
    variable_step_ /= kRescale;
  }
  order_.grown(variable);
}

// Finds the clause by binary search: learned clauses are sorted by their place.
void Learner::bump_clause(std::uint32_t clause) {
  const auto it = std::lower_bound(learned_.begin(), learned_.end(), clause,
                                   [](const Learned& l, std::uint32_t c) { return l.clause < c; });
  if (it == learned_.end() || it->clause != clause) return;
  it->activity += clause_step_;
  if (it->activity > kRescale) {
    for (Learned& l : learned_) l.activity /= kRescale;
    clause_step_ /= kRescale;
  }
}

// At level 0: deletes the half of the learned clauses that were least active, drops literals that have become
// false for good and clauses that have become true, and lays the rest out afresh.
void Learner::reduce() {
  std::vector<std::size_t> worst;
  for (std::size_t k = 0; k < learned_.size(); ++k) {
    if (learned_[k].levels > kGlue) worst.push_back(k);
  }
  std::sort(worst.begin(), worst.end(), [&](std::size_t a, std::size_t b) {
    if (learned_[a].levels != learned_[b].levels) return learned_[a].levels > learned_[b].levels;
    if (learned_[a].activity != learned_[b].activity) return learned_[a].activity < learned_[b].activity;
    return a < b;
  });
  worst.resize(worst.size() / 2);
  std::vector<char> deleted(learned_.size(), 0);
  for (const std::size_t k : worst) deleted[k] = 1;

  std::vector<std::uint32_t> fresh;
  for (auto& list : watches_) list.clear();
  // The clause's new place, or none if it has become true, binary or a unit.
  const auto move = [&](std::uint32_t clause, std::uint32_t& place) {
    std::vector<Literal> literals;
    for (std::uint32_t k = 0; k < clauses_[clause]; ++k) {
      const Literal l = static_cast<Literal>(clauses_[clause + 1 + k]);
      if (is_true(l)) return false;
      if (is_open(l)) literals.push_back(l);
    }
    if (literals.size() == 2) {
      implies_[literals[0] ^ 1].push_back(literals[1]);
      implies_[literals[1] ^ 1].push_back(literals[0]);
      return false;
    }
    place = static_cast<std::uint32_t>(fresh.size());
    fresh.push_back(static_cast<std::uint32_t>(literals.size()));
    for (const Literal l : literals) fresh.push_back(static_cast<std::uint32_t>(l));
    watches_[literals[0]].push_back({place, literals[1]});
    watches_[literals[1]].push_back({place, literals[0]});
    return true;
  };
  std::vector<std::uint32_t> given;
  for (const std::uint32_t clause : given_) {
    std::uint32_t place = 0;
    if (move(clause, place)) given.push_back(place);
  }
  given_ = std::move(given);
  std::vector<Learned> kept;
  for (std::size_t k = 0; k < learned_.size(); ++k) {
    Learned learned = learned_[k];
    if (!deleted[k] && move(learned.clause, learned.clause)) kept.push_back(learned);
  }
  learned_ = std::move(kept);
  clauses_ = std::move(fresh);
}

}  // namespace as2::decode
