// Several instances at once share the products, so that programs of a few tokens still fill them; attention
// looks at one instance at a time.
#include "native/transformer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "infer/pooled_position.h"
#include "native/memory.h"

namespace as2::native {
namespace {

constexpr float kSmallestBelief = 1e-30f;
constexpr std::int64_t kMostRows = 128;  // of one product

}  // namespace

struct TransformerReasoner::Scratch {
  Floats tokens, x, normed, wide;  // [rows, …]
  Floats mean, mixed;
  std::unique_ptr<Attention> attention;
};

TransformerReasoner::TransformerReasoner(const kernels::Version& version,
                                         const infer::TransformerOptions& options,
                                         const compile::ConstraintProgram& program, Weights& weights)
    : version_(&version), options_(options), structure_(Structure::of(program)) {
  if (options.pooled) pooled_position_ = infer::pooled_position(program);
  for (std::int64_t i = 0; i < structure_.positions; ++i) {
    if (i == pooled_position_) continue;
    tokens_.push_back(i);
    symbols_ = std::max(symbols_, structure_.domains[i]);
  }
  if (tokens_.empty()) throw InputError("the program has no position for a token");
  const auto tokens = static_cast<std::int64_t>(tokens_.size());
  const std::int64_t d = options.d_model;
  project_ = Linear::take(version, weights, "reasoner.project", symbols_, d);
  if (options.placement == infer::Placement::kIndex) {
    placement_ = weights.take("reasoner.index", {tokens, d});
  } else if (options.placement == infer::Placement::kMembership) {
    placement_.resize(elements(tokens * d));
    std::vector<std::int64_t> token_of(elements(structure_.positions), -1);
    for (std::int64_t t = 0; t < tokens; ++t) token_of[elements(tokens_[t])] = t;
    std::int64_t first = 0;
    for (std::int64_t f = 0; f < structure_.families; ++f) {
      const std::int64_t groups = structure_.family_groups[f];
      if (groups == 0) continue;
      const auto table = weights.take("reasoner.membership_" + std::to_string(f), {groups, d});
      for (std::int64_t g = 0; g < groups; ++g) {
        for (std::int64_t j = 0; j < structure_.groups.size(first + g); ++j) {
          const std::int64_t token = token_of[structure_.groups.of(first + g)[j]];
          if (token >= 0) version.add_scaled(d, 1.f, table.data() + g * d, placement_.data() + token * d);
        }
      }
      first += groups;
    }
  }
  for (int l = 0; l < options.layers; ++l) {
    const std::string name = "reasoner.layer_" + std::to_string(l) + ".";
    Layer layer;
    layer.norm_attention = Norm::take(weights, name + "norm_attention", d);
    layer.qkv = Linear::take(version, weights, name + "qkv", d, 3 * d);
    layer.out = Linear::take(version, weights, name + "out", d, d);
    layer.norm_ff = Norm::take(weights, name + "norm_ff", d);
    layer.ff_in = Linear::take(version, weights, name + "ff_in", d, options.d_ff);
    layer.ff_out = Linear::take(version, weights, name + "ff_out", options.d_ff, d);
    if (options.placement == infer::Placement::kRelation) {
      const auto all = structure_.relation_bias(
          options.heads, weights.take(name + "relation_bias", {options.heads, structure_.families}));
      for (std::int64_t head = 0; head < options.heads; ++head) {
        for (const std::int64_t i : tokens_) {
          for (const std::int64_t j : tokens_)
            layer.bias.push_back(all[elements((head * structure_.positions + i) * structure_.positions + j)]);
        }
      }
    }
    layers_.push_back(std::move(layer));
  }
  norm_ = Norm::take(weights, "reasoner.norm", d);
  head_ = Linear::take(version, weights, "reasoner.head", d, symbols_);
  if (options.pooled)
    sum_head_ = Linear::take(version, weights, "reasoner.sum_head", d, structure_.domains[pooled_position_]);
}

// A token per position: its belief, or the one-hot of what is believed most where evidence is clamped.
void TransformerReasoner::encode(const float* beliefs, const char* evidence, float* token) const {
  for (const std::int64_t i : tokens_) {
    const float* row = beliefs + i * structure_.symbols;
    if (options_.clamp && evidence[i]) {
      std::fill_n(token, symbols_, 0.f);
      token[std::max_element(row, row + structure_.symbols) - row] = 1.f;
    } else {
      std::copy_n(row, symbols_, token);
    }
    token += symbols_;
  }
}

void TransformerReasoner::decide(const float* normed, const float* beliefs, const char* evidence,
                                 Scratch& scratch, float* logits) const {
  const auto tokens = static_cast<std::int64_t>(tokens_.size());
  const std::int64_t d = options_.d_model, symbols = structure_.symbols;
  std::fill_n(logits, structure_.positions * symbols, 0.f);
  head_.apply(tokens, normed, scratch.mixed.data());
  for (std::int64_t t = 0; t < tokens; ++t)
    std::copy_n(scratch.mixed.data() + t * symbols_, symbols_, logits + tokens_[elements(t)] * symbols);
  if (options_.pooled) {
    std::fill(scratch.mean.begin(), scratch.mean.end(), 0.f);
    for (std::int64_t t = 0; t < tokens; ++t)
      version_->add_scaled(d, 1.f / static_cast<float>(tokens), normed + t * d, scratch.mean.data());
    sum_head_.apply(1, scratch.mean.data(), logits + pooled_position_ * symbols);
  }
  for (std::int64_t i = 0; i < structure_.positions; ++i) {
    float* row = logits + i * symbols;
    if (options_.restore && evidence[i])
      version_->logarithm(symbols, beliefs + i * symbols, 0.f, kSmallestBelief, row);
    std::fill(row + structure_.domains[i], row + symbols, -std::numeric_limits<float>::infinity());
  }
}

ReasonerOutput TransformerReasoner::run(Threads& threads, std::size_t memory, const ReasonerInput& input,
                                        const ReasonerLimits& limits) const {
  AS2_REQUIRE(!limits.watch || input.count == 1, "one instance is watched");
  const auto tokens = static_cast<std::int64_t>(tokens_.size());
  const std::int64_t d = options_.d_model, cells = structure_.atoms(), wide = std::max(3 * d, options_.d_ff),
                     mixed = std::max(d, symbols_) * tokens;
  const std::size_t each_worker =
      sizeof(float) * elements(mixed + d) + Attention::memory(*version_, tokens, d, options_.heads);
  const std::size_t each_instance = sizeof(float) * elements(tokens * (symbols_ + 2 * d + wide));
  const Share share = share_memory(memory, each_worker, each_instance, threads.count(), input.count,
                                   std::max<std::int64_t>(1, kMostRows / tokens), "instances");
  std::vector<Scratch> scratches(elements(share.workers));
  for (Scratch& own : scratches) {
    own.tokens.resize(elements(share.at_once * tokens * symbols_));
    own.x.resize(elements(share.at_once * tokens * d));
    own.normed.resize(own.x.size());
    own.wide.resize(elements(share.at_once * tokens * wide));
    own.mean.resize(elements(d));
    own.mixed.resize(elements(mixed));
    own.attention = std::make_unique<Attention>(*version_, tokens, d, options_.heads);
  }
  ReasonerOutput output;
  output.logits.resize(elements(input.count * cells));
  output.passes.assign(elements(input.count), options_.passes);
  output.trajectories.assign(elements(input.count), 1);
  threads.run((input.count + share.at_once - 1) / share.at_once,
              [&](std::int64_t task, int worker) {
                Scratch& own = scratches[elements(worker)];
                const std::int64_t first = task * share.at_once,
                                   some = std::min(share.at_once, input.count - first), rows = some * tokens;
                const auto beliefs = [&](std::int64_t n) { return input.beliefs + (first + n) * cells; };
                const auto evidence = [&](std::int64_t n) {
                  return input.evidence + (first + n) * structure_.positions;
                };
                float *x = own.x.data(), *normed = own.normed.data(), *hidden = own.wide.data();
                for (std::int64_t n = 0; n < some; ++n)
                  encode(beliefs(n), evidence(n), own.tokens.data() + n * tokens * symbols_);
                project_.apply(rows, own.tokens.data(), x);
                for (std::int64_t n = 0; n < some && !placement_.empty(); ++n)
                  version_->add_scaled(tokens * d, 1.f, placement_.data(), x + n * tokens * d);
                const auto answer = [&] {
                  version_->add_norm(rows, d, x, nullptr, norm_.weight.data(), norm_.bias.data(), nullptr,
                                     normed);
                  for (std::int64_t n = 0; n < some; ++n)
                    decide(normed + n * tokens * d, beliefs(n), evidence(n), own,
                           output.logits.data() + (first + n) * cells);
                };
                for (int pass = 0; pass < options_.passes; ++pass) {
                  for (const Layer& layer : layers_) {
                    version_->add_norm(rows, d, x, nullptr, layer.norm_attention.weight.data(),
                                       layer.norm_attention.bias.data(), nullptr, normed);
                    layer.qkv.apply(rows, normed, hidden);
                    for (std::int64_t n = 0; n < some; ++n)
                      own.attention->apply(hidden + n * tokens * 3 * d,
                                           layer.bias.empty() ? nullptr : layer.bias.data(), nullptr,
                                           normed + n * tokens * d);
                    layer.out.apply(rows, normed, x, true);
                    version_->add_norm(rows, d, x, nullptr, layer.norm_ff.weight.data(),
                                       layer.norm_ff.bias.data(), nullptr, normed);
                    layer.ff_in.apply(rows, normed, hidden);
                    for (std::int64_t row = 0; row < rows; ++row)
                      version_->add_gelu(options_.d_ff, hidden + row * options_.d_ff, nullptr);
                    layer.ff_out.apply(rows, hidden, x, true);
                    if (!limits.watch) continue;
                    answer();
                    limits.watch(output.logits.data());
                  }
                }
                answer();
              },
              share.workers);
  return output;
}

}  // namespace as2::native
