#include "train/searched_query.h"

#include <ATen/Parallel.h>

#include "as2/error.h"

namespace as2::train {
namespace {

// Keeps a belief of 0 from forbidding what is observed, as in the circuit: its gradient can still raise it.
constexpr double kFloor = 1e-30;
// An example is given so many times the nodes before the run ends for want of its answer.
constexpr std::int64_t kPatience = 64;

decode::DecodeOptions options_of(const compile::ConstraintProgram& program, const QueryConfig& config) {
  decode::DecodeOptions options;
  options.models = static_cast<int>(config.k);
  options.node_budget = config.nodes;
  options.minimal_conflict = false;
  options.objective_weights.assign(program.objectives.size(), 0.0);  // w(I) has no part of them
  return options;
}

}  // namespace

SearchedQuery::SearchedQuery(std::shared_ptr<const compile::ConstraintProgram> program,
                             const QueryConfig& config)
    : decoder_(std::move(program)), options_(options_of(decoder_.program(), config)) {}

decode::DecodeOptions SearchedQuery::patient() const {
  decode::DecodeOptions options = options_;
  options.node_budget *= kPatience;
  return options;
}

torch::Tensor SearchedQuery::log_mass(const infer::Batch& batch, const torch::Tensor& beliefs) const {
  const torch::Tensor p = weighed(batch.evidence, beliefs) + kFloor;
  // A network that has diverged believes NaN: the sum is NaN then, too.
  const torch::Tensor weights = torch::nan_to_num(p.detach()).to(torch::kCPU, torch::kFloat64).contiguous();
  const torch::Tensor observed = batch.observed.cpu().contiguous(), labels = batch.labels.cpu().contiguous();
  const std::int64_t positions = p.size(1), cells = positions * p.size(2);
  std::vector<decode::Query> queries(static_cast<std::size_t>(p.size(0)));
  for (std::size_t n = 0; n < queries.size(); ++n) {
    const auto row = static_cast<std::int64_t>(n);
    const double* weight = weights.data_ptr<double>() + row * cells;
    queries[n].beliefs.assign(weight, weight + cells);
    for (std::int64_t i = 0; i < positions; ++i) {
      const std::int64_t at = row * positions + i;
      if (!observed.data_ptr<bool>()[at]) continue;
      queries[n].pins.push_back({static_cast<int>(i), static_cast<int>(labels.data_ptr<std::int64_t>()[at])});
    }
  }
  std::vector<std::vector<compile::Assignment>> answers;
  std::vector<decode::Decoded> all = decoder_.decode_batch(queries, options_, at::get_num_threads());
  for (std::size_t n = 0; n < all.size(); ++n) {
    decode::Decoded& decoded = all[n];
    if (decoded.status == decode::Status::kUnknown) decoded = decoder_.decode(queries[n], patient());
    if (decoded.status == decode::Status::kUnknown)
      throw InputError("losses.query.approx is \"search\", and " + std::to_string(patient().node_budget) +
                           " nodes of search found no answer set for an example",
                       {"raise losses.query.nodes"});
    std::vector<compile::Assignment>& found = answers.emplace_back();
    for (decode::Model& model : decoded.models) found.push_back(std::move(model.assignment));
  }
  return train::log_mass(p.log(), answers);
}

}  // namespace as2::train
