// The terms of the loss, one row of a table each.
//
//   L = Σ_terms w(t) · L_term,   w(t) = weight · α(t) · β(t)
//   perception    CE of perception's logits at pictures        (L_cnn;   addition: L_digit^pre)
//   evidence      CE of the reasoner's logits at evidence      (L_sup;   addition: L_digit^post)
//   latent        CE of the reasoner's logits elsewhere        (L_blank; addition: L_sum)
//   constraint    the T_P fixed-point loss of the beliefs      (L_ic)
//   satisfaction  −log P(the linear constraints hold)          (sum-only supervision)
//   query         −log P(what is observed)                     (train/query_loss.h, train/searched_query.h)
//   semantic      −log P(program and what is observed)         (train/query_loss.h)
//   ltn           1 − fuzzy truth of the constraints           (train/fuzzy_truth.h)
//   a-nesi        −log of P(observed) as a network predicts it (train/inference_model.h)
// `constraint`, `satisfaction`, `semantic` and `ltn` see the beliefs with the labels of observed positions
// filled in: the sum of an addition.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "as2/soft_tp.h"
#include "infer/tensor/network.h"
#include "train/fuzzy_truth.h"
#include "train/inference_model.h"
#include "train/query_loss.h"
#include "train/schedule.h"
#include "train/searched_query.h"

namespace as2::train {

struct LossConfig {
  std::map<std::string, TermSchedule> terms;  // every name of loss_terms()
  bool sum_reduction = false;  // constraint: the paper's literal sum; else the mean over residual terms
  bool every_pass = true;      // cross-entropy on every pass of the reasoner, or on its last
  QueryConfig query;
  FuzzyConfig ltn;
  InferenceConfig a_nesi;

  double weight(const std::string& term) const { return terms.at(term).weight; }
  bool searches() const { return weight("query") > 0 && query.approx == "search"; }
  // Whether a term with a weight is given the derived atoms that labels.observed names.
  bool reads_atoms() const {
    return weight("query") > 0 || weight("semantic") > 0 || weight("ltn") > 0 || weight("a-nesi") > 0;
  }
};

// What the terms make of the program; null where no term with a weight reads it.
struct LossOperators {
  const tp::SoftTp* soft_tp = nullptr;              // constraint, satisfaction
  const QueryLoss* query = nullptr;                 // query, semantic, a-nesi
  const FuzzyTruth* fuzzy = nullptr;                // ltn
  const InferenceModel* inference_model = nullptr;  // a-nesi
  const SearchedQuery* searched = nullptr;          // query, where it is searched
};

// What a term is computed from. Tensors that several terms read are made once, when first asked for.
class LossInput {
 public:
  LossInput(const LossConfig& config, const LossOperators& of_program, const torch::Tensor& class_of,
            const torch::Tensor& mask, const infer::Batch& read, const infer::Prediction& made)
      : losses(config),
        operators(of_program),
        batch(read),
        prediction(made),
        class_of_(class_of),
        mask_(mask) {}

  // [passes, batch, positions, symbols]: the logits that the reasoner's terms read.
  const torch::Tensor& passes();
  // [batch, positions, symbols]: the beliefs of the last pass, observed labels filled in.
  const torch::Tensor& constrained();
  // [rows, slots] int64: the class that the label of each picture names.
  torch::Tensor labelled_classes() const;

  const LossConfig& losses;
  const LossOperators& operators;
  const infer::Batch& batch;
  const infer::Prediction& prediction;

 private:
  const torch::Tensor &class_of_, &mask_;
  torch::Tensor passes_, constrained_;
};

struct LossTerm {
  const char* name;
  // The labels that the term is a mean over, [batch, positions] or [rows, slots] bool; null: it is a mean
  // over rows.
  torch::Tensor (*labels)(const infer::Batch& batch);
  // Its value. `read` is what labels() gave, `count` how many of them the whole batch has.
  torch::Tensor (*value)(LossInput& input, const torch::Tensor& read, const torch::Tensor& count);
};

const std::vector<LossTerm>& loss_terms();

}  // namespace as2::train
