// The circuit as a tensor function: LibTorch's operations against the plain evaluation, the kernels against
// LibTorch's operations, gradients by finite differences, likelihoods against enumeration.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "as2/circuit_operator.h"
#include "as2/compile.h"
#include "decode/random_constraints.h"
#include "support/finite_difference.h"

namespace as2::prob_tensor {
namespace {

using compile::ConstraintProgram;
using decode_test::below;
using prob::Circuit;
using prob::Weights;
using RandomSource = decode_test::Random;

Circuit with_all_nodes(const ConstraintProgram& program) {
  std::vector<int> nodes;
  for (std::size_t n = 0; n < program.nodes.size(); ++n) nodes.push_back(static_cast<int>(n));
  return prob::compile_circuit(program, nodes);
}

// Weights between 0.05 and 1.05, some 0 where asked.
std::vector<Weights> random_weights(RandomSource& random, const Circuit& circuit, int batch, bool zeros) {
  std::vector<Weights> rows;
  for (int b = 0; b < batch; ++b) {
    rows.emplace_back();
    for (int i = 0; i < circuit.inputs(); ++i) {
      const bool zero = zeros && below(random, 6) == 0;
      rows.back().push_back(zero ? 0.0 : 0.05 + below(random, 1000) / 1000.0);
    }
  }
  return rows;
}

torch::Tensor tensor_of(const std::vector<Weights>& rows) {
  torch::Tensor tensor =
      torch::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows.front().size())},
                   torch::kFloat64);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::copy(rows[b].begin(), rows[b].end(), tensor[static_cast<std::int64_t>(b)].data_ptr<double>());
  }
  return tensor;
}

// Values and gradient of their sum, rows without an answer left out of it.
std::pair<torch::Tensor, torch::Tensor> value_and_gradient(const CircuitOperator& function,
                                                           const torch::Tensor& weights) {
  const torch::Tensor input = weights.detach().clone().set_requires_grad(true);
  const torch::Tensor values = function.log_value(input);
  const torch::Tensor finite = values.isfinite();
  torch::where(finite, values, torch::zeros_like(values)).sum().backward();
  const torch::Tensor gradient = input.grad().defined() ? input.grad() : torch::zeros_like(input);
  return {values.detach(), gradient};
}

class Operator : public ::testing::TestWithParam<Evaluation> {};
INSTANTIATE_TEST_SUITE_P(Evaluations, Operator, ::testing::Values(Evaluation::kComposed, Evaluation::kFused),
                         [](const auto& each) {
                           return each.param == Evaluation::kFused ? "fused" : "composed";
                         });

TEST_P(Operator, IsThePlainEvaluation) {
  RandomSource random(31);
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ConstraintProgram program = decode_test::RandomConstraints(seed).make();
    const Circuit circuit = with_all_nodes(program);
    const auto rows = random_weights(random, circuit, 1 + below(random, 20), below(random, 2) == 0);
    const prob::Evaluated plain = prob::evaluate(circuit, rows);
    for (const auto type : {torch::kFloat64, torch::kFloat32}) {
      const double tolerance = type == torch::kFloat64 ? 1e-9 : 1e-4;
      const CircuitOperator function(circuit, program, {}, GetParam());
      const auto [values, gradient] = value_and_gradient(function, tensor_of(rows).to(type));
      for (std::size_t b = 0; b < rows.size(); ++b) {
        const auto row = static_cast<std::int64_t>(b);
        const double value = values[row].item<double>();
        if (std::isinf(plain.log_value[b])) {
          EXPECT_EQ(value, -INFINITY);
          EXPECT_EQ(gradient[row].abs().sum().item<double>(), 0);
          continue;
        }
        EXPECT_NEAR(value, plain.log_value[b], tolerance);
        const std::vector<double> expected = prob::gradient(circuit, plain, static_cast<int>(b));
        for (int i = 0; i < circuit.inputs(); ++i) {
          const double truth = rows[b][i] == 0 ? 0 : expected[i];  // what is forbidden stays so
          EXPECT_NEAR(gradient[row][i].item<double>(), truth, tolerance * std::max(1.0, truth))
              << "input " << i;
        }
      }
    }
  }
}

TEST_P(Operator, ValueAndGradientComeWithoutAGraphToo) {
  RandomSource random(35);
  for (std::uint64_t seed = 0; seed < 200 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ConstraintProgram program = decode_test::RandomConstraints(seed).make();
    const Circuit circuit = with_all_nodes(program);
    const CircuitOperator function(circuit, program, {}, GetParam());
    const torch::Tensor weights =
        tensor_of(random_weights(random, circuit, 5, below(random, 2) == 0)).requires_grad_(true);
    const auto [values, gradient] = value_and_gradient(function, weights);
    const auto [value, its_gradient] = function.evaluate(weights);
    EXPECT_FALSE(value.requires_grad() || its_gradient.requires_grad());
    EXPECT_TRUE(torch::equal(value, values));
    EXPECT_TRUE(torch::allclose(its_gradient, gradient, 0, 1e-12));
  }
}

TEST(OperatorOnCuda, IsThePlainEvaluation) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  RandomSource random(34);
  for (std::uint64_t seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ConstraintProgram program = decode_test::RandomConstraints(seed).make();
    const Circuit circuit = with_all_nodes(program);
    const auto rows = random_weights(random, circuit, 1 + below(random, 20), below(random, 2) == 0);
    const prob::Evaluated plain = prob::evaluate(circuit, rows);
    const CircuitOperator function(circuit, program);
    const auto [values, gradient] = value_and_gradient(function, tensor_of(rows).to(torch::kFloat32).cuda());
    for (std::size_t b = 0; b < rows.size(); ++b) {
      const auto row = static_cast<std::int64_t>(b);
      const double value = values[row].item<double>(), truth = plain.log_value[b];
      if (std::isinf(truth)) {
        EXPECT_EQ(value, -INFINITY);
        continue;
      }
      EXPECT_NEAR(value, truth, 1e-5 * std::max(1.0, std::abs(truth)));
      const std::vector<double> expected = prob::gradient(circuit, plain, static_cast<int>(b));
      const double scale = std::max(1.0, *std::max_element(expected.begin(), expected.end()));
      for (int i = 0; i < circuit.inputs(); ++i) {
        if (rows[b][i] == 0) continue;  // what is forbidden stays so
        EXPECT_NEAR(gradient[row][i].item<double>(), expected[i], 1e-5 * scale) << "input " << i;
      }
    }
  }
}

TEST_P(Operator, HasTheGradientOfFiniteDifferences) {
  const ConstraintProgram program =
      compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/reachability.lp"}).program;
  const CircuitOperator function(with_all_nodes(program), program, {}, GetParam());
  RandomSource random(32);
  const torch::Tensor weights = tensor_of(random_weights(random, function.circuit(), 2, false));
  test::expect_gradient([&](const torch::Tensor& x) { return function.log_value(x); }, weights);
}

// Long products far below what float32 can hold.
TEST_P(Operator, StaysFiniteWhereProbabilitiesUnderflow) {
  asp::GroundOptions options;
  options.constants.emplace_back("n", "100");
  const ConstraintProgram program =
      compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/multi_digit_addition.lp"}, options)
          .program;
  const Circuit circuit = prob::compile_circuit(program);
  const CircuitOperator function(circuit, program, {}, GetParam());
  const torch::Tensor weights = torch::full({3, circuit.inputs()}, 0.01, torch::kFloat32);
  const auto [values, gradient] = value_and_gradient(function, weights);
  // 10²⁰⁰ answers, 401 positions of 0.01 each.
  EXPECT_NEAR(values[2].item<double>(), 200 * std::log(10.0) + 401 * std::log(0.01), 0.01);
  EXPECT_NEAR((gradient[0] * 0.01).sum().item<double>(), 401, 0.05);
}

// P(total | pictures of two digits), as sum-only addition observes it.
TEST_P(Operator, GivesTheLikelihoodOfADerivedAtom) {
  const ConstraintProgram program = compile::compile_text(
                                        "{ digit(I,D) : D=0..9 } = 1 :- I=1..2.\n"
                                        "total(S) :- S = #sum{D,I : digit(I,D)}.\n"
                                        "less :- digit(1,A), digit(2,B), A < B.\n")
                                        .program;
  const prob::Observation seven = prob::parse_observation(program, "total(7)");
  const prob::Observation less = prob::parse_observation(program, "less");
  std::vector<int> nodes;
  prob::collect_nodes(seven[0], nodes);
  prob::collect_nodes(less[0], nodes);
  const Circuit circuit = prob::compile_circuit(program, nodes);
  const CircuitOperator function(circuit, program, {}, GetParam());
  const auto options = torch::TensorOptions(torch::kFloat64);
  torch::manual_seed(1);
  const torch::Tensor beliefs = torch::softmax(torch::randn({2, 2, 10}, options), 2);
  torch::Tensor indicators = torch::ones({2, static_cast<std::int64_t>(circuit.observed.size()), 2}, options);
  // The first row observes the sum, the second that the first digit is not the lesser one.
  indicators[0][circuit.find_observed(seven[0].node.node)][seven[0].node.negated ? 1 : 0] = 0;
  indicators[1][circuit.find_observed(less[0].node.node)][less[0].node.negated ? 0 : 1] = 0;
  const torch::Tensor found = function.log_probability(beliefs, torch::Tensor(), indicators);
  double sum = 0;
  double not_less = 0;
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      if (a + b == 7) sum += (beliefs[0][0][a] * beliefs[0][1][b]).item<double>();
      if (a >= b) not_less += (beliefs[1][0][a] * beliefs[1][1][b]).item<double>();
    }
  }
  EXPECT_NEAR(found[0].item<double>(), std::log(sum), 1e-9);
  EXPECT_NEAR(found[1].item<double>(), std::log(not_less), 1e-9);
  test::expect_gradient(
      [&](const torch::Tensor& p) { return function.log_probability(p, torch::Tensor(), indicators); },
      beliefs);
}

// Positions without beliefs weigh 1; of an observed position only the observed symbol keeps its weight.
TEST_P(Operator, WeighsWhatIsBelievedAndKeepsWhatIsObserved) {
  const ConstraintProgram program =
      compile::compile_files({std::string(AS2_SOURCE_DIR) + "/programs/addition.lp"}).program;
  const int total = program.find_position("total(_)");
  std::vector<char> believed(program.positions.size(), 1);
  believed[total] = 0;
  const CircuitOperator function(prob::compile_circuit(program), program, believed, GetParam());
  const auto options = torch::TensorOptions(torch::kFloat64);
  const auto positions = static_cast<std::int64_t>(program.positions.size());
  const torch::Tensor beliefs = torch::full({1, positions, program.max_symbols()}, 0.1, options);
  torch::Tensor allowed = torch::zeros_like(beliefs);
  allowed.slice(1, 0, positions) = 1;
  allowed[0][total] = 0;
  allowed[0][total][program.find_symbol(total, "3")] = 1;
  EXPECT_NEAR(function.log_probability(beliefs, allowed, torch::Tensor()).item<double>(), std::log(0.04),
              1e-9);
}

}  // namespace
}  // namespace as2::prob_tensor
