#include "native/networks.h"

#include <algorithm>
#include <cmath>

#include "as2/open_solver.h"
#include "infer/open.h"
#include "infer/program.h"
#include "native/soft_tp_reasoner.h"
#include "native/transformer.h"

namespace as2::native {
namespace {

// Pictures as float32 at once: what their bytes take four times over.
constexpr std::size_t kPicturesAtOnce = 4096;

// In double: a decoder compares logarithms of these. −inf gives 0.
std::vector<double> softmax(const float* logits, std::size_t count) {
  const double most = *std::max_element(logits, logits + count);
  std::vector<double> powers;
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) {
    powers.push_back(std::exp(logits[k] - most));
    sum += powers.back();
  }
  for (double& power : powers) power /= sum;
  return powers;
}

class NativePerceiver : public infer::Perceiver {
 public:
  explicit NativePerceiver(std::shared_ptr<Networks> networks) : networks_(std::move(networks)) {}
  std::vector<std::vector<double>> perceive(const std::vector<const infer::Picture*>& pictures) override {
    return networks_->perceive(pictures);
  }

 private:
  std::shared_ptr<Networks> networks_;
};

class NativeGuide : public infer::Guide {
 public:
  explicit NativeGuide(std::shared_ptr<Networks> networks) : networks_(std::move(networks)) {}
  bool has_trajectories() const override { return networks_->reasoner()->has_trajectories(); }
  std::vector<infer::Guidance> guide(const std::vector<infer::Evidence>& instances,
                                     const infer::GuideLimits& limits) override {
    return networks_->guide(instances, {limits.passes, limits.restarts, {}});
  }

 private:
  std::shared_ptr<Networks> networks_;
};

}  // namespace

Networks::Networks(const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   const EngineOptions& options)
    : path_(card.weights), program_(std::move(program)), options_(options), threads_(options.threads) {
  const formats::SafeTensorFile file = infer::read_weights(card);
  infer::check_program(card, *program_);
  const kernels::Version& version = options.version ? *options.version : *kernels::versions().front();
  Weights weights(file, card.weights.string());
  if (card.network.perception) {
    map_ = infer::map_pictures(*program_, card.pictures.positions, card.pictures.classes);
    perception_ = std::make_unique<PerceptionNet>(version, *card.network.perception, weights);
  }
  switch (card.network.kind) {
    case infer::ReasonerKind::kNone:
      break;
    case infer::ReasonerKind::kTransformer:
      reasoner_ =
          std::make_unique<TransformerReasoner>(version, card.network.transformer, *program_, weights);
      break;
    case infer::ReasonerKind::kSoftTp:
      reasoner_ = std::make_unique<SoftTpReasoner>(version, card.network.soft_tp, *program_, weights,
                                                   card.trained_sizes());
      break;
    case infer::ReasonerKind::kRelational:
    case infer::ReasonerKind::kSatNet:
      throw InputError(
          {card.weights.string()},
          std::string("its reasoner, ") + infer::name_of(card.network.kind) + ", runs on LibTorch alone",
          {"give --engine torch"});
  }
  weights.refuse_unused();
}

std::vector<std::vector<double>> Networks::perceive(const std::vector<const infer::Picture*>& pictures) {
  std::vector<std::vector<double>> beliefs;
  const auto symbols = static_cast<std::size_t>(perception_->symbols());
  std::vector<float> pixels, logits;
  for (std::size_t first = 0; first < pictures.size(); first += kPicturesAtOnce) {
    const std::size_t count = std::min(kPicturesAtOnce, pictures.size() - first);
    pixels.resize(count * PerceptionNet::kPixels);
    float* pixel = pixels.data();
    for (std::size_t n = first; n < first + count; ++n) {
      const infer::Picture& picture = *pictures[n];
      AS2_REQUIRE(picture.pixels.size() == PerceptionNet::kPixels, "a picture has 28 × 28 pixels");
      AS2_REQUIRE(std::binary_search(map_.positions.begin(), map_.positions.end(), picture.position),
                  "a picture at a position that the card gives pictures");
      pixel = std::transform(picture.pixels.begin(), picture.pixels.end(), pixel,
                             [](std::uint8_t grey) { return static_cast<float>(grey) / 255.f; });
    }
    logits.resize(count * symbols);
    perception_->run(threads_, options_.memory, static_cast<std::int64_t>(count), pixels.data(),
                     logits.data());
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<float> own;
      for (const int shown : map_.class_of[pictures[first + n]->position])
        own.push_back(logits[n * symbols + static_cast<std::size_t>(shown)] / perception_->temperature());
      beliefs.push_back(softmax(own.data(), own.size()));
      infer::require_finite(beliefs.back(), path_);
    }
  }
  return beliefs;
}

std::vector<infer::Guidance> Networks::guide(const std::vector<infer::Evidence>& instances,
                                             const ReasonerLimits& limits) {
  const std::size_t positions = program_->positions.size(),
                    symbols = static_cast<std::size_t>(program_->max_symbols());
  std::vector<float> beliefs;
  std::vector<char> evidence(instances.size() * positions);
  for (std::size_t n = 0; n < instances.size(); ++n) {
    for (const double belief : instances[n].beliefs) beliefs.push_back(static_cast<float>(belief));
    for (const int position : instances[n].positions)
      evidence[n * positions + static_cast<std::size_t>(position)] = 1;
  }
  const ReasonerOutput output =
      reasoner_->run(threads_, options_.memory,
                     {static_cast<std::int64_t>(instances.size()), beliefs.data(), evidence.data()}, limits);
  std::vector<infer::Guidance> rows(instances.size());
  const float* logits = output.logits.data();
  for (std::size_t n = 0; n < instances.size(); ++n) {
    rows[n].trajectories = output.trajectories[n];
    for (std::size_t i = 0; i < positions; ++i, logits += symbols) {
      const auto own = softmax(logits, symbols);
      rows[n].beliefs.insert(rows[n].beliefs.end(), own.begin(), own.end());
    }
    infer::require_finite(rows[n].beliefs, path_);
  }
  return rows;
}

infer::PerceiverAndGuide perceiver_and_guide(std::shared_ptr<Networks> networks) {
  infer::PerceiverAndGuide both;
  if (networks->perception()) both.perceiver = std::make_unique<NativePerceiver>(networks);
  if (networks->reasoner()) both.guide = std::make_unique<NativeGuide>(networks);
  return both;
}

infer::Solver open_solver(const infer::Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                          bool with_guide, const infer::SolverOptions& solver, const EngineOptions& engine) {
  return infer::make_solver(card, program,
                            perceiver_and_guide(std::make_shared<Networks>(card, program, engine)),
                            with_guide, solver);
}

infer::Solver open_solver(const std::filesystem::path& weights, const OpenOptions& options) {
  const infer::Card card = infer::read_card(weights);
  EngineOptions engine;
  engine.threads = options.threads;
  engine.memory = options.memory;
  infer::SolverOptions solver = options.solver;
  solver.threads = options.threads;
  return open_solver(card, infer::load_program(card.program), options.with_guide, solver, engine);
}

}  // namespace as2::native
