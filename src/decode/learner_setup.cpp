// The problem as Boolean variables, clauses, at-most-one rows and propagators.
#include <algorithm>
#include <limits>
#include <map>

#include "decode/learner.h"
#include "decode/value_sets.h"

namespace as2::decode {

Learner::Learner(const Problem& problem, const std::vector<Pin>& pins,
                 const std::vector<std::vector<std::int64_t>>& losses)
    : p_(problem), order_(activity_), loss_(losses) {
  refuted_ = p_.impossible;
  add_positions();
  add_wide_literals();
  // The propagators that a removal wakes must exist before the first removal.
  add_sums();
  for (std::size_t t = 0; t < p_.tables.size(); ++t) table_queue_.push_back(static_cast<int>(t));
  table_queued_.assign(p_.tables.size(), 1);
  for (std::size_t c = 0; c < p_.components.size(); ++c) {
    component_queue_.push_back(static_cast<int>(c));
    for (const auto& member : p_.components[c].members) {
      components_of_[of_literal(p_.value_begin[member.position] + 1)].push_back(static_cast<int>(c));
      for (const int input : member.inputs) {
        if (input >= 0) components_of_[of_literal(input)].push_back(static_cast<int>(c));
      }
    }
  }
  component_queued_.assign(p_.components.size(), 1);

  const std::size_t criteria = losses.size();
  bound_.assign(criteria, 0);
  rest_.resize(criteria);
  best_.assign(criteria, std::vector<int>(static_cast<std::size_t>(p_.positions), 0));
  dearest_.assign(static_cast<std::size_t>(p_.positions), 0);
  costed_.assign(static_cast<std::size_t>(p_.positions), 0);
  double largest = 0;
  for (int i = 0; i < p_.positions; ++i) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t second = first;
    for (std::size_t c = 0; c < criteria; ++c) {
      int best = p_.value_begin[i];
      for (int v = best; v < p_.value_begin[i + 1]; ++v) {
        if (loss_[c][v] != 0) costed_[i] = 1;
        if (c == 0) dearest_[i] = std::max(dearest_[i], loss_[c][v]);
        if (loss_[c][v] < loss_[c][best]) best = v;
        if (c > 0) continue;
        second = std::min(second, std::max(first, loss_[c][v]));
        first = std::min(first, loss_[c][v]);
      }
      best_[c][i] = best;
      bound_[c] += p_.value_begin[i] < p_.value_begin[i + 1] ? loss_[c][best] : 0;
    }
    if (!costed_[i]) continue;
    costed_list_.push_back(i);
    // At first the most certain position is decided first, to its best symbol.
    const int best = best_[0][i];
    if (is_open(of_literal(best)) && second > first) {
      activity_[of_literal(best) >> 1] = static_cast<double>(second - first);
      largest = std::max(largest, activity_[of_literal(best) >> 1]);
      last_value_[i] = best;
      phase_[of_literal(best) >> 1] = !(of_literal(best) & 1);
    }
  }
  for (double& activity : activity_) activity = largest > 0 ? 0.5 * activity / largest : 0;
  for (std::size_t v = 1; v < activity_.size(); ++v) order_.insert(static_cast<int>(v));

  add_constraints();
  for (const Pin& pin : pins) add_clause({of_literal(p_.value_begin[pin.position] + pin.symbol)});
}

int Learner::add_variable() {
  const int variable = static_cast<int>(level_of_.size());
  truth_.resize(truth_.size() + 2, 0);
  value_of_.resize(truth_.size(), -1);
  watches_.resize(truth_.size());
  implies_.resize(truth_.size());
  rows_of_.resize(truth_.size());
  components_of_.resize(truth_.size());
  level_of_.push_back(0);
  trail_place_.push_back(0);
  reason_.push_back({});
  phase_.push_back(0);
  seen_.push_back(0);
  activity_.push_back(0);
  level_stamp_.push_back(0);
  return variable;
}

// Variable 0 is always true; it stands for the only symbol of a position that has just one.
void Learner::add_positions() {
  add_variable();
  level_stamp_.push_back(0);  // there may be one level more than variables
  truth_[0] = 1;
  truth_[1] = -1;
  literal_of_.resize(static_cast<std::size_t>(p_.literals()), 0);
  last_value_.assign(static_cast<std::size_t>(p_.positions), -1);
  for (int i = 0; i < p_.positions; ++i) {
    const int begin = p_.value_begin[i];
    const int count = p_.value_begin[i + 1] - begin;
    if (count == 0) refuted_ = true;
    if (count == 1) literal_of_[begin] = 0;
    if (count == 2) {
      const int variable = add_variable();
      literal_of_[begin] = 2 * variable + 1;
      literal_of_[begin + 1] = 2 * variable;
    }
    for (int v = begin; count > 2 && v < begin + count; ++v) literal_of_[v] = 2 * add_variable();
    for (int v = begin; count > 1 && v < begin + count; ++v) value_of_[literal_of_[v]] = v;
  }
}

// A set and its complement share a variable.
void Learner::add_wide_literals() {
  std::map<std::pair<int, std::vector<int>>, Literal> known;
  for (std::size_t k = 0; k < p_.wide_position.size(); ++k) {
    const int id = p_.values + static_cast<int>(k);
    const int i = p_.wide_position[k];
    std::vector<int> inside;
    std::vector<int> outside;
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      (p_.literal_has(id, v) ? inside : outside).push_back(v);
    }
    if (inside.empty() || outside.empty()) {
      literal_of_[id] = inside.empty() ? 1 : 0;
    } else if (inside.size() == 1 || outside.size() == 1) {
      literal_of_[id] = inside.size() == 1 ? literal_of_[inside[0]] : literal_of_[outside[0]] ^ 1;
    } else if (const auto it = known.find({i, inside}); it != known.end()) {
      literal_of_[id] = it->second;
    } else {
      const Literal w = 2 * add_variable();
      literal_of_[id] = w;
      known[{i, inside}] = w;
      known[{i, outside}] = w ^ 1;
    }
  }
}

// A sum that a table replaces is left out.
void Learner::add_sums() {
  summands_of_.resize(static_cast<std::size_t>(p_.positions));
  for (const LinearConstraint& linear : p_.linears) {
    if (linear.tabled) continue;
    const int index = static_cast<int>(sums_.size());
    Sum sum{&linear, {}, {}, {}, {}, 0, 0, 0, false};
    for (std::size_t k = 0; k < linear.positions.size(); ++k) {
      const auto [least, most] = std::minmax_element(linear.values[k].begin(), linear.values[k].end());
      sum.full_least.push_back(*least);
      sum.full_most.push_back(*most);
      sum.low += *least;
      sum.high += *most;
      sum.widest = std::max(sum.widest, *most - *least);
      summands_of_[linear.positions[k]].push_back({index, static_cast<int>(k)});
    }
    sum.least = sum.full_least;
    sum.most = sum.full_most;
    if (linear.guard >= 0) {
      summands_of_[linear.guard].push_back({index, -1});
      sum.total = together_cover(linear.allowed, sum.low, sum.high);
    }
    least_.resize(std::max(least_.size(), linear.positions.size()));
    most_.resize(least_.size());
    sum_queue_.push_back(index);
    sums_.push_back(std::move(sum));
  }
  sum_queued_.assign(sums_.size(), 1);
}

void Learner::add_constraints() {
  for (int i = 0; i < p_.positions; ++i) {
    if (p_.value_begin[i + 1] - p_.value_begin[i] <= 2) continue;
    const auto begin = literal_of_.begin() + p_.value_begin[i];
    const std::vector<Literal> row(begin, literal_of_.begin() + p_.value_begin[i + 1]);
    add_at_most_one(row);
    add_clause(row);
  }
  std::vector<char> tied(truth_.size(), 0);
  for (std::size_t k = 0; k < p_.wide_position.size(); ++k) {
    const int id = p_.values + static_cast<int>(k);
    const Literal w = literal_of_[id];
    if (w < 2 || value_of_[w] >= 0 || value_of_[w ^ 1] >= 0 || tied[w >> 1]) continue;
    tied[w >> 1] = 1;
    std::vector<Literal> inside{w ^ 1};
    std::vector<Literal> outside{w};
    for (int v = p_.value_begin[p_.wide_position[k]]; v < p_.value_begin[p_.wide_position[k] + 1]; ++v) {
      const bool in = p_.literal_has(id, v);
      (in ? inside : outside).push_back(literal_of_[v]);
      add_clause({in ? w : w ^ 1, literal_of_[v] ^ 1});
    }
    add_clause(inside);
    add_clause(outside);
  }
  const auto literals = [&](const Table& table, int row, int sign) {
    std::vector<Literal> result;
    for (const int* l = table.first(row); l != table.last(row); ++l) result.push_back(literal_of_[*l] ^ sign);
    return result;
  };
  for (int s = 0; s < p_.slots.rows(); ++s) add_at_most_one(literals(p_.slots, s, 0));
  for (int e = 0; e < p_.exact.rows(); ++e) add_clause(literals(p_.exact, e, 0));
  for (int n = 0; n < p_.nogoods.rows(); ++n) {
    if (!p_.tabled[n]) add_clause(literals(p_.nogoods, n, 1));
  }
  for (const int unit : p_.units) add_clause({literal_of_[unit] ^ 1});
}

void Learner::add_at_most_one(std::vector<Literal> row) {
  if (row.size() < 4) {
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) add_clause({row[a] ^ 1, row[b] ^ 1});
    }
    return;
  }
  // Members of one position never hold together; a literal that occurs twice must fail.
  std::sort(row.begin(), row.end());
  for (std::size_t k = 1; k < row.size(); ++k) {
    if (row[k] == row[k - 1]) add_clause({row[k] ^ 1});
    if (row[k] == (row[k - 1] ^ 1)) {  // one of the two holds: nothing else does
      for (const Literal other : row) {
        if ((other >> 1) != (row[k] >> 1)) add_clause({other ^ 1});
      }
      return;
    }
  }
  row.erase(std::unique(row.begin(), row.end()), row.end());
  const bool settled = std::any_of(row.begin(), row.end(), [&](Literal l) { return is_true(l); });
  if (settled) {
    const Literal holds = *std::find_if(row.begin(), row.end(), [&](Literal l) { return is_true(l); });
    for (const Literal other : row) {
      if (other != holds) add_clause({other ^ 1});
    }
    return;
  }
  for (const Literal l : row) rows_of_[l].push_back(static_cast<int>(rows_.size()));
  rows_.push_back(std::move(row));
}

void Learner::add_clause(std::vector<Literal> literals) {
  std::sort(literals.begin(), literals.end());
  std::size_t kept = 0;
  for (std::size_t k = 0; k < literals.size(); ++k) {
    const Literal l = literals[k];
    if (is_true(l) || (kept > 0 && literals[kept - 1] == (l ^ 1))) return;
    if (is_false(l) || (kept > 0 && literals[kept - 1] == l)) continue;
    literals[kept++] = l;
  }
  literals.resize(kept);
  if (kept == 0) {
    refuted_ = true;
  } else if (kept == 1) {
    refuted_ = !assign(literals[0], {}) || refuted_;
  } else if (kept == 2) {
    implies_[literals[0] ^ 1].push_back(literals[1]);
    implies_[literals[1] ^ 1].push_back(literals[0]);
  } else {
    const auto clause = static_cast<std::uint32_t>(clauses_.size());
    clauses_.push_back(static_cast<std::uint32_t>(kept));
    for (const Literal l : literals) clauses_.push_back(static_cast<std::uint32_t>(l));
    watches_[literals[0]].push_back({clause, literals[1]});
    watches_[literals[1]].push_back({clause, literals[0]});
    given_.push_back(clause);
  }
}

}  // namespace as2::decode
