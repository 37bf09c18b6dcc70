// Domains, what has been removed from them and why, and propagation to a fixpoint.
//
// Every removal remembers which decisions it follows from, as a set of decision levels (a bit mask in an
// arena that shrinks on backtracking; id 0 is the empty set: true whatever was decided). A conflict is then
// such a set too, and the search jumps straight back to its deepest member. Sets are passed along when the
// removal happens, so no propagator needs to explain itself afterwards; lazy clause learning would prune
// more per conflict, at several times the cost of the easy boards that are nearly all of the work.
//
// Watched nogoods keep two literals that do not hold; nothing about them is undone on backtracking.
#pragma once

#include <cstdint>
#include <vector>

#include "decode/problem.h"

namespace as2::decode {

class State {
 public:
  using Reason = std::uint32_t;  // index of a set of levels; 0: none

  explicit State(const Problem& problem);

  // Begins anew: domains hold what the program alone allows, and no value has a loss.
  void reset();
  // False: the program itself has no answer.
  bool consistent() const { return base_consistent_; }

  // How many levels may be open at once (else one per real position); the sets of levels in reasons are that
  // long. Forgets all reasons.
  void set_most_levels(std::size_t levels);

  // Losses of values, one array of `values` per criterion, most important first; the least of every position
  // is 0. They must outlive the search. A criterion's bound is Σ over positions of the least loss left.
  void set_losses(const std::vector<std::vector<std::int64_t>>& losses);
  // Prunes whatever cannot stay lexicographically below this; one entry per criterion.
  void set_cutoff(const std::vector<std::int64_t>& cutoff);
  const std::vector<std::int64_t>& bound() const { return bound_; }
  // The least bound of the first criterion that the cutoff has refused since the last set_losses().
  std::int64_t least_refused() const { return least_refused_; }

  // Each returns false on a conflict, whose set of levels is then conflict().
  bool remove(int value, Reason reason);
  bool fix(int value, Reason reason);
  bool propagate();

  // Opens a level by deciding a value; the conflict may follow from propagate().
  void decide(int value);
  int level() const { return static_cast<int>(levels_.size()); }
  int decision(int level) const { return levels_[level - 1].value; }
  // Undoes every level above `level`.
  void backtrack(int level);

  // The levels in conflict; those of the last failed call.
  int deepest_conflict_level() const;
  // conflict() without one level, as a reason for what its refutation implies.
  Reason reason_without(int level);
  // Makes the conflict "everything decided so far", or "the losses paid so far".
  void conflict_with_all();
  void conflict_with_bound();
  // Makes the conflict "the values that these positions have lost".
  void conflict_with(const std::vector<int>& positions);
  int conflict_position() const { return conflict_position_; }

  bool holds(int literal) const;
  bool fails(int literal) const;
  std::uint64_t word(int index) const { return domain_[index]; }  // see Problem::word_begin
  bool has(int value) const { return (domain_[p_.value_word[value]] & p_.value_bit[value]) != 0; }
  int size(int position) const { return size_[position]; }
  int open(int exact) const { return open_[exact]; }
  // The only value left, or the first of several.
  int first_value(int position) const;
  int next_value(int position, int value) const;  // -1 after the last
  std::int64_t loss(int criterion, int value) const { return loss_[criterion][value]; }
  bool costed(int position) const { return costed_[position] != 0; }
  int criteria() const { return static_cast<int>(bound_.size()); }
  const Problem& problem() const { return p_; }

  // Greedy decoding masks only what committed positions forbid: a position with one symbol left is not
  // committed by that, and hidden singles are not looked for.
  void set_direct(bool direct) { direct_ = direct; }
  void commit(int value);

 private:
  struct Level {
    int value;
    std::size_t trail;
    std::size_t arena;
  };

  bool refute(int literal, Reason reason);
  bool propagate_literal(int literal);
  bool propagate_watches(int literal);
  bool propagate_exact(int exact);
  bool propagate_linear(int linear);
  bool propagate_component(int component);
  bool check_bound();
  void announce(int value);
  void wake(int position, int removed);
  void restore(int value);
  void clear_queues();
  void gather_linear(const LinearConstraint& linear);
  bool refused(const std::vector<std::int64_t>& bound) const;

  // A set of levels under construction.
  void gather_start();
  void gather(Reason reason);
  void gather_removed(int position);  // why its missing values were removed
  void gather_holds(int literal);     // why the literal holds
  void gather_fails(int literal);     // why it does not
  Reason gathered();
  void gathered_conflict(int position);
  void gather_bound();

  const Problem& p_;
  std::vector<std::uint64_t> domain_;
  std::vector<int> size_;
  std::vector<int> open_;  // per exact row: values left
  std::vector<Reason> reason_;
  std::vector<int> trail_;
  std::vector<Level> levels_;

  std::vector<int> watch_head_;  // per literal: first watch, or -1
  std::vector<int> watch_next_;  // per watch (nogood·2 + side)
  std::vector<int> watched_;     // per watch: its literal

  std::vector<int> literal_queue_;
  std::vector<int> exact_queue_;
  std::vector<int> linear_queue_;
  std::vector<int> component_queue_;
  std::vector<char> linear_queued_;
  std::vector<char> component_queued_;
  std::size_t literal_next_ = 0;

  int words_;  // of a set of levels
  std::vector<std::uint64_t> arena_;
  std::vector<std::uint64_t> gathering_;
  Reason gathered_one_ = 0;
  bool gathered_many_ = false;
  std::vector<std::uint64_t> conflict_;
  int conflict_position_ = -1;

  std::vector<const std::int64_t*> loss_;  // per criterion
  std::vector<std::vector<int>> best_;     // per criterion and position: a value of least loss
  std::vector<char> costed_;               // position has differing losses in some criterion
  std::vector<int> costed_list_;
  std::vector<std::int64_t> bound_;
  std::vector<std::int64_t> cutoff_;
  std::vector<std::int64_t> start_, rest_;  // scratch of check_bound
  bool filter_due_ = false;
  std::int64_t least_refused_ = 0;
  bool direct_ = false;

  // The state after root propagation of the program alone.
  struct Base {
    std::vector<std::uint64_t> domain;
    std::vector<int> size, open, watch_head, watch_next, watched;
  } base_;
  bool base_consistent_ = true;
  std::vector<std::int64_t> least_, most_;  // scratch of propagate_linear
  std::vector<char> founded_;               // scratch of propagate_component
};

}  // namespace as2::decode
