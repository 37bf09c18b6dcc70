// What is left of a problem once some positions are decided: parts that no constraint connects, each with a
// fingerprint of all that its own answers depend on.
//
// Two parts with the same fingerprint have the same answers, wherever in the search they appear. It covers
//   - the open positions (more than one value left) and their domains: slots, and nogoods of which nothing is
//     decided, follow from these;
//   - nogoods with a literal that already holds: their remaining literals;
//   - sums: which values the open part may still take, or, while the guard is open too, the sum so far;
//   - members of recursive components that are true but not yet derived.
// Propagation must have reached its fixpoint.
#pragma once

#include <vector>

#include "decode/state.h"
#include "prob/node_store.h"

namespace as2::prob {

struct Part {
  std::vector<int> positions;  // open ones, auxiliary ones included, ascending
  Fingerprint fingerprint;
  bool constrained = false;  // something beside the domains is in the fingerprint
};

class Residual {
 public:
  Residual(const decode::Problem& problem, const decode::State& state);

  // The parts of the open positions in `scope`, which must not be connected with any open position outside.
  std::vector<Part> split(const std::vector<int>& scope);

 private:
  struct MemberRef {
    int component = 0;
    int member = 0;
  };

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
  std::vector<std::vector<MemberRef>> members_of_position_;  // those it decides and those it is an input of
  std::vector<std::vector<std::vector<int>>> users_;         // [component][member]: members it is an input of

  // What this call, or this part, has seen.
  int call_ = 0;
  std::vector<int> position_seen_, slot_seen_, nogood_seen_, linear_seen_;
  std::vector<int> component_seen_;  // per component: the call that computed `established_`
  std::vector<std::vector<int>> established_, member_seen_;
  std::vector<int> stack_;
  Part part_;
  std::vector<std::pair<std::int64_t, std::int64_t>> clipped_;  // scratch of visit_linear
};

}  // namespace as2::prob
