#include "eval/observed.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "prob/observation.h"

namespace as2::eval {

nlohmann::json observed_accuracy(const task::Task& task, const task::Instances& instances,
                                 const Answers& answers) {
  const std::vector<task::ObservedAtom>& atoms = task.supervision().atoms;
  std::int64_t right = 0, judged = 0;
  for (std::int64_t n = 0; n < instances.size(); ++n) {
    const compile::Assignment& answer = answers.assignments[static_cast<std::size_t>(n)];
    const std::vector<char> nodes = answer.empty() || atoms.empty()
                                        ? std::vector<char>()
                                        : compile::evaluate_nodes(task.program(), answer);
    bool agrees = !answer.empty(), says = false;
    for (std::int64_t i = 0; i < instances.positions(); ++i) {
      if (!instances.observed[n][i]) continue;
      says = true;
      agrees = agrees && answer[static_cast<std::size_t>(i)] == instances.labels[n][i];
    }
    for (std::size_t a = 0; instances.atoms.defined() && a < atoms.size(); ++a) {
      const int holds = instances.atoms[n][a];
      if (holds < 0) continue;
      says = true;
      agrees = agrees && prob::holds({atoms[a].about}, answer, nodes) == (holds == 1);
    }
    judged += says;
    right += says && agrees;
  }
  return judged > 0 ? nlohmann::json(static_cast<double>(right) / static_cast<double>(judged))
                    : nlohmann::json();
}

bool has_sum(const task::Task& task) {
  const std::vector<int>& pictured = task.pictures().positions;
  const auto shown = [&](int position) {
    return std::binary_search(pictured.begin(), pictured.end(), position);
  };
  for (const compile::Group& group : task.program().groups) {
    const auto* linears = std::get_if<compile::Linears>(&group.content);
    if (!linears) continue;
    for (const compile::Linear& linear : *linears) {
      const auto& added = task.program().aggregates[static_cast<std::size_t>(linear.aggregate)].positions;
      if (linear.guard >= 0 && !shown(linear.guard) && std::all_of(added.begin(), added.end(), shown))
        return true;
    }
  }
  return false;
}

}  // namespace as2::eval
