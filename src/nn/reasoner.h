// What every reasoner is: evidence in, beliefs out, one set of logits per pass.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "infer/sizes.h"
#include "nn/structure.h"

namespace as2::nn {

// Where a reasoner stands between two passes, for one that carries a state; every tensor has one row per
// instance. Gradients do not flow through it from one call to the next.
struct ReasonerState {
  torch::Tensor x;        // the reasoner's own, in the precision it computes in
  torch::Tensor beliefs;  // [batch, positions, symbols] float32

  bool defined() const { return beliefs.defined(); }
};

struct ReasonerOutput {
  // Per pass [batch, positions, symbols] float32, −inf outside the domain; last = answer. Evaluation: the
  // answer alone.
  std::vector<torch::Tensor> logits;
  torch::Tensor passes;  // [batch] int64 passes used before halting (evaluation only)
  ReasonerState state;   // after the last pass, detached (training, where the reasoner carries one)
};

// A reasoner's input. `beliefs` [batch, positions, symbols] is the evidence: perception's distribution (or a
// one-hot label) where `evidence` [batch, positions] (bool) is true, uniform over the domain elsewhere.
// `state`: where to go on from; undefined: start(). `trajectory`: which of its random ways a reasoner with
// noise takes in evaluation.
struct ReasonerInput {
  torch::Tensor beliefs;
  torch::Tensor evidence;
  ReasonerState state;
  int trajectory = 0;
};

class Reasoner : public torch::nn::Module {
 public:
  // `passes` ≤ 0: the reasoner's own number. Training returns every pass's logits (deep supervision) and
  // never synchronises with the host. Computes in the precision the surrounding autocast asks for.
  virtual ReasonerOutput forward(const ReasonerInput& input, int passes = 0) = 0;

  // Whether an input may bring a state.
  virtual bool carries_state() const { return false; }
  // Whether trajectories differ from one another.
  virtual bool has_trajectories() const { return false; }
  // The state before the first pass, where the reasoner carries one. Its random part is drawn anew for every
  // instance in training, from the device's generator. In evaluation it depends on the trajectory alone, so
  // that an answer depends neither on the generator nor on the other instances of the batch.
  virtual ReasonerState start(const ReasonerInput& input);

  // Puts the same weights to work on another program; ContractError where they do not fit it.
  virtual void bind(const compile::ConstraintProgram& program) = 0;
  // The sizes of the program that the weights were trained on, for evaluation on another.
  virtual void set_trained_sizes(const infer::Sizes& /*sizes*/) {}

  // Evaluation runs all passes and masks finished instances, instead of asking the host whether to go on:
  // what a captured graph needs.
  void set_fixed_passes(bool fixed) { fixed_passes_ = fixed; }

 protected:
  bool fixed_passes_ = false;
};

// One-hot of the argmax at evidence positions, the beliefs elsewhere (the paper's evidence clamping).
torch::Tensor clamp_evidence(const torch::Tensor& beliefs, const torch::Tensor& evidence);

}  // namespace as2::nn
