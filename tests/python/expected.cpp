// What Python must find, from the C++ interface: random programs with beliefs, one JSON object per line.
// Usage: python_expected COUNT
#include <torch/torch.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/compile.h"
#include "as2/decoder.h"
#include "as2/probability.h"
#include "as2/soft_tp.h"
#include "support/random_program.h"

namespace {

using Json = nlohmann::json;
using as2::compile::ConstraintProgram;

Json flat(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.detach().to(torch::kFloat64).contiguous();
  return std::vector<double>(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
}

// Beliefs [positions × symbols], none 0, each row a distribution; uniform at guesses, about which a tensor
// says nothing.
as2::decode::Beliefs random_beliefs(const ConstraintProgram& program, as2::testing::Random& random) {
  const auto stride = static_cast<std::size_t>(program.max_symbols());
  as2::decode::Beliefs beliefs(program.positions.size() * stride, 0.0);
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    double sum = 0;
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s)
      sum += beliefs[i * stride + s] = program.positions[i].guess ? 1 : 1 + random.below(1000);
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) beliefs[i * stride + s] /= sum;
  }
  return beliefs;
}

Json expected(const std::string& text, as2::testing::Random& random) {
  const ConstraintProgram program = as2::compile::compile_text(text).program;
  const as2::decode::Beliefs beliefs = random_beliefs(program, random);
  const as2::tp::SoftTp soft(program);
  torch::Tensor p = torch::tensor(beliefs, torch::kFloat64).view({1, soft.positions(), soft.symbols()});
  p.set_requires_grad(true);
  const torch::Tensor loss = soft.loss(p);
  if (loss.requires_grad()) loss.backward();
  Json json{
      {"text", text},
      {"beliefs", beliefs},
      {"loss", loss.item<double>()},
      {"gradient", p.grad().defined() ? flat(p.grad()) : Json(std::vector<double>(beliefs.size(), 0.0))},
      {"refined", flat(soft.refine(p, 3))}};
  const as2::decode::Decoded decoded = as2::decode::Decoder(program).decode({beliefs, {}, {}, {}});
  json["status"] = as2::decode::name_of(decoded.status);
  json["assignment"] = decoded.models.empty() ? Json(nullptr) : Json(decoded.models.front().assignment);
  const as2::prob::Circuit circuit = as2::prob::compile_circuit(program);
  const as2::prob::Weights weights = as2::prob::weights_of(circuit, program, beliefs);
  const as2::prob::Evaluated evaluated = as2::prob::evaluate(circuit, {weights});
  const bool possible = std::isfinite(evaluated.log_value[0]);
  json["log_p_program"] = possible ? Json(evaluated.log_value[0]) : Json(nullptr);
  json["marginals"] = nullptr;
  if (possible) {
    auto marginals = as2::prob::marginals(circuit, weights, evaluated, 0);
    marginals.resize(beliefs.size());
    json["marginals"] = marginals;
  }
  json["count"] = as2::prob::count_answers(circuit);
  return json;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 1;
  as2::testing::Random random(19);
  int printed = 0;
  for (std::uint64_t seed = 0; printed < count; ++seed) {
    const std::string text = seed % 2 == 0 ? as2::testing::random_program(seed).text()
                                           : as2::testing::random_cyclic_program(seed, false).text();
    try {
      std::cout << expected(text, random).dump() << '\n';
      ++printed;
    } catch (const as2::InputError&) {  // a program that is refused is no example
    }
  }
}
