// What is left of a problem once some positions are decided: parts that no constraint connects, each with a
// fingerprint of all that its own answers depend on.
//
// Two parts with the same fingerprint have the same answers, wherever in the search they appear. It covers
//   - the open positions (more than one value left) and their domains: slots, and nogoods of which nothing is
//     decided, follow from these;
//   - nogoods with a literal that already holds: their remaining literals;
//   - sums: which values the open part may still take, or, while the guard is open too, the sum so far;
//   - recursive components: what the truth of each member that matters depends on. A member's truth is the
//   least
//     fixpoint, so it is "some source that leads to it holds": an open literal, or a conjunction of several
//     open things. Which other members lie in between does not matter, and is not in the fingerprint: two
//     ways to be connected that have the same effect are one. What matters are members that something outside
//     the component reads, and those that are true but not yet derived.
// Propagation must have reached its fixpoint.
#pragma once

#include <vector>

#include "decode/state.h"
#include "prob/node_store.h"

namespace as2::prob {

struct Part {
  std::vector<int> positions;  // open ones, auxiliary ones included, ascending
  Fingerprint fingerprint;
  bool constrained = false;  // something besides the domains is in the fingerprint
};

class Residual {
 public:
  // `observed`: per position, whether its value is asked for although no constraint may read it.
  Residual(const decode::Problem& problem, const decode::State& state, const std::vector<char>& observed);

  // The parts of the open positions in `scope`, which must not be connected with any open position outside.
  std::vector<Part> split(const std::vector<int>& scope);

 private:
  struct MemberRef {
    int component = 0;
    int member = 0;
  };

  // A member that depends on a position: through this literal, or -1: it is the member's own.
  struct MemberUse {
    MemberRef ref;
    int literal = -1;
  };

  // Where a member's truth comes from.
  struct Sources {
    std::vector<Fingerprint> tokens;  // distinct, ascending
    std::vector<int> conjunctions;    // members that stand for a token of their own
  };

  void find_owners();
  // Notes that something outside its recursive component reads the position.
  void expose(int position) { exposed_[position] = call_; }
  bool silent(int position) const;
  void add_component(int component, const std::vector<int>& members);
  Sources sources_of(int component, int member);
  Fingerprint fingerprint_of(const Sources& sources) const;
  bool undecided(int literal) const { return !state_.holds(literal) && !state_.fails(literal); }
  bool varies_in(int linear, int position) const;
  bool open(int position) const { return state_.size(position) > 1; }
  void reach(int position);
  void add_item(const Fingerprint& item);
  void visit_literal(int literal);
  void visit_slot(int slot);
  void visit_nogood(int nogood);
  void visit_linear(int linear);
  void visit_member(const MemberRef& ref);
  void find_established(int component);
  bool established(const MemberRef& ref) const { return established_[ref.component][ref.member] == call_; }
  // The member may still come out either way, or is true without being derived yet.
  bool unsettled(const MemberRef& ref) const;

  const decode::Problem& problem_;
  const decode::State& state_;
  decode::Table nogoods_of_literal_;
  std::vector<std::vector<MemberUse>> members_of_position_;
  std::vector<std::vector<std::vector<int>>> users_;  // [component][member]: members it is an input of
  std::vector<char> observed_;                        // per position
  std::vector<char> is_member_;                       // per position: decided by a recursive component
  std::vector<MemberRef> owner_;                      // per nogood: the member it defines, or {-1, -1}

  // What this call, or this part, has seen.
  int call_ = 0;
  std::vector<int> position_seen_, slot_seen_, nogood_seen_, linear_seen_;
  std::vector<int> component_seen_;  // per component: the call that computed `established_`
  std::vector<std::vector<int>> established_, member_seen_;
  std::vector<int> exposed_;                          // per position
  std::vector<std::pair<int, int>> visited_members_;  // of this part: component, member
  std::vector<std::vector<int>> source_seen_;         // [component][member]: the walk that saw it
  int walk_ = 0;
  std::vector<int> stack_;
  Part part_;
  std::vector<std::pair<std::int64_t, std::int64_t>> clipped_;  // scratch of visit_linear
};

}  // namespace as2::prob
