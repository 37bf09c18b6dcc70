// From a batch to its loss: what perception and reasoner make of it, and the terms of Eq. 4 and 5.
//
//   L = Σ_terms w(t) · L_term,   w(t) = weight · α(t) · β(t)
//   perception    CE of perception's logits at pictures        (L_cnn;   addition: L_digit^pre)
//   evidence      CE of the reasoner's logits at evidence      (L_sup;   addition: L_digit^post)
//   latent        CE of the reasoner's logits elsewhere        (L_blank; addition: L_sum)
//   constraint    the T_P fixed-point loss of the beliefs      (L_ic)
//   satisfaction  −log P(the linear constraints hold)          (sum-only supervision)
// The last two see the beliefs with the labels of `observed` positions filled in: the sum of an addition.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "as2/soft_tp.h"
#include "nn/model.h"
#include "train/batches.h"
#include "train/config.h"

namespace as2::train {

// What the network makes of a batch.
struct Prediction {
  torch::Tensor perceived;  // [rows, slots, classes] perception's logits; undefined without pictures
  torch::Tensor evidence;   // [batch, positions, symbols] what the reasoner was given
  std::vector<torch::Tensor>
      logits;  // per pass [batch, positions, symbols]; without a reasoner: log evidence
};

struct ForwardOptions {
  std::int64_t perceived_rows =
      0;  // the first rows' evidence is what perception sees; the rest is given its labels
  bool evidence_gradient = false;  // the reasoner's loss reaches perception
};

class Network {
 public:
  // Keeps a reference to the model; `mask` [positions, symbols] bool: inside a domain.
  Network(nn::Model& model, const PictureMap& map, torch::Tensor mask);

  Prediction forward(const Batch& batch, const ForwardOptions& options);

  // [rows, positions, symbols]: perception's beliefs at positions with pictures, `base` elsewhere.
  torch::Tensor perceived_beliefs(const torch::Tensor& logits, const Batch& batch, const torch::Tensor& base);

 private:
  nn::Model& model_;
  torch::Tensor class_of_, mask_;
};

// One-hot labels where known, uniform over the domain elsewhere. [batch, positions, symbols]
torch::Tensor label_beliefs(const torch::Tensor& labels, const torch::Tensor& known,
                            const torch::Tensor& mask);

class Objective {
 public:
  // `soft_tp` may be null when neither constraint term has weight. `observed` [positions] bool.
  Objective(const LossConfig& losses, const tp::SoftTp* soft_tp, const PictureMap& map,
            torch::Tensor observed, torch::Tensor mask);

  // The terms with a weight, in the order of values().
  const std::vector<std::string>& names() const { return names_; }
  // Sets the weights of this (fractional) epoch; device tensors only, so a captured step sees them.
  void set_epoch(double epoch);
  // How many labels each term is a mean over, [terms]; 1 where it is a mean over rows.
  torch::Tensor counts(const Batch& batch) const;
  // The terms of a batch, [terms], divided by `counts`. Ranks that share a batch divide by the mean of their
  // counts: then the mean of their terms is the term of the whole batch, however its labels are spread.
  torch::Tensor values(const Batch& batch, const Prediction& prediction, const torch::Tensor& counts) const;
  // Σ weight · value.
  torch::Tensor total(const torch::Tensor& values) const { return values.dot(weights_); }

 private:
  // [batch, positions] or, for perception, [rows, slots]: the labels a term is a mean over; undefined
  // where it is a mean over rows.
  torch::Tensor labels_read(const std::string& term, const Batch& batch) const;

  LossConfig losses_;
  const tp::SoftTp* soft_tp_;
  std::vector<std::string> names_;
  std::vector<TermSchedule> schedules_;
  torch::Tensor class_of_, observed_, mask_, weights_;
};

}  // namespace as2::train
