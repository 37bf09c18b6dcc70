// Reasoner `transformer` (preset `paper`), see nn/transformer.cpp, which trains it.
#pragma once

#include "as2/constraint_program.h"
#include "infer/network_options.h"
#include "native/layers.h"
#include "native/reasoner.h"
#include "native/structure.h"

namespace as2::native {

class TransformerReasoner : public Reasoner {
 public:
  // Takes the tensors `reasoner.…`.
  TransformerReasoner(const kernels::Version& version, const infer::TransformerOptions& options,
                      const compile::ConstraintProgram& program, Weights& weights);

  ReasonerOutput run(Threads& threads, std::size_t memory, const ReasonerInput& input,
                     const ReasonerLimits& limits) const override;

 private:
  struct Layer {
    Norm norm_attention, norm_ff;
    Linear qkv, out, ff_in, ff_out;
    std::vector<float> bias;  // [heads, tokens, tokens]; empty: none
  };
  struct Scratch;
  void encode(const float* beliefs, const char* evidence, float* token) const;
  void decide(const float* normed, const float* beliefs, const char* evidence, Scratch& scratch,
              float* logits) const;

  const kernels::Version* version_;
  infer::TransformerOptions options_;
  Structure structure_;
  int pooled_position_ = -1;          // decided by a head on the mean token
  std::vector<std::int64_t> tokens_;  // their positions
  std::int64_t symbols_ = 0;          // largest domain of a token
  std::vector<float> placement_;      // [tokens, d_model]; empty: none
  Linear project_, head_, sum_head_;
  Norm norm_;
  std::vector<Layer> layers_;
};

}  // namespace as2::native
