#include "compile/support.h"

#include <algorithm>

#include "overloaded.h"

namespace as2::compile {

std::vector<int> SupportFinder::positions_of(const std::vector<NodeRef>& body) {
  ++call_;
  std::vector<int> positions;
  std::vector<int> open;
  const auto see = [&](const NodeRef& ref) {
    int& seen = node_seen_[static_cast<std::size_t>(ref.node)];
    if (seen != call_) open.push_back(ref.node);
    seen = call_;
  };
  for (const NodeRef& ref : body) see(ref);
  while (!open.empty()) {
    const Node& node = program_.nodes[static_cast<std::size_t>(open.back())];
    open.pop_back();
    const auto see_position = [&](const SetLiteral& set) {
      int& seen = position_seen_[static_cast<std::size_t>(set.position)];
      if (seen != call_) positions.push_back(set.position);
      seen = call_;
    };
    std::visit(
        Overloaded{see_position, [](const Conjunction&) {}, [](const Disjunction&) {}, [](const Bound&) {}},
        node.content);
    for (const NodeRef& ref : node.inputs()) see(ref);
  }
  std::sort(positions.begin(), positions.end());
  return positions;
}

}  // namespace as2::compile
