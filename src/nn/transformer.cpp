// Tokens are the positions. A token is the projection of its (clamped) belief plus the embeddings of the
// groups that hold it, summed over one table per family; there is no positional encoding, so re-indexing
// positions together with their memberships permutes the output and changes nothing else. Then a pre-norm
// GELU encoder with full self-attention, a last norm, and a head to the symbols. With several passes the same
// layers run again and again, and the head reads every pass: the recurrent Transformer. Addition replaces the
// tables by an addend index, and its guard position (the sum) is decided by a head on the mean token.
#include "nn/transformer.h"

#include <limits>

#include "infer/pooled_position.h"
#include "nn/layers.h"

namespace as2::nn {
namespace {

constexpr double kSmallestBelief = 1e-30;

torch::Tensor table(std::int64_t rows, std::int64_t d_model) {
  return torch::randn({rows, d_model}) * 0.02;
}

}  // namespace

EncoderLayerImpl::EncoderLayerImpl(const TransformerOptions& options, std::int64_t families)
    : heads_(options.heads), dropout_(options.dropout) {
  const auto d = options.d_model;
  norm_attention_ = register_module("norm_attention", torch::nn::LayerNorm(std::vector<std::int64_t>{d}));
  qkv_ = register_module("qkv", torch::nn::Linear(d, 3 * d));
  out_ = register_module("out", torch::nn::Linear(d, d));
  norm_ff_ = register_module("norm_ff", torch::nn::LayerNorm(std::vector<std::int64_t>{d}));
  ff_in_ = register_module("ff_in", torch::nn::Linear(d, options.d_ff));
  ff_out_ = register_module("ff_out", torch::nn::Linear(options.d_ff, d));
  if (options.placement == Placement::kRelation) {
    relation_bias_ = register_parameter("relation_bias", torch::zeros({options.heads, families}));
  }
}

torch::Tensor EncoderLayerImpl::forward(const torch::Tensor& x, const torch::Tensor& relation) {
  const auto dtype = x.scalar_type();
  const auto batch = x.size(0), tokens = x.size(1), d = x.size(2);
  torch::Tensor bias;
  if (relation_bias_.defined()) {
    bias = torch::matmul(relation_bias_, relation.flatten(1)).view({1, heads_, tokens, tokens}).to(dtype);
  }
  const auto [before, normed] = add_norm(x, {}, norm_attention_->weight, norm_attention_->bias);
  auto qkv = Affine::of(qkv_, dtype).linear(normed);
  const auto split = qkv.view({batch, tokens, 3, heads_, d / heads_}).permute({2, 0, 3, 1, 4}).unbind(0);
  auto mixed =
      compat::attention(split[0], split[1], split[2], bias).transpose(1, 2).reshape({batch, tokens, d});
  const auto attended = torch::dropout(Affine::of(out_, dtype).linear(mixed), dropout_, is_training());
  const auto [after, h] = add_norm(before, attended, norm_ff_->weight, norm_ff_->bias);
  const auto hidden = torch::gelu(Affine::of(ff_in_, dtype).linear(h));
  return after + torch::dropout(Affine::of(ff_out_, dtype).linear(hidden), dropout_, is_training());
}

TransformerReasoner::TransformerReasoner(const TransformerOptions& options,
                                         const compile::ConstraintProgram& program)
    : options_(options), tokens_(Tokens::of(program, options.pooled)) {
  AS2_REQUIRE(options.d_model % options.heads == 0, "d_model must be a multiple of the number of heads");
  const auto d = options.d_model;
  project_ = register_module("project", torch::nn::Linear(tokens_.symbols, d));
  if (options.placement == Placement::kIndex) {
    tables_.push_back(register_parameter("index", table(tokens_.positions.size(0), d)));
  } else if (options.placement == Placement::kMembership) {
    for (std::int64_t f = 0; f < tokens_.structure.families; ++f) {
      const auto groups = tokens_.structure.family_groups[f];
      tables_.push_back(groups == 0
                            ? torch::Tensor{}
                            : register_parameter("membership_" + std::to_string(f), table(groups, d)));
    }
  }
  for (int l = 0; l < options.layers; ++l) {
    layers_.push_back(
        register_module("layer_" + std::to_string(l), EncoderLayer(options, tokens_.structure.families)));
  }
  norm_ = register_module("norm", torch::nn::LayerNorm(std::vector<std::int64_t>{d}));
  head_ = register_module("head", torch::nn::Linear(d, tokens_.symbols));
  if (options.pooled) {
    const auto sums = tokens_.structure.mask[tokens_.pooled_position].sum().item<std::int64_t>();
    sum_head_ = register_module("sum_head", torch::nn::Linear(d, sums));
  }
}

void TransformerReasoner::bind(const compile::ConstraintProgram& program) {
  auto tokens = Tokens::of(program, options_.pooled);
  AS2_REQUIRE(tokens.symbols == tokens_.symbols && tokens.structure.symbols == tokens_.structure.symbols &&
                  tokens.structure.family_groups == tokens_.structure.family_groups &&
                  tokens.positions.size(0) == tokens_.positions.size(0),
              "a transformer's weights fit programs with the same positions, symbols and groups");
  tokens_ = std::move(tokens);
}

TransformerReasoner::Tokens TransformerReasoner::Tokens::of(const compile::ConstraintProgram& program,
                                                            bool pooled) {
  Tokens t;
  t.structure = Structure::of(program);
  if (pooled) t.pooled_position = infer::pooled_position(program);
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < t.structure.positions; ++i) {
    if (i != t.pooled_position) positions.push_back(i);
  }
  AS2_REQUIRE(!positions.empty(), "the program has no position for a token");
  t.positions = torch::tensor(positions, torch::kInt64);
  t.symbols = t.structure.mask.index_select(0, t.positions).sum(1).max().item<std::int64_t>();
  t.relation =
      t.structure.relation.index_select(1, t.positions).index_select(2, t.positions).to(torch::kFloat32);
  const auto membership = t.structure.incidence().index_select(1, t.positions).t();
  std::int64_t first = 0;
  for (const auto count : t.structure.family_groups) {
    t.groups.push_back(membership.narrow(1, first, count).contiguous());
    first += count;
  }
  return t;
}

void TransformerReasoner::move_to(torch::Device device) {
  if (tokens_.positions.device() == device) return;
  tokens_.structure = tokens_.structure.to(device);
  tokens_.positions = tokens_.positions.to(device);
  tokens_.relation = tokens_.relation.to(device);
  for (auto& groups : tokens_.groups) groups = groups.to(device);
}

// [tokens, d_model]: what tells tokens apart; undefined where attention does that.
torch::Tensor TransformerReasoner::placement() const {
  if (options_.placement == Placement::kIndex) return tables_[0];
  torch::Tensor sum;
  for (std::size_t f = 0; f < tables_.size(); ++f) {
    if (!tables_[f].defined()) continue;
    const auto embedding = torch::matmul(tokens_.groups[f], tables_[f]);
    sum = sum.defined() ? sum + embedding : embedding;
  }
  return sum;
}

ReasonerOutput TransformerReasoner::forward(const ReasonerInput& input, int /*passes*/) {
  AS2_REQUIRE(!input.state.defined(), "a transformer carries no state");
  const auto device = input.beliefs.device();
  move_to(device);
  const ComputeScope scope(device);
  const auto given = input.beliefs.to(torch::kFloat32);
  const auto clamped = options_.clamp && !is_training() ? clamp_evidence(given, input.evidence) : given;
  const auto tokens = options_.pooled ? clamped.index_select(1, tokens_.positions) : clamped;
  auto x = Affine::of(project_, scope.dtype()).linear(tokens.narrow(2, 0, tokens_.symbols).to(scope.dtype()));
  if (const auto placed = placement(); placed.defined()) x = x + placed.to(scope.dtype());
  ReasonerOutput output;
  for (int pass = 0; pass < options_.passes; ++pass) {
    for (auto& layer : layers_) x = layer->forward(x, tokens_.relation);
    if (is_training() || pass + 1 == options_.passes)
      output.logits.push_back(read(x, given, input.evidence, scope.dtype()));
  }
  if (!is_training()) {
    output.passes =
        torch::full({given.size(0)}, options_.passes, input.evidence.options().dtype(torch::kInt64));
  }
  return output;
}

// [batch, positions, symbols] float32 logits of the state `x` [batch, tokens, d_model].
torch::Tensor TransformerReasoner::read(const torch::Tensor& state, const torch::Tensor& given,
                                        const torch::Tensor& evidence, torch::ScalarType dtype) {
  const auto& structure = tokens_.structure;
  const auto x = add_norm(state, {}, norm_->weight, norm_->bias).second;
  auto logits = Affine::of(head_, dtype).linear(x).to(torch::kFloat32);
  logits = torch::constant_pad_nd(logits, {0, structure.symbols - tokens_.symbols});
  if (options_.pooled) {
    auto sums = Affine::of(sum_head_, dtype).linear(x.mean(1, true)).to(torch::kFloat32);
    sums = torch::constant_pad_nd(sums, {0, structure.symbols - sums.size(2)});
    const auto at = tokens_.pooled_position;
    logits = torch::cat({logits.narrow(1, 0, at), sums, logits.narrow(1, at, logits.size(1) - at)}, 1);
  }
  if (options_.restore && !is_training()) {
    logits = torch::where(evidence.unsqueeze(-1), given.clamp_min(kSmallestBelief).log(), logits);
  }
  if (!structure.full) {
    logits = logits.masked_fill(structure.mask.logical_not(), -std::numeric_limits<float>::infinity());
  }
  return logits;
}

}  // namespace as2::nn
