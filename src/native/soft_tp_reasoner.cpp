// One instance at a time goes through all its passes on one thread: its state stays in that core's cache, a
// finished board frees its thread at once, and what is in memory depends on the threads and not on the batch.
// A pass has hundreds of rows to multiply, so that the products lose nothing by this.
//
// The state after a pass is x + W_out h, of which the answer is a dot product r per atom. That is computed as
// r·x + (r W_out)·h, so that the last pass of a board, which nothing follows, needs no product with W_out.
#include "native/soft_tp_reasoner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "infer/sizes.h"
#include "native/memory.h"
#include "random.h"

namespace as2::native {
namespace {

constexpr float kSmallestEvidence = 1e-6f;
constexpr float kSmallestFactor = 1e-3f;
constexpr float kFarBelow = -1e4f;
constexpr std::int64_t kEvidenceFeatures = 3;
constexpr std::int64_t kHiddenRows = 96;  // rows of the wide hidden layer that are read while they are near

}  // namespace

struct SoftTpReasoner::State {
  Floats x, input, normed;  // [atoms, width]
  Floats features;          // [atoms, inputs]
  Floats beliefs, logits;   // [positions, symbols]
  Floats evidence;          // [positions, symbols]: log of what came in
  Floats factors;           // [2 · families, positions, symbols]: and their logarithms
  Floats pooled, messages, shared, hidden, qkv, out;
  std::unique_ptr<Attention> attention;
  SoftTp::Scratch soft_tp;
  Floats noise, certain;
  int trajectory = 0;
  bool fresh = true;  // x is still zero
};

SoftTpReasoner::SoftTpReasoner(const kernels::Version& version, const infer::SoftTpReasonerOptions& options,
                               const compile::ConstraintProgram& program, Weights& weights,
                               const infer::Sizes& trained)
    : version_(&version),
      options_(options),
      structure_(Structure::of(program)),
      soft_tp_(program),
      trained_(trained) {
  const std::int64_t width = options.width, families = structure_.families;
  trained_.groups.resize(elements(families));
  inputs_ = kEvidenceFeatures + 1 + (options.tp_feedback ? 2 * families : 0);
  embed_ = Linear::take(version, weights, "reasoner.embed", inputs_, width);
  norm_state_ = Norm::take(weights, "reasoner.norm_state", width);
  if (options.mixing != infer::Mixing::kPooling) {
    qkv_ = Linear::take(version, weights, "reasoner.qkv", width, 3 * width);
    attention_out_ = Linear::take(version, weights, "reasoner.attention_out", width, width);
    attention_bias_ = structure_.relation_bias(
        options.heads, weights.take("reasoner.relation_bias", {options.heads, families}));
    if (!structure_.full) {
      for (std::int64_t symbol = 0; symbol < structure_.symbols; ++symbol) {
        for (const std::int64_t domain : structure_.domains)
          key_bias_.push_back(symbol < domain ? 0.f : kFarBelow);
      }
    }
  }
  along_groups_ = structure_.pools_along_groups();
  over_symbols_ = structure_.pools_over_symbols();
  if (options.mixing != infer::Mixing::kAttention) {
    holders_ = Holders::of(structure_, along_groups_);
    const auto pool = weights.take("reasoner.pool", {families, width, 2 * width});
    const std::int64_t each = width * 2 * width;
    for (std::int64_t f = 0; f < families; ++f)
      pool_.push_back(Linear::of(version, 2 * width, width,
                                 {pool.begin() + f * each, pool.begin() + (f + 1) * each}, {}));
  }
  norm_ff_ = Norm::take(weights, "reasoner.norm_ff", width);
  // The bias of ff_in rides with what the symbols share.
  const std::int64_t wide = options.d_ff;
  ff_in_ = Linear::take(version, weights, "reasoner.ff_in", width, wide);
  const auto mean = weights.take("reasoner.ff_mean.weight", {wide, width}),
             most = weights.take("reasoner.ff_max.weight", {wide, width});
  std::vector<float> both;
  for (std::int64_t row = 0; row < wide; ++row) {
    both.insert(both.end(), mean.begin() + row * width, mean.begin() + (row + 1) * width);
    both.insert(both.end(), most.begin() + row * width, most.begin() + (row + 1) * width);
  }
  ff_shared_ = Linear::of(version, 2 * width, wide, both, std::move(ff_in_.bias));
  ff_in_.bias.clear();
  const auto out = weights.take("reasoner.ff_out.weight", {width, wide});
  ff_out_ = Linear::of(version, wide, width, out, weights.take("reasoner.ff_out.bias", {width}));
  read_ = weights.take("reasoner.read.weight", {1, width});
  std::vector<double> through(elements(wide));
  double bias = 0;
  for (std::size_t row = 0; row < read_.size(); ++row) {
    bias += double{read_[row]} * double{ff_out_.bias[row]};
    for (std::size_t k = 0; k < through.size(); ++k)
      through[k] += double{read_[row]} * double{out[row * through.size() + k]};
  }
  read_hidden_.assign(through.begin(), through.end());
  read_bias_ = static_cast<float>(bias);
  evidence_scale_ = weights.take_one("reasoner.evidence_scale");
}

void SoftTpReasoner::begin(State& state, const float* beliefs, const char* evidence, int trajectory) const {
  const std::int64_t positions = structure_.positions, symbols = structure_.symbols;
  state.beliefs.assign(beliefs, beliefs + positions * symbols);
  version_->logarithm(positions * symbols, beliefs, 0.f, kSmallestEvidence, state.evidence.data());
  for (std::int64_t symbol = 0; symbol < symbols; ++symbol) {
    for (std::int64_t i = 0; i < positions; ++i) {
      float* feature = state.features.data() + (symbol * positions + i) * inputs_;
      feature[0] = beliefs[i * symbols + symbol];
      feature[1] = state.evidence[i * symbols + symbol];
      feature[2] = evidence[i] ? 1.f : 0.f;
    }
  }
  state.trajectory = trajectory;
  if (has_trajectories()) {
    // The same numbers as nn/soft_tp_reasoner.cpp draws for the trajectory.
    Random random(static_cast<std::uint64_t>(trajectory));
    state.noise.resize(state.x.size());
    for (float& value : state.noise) value = static_cast<float>(random.normal());
  }
  state.fresh = options_.state_noise == 0;
  for (std::size_t k = 0; !state.fresh && k < state.x.size(); ++k)
    state.x[k] = state.noise[k] * static_cast<float>(options_.state_noise);
}

// Noise on the path wherever training would begin another segment. The first trajectory has none; the others
// take the numbers that they started from, in another place for each segment.
void SoftTpReasoner::disturb(State& state, int pass) const {
  if (state.trajectory == 0 || options_.path_noise == 0 || pass == 0 || pass % options_.passes != 0) return;
  const auto size = static_cast<std::int64_t>(state.x.size());
  const std::int64_t shift = std::int64_t{7919} * (pass / options_.passes) % size;
  for (std::int64_t k = 0; k < size; ++k)
    state.x[elements((k + shift) % size)] +=
        state.noise[elements(k)] * static_cast<float>(options_.path_noise);
}

// The columns that change from pass to pass.
void SoftTpReasoner::features(State& state) const {
  const std::int64_t positions = structure_.positions, symbols = structure_.symbols,
                     cells = positions * symbols, families = structure_.families;
  if (options_.tp_feedback) {
    soft_tp_.leave_one_out(state.beliefs.data(), state.factors.data(), state.soft_tp);
    version_->logarithm(families * cells, state.factors.data(), kSmallestFactor,
                        std::numeric_limits<float>::min(), state.factors.data() + families * cells);
  }
  const std::int64_t planes = options_.tp_feedback ? 2 * families : 0;
  for (std::int64_t symbol = 0; symbol < symbols; ++symbol) {
    for (std::int64_t i = 0; i < positions; ++i) {
      float* feature = state.features.data() + (symbol * positions + i) * inputs_ + kEvidenceFeatures;
      const std::int64_t cell = i * symbols + symbol;
      *feature++ = state.beliefs[elements(cell)];
      for (std::int64_t plane = 0; plane < planes; ++plane)
        *feature++ = state.factors[elements(plane * cells + cell)];
    }
  }
}

// Attention over positions, per symbol, from `normed` (the state) into x, which holds the same.
void SoftTpReasoner::attend(State& state) const {
  const std::int64_t positions = structure_.positions, width = options_.width;
  for (std::int64_t symbol = 0; symbol < structure_.symbols; ++symbol) {
    const std::int64_t first = symbol * positions * width;
    qkv_.apply(positions, state.normed.data() + first, state.qkv.data());
    state.attention->apply(state.qkv.data(), attention_bias_.data(),
                           key_bias_.empty() ? nullptr : key_bias_.data() + symbol * positions,
                           state.out.data());
    attention_out_.apply(positions, state.out.data(), state.x.data() + first, true);
  }
}

void SoftTpReasoner::pool_rows(const State& state, const Lists& pools, std::int64_t pool, int trained,
                               float* pooled) const {
  const std::int64_t width = options_.width, size = pools.size(pool);
  const float share = size > 0 ? 1.f / static_cast<float>(size) : 0.f;
  version_->pool_rows(size, pools.of(pool), share, width, state.normed.data(), pooled, pooled + width);
  const infer::PoolWeights weights = infer::pool_weights(trained, static_cast<int>(size));
  if (weights.plain()) return;
  const std::int64_t positions = structure_.positions;
  const auto belief = [&](std::int64_t atom) {
    return state.beliefs[elements(atom % positions * structure_.symbols + atom / positions)];
  };
  float believed = 0;
  for (std::int64_t k = 0; k < size; ++k) believed += share * belief(pools.of(pool)[k]);
  const float all = weights.other + weights.own * believed;
  for (std::int64_t c = 0; c < width; ++c) pooled[c] *= weights.other / all;
  for (std::int64_t k = 0; k < size; ++k) {
    const std::int64_t atom = pools.of(pool)[k];
    version_->add_scaled(width, weights.own / all * share * belief(atom), state.normed.data() + atom * width,
                         pooled);
  }
}

void SoftTpReasoner::exchange_along_groups(State& state) const {
  const std::int64_t width = options_.width;
  std::int64_t first = 0;
  for (std::int64_t f = 0; f < structure_.families; ++f) {
    const std::int64_t count = structure_.family_groups[f] * structure_.symbols;
    for (std::int64_t pool = first; pool < first + count; ++pool)
      pool_rows(state, along_groups_, pool, trained_.groups[elements(f)],
                state.pooled.data() + pool * 2 * width);
    pool_[f].apply(count, state.pooled.data() + first * 2 * width, state.messages.data() + first * width);
    first += count;
  }
  for (std::int64_t atom = 0; atom < structure_.atoms(); ++atom) {
    const std::int32_t begin = holders_.pools.begin[atom];
    for (std::int64_t k = 0; k < holders_.pools.size(atom); ++k)
      version_->add_scaled(width, holders_.share[begin + k],
                           state.messages.data() + holders_.pools.items[begin + k] * width,
                           state.x.data() + atom * width);
  }
}

void SoftTpReasoner::feed_forward(State& state) const {
  const std::int64_t width = options_.width, wide = options_.d_ff, positions = structure_.positions,
                     atoms = structure_.atoms();
  version_->add_norm(atoms, width, state.x.data(), nullptr, norm_ff_.weight.data(), norm_ff_.bias.data(),
                     nullptr, state.normed.data());
  std::fill_n(state.out.begin(), atoms, read_bias_);
  version_->dot_rows(atoms, width, state.x.data(), read_.data(), state.out.data());
  for (std::int64_t i = 0; i < positions; ++i)
    pool_rows(state, over_symbols_, i, trained_.symbols, state.pooled.data() + i * 2 * width);
  ff_shared_.apply(positions, state.pooled.data(), state.shared.data());
  for (std::int64_t first = 0; first < atoms; first += kHiddenRows) {
    const std::int64_t rows = std::min(kHiddenRows, atoms - first);
    float* hidden = state.hidden.data() + first * wide;
    ff_in_.apply(rows, state.normed.data() + first * width, hidden);
    for (std::int64_t row = 0; row < rows; ++row)
      version_->add_gelu(wide, hidden + row * wide, state.shared.data() + (first + row) % positions * wide);
    version_->dot_rows(rows, wide, hidden, read_hidden_.data(), state.out.data() + first);
  }
}

void SoftTpReasoner::read(State& state) const {
  const std::int64_t positions = structure_.positions, symbols = structure_.symbols;
  for (std::int64_t i = 0; i < positions; ++i) {
    float* logits = state.logits.data() + i * symbols;
    float* beliefs = state.beliefs.data() + i * symbols;
    const std::int64_t domain = structure_.domains[i];
    for (std::int64_t symbol = 0; symbol < domain; ++symbol)
      logits[symbol] = state.out[elements(symbol * positions + i)] +
                       evidence_scale_ * state.evidence[elements(i * symbols + symbol)];
    std::fill(logits + domain, logits + symbols, -std::numeric_limits<float>::infinity());
    std::copy_n(logits, domain, beliefs);
    version_->softmax(domain, beliefs);
    std::fill(beliefs + domain, beliefs + symbols, 0.f);
  }
}

void SoftTpReasoner::pass(State& state) const {
  const std::int64_t atoms = structure_.atoms(), width = options_.width;
  features(state);
  embed_.apply(atoms, state.features.data(), state.input.data());
  version_->add_norm(atoms, width, state.input.data(), state.fresh ? nullptr : state.x.data(),
                     norm_state_.weight.data(), norm_state_.bias.data(), nullptr, state.normed.data());
  state.fresh = false;
  std::copy(state.normed.begin(), state.normed.end(), state.x.begin());
  if (options_.mixing != infer::Mixing::kPooling) attend(state);
  if (options_.mixing != infer::Mixing::kAttention) exchange_along_groups(state);
  feed_forward(state);
  read(state);
}

// A small residual alone would not do: (.5,.5,0,0), (0,0,.5,.5) is a fixed point.
bool SoftTpReasoner::finished(State& state) const {
  for (std::int64_t i = 0; i < structure_.positions; ++i) {
    const float* row = state.beliefs.data() + i * structure_.symbols;
    if (!(*std::max_element(row, row + structure_.domains[i]) > options_.decided)) return false;
  }
  return soft_tp_.max_residual(state.beliefs.data(), state.soft_tp) < options_.residual_tolerance;
}

float SoftTpReasoner::objection(State& state, const float* beliefs, const char* evidence) const {
  const std::int64_t symbols = structure_.symbols, cells = structure_.atoms();
  state.certain.assign(elements(cells), 0.f);
  float against = 0;
  for (std::int64_t i = 0; i < structure_.positions; ++i) {
    const float* row = state.logits.data() + i * symbols;
    const std::int64_t cell = std::max_element(row, row + structure_.domains[i]) - state.logits.data();
    state.certain[elements(cell)] = 1;
    if (evidence[i] && beliefs[cell] < kSmallestEvidence) ++against;
  }
  // At a vertex every term is 0 or 1, up to rounding.
  if (soft_tp_.max_residual(state.certain.data(), state.soft_tp) <= 0.5f) return against;
  soft_tp_.leave_one_out(state.certain.data(), state.factors.data(), state.soft_tp);
  float broken = 0;
  for (std::int64_t k = 0; k < structure_.families * cells; ++k) {
    const float residual = state.certain[elements(k % cells)] * (1.f - state.factors[elements(k)]);
    broken += residual * residual;
  }
  return against + std::max(broken, 1e-6f);
}

int SoftTpReasoner::run_trajectory(State& state, const float* beliefs, const char* evidence, int trajectory,
                                   int passes, const Watch& watch) const {
  begin(state, beliefs, evidence, trajectory);
  for (int used = 0;;) {
    disturb(state, used);
    pass(state);
    if (watch) watch(state.logits.data());
    if (++used == passes || finished(state)) return used;
    ff_out_.apply(structure_.atoms(), state.hidden.data(), state.x.data(), true);
  }
}

ReasonerOutput SoftTpReasoner::run(Threads& threads, std::size_t memory, const ReasonerInput& input,
                                   const ReasonerLimits& limits) const {
  AS2_REQUIRE(!limits.watch || input.count == 1, "one instance is watched");
  AS2_REQUIRE(limits.restarts == 1 || has_trajectories(), "without noise every trajectory is the same");
  const int passes = limits.passes > 0 ? limits.passes : options_.eval_passes;
  const std::int64_t positions = structure_.positions, cells = structure_.atoms(), width = options_.width;
  const bool attends = options_.mixing != infer::Mixing::kPooling;
  const std::int64_t pools = std::max(along_groups_.count(), positions);
  const std::int64_t sizes[] = {cells * width,
                                cells * inputs_,
                                cells,
                                2 * structure_.families * cells,
                                pools * 2 * width,
                                pools * width,
                                positions * options_.d_ff,
                                cells * options_.d_ff,
                                attends ? positions * 3 * width : 0,
                                std::max(cells, attends ? positions * width : 0)};
  const auto prepare = [&](State& state) {
    for (auto* own : {&state.x, &state.input, &state.normed}) own->resize(elements(sizes[0]));
    state.features.resize(elements(sizes[1]));
    for (auto* own : {&state.beliefs, &state.logits, &state.evidence}) own->resize(elements(sizes[2]));
    state.factors.resize(elements(sizes[3]));
    state.pooled.resize(elements(sizes[4]));
    state.messages.resize(elements(sizes[5]));
    state.shared.resize(elements(sizes[6]));
    state.hidden.resize(elements(sizes[7]));
    state.qkv.resize(elements(sizes[8]));
    state.out.resize(elements(sizes[9]));
    if (attends) state.attention = std::make_unique<Attention>(*version_, positions, width, options_.heads);
    state.soft_tp = soft_tp_.scratch();
  };
  // Three of each, and for trajectories their noise and answer.
  std::int64_t numbers = 2 * (sizes[0] + sizes[2]) + (has_trajectories() ? sizes[0] + sizes[2] : 0);
  for (const std::int64_t size : sizes) numbers += size;
  std::size_t bytes = sizeof(float) * elements(numbers) + soft_tp_.scratch_bytes();
  if (attends) bytes += Attention::memory(*version_, positions, width, options_.heads);
  const Share share = share_memory(memory, bytes, 0, threads.count(), input.count, 1, "boards");

  ReasonerOutput output;
  output.logits.resize(elements(input.count * cells));
  output.passes.resize(elements(input.count));
  output.trajectories.resize(elements(input.count));
  std::vector<State> states(elements(share.workers));
  for (State& state : states) prepare(state);
  threads.run(
      input.count,
      [&](std::int64_t n, int worker) {
        State& state = states[elements(worker)];
        const float* beliefs = input.beliefs + n * cells;
        const char* evidence = input.evidence + n * positions;
        float least = std::numeric_limits<float>::infinity();
        for (int k = 0; k < limits.restarts && least > 0; ++k) {
          const int used = run_trajectory(state, beliefs, evidence, k, passes, limits.watch);
          if (k == 0) output.passes[elements(n)] = used;
          output.trajectories[elements(n)] = k + 1;
          const float objected = limits.restarts == 1 ? 0 : objection(state, beliefs, evidence);
          if (objected >= least) continue;
          least = objected;
          std::copy(state.logits.begin(), state.logits.end(), output.logits.begin() + n * cells);
        }
      },
      share.workers);
  return output;
}

}  // namespace as2::native
