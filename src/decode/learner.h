// Search that learns from its conflicts: the second stage, for problems the first does not finish.
//
// The problem is seen as Boolean variables: one per symbol of a position (one altogether for a position of
// two symbols) and one per wider set literal. What cannot hold together is a clause; at-most-one rows, sums,
// tables and unfounded sets keep their own propagators, which explain a propagation only when conflict
// analysis asks, from the assignments that preceded it. Each conflict is resolved to its first unique
// implication point; the learned clause is watched by two literals, and the search jumps back to where it
// first says something. Variables are chosen by activity, values by what was last taken and, at first, by the
// beliefs; restarts follow Luby's sequence, and the clauses of least use are deleted.
//
// The loss is one more propagator: the sum of least losses must stay below a cutoff, which only falls. A cap
// is a cutoff under an assumption (a *selector* variable), so that it can be raised again: what was learned
// from the cap mentions the selector and becomes void with it.
#pragma once

#include <cstdint>
#include <vector>

#include "as2/decoder.h"
#include "decode/activity_heap.h"
#include "decode/problem.h"

namespace as2::decode {

using Literal = std::int32_t;  // 2 · variable, + 1 if negated

class Learner {
 public:
  // kRefuted: nothing below the cutoff satisfies the problem; kCapRefuted: nothing below the cap.
  enum class Outcome { kModel, kRefuted, kCapRefuted, kStopped };

  // `losses` as in State::set_losses; they must outlive the learner.
  Learner(const Problem& problem, const std::vector<Pin>& pins,
          const std::vector<std::vector<std::int64_t>>& losses);

  // Searches until all variables are assigned, nothing is left to try, or `stop(decisions so far)` returns
  // true.
  template <typename Stop>
  Outcome search(std::int64_t conflicts, const Stop& stop) {
    const std::int64_t last = conflicts_ + conflicts;
    for (;;) {
      const Outcome outcome = advance();
      if (outcome != Outcome::kStopped) return outcome;
      if (conflicts_ >= last || stop(decisions_)) return outcome;
    }
  }

  // After kModel: the symbols of the program's positions, and the losses paid.
  compile::Assignment assignment() const;
  const std::vector<std::int64_t>& bound() const { return bound_; }

  // Each of these undoes all decisions. From now on only answers with lexicographically smaller losses count.
  // The cutoff must never rise.
  void set_cutoff(const std::vector<std::int64_t>& cutoff);
  // The first criterion may not exceed the cap for now; a second call replaces the first.
  void set_cap(std::int64_t cap);
  void drop_cap();
  // No other answer may give these positions the symbols of the assignment.
  void exclude(const compile::Assignment& assignment, const std::vector<int>& positions);
  // Where to look first: the symbols of an answer found elsewhere.
  void suggest(const compile::Assignment& assignment);

  std::int64_t decisions() const { return decisions_; }
  std::int64_t conflicts() const { return conflicts_; }

 private:
  enum class Kind : std::uint8_t { kNone, kImplied, kClause, kSum, kTable, kStored, kBound };
  struct Reason {
    Kind kind = Kind::kNone;
    std::uint32_t index = 0;  // kImplied: the literal whose truth implies it; else into the kind's array
  };
  struct Watch {
    std::uint32_t clause;
    Literal blocker;  // if it holds, the clause does
  };
  // Clauses lie in one array: size, flags, literals.
  struct Learned {
    std::uint32_t clause;
    int levels;  // decision levels met when it was learned
    double activity;
  };
  struct Sum {
    const LinearConstraint* source;
    std::vector<std::int64_t> full_least, full_most;  // per position, over its whole domain
    std::vector<std::int64_t> least, most;            // per position, over the values left
    std::int64_t low, high;                           // sums of `least` and of `most`
    std::int64_t widest;                              // the largest range of a position
    bool total;                                       // some symbol of the guard allows every value
  };
  struct Summand {
    int sum;
    int place;  // among the sum's positions; -1: its guard
  };
  struct Stored {
    std::size_t begin;  // in stored_literals_
    std::size_t trail;  // length of the trail when it was made
  };
  struct Gap {  // an interval free of allowed values around [low, high], its ends included
    std::int64_t low, high;
  };

  // learner_setup.cpp
  int add_variable();
  void add_positions();
  void add_wide_literals();
  void add_sums();
  void add_constraints();
  void add_at_most_one(std::vector<Literal> literals);
  void add_clause(std::vector<Literal> literals);  // at level 0
  Literal of_literal(int literal) const { return literal_of_[literal]; }

  // learner.cpp
  Outcome advance();
  int level() const { return static_cast<int>(level_begin_.size()); }
  bool is_true(Literal l) const { return truth_[l] > 0; }
  bool is_false(Literal l) const { return truth_[l] < 0; }
  bool is_open(Literal l) const { return truth_[l] == 0; }
  // The literal was false already when the trail had length `when`.
  bool false_before(Literal l, int when) const { return truth_[l] < 0 && trail_place_[l >> 1] < when; }
  bool assign(Literal l, Reason reason);  // false: it is false already; the conflict is filled
  void removed(int value);
  void restored(int value);
  void decide(Literal l);
  void backtrack(int level);
  Literal choose();
  bool propagate();
  bool propagate_literal(Literal l);

  // learner_analyze.cpp
  void explain(Literal l, std::vector<Literal>& out);  // false literals that, with l, form a clause
  int analyze();                                       // fills learned_clause_; the level to go back to
  void meet(Literal l, int deepest, int& open);
  bool implied_by_seen(Literal l, int depth);
  void install();
  void bump_variable(int variable);
  void bump_clause(std::uint32_t clause);
  void reduce();

  // learner_sums.cpp, learner_tables.cpp, learner_founded.cpp, learner_bound.cpp
  void narrow_sums(int value);
  void widen_sums(int value);
  bool propagate_sum(int sum);
  void explain_sum(int sum, int value, int when, std::vector<Literal>& out);
  void explain_least(const Sum& sum, std::size_t k, int when, std::int64_t& low_slack,
                     std::int64_t& high_slack, std::vector<Literal>& out);
  bool propagate_table(int table);
  void explain_table(int table, int value, int when, std::vector<Literal>& out);
  bool propagate_component(int component);
  bool falsify_unfounded(int component, int start);
  bool propagate_bound();
  void explain_bound(int value, int when, std::vector<Literal>& out);
  bool cap_active() const { return selector_ >= 0 && is_true(selector_); }
  // Adds the removals of the needed values of a position, or the one assignment they all follow from.
  void add_removals(int position, int when, const std::vector<int>& needed, std::vector<Literal>& out);

  const Problem& p_;
  bool refuted_ = false;

  std::vector<Literal> literal_of_;  // per literal of the problem
  std::vector<int> value_of_;        // per literal: the value it stands for, or -1
  std::vector<signed char> truth_;   // per literal
  std::vector<int> level_of_;        // per variable
  std::vector<int> trail_place_;     // per variable
  std::vector<Reason> reason_;       // per variable
  std::vector<char> phase_;          // per variable: the truth it last had
  std::vector<int> last_value_;      // per position: the value it last had, or -1
  std::vector<Literal> trail_;
  std::vector<int> level_begin_;  // per level: length of the trail before its decision
  std::size_t next_ = 0;          // the first literal of the trail not yet propagated

  std::vector<std::uint32_t> clauses_;
  std::vector<std::uint32_t> given_;
  std::vector<Learned> learned_;
  std::vector<std::vector<Watch>> watches_;    // per literal: clauses to look at when it becomes false
  std::vector<std::vector<Literal>> implies_;  // per literal: what its truth implies, from binary clauses
  std::vector<std::vector<Literal>> rows_;     // at most one of these holds
  std::vector<std::vector<int>> rows_of_;      // per literal
  std::vector<Sum> sums_;
  std::vector<std::vector<Summand>> summands_of_;  // per position
  std::vector<std::vector<int>> components_of_;    // per literal: components that lose support when it fails
  std::vector<int> sum_queue_, table_queue_, component_queue_;
  std::vector<char> sum_queued_, table_queued_, component_queued_;
  std::vector<Literal> stored_literals_;
  std::vector<Stored> stored_;

  std::vector<double> activity_;
  ActivityHeap order_;
  double variable_step_ = 1, clause_step_ = 1;
  std::int64_t decisions_ = 0, conflicts_ = 0, restart_at_ = 0, reduce_at_ = 0, restarts_ = 0,
               reductions_ = 0;

  std::vector<Literal> conflict_, learned_clause_, reason_literals_;
  std::vector<char> seen_;
  std::vector<int> seen_list_;
  std::vector<std::int64_t> level_stamp_;
  std::int64_t stamp_ = 0;

  const std::vector<std::vector<std::int64_t>>& loss_;
  std::vector<std::vector<int>> best_;  // per criterion and position: a value of least loss
  std::vector<char> costed_;
  std::vector<std::int64_t> dearest_;  // per position: its largest loss of the first criterion
  std::vector<int> costed_list_;
  std::vector<std::int64_t> bound_, cutoff_, rest_;
  std::int64_t cap_ = 0;
  Literal selector_ = -1;
  bool bound_due_ = false;

  std::vector<std::int64_t> least_, most_;      // scratch of sums
  std::vector<std::uint64_t> valid_, mask_;     // scratch of tables
  std::vector<int> founded_, waiting_, ready_;  // scratch of components
  std::vector<int> needed_;
};

}  // namespace as2::decode
