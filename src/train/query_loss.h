// The loss `query`: −log P(observed), exact or cut short as others do.
//
//   P(observed) = Σ_{I ⊨ observed} w(I) / Σ_I w(I),   w(I) = ∏ p(position, its symbol in I)
//
// p is what perception reads where an example has evidence; every other position weighs 1. The circuit of the
// program is compiled once (as2/circuit_operator.h); observations enter as indicators.
//
//   exact   the sum over all answer sets
//   top-k   the numerator's k greatest terms (what Scallop does with proofs)
//   same    the numerator without symbols that fall under a share of a picture's mass (what SLASH calls SAME)
// Both cut the numerator alone, so they are lower bounds of P(observed).
//
// Where the circuit does not fit there is `search` (train/searched_query.h).
//
// The loss `semantic` is −log of the numerator with every position's beliefs in w: the probability that
// independent draws are an answer set with what is observed (Xu et al., ICML 2018).
#pragma once

#include <torch/torch.h>

#include <string>

#include "as2/circuit_operator.h"
#include "infer/tensor/batch.h"
#include "task/supervision.h"

namespace as2::train {

struct QueryConfig {
  std::string approx = "exact";  // or top-k, same, search
  std::int64_t k = 10;           // top-k, search: answer sets
  double share = 0.01;           // same: of a picture's mass, what its least likely symbols may make up
  std::int64_t nodes = 10000;    // search: of the decoder, for each example
  prob::Budget circuit;
};

// `beliefs` [batch, positions, symbols] where a position is believed [batch, positions] bool, elsewhere 1.
torch::Tensor weighed(const torch::Tensor& believed, const torch::Tensor& beliefs);

// [batch]: log Σ exp(Σ_i log_p(i, its symbol)) over a row's answers, −∞ without any. `log_p` [batch,
// positions, symbols]; an entry of `answers` per row.
torch::Tensor log_mass(const torch::Tensor& log_p,
                       const std::vector<std::vector<compile::Assignment>>& answers);

class QueryLoss {
 public:
  // Compiles the circuit; CircuitTooLarge where it does not fit.
  QueryLoss(const compile::ConstraintProgram& program, const std::vector<task::ObservedAtom>& atoms,
            const QueryConfig& config, torch::Device device);

  // [batch]: log P(observed), as the configuration says. `beliefs` [batch, positions, symbols] at evidence.
  torch::Tensor log_likelihood(const infer::Batch& batch, const torch::Tensor& beliefs) const;
  // The same, exact whatever the configuration says.
  torch::Tensor exact_log_likelihood(const infer::Batch& batch, const torch::Tensor& beliefs) const;

  // [batch] bool: some answer set has these symbols [batch, positions] at evidence, and what is observed.
  torch::Tensor allows(const infer::Batch& batch, const torch::Tensor& symbols) const;

  // [batch]: log P(program, observed), `beliefs` of every position.
  torch::Tensor log_satisfaction(const infer::Batch& batch, const torch::Tensor& beliefs) const;

  // [batch, inputs of the circuit]: weights of `beliefs` where there is `evidence` [batch, positions],
  // nothing observed.
  torch::Tensor evidence_weights(const torch::Tensor& evidence, const torch::Tensor& beliefs) const;

  const prob::Circuit& circuit() const { return circuit_.circuit(); }

 private:
  // What a batch observes, as inputs of the circuit.
  struct Inputs {
    torch::Tensor beliefs;     // [batch, positions, symbols], 1 where there is no evidence
    torch::Tensor allowed;     // the same shape, 0 or 1
    torch::Tensor indicators;  // [batch, observed nodes, 2]
  };
  Inputs inputs_of(const infer::Batch& batch, const torch::Tensor& beliefs,
                   const torch::Tensor& believed) const;
  torch::Tensor best_answers(const Inputs& inputs) const;
  torch::Tensor without_the_unlikely(const infer::Batch& batch, const Inputs& inputs) const;

  QueryConfig config_;
  prob_tensor::CircuitOperator circuit_;
  // [atoms, inputs of the circuit] float32: 1 where an atom that holds, or does not, forbids the input.
  torch::Tensor forbidden_if_true_, forbidden_if_false_;
};

}  // namespace as2::train
