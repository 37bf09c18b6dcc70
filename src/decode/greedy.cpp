// The paper's section "Greedy Constrained Decoding", for any program. Evidence positions are locked first,
// each to the argmax of its belief; then the most confident remaining position is committed to its top
// remaining symbol, again and again. After each commitment what it forbids directly is masked (for a group of
// Sudoku: the symbol, at the position's peers) and the rest renormalised, so confidence is
// max p / Σ p over the symbols left. The paper has no rule for a position with nothing left: here that is a
// dead end, and so is a result that the program refuses although no mask did.
#include "decode/greedy.h"

#include <algorithm>

#include "decode/scoring.h"

namespace as2::decode {
namespace {

struct Choice {
  int value = -1;
  double confidence = -1;
};

// The top symbol left at the position and its renormalised probability.
Choice top_choice(const State& state, int position, const double* p) {
  const int begin = state.problem().value_begin[position];
  Choice top;
  double best = -1;
  double sum = 0;
  for (int v = state.first_value(position); v >= 0; v = state.next_value(position, v)) {
    const double x = std::max(p[v - begin], kFloor);
    sum += x;
    if (x > best) {
      best = x;
      top.value = v;
    }
  }
  top.confidence = best / sum;
  return top;
}

}  // namespace

Decoded greedy(const compile::ConstraintProgram& program, State& state, const Query& query) {
  const Problem& problem = state.problem();
  const int stride = program.max_symbols();
  std::vector<char> committed(static_cast<std::size_t>(problem.real), 0);
  Decoded decoded;
  decoded.status = Status::kDeadEnd;
  const auto row = [&](int position) {
    return query.beliefs.data() + static_cast<std::ptrdiff_t>(position) * stride;
  };
  // Names the position that has nothing left: the one emptied, or the one whose commitment was refused.
  const auto commit = [&](int value) {
    const int position = problem.position_of[value];
    committed[position] = 1;
    ++decoded.nodes;
    bool fine = state.fix(value, 0);
    if (fine) {
      state.commit(value);
      fine = state.propagate();
    }
    if (fine) return true;
    const int emptied = state.conflict_position();
    decoded.dead_end_position = emptied >= 0 && emptied < problem.real ? emptied : position;
    return false;
  };

  if (!state.consistent()) {
    decoded.dead_end_position = problem.real > 0 ? 0 : -1;
    return decoded;
  }
  state.reset();
  state.set_direct(true);
  for (const Pin& pin : query.pins) {
    if (!commit(problem.value_begin[pin.position] + pin.symbol)) return decoded;
  }
  for (const int position : query.evidence) {
    if (committed[position]) continue;
    // Exactly as in the paper: the argmax of the belief itself, even if an earlier lock has masked it.
    const double* p = row(position);
    const int count = problem.value_begin[position + 1] - problem.value_begin[position];
    const int read = static_cast<int>(std::max_element(p, p + count) - p);
    if (!commit(problem.value_begin[position] + read)) return decoded;
  }
  for (;;) {
    Choice next;
    for (int i = 0; i < problem.real; ++i) {
      if (committed[i]) continue;
      const Choice choice = top_choice(state, i, row(i));
      if (choice.confidence > next.confidence) next = choice;
    }
    if (next.value < 0) break;
    if (!commit(next.value)) return decoded;
  }

  Model model;
  for (int i = 0; i < problem.real; ++i) {
    model.assignment.push_back(state.first_value(i) - problem.value_begin[i]);
  }
  const std::vector<int> violated = compile::violated_groups(program, model.assignment);
  if (!violated.empty()) {
    const auto& positions = program.groups[violated.front()].positions;
    decoded.dead_end_position = positions.empty() ? -1 : positions.front();
    return decoded;
  }
  model.log_probability = log_probability(query.beliefs, stride, model.assignment);
  model.cost = compile::cost_of(program, model.assignment);
  decoded.models.push_back(std::move(model));
  decoded.status = Status::kSatisfied;
  return decoded;
}

}  // namespace as2::decode
