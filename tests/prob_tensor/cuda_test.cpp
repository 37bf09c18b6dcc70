// The CUDA kernel against the CPU's, value and gradient.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "as2/circuit_operator.h"
#include "as2/compile.h"

namespace as2::prob_tensor {
namespace {

std::pair<torch::Tensor, torch::Tensor> value_and_gradient(const CircuitOperator& function,
                                                           const torch::Tensor& weights) {
  const torch::Tensor input = weights.detach().clone().set_requires_grad(true);
  const torch::Tensor values = function.log_value(input);
  values.sum().backward();
  return {values.detach().cpu(), input.grad().cpu()};
}

TEST(Cuda, GivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  torch::manual_seed(3);
  for (const auto& [name, digits] : {std::pair<std::string, std::string>{"multi_digit_addition", "15"},
                                     {"addition", "4"},
                                     {"n_queens", "8"}}) {
    SCOPED_TRACE(name);
    asp::GroundOptions options;
    options.constants.emplace_back("n", digits);
    const auto program =
        compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/" + name + ".lp"}, options).program;
    const prob::Circuit circuit = prob::compile_circuit(program);
    const CircuitOperator function(circuit, program);
    const torch::Tensor weights = torch::rand({37, circuit.inputs()}) + 0.05;
    for (const auto type : {torch::kFloat32, torch::kFloat64}) {
      const double tolerance = type == torch::kFloat32 ? 1e-4 : 1e-9;
      const auto [values, gradient] = value_and_gradient(function, weights.to(type));
      const auto [on_cuda, gradient_on_cuda] = value_and_gradient(function, weights.to(type).cuda());
      EXPECT_TRUE(torch::allclose(values, on_cuda, 1e-5, 1e-5));
      EXPECT_TRUE(torch::allclose(gradient, gradient_on_cuda, tolerance, tolerance));
    }
  }
}

}  // namespace
}  // namespace as2::prob_tensor
