// Both kernels against LibTorch's own operations on circuits of any shape, and CUDA's against the CPU's,
// value and gradient. No grounder is needed: the programs are compiled ones.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "as2/circuit_operator.h"
#include "as2/compile.h"
#include "random.h"

namespace as2::prob_tensor {
namespace {

struct Step {
  torch::Tensor values, gradient;  // on the CPU
};

Step value_and_gradient(const CircuitOperator& function, const torch::Tensor& weights) {
  const torch::Tensor input = weights.detach().clone().set_requires_grad(true);
  const torch::Tensor values = function.log_value(input);
  // Rows without an answer set have no logarithm to go down from.
  torch::where(values.isfinite(), values, torch::zeros_like(values)).sum().backward();
  return {values.detach().cpu(), input.grad().cpu()};
}

// Gradients relative to the greatest of their row: ∂ log value/∂weight has the scale of 1/weight.
void expect_equal(const Step& expected, const Step& found, double tolerance) {
  EXPECT_TRUE(expected.values.isfinite().equal(found.values.isfinite()));
  EXPECT_TRUE(torch::allclose(expected.values, found.values, tolerance, tolerance));
  const torch::Tensor scale = expected.gradient.abs().amax(1, true).clamp_min(1);
  EXPECT_LT(((expected.gradient - found.gradient).abs() / scale).max().item<double>(), tolerance);
}

// 10⁻⁵ in float32; rounding alone in float64.
constexpr std::pair<torch::ScalarType, double> kTypes[] = {{torch::kFloat32, 1e-5}, {torch::kFloat64, 1e-10}};

void compare_devices(const CircuitOperator& function, const torch::Tensor& weights) {
  for (const auto& [type, tolerance] : kTypes) {
    expect_equal(value_and_gradient(function, weights.to(type)),
                 value_and_gradient(function, weights.to(type).cuda()), tolerance);
  }
}

TEST(Cuda, GivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  torch::manual_seed(3);
  for (const std::string name :
       {"multi_digit_addition-n15", "addition-n4", "n_queens", "grid_path", "greater", "sudoku-b2"}) {
    SCOPED_TRACE(name);
    const auto program =
        compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/" + name + ".as2c"}, {}).program;
    const prob::Circuit circuit = prob::compile_circuit(program);
    const CircuitOperator function(circuit, program);
    compare_devices(function, torch::rand({37, circuit.inputs()}) + 0.05);
  }
}

// Layers of sums and products over anything below them: what the kernel sees of a circuit.
prob::Circuit random_circuit(Random& random) {
  prob::Circuit circuit;
  circuit.positions = random.between(1, 6);
  circuit.symbols = random.between(2, 5);
  const int inputs = circuit.inputs();
  for (int layer = random.between(1, 7); layer > 0; --layer) {
    const int below = inputs + circuit.nodes(), first = circuit.nodes();
    const bool sum = layer % 2 == 1;
    for (int node = random.between(1, 9); node > 0; --node) {
      for (int child = random.between(1, 5); child > 0; --child)
        circuit.children.push_back(static_cast<int>(random.below(static_cast<std::uint32_t>(below))));
      circuit.begin.push_back(static_cast<std::int64_t>(circuit.children.size()));
    }
    circuit.layers.push_back({first, circuit.nodes(), sum});
  }
  circuit.root = inputs + circuit.nodes() - 1;
  return circuit;
}

// Weights of 0 forbid; a row of them leaves no answer set.
TEST(RandomCircuits, AreEvaluatedAlikeByEveryKernel) {
  torch::manual_seed(4);
  Random random(4);
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const prob::Circuit circuit = random_circuit(random);
    compile::ConstraintProgram program;
    program.positions.resize(static_cast<std::size_t>(circuit.positions));
    for (compile::Position& position : program.positions)
      position.symbols.assign(static_cast<std::size_t>(circuit.symbols), "s");
    const CircuitOperator function(circuit, program), composed(circuit, program, {}, Evaluation::kComposed);
    torch::Tensor weights = torch::rand({random.between(1, 40), circuit.inputs()}) + 0.05;
    weights = weights * (torch::rand_like(weights) < 0.8).to(weights.scalar_type());
    weights[0].zero_();
    for (const auto& [type, tolerance] : kTypes) {
      expect_equal(value_and_gradient(composed, weights.to(type)),
                   value_and_gradient(function, weights.to(type)), tolerance);
    }
    if (torch::cuda::is_available()) compare_devices(function, weights);
  }
}

}  // namespace
}  // namespace as2::prob_tensor
