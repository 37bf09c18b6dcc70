// Reasoner `soft-tp` (preset `best`): one small network, run again and again, that reads soft T_P's answer to
// its own beliefs before each pass.
#pragma once

#include <map>
#include <memory>

#include "as2/soft_tp.h"
#include "infer/network_options.h"
#include "nn/pools.h"
#include "nn/precision.h"
#include "nn/reasoner.h"

namespace as2::nn {

using infer::Mixing;
using infer::SoftTpReasonerOptions;

class SoftTpReasoner : public Reasoner {
 public:
  SoftTpReasoner(const SoftTpReasonerOptions& options, const compile::ConstraintProgram& program);

  ReasonerOutput forward(const ReasonerInput& input, int passes = 0) override;
  void bind(const compile::ConstraintProgram& program) override;
  void set_trained_sizes(const infer::Sizes& sizes) override;
  bool carries_state() const override { return true; }
  bool has_trajectories() const override { return options_.state_noise > 0 || options_.path_noise > 0; }
  ReasonerState start(const ReasonerInput& input) override;
  const SoftTpReasonerOptions& options() const { return options_; }

 private:
  struct Weights;
  struct State;
  // What atoms weigh in the mean of each pool: `other` + `own` · belief; undefined where all means are plain.
  struct Shares {
    torch::Tensor other, own;  // [pools, 1, 1] float32
  };
  void make_shares();
  void move_to(torch::Device device);
  Weights weights(torch::ScalarType dtype, std::int64_t batch) const;
  State begin(const ReasonerInput& input, torch::ScalarType dtype);
  void disturb(State& state, int pass);
  void pass(State& state, const Weights& w) const;
  const torch::Tensor& noise_of(int trajectory);
  torch::Tensor fed_back(const State& state) const;
  torch::Tensor features(const State& state) const;
  torch::Tensor attend(const torch::Tensor& x, const Weights& w) const;
  torch::Tensor pooled(const torch::Tensor& x, const torch::Tensor& beliefs, const Pools& pools,
                       const Shares& shares) const;
  torch::Tensor messages(const torch::Tensor& x, const torch::Tensor& beliefs, const Weights& w) const;
  torch::Tensor feed_forward(const torch::Tensor& h, const torch::Tensor& beliefs, const Weights& w) const;
  torch::Tensor finished(const State& state) const;
  ReasonerOutput run_training(State state, const Weights& w, int passes) const;
  ReasonerOutput run_masked(State state, const Weights& w, int passes);
  ReasonerOutput run_halting(State state, const Weights& w, int passes);

  SoftTpReasonerOptions options_;
  Structure structure_;
  Pools along_groups_;  // one pool per group and symbol, by family
  Pools over_symbols_;  // one pool per position
  infer::Sizes trained_;
  Shares along_shares_, over_shares_;
  std::shared_ptr<const tp::SoftTp> soft_tp_;
  std::map<int, torch::Tensor> noise_;  // by trajectory, for this program and device

  torch::nn::Linear embed_{nullptr}, qkv_{nullptr}, attention_out_{nullptr};
  torch::nn::Linear ff_in_{nullptr}, ff_mean_{nullptr}, ff_max_{nullptr}, ff_out_{nullptr}, read_{nullptr};
  torch::nn::LayerNorm norm_state_{nullptr}, norm_ff_{nullptr};
  torch::Tensor relation_bias_;   // [heads, families]
  torch::Tensor pool_weight_;     // [families, width, 2·width]
  torch::Tensor evidence_scale_;  // []
};

}  // namespace as2::nn
