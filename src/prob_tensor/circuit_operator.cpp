#include "as2/circuit_operator.h"

#include <torch/torch.h>

#include <map>
#include <mutex>

#include "prob_tensor/composed.h"
#include "prob_tensor/fused.h"

namespace as2::prob_tensor {
namespace {

// Keeps a belief of 0 from forbidding what is observed: its gradient can still raise it.
constexpr double kFloor = 1e-30;

torch::Tensor believed_mask(const compile::ConstraintProgram& program, const std::vector<char>& believed) {
  AS2_REQUIRE(believed.empty() || believed.size() == program.positions.size(), "one flag per position");
  torch::Tensor mask = torch::ones({static_cast<std::int64_t>(program.positions.size()), 1}, torch::kBool);
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const bool flag = believed.empty() ? !program.positions[i].guess : believed[i] != 0;
    mask.data_ptr<bool>()[i] = flag;
  }
  return mask;
}

}  // namespace

struct CircuitOperator::Impl {
  Impl(prob::Circuit given, const compile::ConstraintProgram& program, const std::vector<char>& believed,
       Evaluation wanted)
      : circuit(std::move(given)),
        evaluation(wanted),
        believed_positions(believed_mask(program, believed)),
        composed(circuit),
        fused(c10::make_intrusive<FusedArrays>(circuit)) {
    AS2_REQUIRE(circuit.positions == static_cast<int>(program.positions.size()) &&
                    circuit.symbols == program.max_symbols(),
                "the circuit must be of this program");
  }

  // Copied to a device at first use: a step that is captured there may not wait for the host.
  torch::Tensor believed_on(const torch::Device& device) const {
    if (!device.is_cuda()) return believed_positions;
    const std::lock_guard<std::mutex> lock(mutex);
    torch::Tensor& there = moved[device.index()];
    if (!there.defined()) there = believed_positions.to(device);
    return there;
  }

  // In float32 or float64.
  torch::Tensor checked(const torch::Tensor& given) const {
    AS2_REQUIRE(given.dim() == 2 && given.size(1) == circuit.inputs(), "weights must be [batch, inputs]");
    const bool low = given.scalar_type() != torch::kFloat32 && given.scalar_type() != torch::kFloat64;
    return low ? given.to(torch::kFloat32) : given;
  }

  // Whether there is a kernel for them.
  bool takes(const torch::Tensor& weights) const {
    return evaluation == Evaluation::kFused && (!weights.is_cuda() || cuda_takes(weights));
  }

  prob::Circuit circuit;
  Evaluation evaluation;
  torch::Tensor believed_positions;  // [positions, 1], bool
  Composed composed;
  FusedArraysPtr fused;
  mutable std::mutex mutex;
  mutable std::map<int, torch::Tensor> moved;  // by CUDA device
};

CircuitOperator::CircuitOperator(prob::Circuit circuit, const compile::ConstraintProgram& program,
                                 const std::vector<char>& believed, Evaluation evaluation)
    : impl_(std::make_unique<Impl>(std::move(circuit), program, believed, evaluation)) {}
CircuitOperator::~CircuitOperator() = default;
CircuitOperator::CircuitOperator(CircuitOperator&&) noexcept = default;

const prob::Circuit& CircuitOperator::circuit() const {
  return impl_->circuit;
}

at::Tensor CircuitOperator::log_value(const at::Tensor& given) const {
  const torch::Tensor weights = impl_->checked(given);
  return impl_->takes(weights) ? fused_log_value(impl_->fused, weights) : impl_->composed.log_value(weights);
}

std::pair<at::Tensor, at::Tensor> CircuitOperator::evaluate(const at::Tensor& given) const {
  const torch::Tensor weights = impl_->checked(given).detach();
  if (impl_->takes(weights)) return fused_evaluate(impl_->fused, weights);
  const torch::AutoGradMode enabled(true);
  const torch::Tensor leaf = weights.clone().requires_grad_(true);
  const torch::Tensor value = impl_->composed.log_value(leaf);
  return {value.detach(), torch::autograd::grad({value.sum()}, {leaf})[0]};
}

at::Tensor CircuitOperator::weights(const at::Tensor& beliefs, const at::Tensor& allowed,
                                    const at::Tensor& indicators) const {
  const prob::Circuit& circuit = impl_->circuit;
  AS2_REQUIRE(
      beliefs.dim() == 3 && beliefs.size(1) == circuit.positions && beliefs.size(2) == circuit.symbols,
      "beliefs must be [batch, positions, symbols]");
  const std::int64_t batch = beliefs.size(0);
  torch::Tensor symbols = torch::where(impl_->believed_on(beliefs.device()), beliefs + kFloor,
                                       torch::ones({}, beliefs.options()));
  if (allowed.defined()) symbols = symbols * allowed.to(beliefs.scalar_type());
  const auto observed = static_cast<std::int64_t>(circuit.observed.size());
  const torch::Tensor nodes = indicators.defined()
                                  ? indicators.to(beliefs.scalar_type()).reshape({batch, 2 * observed})
                                  : torch::ones({batch, 2 * observed}, beliefs.options());
  return torch::cat({symbols.reshape({batch, -1}), nodes}, 1);
}

at::Tensor CircuitOperator::log_probability(const at::Tensor& beliefs, const at::Tensor& allowed,
                                            const at::Tensor& indicators) const {
  // Both sums in one call: twice the batch keeps more threads busy than two calls do.
  const torch::Tensor both = log_value(torch::cat(
      {weights(beliefs, allowed, indicators), weights(beliefs, torch::Tensor(), torch::Tensor())}));
  const std::int64_t batch = beliefs.size(0);
  return both.narrow(0, 0, batch) - both.narrow(0, batch, batch);
}

}  // namespace as2::prob_tensor
