// Reasoner inputs and comparisons the network tests share.
#pragma once

#include <torch/torch.h>

#include <limits>
#include <numeric>

#include "nn/programs.h"
#include "nn/reasoner.h"

namespace as2::testing {

// Beliefs [batch, positions, symbols]: `given` where `evidence` [batch, positions] holds, uniform over the
// domain (`mask` [positions, symbols]) elsewhere.
inline torch::Tensor evidence_beliefs(const torch::Tensor& given, const torch::Tensor& evidence,
                                      const torch::Tensor& mask) {
  const auto inside = mask.to(given.dtype());
  return torch::where(evidence.unsqueeze(-1), given, inside / inside.sum(-1, true));
}

// Random soft evidence at about half of the positions, uniform elsewhere.
inline nn::ReasonerInput random_input(const compile::ConstraintProgram& program, int batch, int seed) {
  torch::manual_seed(seed);
  const auto structure = nn::Structure::of(program);
  const auto outside = structure.mask.logical_not();
  const auto given = torch::softmax(
      (torch::randn({batch, structure.positions, structure.symbols}) * 3).masked_fill(outside, -1e9), -1);
  nn::ReasonerInput input;
  input.evidence = torch::rand({batch, structure.positions}) < 0.5;
  input.beliefs = evidence_beliefs(given, input.evidence, structure.mask);
  return input;
}

// Labels [batch, positions] as certain evidence everywhere.
inline nn::ReasonerInput certain_input(const torch::Tensor& labels, std::int64_t symbols) {
  return {torch::one_hot(labels, symbols).to(torch::kFloat32), torch::ones_like(labels, torch::kBool)};
}

// A fixed shuffle of n positions: position i moves to place[i].
inline std::vector<int> shuffled_places(int n) {
  std::vector<int> place(n);
  std::iota(place.begin(), place.end(), 0);
  for (int i = n - 1; i > 0; --i) std::swap(place[i], place[(i * 7 + 3) % (i + 1)]);
  return place;
}

// The input of the program whose position i moved to order[i].
inline nn::ReasonerInput moved(const nn::ReasonerInput& input, const torch::Tensor& order) {
  nn::ReasonerInput result{torch::empty_like(input.beliefs), torch::empty_like(input.evidence)};
  result.beliefs.index_copy_(1, order, input.beliefs);
  result.evidence.index_copy_(1, order, input.evidence);
  return result;
}

inline std::int64_t parameters_of(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

// The largest difference over the entries that are finite in `a`; infinite if the two are not finite at the
// same entries.
inline double difference(const torch::Tensor& a, const torch::Tensor& b) {
  const auto finite = a.isfinite();
  if (!finite.equal(b.isfinite())) return std::numeric_limits<double>::infinity();
  return (a - b).masked_select(finite).abs().max().item<double>();
}

}  // namespace as2::testing
