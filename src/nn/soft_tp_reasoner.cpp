// The state x[batch, atom, channel] holds a vector for every (symbol, position). One pass, always with
// the same weights:
//
//   x ← norm(x + embed(p, evidence, per family q and log q))     q = leave-one-out term of soft T_P at p
//   x ← x + attention over positions, per symbol                 bias per head and family: "shares a group"
//         + mean and maximum along groups, one matrix per family
//   x ← x + ff(norm(x), its mean and maximum over symbols)
//   p ← softmax(read(x) + γ·log evidence)
//
// Nothing here depends on which position or symbol it is, nor on how many there are: the weights know only
// the families. The norm stands on the recurrent path, so the state cannot grow however many passes run, one
// norm serves both mixing steps, and bfloat16 holds the state. Evidence enters as features and as a term of
// the logits, never as a clamp: the network can outvote a misread clue.
//
// So one set of weights runs on boards of any size; means are taken as on boards of the size it was trained
// on (infer/sizes.h).
//
// Layout: symbols before positions, so that attention sees contiguous [batch·symbols, positions, channels].
// What was pooled is projected before it is handed back: there are fewer pools than atoms. The bias of
// ff_in rides with what the symbols share and that of the embedding with a feature that is always one, so
// that their gradients are not sums over all the atoms of their own.
#include "nn/soft_tp_reasoner.h"

#include <cmath>
#include <limits>

#include "infer/sizes.h"
#include "nn/layers.h"
#include "random.h"

namespace as2::nn {
namespace {

constexpr double kSmallestEvidence = 1e-6;
constexpr double kSmallestFactor = 1e-3;
constexpr double kFarBelow = -1e4;  // used instead of −inf where a whole row may be masked
constexpr std::int64_t kEvidenceFeatures = 3;
constexpr std::int64_t kAligned = 8;  // features are padded to a multiple: tensor cores want it

std::vector<std::int64_t> one_dimension(std::int64_t size) {
  return {size};
}

// Zero features beside `inputs` real ones and the one that carries the bias.
std::int64_t padding_of(std::int64_t inputs) {
  return (kAligned - (inputs + 1) % kAligned) % kAligned;
}

// Along groups: the atoms of a symbol in a group, ordered by group, then symbol. Over symbols: a position's
// atoms. Atoms outside their domain are in no pool.
std::pair<Pools, Pools> pools_of(const Structure& s) {
  const auto inside = s.mask.accessor<bool, 2>();
  const auto atom = [&](std::int64_t symbol, std::int64_t position) {
    return static_cast<std::int32_t>(symbol * s.positions + position);
  };
  const auto members = s.group_members.accessor<std::int64_t, 2>();
  const auto real = s.group_mask.accessor<bool, 2>();
  const auto family = s.group_family.accessor<std::int64_t, 1>();
  std::vector<std::vector<std::int32_t>> along, over(static_cast<std::size_t>(s.positions));
  std::vector<std::int64_t> kinds;
  for (std::int64_t g = 0; g < s.groups; ++g) {
    for (std::int64_t symbol = 0; symbol < s.symbols; ++symbol) {
      along.emplace_back();
      kinds.push_back(family[g]);
      for (std::int64_t j = 0; j < s.group_members.size(1); ++j) {
        if (real[g][j] && inside[members[g][j]][symbol]) along.back().push_back(atom(symbol, members[g][j]));
      }
    }
  }
  for (std::int64_t i = 0; i < s.positions; ++i) {
    for (std::int64_t symbol = 0; symbol < s.symbols; ++symbol) {
      if (inside[i][symbol]) over[i].push_back(atom(symbol, i));
    }
  }
  const std::int64_t atoms = s.symbols * s.positions;
  return {Pools::of(atoms, along, kinds), Pools::of(atoms, over, std::vector<std::int64_t>(over.size(), 0))};
}

}  // namespace

// The weights in the precision of this call, and what follows from weights and structure alone.
struct SoftTpReasoner::Weights {
  torch::ScalarType dtype;
  Affine embed, qkv, attention_out, ff_in, ff_shared, ff_out, read;
  torch::Tensor attention_bias;  // [1 or batch·symbols, heads, positions, positions]
  torch::Tensor pool;            // [families, width, 2·width]
};

struct SoftTpReasoner::State {
  torch::Tensor x;        // [batch, atoms, width]; undefined before the first pass
  torch::Tensor beliefs;  // [batch, positions, symbols] float32
  torch::Tensor logits;   // the same
  torch::Tensor
      evidence;  // [batch, planes, positions, symbols] float32: belief, its logarithm, flag, one, 0…
  int trajectory = 0;

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
  if (!options.sizes.empty()) trained_ = infer::Sizes::of(options.sizes);
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
    // Each head starts out attending to one family.
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
  std::tie(along_groups_, over_symbols_) = pools_of(structure_);
  make_shares();
  noise_.clear();
}

void SoftTpReasoner::set_trained_sizes(const infer::Sizes& sizes) {
  trained_ = sizes;
  make_shares();
}

void SoftTpReasoner::make_shares() {
  along_shares_ = over_shares_ = {};
  if (trained_.symbols == 0 && trained_.groups.empty()) return;  // as in training
  const auto shares_of = [&](const Pools& pools, const auto& trained_size) {
    std::vector<float> other, own;
    bool plain = true;
    const torch::Tensor members = pools.members.cpu().ge(0).sum(1);
    for (std::int64_t pool = 0; pool < pools.pools; ++pool) {
      const auto weights = infer::pool_weights(trained_size(pool), members[pool].item<int>());
      other.push_back(weights.other);
      own.push_back(weights.own);
      plain = plain && weights.plain();
    }
    if (plain) return Shares{};
    const auto device = structure_.mask.device();
    return Shares{torch::tensor(other).view({-1, 1, 1}).to(device),
                  torch::tensor(own).view({-1, 1, 1}).to(device)};
  };
  std::vector<int> group_sizes;  // in training, of each group's family
  const torch::Tensor family = structure_.group_family.cpu();
  for (std::int64_t g = 0; g < structure_.groups; ++g) {
    const auto f = static_cast<std::size_t>(family[g].item<std::int64_t>());
    group_sizes.push_back(f < trained_.groups.size() ? trained_.groups[f] : 0);
  }
  along_shares_ = shares_of(along_groups_, [&](std::int64_t pool) {
    return group_sizes[static_cast<std::size_t>(pool / structure_.symbols)];
  });
  over_shares_ = shares_of(over_symbols_, [&](std::int64_t) { return trained_.symbols; });
}

void SoftTpReasoner::move_to(torch::Device device) {
  if (structure_.mask.device() == device) return;
  structure_ = structure_.to(device);
  along_groups_ = along_groups_.to(device);
  over_symbols_ = over_symbols_.to(device);
  make_shares();
  noise_.clear();
}

SoftTpReasoner::Weights SoftTpReasoner::weights(torch::ScalarType dtype, std::int64_t batch) const {
  Weights w;
  w.dtype = dtype;
  const auto e = embed_->weight, rest = e.narrow(1, kEvidenceFeatures, e.size(1) - kEvidenceFeatures);
  const auto padding = torch::zeros({e.size(0), padding_of(e.size(1))}, e.options());
  w.embed.weight =
      torch::cat({e.narrow(1, 0, kEvidenceFeatures), embed_->bias.unsqueeze(1), padding, rest}, 1).to(dtype);
  w.ff_in.weight = ff_in_->weight.to(dtype);
  w.ff_shared = {torch::cat({ff_mean_->weight, ff_max_->weight}, 1).to(dtype), ff_in_->bias.to(dtype)};
  w.ff_out = Affine::of(ff_out_, dtype);
  w.read = Affine::of(read_, dtype);
  if (options_.mixing != Mixing::kPooling) {
    const auto n = structure_.positions;
    w.qkv = Affine::of(qkv_, dtype);
    w.attention_out = Affine::of(attention_out_, dtype);
    auto bias = torch::matmul(relation_bias_, structure_.relation.to(torch::kFloat32).flatten(1))
                    .view({1, options_.heads, n, n});
    if (!structure_.full) {
      const auto outside = structure_.mask.t().logical_not().to(torch::kFloat32);
      bias = (bias + (outside * kFarBelow).view({-1, 1, 1, n})).repeat({batch, 1, 1, 1});
    }
    w.attention_bias = bias.to(dtype);
  }
  if (options_.mixing != Mixing::kAttention) w.pool = pool_weight_.to(dtype);
  return w;
}

// [atoms, width] float32: the normal numbers that evaluation starts the trajectory from. They come from our
// own generator, so that they are the same on every machine and device.
const torch::Tensor& SoftTpReasoner::noise_of(int trajectory) {
  torch::Tensor& noise = noise_[trajectory];
  if (noise.defined()) return noise;
  Random random(static_cast<std::uint64_t>(trajectory));
  const auto drawn = torch::empty({structure_.symbols * structure_.positions, options_.width});
  float* value = drawn.data_ptr<float>();
  for (std::int64_t n = 0; n < drawn.numel(); ++n) value[n] = static_cast<float>(random.normal());
  return noise = drawn.to(structure_.mask.device());
}

ReasonerState SoftTpReasoner::start(const ReasonerInput& input) {
  const auto device = input.beliefs.device();
  move_to(device);
  const ComputeScope scope(device);
  const auto options = torch::TensorOptions(device).dtype(scope.dtype());
  const std::vector<std::int64_t> shape{input.beliefs.size(0), structure_.symbols * structure_.positions,
                                        options_.width};
  ReasonerState state{{}, input.beliefs.to(torch::kFloat32)};
  if (options_.state_noise == 0) {
    state.x = torch::zeros(shape, options);
  } else if (is_training()) {
    state.x = torch::randn(shape, options) * options_.state_noise;
  } else {
    state.x = (noise_of(input.trajectory).to(options) * options_.state_noise).expand(shape);
  }
  return state;
}

SoftTpReasoner::State SoftTpReasoner::begin(const ReasonerInput& input, torch::ScalarType dtype) {
  State state;
  state.trajectory = input.trajectory;
  state.beliefs = input.beliefs.to(torch::kFloat32);
  const auto flag = input.evidence.to(torch::kFloat32).unsqueeze(-1).expand_as(state.beliefs);
  std::vector<torch::Tensor> planes{state.beliefs, state.beliefs.clamp_min(kSmallestEvidence).log(), flag,
                                    torch::ones_like(state.beliefs)};
  planes.resize(planes.size() + padding_of(embed_->weight.size(1)), torch::zeros_like(state.beliefs));
  state.evidence = torch::stack(planes, 1);
  if (input.state.defined()) {
    state.x = input.state.x.to(dtype);
    state.beliefs = input.state.beliefs;
    if (is_training() && options_.path_noise > 0) {
      state.x = state.x + torch::randn_like(state.x) * options_.path_noise;
    }
  } else if (options_.state_noise > 0) {
    state.x = start(input).x.to(dtype);
  }
  return state;
}

// Evaluation: noise on the path wherever training would begin another segment. The first trajectory has none:
// it is the answer of a reasoner that is asked once. The others take the numbers that they started from, in
// another place for each segment.
void SoftTpReasoner::disturb(State& state, int pass) {
  if (state.trajectory == 0 || options_.path_noise == 0 || pass == 0 || pass % options_.passes != 0) return;
  const auto& noise = noise_of(state.trajectory);
  const auto moved = noise.flatten().roll(std::int64_t{7919} * (pass / options_.passes)).view_as(noise);
  state.x = state.x + (moved * options_.path_noise).to(state.x.scalar_type());
}

// [batch, positions, symbols]: the beliefs as the next pass sees them.
torch::Tensor SoftTpReasoner::fed_back(const State& state) const {
  return options_.detach_feedback ? state.beliefs.detach() : state.beliefs;
}

// [batch, symbols, positions, features]
torch::Tensor SoftTpReasoner::features(const State& state) const {
  const auto beliefs = fed_back(state);
  std::vector<torch::Tensor> features{state.evidence, beliefs.unsqueeze(1)};
  if (options_.tp_feedback) {
    features.push_back(soft_tp_->leave_one_out(beliefs));
    features.push_back((features.back() + kSmallestFactor).log());
  }
  return torch::cat(features, 1).permute({0, 3, 2, 1});
}

// Attention over positions, per symbol. `x` [batch, atoms, width].
torch::Tensor SoftTpReasoner::attend(const torch::Tensor& x, const Weights& w) const {
  const auto rows = x.size(0) * structure_.symbols, n = structure_.positions, c = x.size(2);
  const auto split = w.qkv.linear(x)
                         .view({rows, n, 3, options_.heads, c / options_.heads})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const auto& all = w.attention_bias;
  const auto bias = all.size(0) == 1 ? all : all.narrow(0, 0, rows);
  const auto mixed = compat::attention(split[0], split[1], split[2], bias);
  return w.attention_out.linear(mixed.transpose(1, 2).reshape(x.sizes()));
}

// [pools, batch, 2·width]: mean and maximum, the mean as over pools of the size in training. `x` [batch,
// atoms, width].
torch::Tensor SoftTpReasoner::pooled(const torch::Tensor& x, const torch::Tensor& beliefs, const Pools& pools,
                                     const Shares& shares) const {
  const auto both = pool(x, pools);
  if (!shares.own.defined()) return both;
  const auto c = x.size(2);
  const auto p = beliefs.transpose(1, 2).flatten(1).unsqueeze(-1).to(x.scalar_type());  // [batch, atoms, 1]
  const auto other = shares.other.to(x.scalar_type()), own = shares.own.to(x.scalar_type());
  const auto believed = pool(p * x, pools).narrow(2, 0, c);
  const auto share = pool(p.expand({-1, -1, kAligned}), pools).narrow(2, 0, 1);
  const auto mean = (other * both.narrow(2, 0, c) + own * believed) / (other + own * share);
  return torch::cat({mean, both.narrow(2, c, c)}, 2);
}

// [pools, batch, width]: what each group says, per symbol. `x` [batch, atoms, width].
torch::Tensor SoftTpReasoner::messages(const torch::Tensor& x, const torch::Tensor& beliefs,
                                       const Weights& w) const {
  const auto all = pooled(x, beliefs, along_groups_, along_shares_);
  std::vector<torch::Tensor> messages;
  std::int64_t first = 0;
  for (std::int64_t f = 0; f < structure_.families; ++f) {
    const auto count = structure_.family_groups[f] * structure_.symbols;
    if (count == 0) continue;
    messages.push_back(at::linear(all.narrow(0, first, count), w.pool[f]));
    first += count;
  }
  return torch::cat(messages, 0);
}

torch::Tensor SoftTpReasoner::feed_forward(const torch::Tensor& h, const torch::Tensor& beliefs,
                                           const Weights& w) const {
  const auto shared = w.ff_shared.linear(pooled(h, beliefs, over_symbols_, over_shares_));
  const auto hidden =
      w.ff_in.linear(h).view({h.size(0), structure_.symbols, structure_.positions, options_.d_ff});
  return w.ff_out.linear(shared_gelu(hidden, shared)).view(h.sizes());
}

void SoftTpReasoner::pass(State& state, const Weights& w) const {
  const auto input = w.embed.linear(features(state).to(w.dtype)).flatten(1, 2);
  const auto x = state.x.defined() ? add_norm(state.x, input, norm_state_->weight, norm_state_->bias).second
                                   : add_norm(input, {}, norm_state_->weight, norm_state_->bias).second;
  auto mixed = options_.mixing == Mixing::kPooling ? x : x + attend(x, w);
  if (options_.mixing != Mixing::kAttention && structure_.groups > 0) {
    mixed = spread(mixed, messages(x, fed_back(state), w), along_groups_);
  }
  const auto [residual, h] = add_norm(mixed, {}, norm_ff_->weight, norm_ff_->bias);
  state.x = residual + feed_forward(h, fed_back(state), w);

  const auto read = w.read.linear(state.x)
                        .view({-1, structure_.symbols, structure_.positions})
                        .transpose(1, 2)
                        .to(torch::kFloat32);
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
  output.state = {state.x.detach(), state.beliefs.detach()};
  return output;
}

ReasonerOutput SoftTpReasoner::run_masked(State state, const Weights& w, int passes) {
  ReasonerOutput output;
  torch::Tensor answer, done;
  for (int t = 0; t < passes; ++t) {
    disturb(state, t);
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
ReasonerOutput SoftTpReasoner::run_halting(State state, const Weights& w, int passes) {
  ReasonerOutput output;
  const auto batch = state.beliefs.size(0);
  const auto indices = state.beliefs.options().dtype(torch::kInt64);
  auto active = torch::arange(batch, indices);
  auto answer = torch::empty_like(state.beliefs);
  output.passes = torch::full({batch}, passes, indices);
  for (int t = 1; active.numel() > 0; ++t) {
    disturb(state, t - 1);
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
  auto state = begin(input, w.dtype);
  if (is_training()) return run_training(std::move(state), w, passes);
  return fixed_passes_ ? run_masked(std::move(state), w, passes) : run_halting(std::move(state), w, passes);
}

}  // namespace as2::nn
