// The loss `a-nesi`: a network that learns to predict what is observed from beliefs, and teaches perception
// in the place of exact inference (van Krieken et al., NeurIPS 2023, their prediction model).
//
// In every step
//   1. beliefs are drawn from a Dirichlet distribution fitted to perception's own, position by position; an
//      answer set is drawn from them, and says what would be observed; the network q learns −log q(observed |
//      beliefs) on these;
//   2. perception learns −log q(observed | its beliefs), q held fixed.
// The observed things are predicted one after the other, each given those before it. As published: three
// hidden layers of 800 ReLUs, 600 draws per step. The prior is fitted to the batch by moments; the authors
// fit it to the last 2,500 beliefs by gradient. In both its concentration stays at 0.1 per symbol or below,
// so that most draws are nearly certain: from those the network soon learns what the program says.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "train/query_loss.h"

namespace as2::train {

struct InferenceConfig {
  std::int64_t draws = 600;  // per step
  std::int64_t width = 800, layers = 3;
};

class InferenceModel : public torch::nn::Module {
 public:
  // `pictured`: positions whose beliefs are read; `observed` [positions]: whose labels are
  // observed. Keeps a reference to the program.
  InferenceModel(const compile::ConstraintProgram& program, const std::vector<int>& pictured,
                 const std::vector<char>& observed, std::vector<task::ObservedAtom> atoms,
                 const InferenceConfig& config);

  // [batch]: log q(observed | beliefs); `learns`: its gradient reaches the network's weights, else only the
  // beliefs.
  torch::Tensor log_likelihood(const infer::Batch& batch, const torch::Tensor& beliefs, bool learns) const;
  // What would be observed of drawn beliefs, `batch` saying where there is evidence. Answer sets are drawn
  // by the circuit of `query`.
  struct Drawn {
    infer::Batch batch;
    torch::Tensor beliefs;
  };
  Drawn draw(const QueryLoss& query, const infer::Batch& batch, const torch::Tensor& beliefs) const;
  // Scalar: both steps.
  torch::Tensor loss(const QueryLoss& query, const infer::Batch& batch, const torch::Tensor& beliefs) const;

 private:
  // [batch, items] int64: which of its outcomes each observed thing has; −1: not observed.
  torch::Tensor outcomes(const infer::Batch& batch) const;

  const compile::ConstraintProgram& program_;
  std::vector<task::ObservedAtom> atoms_;
  InferenceConfig config_;
  std::vector<std::int64_t> pictured_, observed_;
  std::int64_t items_ = 0, outcomes_ = 0;  // observed things, and the most outcomes of one
  torch::Tensor possible_;                 // [items, outcomes] bool
  std::vector<torch::nn::Linear> layers_;
};

}  // namespace as2::train
