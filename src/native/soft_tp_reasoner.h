// Reasoner `soft-tp` (preset `best`), see nn/soft_tp_reasoner.cpp, which trains it.
#pragma once

#include <memory>

#include "as2/constraint_program.h"
#include "infer/network_options.h"
#include "infer/sizes.h"
#include "native/layers.h"
#include "native/reasoner.h"
#include "native/soft_tp.h"
#include "native/structure.h"

namespace as2::native {

class SoftTpReasoner : public Reasoner {
 public:
  // Takes the tensors `reasoner.…`. `trained`: the sizes of the program they were trained on.
  SoftTpReasoner(const kernels::Version& version, const infer::SoftTpReasonerOptions& options,
                 const compile::ConstraintProgram& program, Weights& weights,
                 const infer::Sizes& trained = {});

  bool has_trajectories() const override { return options_.state_noise > 0 || options_.path_noise > 0; }
  ReasonerOutput run(Threads& threads, std::size_t memory, const ReasonerInput& input,
                     const ReasonerLimits& limits) const override;

 private:
  struct State;
  using Watch = std::function<void(const float* logits)>;
  void begin(State& state, const float* beliefs, const char* evidence, int trajectory) const;
  void disturb(State& state, int pass) const;
  void pass(State& state) const;
  void features(State& state) const;
  void attend(State& state) const;
  void exchange_along_groups(State& state) const;
  // Mean and maximum of the pool's rows, [2 · width], the mean as over pools of `trained` atoms.
  void pool_rows(const State& state, const Lists& pools, std::int64_t pool, int trained, float* pooled) const;
  // All but the product with ff_out_; the answer goes to `out`.
  void feed_forward(State& state) const;
  void read(State& state) const;
  bool finished(State& state) const;
  // What the program and the evidence have against the answer that the logits give; 0: nothing.
  float objection(State& state, const float* beliefs, const char* evidence) const;
  // All passes of one trajectory; returns how many there were.
  int run_trajectory(State& state, const float* beliefs, const char* evidence, int trajectory, int passes,
                     const Watch& watch) const;

  const kernels::Version* version_;
  infer::SoftTpReasonerOptions options_;
  Structure structure_;
  SoftTp soft_tp_;
  Lists along_groups_, over_symbols_;
  infer::Sizes trained_;
  Holders holders_;

  std::int64_t inputs_ = 0;  // features per atom
  Linear embed_, qkv_, attention_out_, ff_in_, ff_shared_, ff_out_;
  std::vector<Linear> pool_;  // per family
  Norm norm_state_, norm_ff_;
  std::vector<float> read_;         // [width]: the answer in the state before the feed-forward layer …
  std::vector<float> read_hidden_;  // [d_ff]: … and in that layer
  float read_bias_ = 0;
  std::vector<float> attention_bias_;  // [heads, positions, positions]
  std::vector<float> key_bias_;        // [symbols, positions]; empty where domains are full
  float evidence_scale_ = 1;
};

}  // namespace as2::native
