// Reasoner `satnet`: the low-rank relaxation of MAXSAT of Wang, Donti, Wilder and Kolter (ICML 2019). It is
// given the positions and their symbols, and learns the rules: nothing of the program's constraints enters.
#pragma once

#include "infer/network_options.h"
#include "nn/reasoner.h"

namespace as2::nn {

using infer::SatNetOptions;

// The layer. `z` [batch, atoms] in 0 … 1 and `given` [batch, atoms] bool: atoms whose value is given;
// `clauses` [1 + atoms + auxiliary, clauses], `start` [1 + atoms + auxiliary, rank]: where the vectors begin.
// Returns [batch, atoms]: z where it is given, else what the solved relaxation makes of it. Differentiable
// by `z` and `clauses`; float32 or float64. Computed on the CPU, wherever the tensors lie.
torch::Tensor satnet(const torch::Tensor& z, const torch::Tensor& given, const torch::Tensor& clauses,
                     const torch::Tensor& start, int sweeps, double tolerance);

class SatNet : public Reasoner {
 public:
  SatNet(const SatNetOptions& options, const compile::ConstraintProgram& program);

  ReasonerOutput forward(const ReasonerInput& input, int passes = 0) override;
  void bind(const compile::ConstraintProgram& program) override;
  const SatNetOptions& options() const { return options_; }

 private:
  SatNetOptions options_;
  Structure structure_;
  torch::Tensor start_;    // [variables, rank]
  torch::Tensor clauses_;  // [variables, clauses]
};

}  // namespace as2::nn
