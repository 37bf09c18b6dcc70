// The state x[batch, symbol, position, channel] holds a vector for every possible atom. One pass, always with
// the same weights:
//
//   x ← norm(x + embed(p, evidence, per family q and log q))     q = leave-one-out term of soft T_P at p
//   x ← x + attention over positions, per symbol                 bias per head and family: "shares a group"
//         + mean and maximum along groups, a matrix a family
//   x ← x + ff(norm(x), its mean and maximum over symbols)
//   p ← softmax(read(x) + γ·log evidence)
//
// Nothing here depends on which position or symbol it is, nor on how many there are: the weights know only
// the families. The norm stands on the recurrent path, so the state cannot grow however many passes run, one
// norm serves both mixing steps, and bfloat16 holds the state. Evidence enters as features and as a term of
// the logits, never as a clamp: the network can outvote a misread clue.
//
// Layout: symbols before positions, so that attention sees contiguous [batch·symbols, positions, channels].
// The means over symbols are projected on their own and added by broadcasting; pooled groups are projected
// before they are handed back to positions, since there are fewer groups than positions.
#include "nn/soft_tp_reasoner.h"

#include <limits>

#include "nn/group_pooling.h"

namespace as2::nn {
namespace {

constexpr double kSmallestEvidence = 1e-6;
constexpr double kSmallestFactor = 1e-3;
constexpr double kFarBelow = -1e4;  // stands for −inf where a whole row may be masked
constexpr std::int64_t kEvidenceFeatures = 3;

std::vector<std::int64_t> one_dimension(std::int64_t size) {
  return {size};
}

}  // namespace

const char* name_of(Mixing mixing) {
  switch (mixing) {
    case Mixing::kAttention:
      return "attention";
    case Mixing::kPooling:
      return "pooling";
    case Mixing::kBoth:
      return "both";
  }
  return "";
}

// The weights in the precision of this call, and what follows from weights and structure alone.
struct SoftTpReasoner::Weights {
  torch::ScalarType dtype;
  Affine embed, norm_state, qkv, attention_out, norm_ff, ff_in, ff_mean, ff_max, ff_out, read;
  torch::Tensor attention_bias;  // [1 or batch·symbols, heads, positions, positions]
  torch::Tensor pool;            // [families, width, 2·width]
  torch::Tensor group_mean;      // [groups, positions]; mixed domains: the sum
  torch::Tensor group_gather;    // [positions, groups]
  torch::Tensor outside;         // [symbols, positions, 1] bool; undefined when every domain is full
  torch::Tensor group_share;   // [symbols, groups, 1]: 1 / members that have the symbol, 0 without; likewise
  torch::Tensor symbol_share;  // [positions, 1]: 1 / domain size; likewise
};

struct SoftTpReasoner::State {
  torch::Tensor x;         // [batch, symbols, positions, width]; undefined before the first pass
  torch::Tensor beliefs;   // [batch, positions, symbols] float32
  torch::Tensor logits;    // the same
  torch::Tensor evidence;  // [batch, 3, positions, symbols] float32: belief, its logarithm, flag

  void select(const torch::Tensor& index) {
    for (auto* tensor : {&x, &beliefs, &logits, &evidence}) *tensor = tensor->index_select(0, index);
  }
};

SoftTpReasoner::SoftTpReasoner(const SoftTpReasonerOptions& options,
                               const compile::ConstraintProgram& program)
    : options_(options) {
  AS2_REQUIRE(options.width > 0 && options.heads > 0 && options.width % options.heads == 0,
              "the width must be a multiple of the number of heads");
  structure_.families = static_cast<std::int64_t>(program.families.size());
  bind(program);

  using torch::nn::LayerNorm;
  using torch::nn::Linear;
  using torch::nn::LinearOptions;
  const auto c = options.width, families = structure_.families;
  const auto inputs = 1 + kEvidenceFeatures + (options.tp_feedback ? 2 * families : 0);
  embed_ = register_module("embed", Linear(inputs, c));
  norm_state_ = register_module("norm_state", LayerNorm(one_dimension(c)));
  if (options.mixing != Mixing::kPooling) {
    qkv_ = register_module("qkv", Linear(c, 3 * c));
    attention_out_ = register_module("attention_out", Linear(c, c));
    // Heads start out turned to one family each.
    auto bias = torch::zeros({options.heads, families});
    for (int h = 0; h < options.heads && families > 0; ++h) bias[h][h % families] = 2.0;
    relation_bias_ = register_parameter("relation_bias", bias);
  }
  if (options.mixing != Mixing::kAttention) {
    const double bound = 1.0 / std::sqrt(2.0 * static_cast<double>(c));
    pool_weight_ = register_parameter("pool", torch::empty({families, c, 2 * c}).uniform_(-bound, bound));
  }
  norm_ff_ = register_module("norm_ff", LayerNorm(one_dimension(c)));
  ff_in_ = register_module("ff_in", Linear(c, options.d_ff));
  ff_mean_ = register_module("ff_mean", Linear(LinearOptions(c, options.d_ff).bias(false)));
  ff_max_ = register_module("ff_max", Linear(LinearOptions(c, options.d_ff).bias(false)));
  ff_out_ = register_module("ff_out", Linear(options.d_ff, c));
  read_ = register_module("read", Linear(LinearOptions(c, 1).bias(false)));
  evidence_scale_ = register_parameter("evidence_scale", torch::ones({}));
}

void SoftTpReasoner::bind(const compile::ConstraintProgram& program) {
  AS2_REQUIRE(static_cast<std::int64_t>(program.families.size()) == structure_.families,
              "the weights are for another number of families");
  soft_tp_ = std::make_shared<const tp::SoftTp>(program);
  structure_ = Structure::of(program);
  incidence_ = structure_.incidence();
  gather_ = incidence_.t().clone();
  std::int64_t first = 0;
  for (const auto count : structure_.family_groups) {
    auto family = gather_.narrow(1, first, count);
    family.div_(family.sum(1, true).clamp_min(1));
    first += count;
  }
}

void SoftTpReasoner::move_to(torch::Device device) {
  if (incidence_.device() == device) return;
  structure_ = structure_.to(device);
  incidence_ = incidence_.to(device);
  gather_ = gather_.to(device);
}

SoftTpReasoner::Weights SoftTpReasoner::weights(torch::ScalarType dtype, std::int64_t batch) const {
  Weights w;
  w.dtype = dtype;
  w.embed = Affine::of(embed_, dtype);
  w.norm_state = Affine::of(norm_state_, dtype);
  w.norm_ff = Affine::of(norm_ff_, dtype);
  w.ff_in = Affine::of(ff_in_, dtype);
  w.ff_mean = Affine::of(ff_mean_, dtype);
  w.ff_max = Affine::of(ff_max_, dtype);
  w.ff_out = Affine::of(ff_out_, dtype);
  w.read = Affine::of(read_, dtype);

  const auto inside = structure_.mask.t().to(torch::kFloat32);  // [symbols, positions]
  if (!structure_.full) {
    w.outside = structure_.mask.t().logical_not().unsqueeze(-1);
    w.symbol_share = inside.sum(0).reciprocal().unsqueeze(-1).to(dtype);
  }
  if (options_.mixing != Mixing::kPooling) {
    const auto n = structure_.positions;
    w.qkv = Affine::of(qkv_, dtype);
    w.attention_out = Affine::of(attention_out_, dtype);
    auto bias = torch::matmul(relation_bias_, structure_.relation.to(torch::kFloat32).flatten(1))
                    .view({1, options_.heads, n, n});
    if (!structure_.full) {
      bias = (bias + ((1 - inside) * kFarBelow).view({-1, 1, 1, n})).repeat({batch, 1, 1, 1});
    }
    w.attention_bias = bias.to(dtype);
  }
  if (options_.mixing != Mixing::kAttention) {
    w.pool = pool_weight_.to(dtype);
    w.group_gather = gather_.to(dtype);
    if (structure_.full) {
      w.group_mean = (incidence_ / incidence_.sum(1, true)).to(dtype);
    } else {
      w.group_mean = incidence_.to(dtype);
      const auto members = torch::matmul(inside, incidence_.t());
      w.group_share = torch::where(members > 0, members.reciprocal(), members).unsqueeze(-1).to(dtype);
    }
  }
  return w;
}

SoftTpReasoner::State SoftTpReasoner::begin(const ReasonerInput& input) const {
  State state;
  state.beliefs = input.beliefs.to(torch::kFloat32);
  const auto flag = input.evidence.to(torch::kFloat32).unsqueeze(-1).expand_as(state.beliefs);
  state.evidence = torch::stack({state.beliefs, state.beliefs.clamp_min(kSmallestEvidence).log(), flag}, 1);
  return state;
}

// [batch, symbols, positions, features]
torch::Tensor SoftTpReasoner::features(const State& state) const {
  const auto beliefs = options_.detach_feedback ? state.beliefs.detach() : state.beliefs;
  std::vector<torch::Tensor> features{state.evidence, beliefs.unsqueeze(1)};
  if (options_.tp_feedback) {
    features.push_back(soft_tp_->leave_one_out(beliefs));
    features.push_back((features.back() + kSmallestFactor).log());
  }
  return torch::cat(features, 1).permute({0, 3, 2, 1});
}

torch::Tensor SoftTpReasoner::attend(const torch::Tensor& x, const Weights& w) const {
  const auto rows = x.size(0) * x.size(1), n = x.size(2), c = x.size(3);
  const auto split = w.qkv.linear(x)
                         .view({rows, n, 3, options_.heads, c / options_.heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const auto& all = w.attention_bias;
  const auto bias = all.size(0) == 1 ? all : all.narrow(0, 0, rows);
  const auto mixed = compat::attention(split[0], split[1], split[2], bias);
  return w.attention_out.linear(mixed.transpose(1, 2).reshape(x.sizes()));
}

torch::Tensor SoftTpReasoner::pool(const torch::Tensor& x, const Weights& w) const {
  const auto rows = x.size(0) * x.size(1), groups = structure_.groups;
  const auto over_groups = [&](const torch::Tensor& values) {
    return values.view({x.size(0), x.size(1), groups, -1});
  };
  torch::Tensor mean, maximum;
  const auto expand = [rows](const torch::Tensor& matrix) {
    return matrix.unsqueeze(0).expand({rows, -1, -1});
  };
  if (structure_.full) {
    const auto flat = x.flatten(0, 1);
    mean = torch::bmm(expand(w.group_mean), flat);
    maximum = group_max(flat, structure_);
  } else {
    mean = torch::bmm(expand(w.group_mean), x.masked_fill(w.outside, 0).flatten(0, 1));
    mean = (over_groups(mean) * w.group_share).flatten(0, 1);
    maximum = group_max(x.masked_fill(w.outside, kFarBelow).flatten(0, 1), structure_);
    maximum = over_groups(maximum).masked_fill(w.group_share == 0, 0).flatten(0, 1);
  }
  const auto pooled = torch::cat({mean, maximum}, 2);
  std::vector<torch::Tensor> messages;
  std::int64_t first = 0;
  for (std::int64_t f = 0; f < structure_.families; ++f) {
    const auto count = structure_.family_groups[f];
    if (count == 0) continue;
    messages.push_back(torch::matmul(pooled.narrow(1, first, count), w.pool[f].t()));
    first += count;
  }
  return torch::bmm(expand(w.group_gather), torch::cat(messages, 1)).view(x.sizes());
}

torch::Tensor SoftTpReasoner::feed_forward(const torch::Tensor& x, const Weights& w) const {
  const auto h = w.norm_ff.layer_norm(x);
  torch::Tensor mean, maximum;  // over symbols: [batch, positions, width]
  if (structure_.full) {
    mean = h.mean(1);
    maximum = h.amax(1);
  } else {
    mean = h.masked_fill(w.outside, 0).sum(1) * w.symbol_share;
    maximum = h.masked_fill(w.outside, kFarBelow).amax(1);
  }
  const auto shared = w.ff_mean.linear(mean) + w.ff_max.linear(maximum);
  return w.ff_out.linear(torch::gelu(w.ff_in.linear(h).add_(shared.unsqueeze(1))));
}

void SoftTpReasoner::pass(State& state, const Weights& w) const {
  auto input = w.embed.linear(features(state).to(w.dtype));
  auto x = w.norm_state.layer_norm(state.x.defined() ? state.x + input : input);
  auto mixed = x;
  if (options_.mixing != Mixing::kPooling) mixed = mixed + attend(x, w);
  if (options_.mixing != Mixing::kAttention && structure_.groups > 0) mixed = mixed + pool(x, w);
  state.x = mixed + feed_forward(mixed, w);

  const auto read = w.read.linear(state.x).squeeze(-1).transpose(1, 2).to(torch::kFloat32);
  state.logits = read + evidence_scale_ * state.evidence.select(1, 1);
  if (!structure_.full) {
    state.logits =
        state.logits.masked_fill(structure_.mask.logical_not(), -std::numeric_limits<float>::infinity());
  }
  state.beliefs = torch::softmax(state.logits, -1);
}

// [batch] bool. A small residual alone would not do: (.5,.5,0,0), (0,0,.5,.5) is a fixed point.
torch::Tensor SoftTpReasoner::finished(const State& state) const {
  torch::NoGradGuard no_grad;
  const auto decided = state.beliefs.amax(-1).amin(-1) > options_.decided;
  return decided.logical_and(soft_tp_->max_residual(state.beliefs) < options_.residual_tolerance);
}

ReasonerOutput SoftTpReasoner::run_training(State state, const Weights& w, int passes) const {
  ReasonerOutput output;
  for (int t = 0; t < passes; ++t) {
    pass(state, w);
    output.logits.push_back(state.logits);
  }
  return output;
}

ReasonerOutput SoftTpReasoner::run_masked(State state, const Weights& w, int passes) const {
  ReasonerOutput output;
  torch::Tensor answer, done;
  for (int t = 0; t < passes; ++t) {
    pass(state, w);
    if (t == 0) {
      answer = state.logits;
      done = finished(state);
      output.passes = torch::ones_like(done, torch::kInt64);
      continue;
    }
    answer = torch::where(done.view({-1, 1, 1}), answer, state.logits);
    output.passes = output.passes + done.logical_not();
    done = done.logical_or(finished(state));
  }
  output.logits.push_back(answer);
  return output;
}

// Finished instances leave the batch, so that the hard ones do not hold up the rest.
ReasonerOutput SoftTpReasoner::run_halting(State state, const Weights& w, int passes) const {
  ReasonerOutput output;
  const auto batch = state.beliefs.size(0);
  const auto indices = state.beliefs.options().dtype(torch::kInt64);
  auto active = torch::arange(batch, indices);
  auto answer = torch::empty_like(state.beliefs);
  output.passes = torch::full({batch}, passes, indices);
  for (int t = 1; active.numel() > 0; ++t) {
    pass(state, w);
    const auto done = t == passes ? torch::ones_like(active, torch::kBool) : finished(state);
    const auto leaving = done.nonzero().squeeze(1);
    if (leaving.numel() == 0) continue;
    answer.index_copy_(0, active.index_select(0, leaving), state.logits.index_select(0, leaving));
    output.passes.index_fill_(0, active.index_select(0, leaving), t);
    const auto staying = done.logical_not().nonzero().squeeze(1);
    active = active.index_select(0, staying);
    state.select(staying);
  }
  output.logits.push_back(answer);
  return output;
}

ReasonerOutput SoftTpReasoner::forward(const ReasonerInput& input, int passes) {
  const auto device = input.beliefs.device();
  move_to(device);
  if (passes <= 0) passes = is_training() ? options_.passes : options_.eval_passes;
  const ComputeScope scope(device);
  const auto w = weights(scope.dtype(), input.beliefs.size(0));
  auto state = begin(input);
  if (is_training()) return run_training(std::move(state), w, passes);
  return fixed_passes_ ? run_masked(std::move(state), w, passes) : run_halting(std::move(state), w, passes);
}

}  // namespace as2::nn
