// The loss `query` where the program's circuit does not fit: −log Σ w(I) over the k most probable answer sets
// in which the observation holds (w as in query_loss.h). The decoder finds them, example by example, and
// nothing is compiled beforehand. Where its nodes run out they are the best it has found by then.
//
// It bounds P(program, observed) from below: dividing by what all answer sets weigh, as QueryLoss does, takes
// a circuit. If no reading of the pictures has more than one answer set, that divisor is the probability that
// the reading breaks no rule; so this loss teaches perception not to break any, as `semantic` does.
#pragma once

#include <memory>

#include "as2/decoder.h"
#include "train/query_loss.h"

namespace as2::train {

class SearchedQuery {
 public:
  SearchedQuery(std::shared_ptr<const compile::ConstraintProgram> program, const QueryConfig& config);

  // [batch]: the logarithm of that sum. `beliefs` [batch, positions, symbols]. −∞ where no answer set has
  // what is observed; InputError where the search ended before it had found one or shown that there is none.
  torch::Tensor log_mass(const infer::Batch& batch, const torch::Tensor& beliefs) const;

 private:
  decode::DecodeOptions patient() const;

  decode::Decoder decoder_;
  decode::DecodeOptions options_;
};

}  // namespace as2::train
