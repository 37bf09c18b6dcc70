#include "train/query_loss.h"

#include <ATen/Parallel.h>

namespace as2::train {
namespace {

prob::Circuit circuit_of(const compile::ConstraintProgram& program,
                         const std::vector<task::ObservedAtom>& atoms, const prob::Budget& budget) {
  std::vector<int> nodes;
  for (const task::ObservedAtom& atom : atoms) prob::collect_nodes(atom.about, nodes);
  return prob::compile_circuit(program, nodes, budget);
}

// Without evidence a position weighs 1; so the batch says what is believed, row by row.
std::vector<char> all_believed(const compile::ConstraintProgram& program) {
  return std::vector<char>(program.positions.size(), 1);
}

}  // namespace

torch::Tensor weighed(const torch::Tensor& believed, const torch::Tensor& beliefs) {
  return torch::where(believed.unsqueeze(-1), beliefs, torch::ones({}, beliefs.options()));
}

torch::Tensor log_mass(const torch::Tensor& log_p,
                       const std::vector<std::vector<compile::Assignment>>& answers) {
  const std::int64_t rows = log_p.size(0), positions = log_p.size(1);
  std::size_t most = 1;
  for (const auto& row : answers) most = std::max(most, row.size());
  const auto columns = static_cast<std::int64_t>(most);
  torch::Tensor symbols = torch::zeros({rows, columns, positions}, torch::kInt64);
  torch::Tensor found = torch::zeros({rows, columns}, torch::kBool);
  for (std::size_t n = 0; n < answers.size(); ++n) {
    std::int64_t at = static_cast<std::int64_t>(n) * columns;
    for (const compile::Assignment& answer : answers[n]) {
      std::copy(answer.begin(), answer.end(), symbols.data_ptr<std::int64_t>() + at * positions);
      found.data_ptr<bool>()[at++] = true;
    }
  }
  const torch::Tensor each = log_p.unsqueeze(1)
                                 .expand({rows, columns, positions, log_p.size(2)})
                                 .gather(3, symbols.to(log_p.device()).unsqueeze(-1))
                                 .squeeze(-1)
                                 .sum(-1);
  const torch::Tensor none = torch::full_like(each, -std::numeric_limits<double>::infinity());
  return torch::logsumexp(torch::where(found.to(each.device()), each, none), 1);
}

QueryLoss::QueryLoss(const compile::ConstraintProgram& program, const std::vector<task::ObservedAtom>& atoms,
                     const QueryConfig& config, torch::Device device)
    : config_(config), circuit_(circuit_of(program, atoms, config.circuit), program, all_believed(program)) {
  const prob::Circuit& circuit = circuit_.circuit();
  const std::vector<std::int64_t> shape = {static_cast<std::int64_t>(atoms.size()), circuit.inputs()};
  torch::Tensor if_true = torch::zeros(shape), if_false = torch::zeros(shape);
  const auto forbidden = [](torch::Tensor& to) { return to.accessor<float, 2>(); };
  auto holds = forbidden(if_true), holds_not = forbidden(if_false);
  for (std::size_t a = 0; a < atoms.size(); ++a) {
    const prob::Observable& about = atoms[a].about;
    const auto row = static_cast<std::int64_t>(a);
    if (about.kind == prob::Observable::Kind::kSet) {
      for (int s = 0; s < circuit.symbols; ++s) {
        const bool inside = std::binary_search(about.set.symbols.begin(), about.set.symbols.end(), s);
        (inside ? holds_not : holds)[row][circuit.input(about.set.position, s)] = 1;
      }
    } else {
      const int k = circuit.find_observed(about.node.node);
      holds[row][circuit.indicator(k, about.node.negated)] = 1;
      holds_not[row][circuit.indicator(k, !about.node.negated)] = 1;
    }
  }
  forbidden_if_true_ = if_true.to(device);
  forbidden_if_false_ = if_false.to(device);
}

// `believed` [batch, positions] bool: positions that weigh what is believed of them; the others weigh 1.
QueryLoss::Inputs QueryLoss::inputs_of(const infer::Batch& batch, const torch::Tensor& beliefs,
                                       const torch::Tensor& believed) const {
  const prob::Circuit& circuit = circuit_.circuit();
  const std::int64_t rows = beliefs.size(0), cells = circuit.positions * circuit.symbols;
  Inputs inputs;
  inputs.beliefs = weighed(believed, beliefs);
  const torch::Tensor label =
      torch::zeros_like(beliefs.detach()).scatter_(2, batch.labels.unsqueeze(-1), 1.0);
  inputs.allowed = torch::where(batch.observed.unsqueeze(-1), label, torch::ones_like(label));
  if (!batch.atoms.defined()) return inputs;
  const auto when = [&](int truth) { return (batch.atoms == truth).to(torch::kFloat32); };
  const torch::Tensor free = (when(1).matmul(forbidden_if_true_) + when(0).matmul(forbidden_if_false_) == 0)
                                 .to(beliefs.scalar_type());
  inputs.allowed = inputs.allowed * free.narrow(1, 0, cells).view_as(inputs.allowed);
  const auto nodes = static_cast<std::int64_t>(circuit.observed.size());
  inputs.indicators = free.narrow(1, cells, 2 * nodes).reshape({rows, nodes, 2});
  return inputs;
}

torch::Tensor QueryLoss::exact_log_likelihood(const infer::Batch& batch, const torch::Tensor& beliefs) const {
  const Inputs inputs = inputs_of(batch, beliefs, batch.evidence);
  return circuit_.log_probability(inputs.beliefs, inputs.allowed, inputs.indicators);
}

torch::Tensor QueryLoss::log_likelihood(const infer::Batch& batch, const torch::Tensor& beliefs) const {
  if (config_.approx == "exact") return exact_log_likelihood(batch, beliefs);
  const Inputs inputs = inputs_of(batch, beliefs, batch.evidence);
  const torch::Tensor numerator =
      config_.approx == "top-k" ? best_answers(inputs) : without_the_unlikely(batch, inputs);
  return numerator - circuit_.log_value(circuit_.weights(inputs.beliefs, {}, {}));
}

// Every such answer set weighs 1, and what is no answer set as good as nothing.
torch::Tensor QueryLoss::allows(const infer::Batch& batch, const torch::Tensor& symbols) const {
  const std::int64_t rows = symbols.size(0), positions = symbols.size(1);
  const torch::Tensor certain =
      torch::zeros({rows, positions, circuit_.circuit().symbols}, symbols.options().dtype(torch::kFloat32))
          .scatter_(2, symbols.unsqueeze(-1), 1.0);
  const Inputs inputs = inputs_of(batch, certain, batch.evidence);
  return circuit_.log_value(circuit_.weights(inputs.beliefs, inputs.allowed, inputs.indicators)) > -1;
}

torch::Tensor QueryLoss::evidence_weights(const torch::Tensor& evidence, const torch::Tensor& beliefs) const {
  return circuit_.weights(weighed(evidence, beliefs), {}, {});
}

torch::Tensor QueryLoss::log_satisfaction(const infer::Batch& batch, const torch::Tensor& beliefs) const {
  const Inputs inputs = inputs_of(batch, beliefs, torch::ones_like(batch.evidence));
  return circuit_.log_value(circuit_.weights(inputs.beliefs, inputs.allowed, inputs.indicators));
}

// log of the sum of the k greatest weights among the answer sets in which the observation holds.
torch::Tensor QueryLoss::best_answers(const Inputs& inputs) const {
  const prob::Circuit& circuit = circuit_.circuit();
  const std::int64_t rows = inputs.beliefs.size(0), positions = circuit.positions;
  const torch::Tensor weights = circuit_.weights(inputs.beliefs, inputs.allowed, inputs.indicators)
                                    .detach()
                                    .to(torch::kCPU, torch::kFloat64)
                                    .contiguous();
  std::vector<std::vector<compile::Assignment>> answers(static_cast<std::size_t>(rows));
  at::parallel_for(0, rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const double* row = weights.data_ptr<double>() + n * weights.size(1);
      answers[static_cast<std::size_t>(n)] = prob::most_probable(
          circuit, prob::Weights(row, row + weights.size(1)), static_cast<int>(config_.k));
    }
  });
  // Differentiable weights of what was found.
  const torch::Tensor log_p =
      circuit_.weights(inputs.beliefs, {}, {}).narrow(1, 0, positions * circuit.symbols).log();
  return log_mass(log_p.view({rows, positions, circuit.symbols}), answers);
}

// The exact sum where pruning leaves no answer set: then there would be nothing to learn from.
torch::Tensor QueryLoss::without_the_unlikely(const infer::Batch& batch, const Inputs& inputs) const {
  const torch::Tensor p = inputs.beliefs.detach();
  const auto [sorted, order] = p.sort(-1, /*descending=*/true);
  const torch::Tensor before = sorted.cumsum(-1) - sorted;  // the mass of likelier symbols
  const torch::Tensor kept =
      torch::zeros_like(p).scatter(-1, order, (before < 1 - config_.share).to(p.scalar_type()));
  const torch::Tensor keep = torch::where(batch.evidence.unsqueeze(-1), kept, torch::ones_like(kept));
  const torch::Tensor whole = circuit_.weights(inputs.beliefs, inputs.allowed, inputs.indicators);
  const torch::Tensor pruned = circuit_.weights(inputs.beliefs, inputs.allowed * keep, inputs.indicators);
  const torch::Tensor both = circuit_.log_value(torch::cat({pruned, whole}));
  const std::int64_t rows = p.size(0);
  const torch::Tensor value = both.narrow(0, 0, rows);
  return torch::where(value.isfinite(), value, both.narrow(0, rows, rows));
}

}  // namespace as2::train
