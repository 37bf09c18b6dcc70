// From a batch and the network's prediction to the loss: the terms of train/loss_terms.h, weighed.
#pragma once

#include <string>
#include <vector>

#include "train/loss_terms.h"

namespace as2::train {

class Objective {
 public:
  // `mask` [positions, symbols] bool.
  Objective(const LossConfig& losses, const LossOperators& operators, const infer::PictureMap& map,
            torch::Tensor mask);

  // The terms with a weight, in the order of values().
  const std::vector<std::string>& names() const { return names_; }
  // Sets the weights of this (fractional) epoch; device tensors only, so a captured step sees them.
  void set_epoch(double epoch);
  // How many labels each term is a mean over, [terms]; 1 where it is a mean over rows.
  torch::Tensor counts(const infer::Batch& batch) const;
  // The terms of a batch, [terms], divided by `counts`. Ranks that share a batch divide by the mean of their
  // counts: then the mean of their terms is the term of the whole batch, however its labels are spread.
  torch::Tensor values(const infer::Batch& batch, const infer::Prediction& prediction,
                       const torch::Tensor& counts) const;
  // Σ weight · value.
  torch::Tensor total(const torch::Tensor& values) const { return values.dot(weights_); }

 private:
  LossConfig losses_;
  LossOperators operators_;
  std::vector<std::string> names_;
  std::vector<const LossTerm*> terms_;  // those with a weight
  torch::Tensor class_of_, mask_, weights_;
};

}  // namespace as2::train
