// Reasoner `transformer` (preset `paper`): the paper's section "Architecture" to the letter.
#pragma once

#include "infer/network_options.h"
#include "nn/precision.h"
#include "nn/reasoner.h"

namespace as2::nn {

using infer::Placement;
using infer::TransformerOptions;

class EncoderLayerImpl : public torch::nn::Module {
 public:
  EncoderLayerImpl(const TransformerOptions& options, std::int64_t families);
  // `x` [batch, tokens, d_model]; `relation` [families, tokens, tokens] (kRelation) or undefined.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& relation);

 private:
  int heads_;
  double dropout_;
  torch::nn::LayerNorm norm_attention_{nullptr}, norm_ff_{nullptr};
  torch::nn::Linear qkv_{nullptr}, out_{nullptr}, ff_in_{nullptr}, ff_out_{nullptr};
  torch::Tensor relation_bias_;  // [heads, families]
};
TORCH_MODULE(EncoderLayer);

class TransformerReasoner : public Reasoner {
 public:
  TransformerReasoner(const TransformerOptions& options, const compile::ConstraintProgram& program);

  ReasonerOutput forward(const ReasonerInput& input, int passes = 0) override;
  void bind(const compile::ConstraintProgram& program) override;
  const TransformerOptions& options() const { return options_; }

 private:
  // The program as tokens: every position, or every position but the pooled one.
  struct Tokens {
    Structure structure;
    std::int64_t pooled_position = -1;
    std::int64_t symbols = 0;           // largest domain of a token
    torch::Tensor positions;            // [tokens] int64
    torch::Tensor relation;             // [families, tokens, tokens] float32
    std::vector<torch::Tensor> groups;  // per family [tokens, groups of it] float32: membership

    static Tokens of(const compile::ConstraintProgram& program, bool pooled);
  };
  torch::Tensor placement() const;
  torch::Tensor read(const torch::Tensor& state, const torch::Tensor& given, const torch::Tensor& evidence,
                     torch::ScalarType dtype);
  void move_to(torch::Device device);

  TransformerOptions options_;
  Tokens tokens_;
  torch::nn::Linear project_{nullptr}, head_{nullptr}, sum_head_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  std::vector<torch::Tensor>
      tables_;  // per family [groups, d_model], undefined without groups; or one by index
  std::vector<EncoderLayer> layers_;
};

}  // namespace as2::nn
