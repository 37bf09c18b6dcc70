#include "infer/tensor/open.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "infer/open.h"
#include "infer/tensor/network.h"
#include "infer/tensor/step_graph.h"
#include "nn/restarts.h"

namespace as2::infer {
namespace {

// What perceiver and guide share.
struct Networks {
  Networks(std::shared_ptr<nn::Model> own, std::shared_ptr<const compile::ConstraintProgram> bound,
           const PictureMap& pictures, torch::Device where, std::filesystem::path file)
      : weights(std::move(file)),
        program(std::move(bound)),
        map(pictures),
        device(where),
        model(std::move(own)),
        network(*model, map, nn::Structure::of(*program).mask.to(device)) {
    model->to(device);
    model->eval();
  }

  std::filesystem::path weights;
  std::shared_ptr<const compile::ConstraintProgram> program;
  PictureMap map;
  torch::Device device;
  std::shared_ptr<nn::Model> model;
  Network network;
};

class TensorPerceiver : public Perceiver {
 public:
  explicit TensorPerceiver(std::shared_ptr<Networks> networks) : networks_(std::move(networks)) {}

  std::vector<std::vector<double>> perceive(const std::vector<const Picture*>& pictures) override {
    std::vector<std::vector<double>> rows;
    for (std::size_t first = 0; first < pictures.size(); first += kAtOnce)
      perceive_together(pictures.data() + first, std::min(kAtOnce, pictures.size() - first), rows);
    return rows;
  }

 private:
  // With more, every layer's tensors would be large enough to be mapped anew by the system.
  static constexpr std::size_t kAtOnce = 2048;

  void perceive_together(const Picture* const* pictures, std::size_t given,
                         std::vector<std::vector<double>>& rows) {
    const torch::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(given);
    torch::Tensor pixels = torch::empty({count, kPictureSide, kPictureSide}, torch::kUInt8);
    torch::Tensor positions = torch::empty({count}, torch::kInt64);
    std::uint8_t* pixel = pixels.data_ptr<std::uint8_t>();
    std::int64_t* position = positions.data_ptr<std::int64_t>();
    const std::vector<int>& pictured = networks_->map.positions;
    for (std::size_t n = 0; n < given; ++n) {
      const Picture& picture = *pictures[n];
      AS2_REQUIRE(picture.pixels.size() == kPictureSide * kPictureSide, "a picture has 28 × 28 pixels");
      AS2_REQUIRE(std::binary_search(pictured.begin(), pictured.end(), picture.position),
                  "a picture at a position that the card gives pictures");
      pixel = std::copy(picture.pixels.begin(), picture.pixels.end(), pixel);
      *position++ = picture.position;
    }
    Network& network = networks_->network;
    const torch::Device device = networks_->device;
    const torch::Tensor beliefs =
        network
            .symbol_beliefs(network.perceive(pixels.to(device).to(torch::kFloat32).div(255)),
                            positions.to(device))
            .to(torch::kCPU, torch::kFloat64)
            .contiguous();
    const double* row = beliefs.data_ptr<double>();
    for (std::size_t n = 0; n < given; ++n, row += beliefs.size(1)) {
      rows.emplace_back(row, row + networks_->program->positions[pictures[n]->position].symbols.size());
      require_finite(rows.back(), networks_->weights);
    }
  }

  std::shared_ptr<Networks> networks_;
};

class TensorGuide : public Guide {
 public:
  explicit TensorGuide(std::shared_ptr<Networks> networks)
      : networks_(std::move(networks)),
        soft_tp_(*networks_->program),
        cuda_(networks_->device.is_cuda()),
        at_once_(cuda_ ? 256 : 32),
        graph_(networks_->device, /*capture=*/networks_->model->options().kind != nn::ReasonerKind::kSatNet) {
    networks_->model->reasoner->set_fixed_passes(cuda_);
  }

  bool has_trajectories() const override { return networks_->model->reasoner->has_trajectories(); }

  std::vector<Guidance> guide(const std::vector<Evidence>& instances, const GuideLimits& limits) override {
    std::vector<Guidance> rows;
    for (std::size_t first = 0; first < instances.size(); first += at_once_)
      guide_together(instances.data() + first, std::min(at_once_, instances.size() - first), limits, rows);
    return rows;
  }

 private:
  void guide_together(const Evidence* instances, std::size_t given, const GuideLimits& limits,
                      std::vector<Guidance>& rows) {
    const torch::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(given);
    const torch::Tensor& mask = networks_->network.mask();
    torch::Tensor beliefs = torch::empty({count, mask.size(0), mask.size(1)}, torch::kFloat64);
    torch::Tensor evidence = torch::zeros({count, mask.size(0)}, torch::kBool);
    double* belief = beliefs.data_ptr<double>();
    bool* flags = evidence.data_ptr<bool>();
    for (std::size_t n = 0; n < given; ++n, flags += mask.size(0)) {
      belief = std::copy(instances[n].beliefs.begin(), instances[n].beliefs.end(), belief);
      for (const int position : instances[n].positions) flags[position] = true;
    }
    nn::Reasoner& reasoner = *networks_->model->reasoner;
    const nn::ReasonerInput input{beliefs.to(networks_->device, torch::kFloat32),
                                  evidence.to(networks_->device)};
    torch::Tensor logits =
        cuda_ ? replayed(input, limits.passes) : reasoner.forward(input, limits.passes).logits.back();
    torch::Tensor trajectories = torch::ones({count}, torch::kInt64);
    if (limits.restarts > 1) {
      reasoner.set_fixed_passes(false);
      const nn::RestartedOutput output =
          nn::run_restarts(reasoner, soft_tp_, input, logits, limits.restarts, limits.passes);
      reasoner.set_fixed_passes(cuda_);
      logits = output.logits;
      trajectories = output.trajectories.cpu();
    }
    const torch::Tensor reasoned = torch::softmax(logits, -1).to(torch::kCPU, torch::kFloat64).contiguous();
    const double* row = reasoned.data_ptr<double>();
    for (std::int64_t n = 0; n < count; ++n, row += mask.numel()) {
      rows.push_back({{row, row + mask.numel()}, static_cast<int>(trajectories.data_ptr<std::int64_t>()[n])});
      require_finite(rows.back().beliefs, networks_->weights);
    }
  }

  // All passes as one launch, always on as many rows: those left over are the first of them again.
  torch::Tensor replayed(const nn::ReasonerInput& input, int passes) {
    const std::int64_t count = input.beliefs.size(0);
    const torch::Tensor rows =
        torch::arange(static_cast<std::int64_t>(at_once_), input.evidence.options().dtype(torch::kInt64))
            .remainder(count);
    const torch::Tensor beliefs = input.beliefs.index_select(0, rows),
                        evidence = input.evidence.index_select(0, rows);
    if (!current_.beliefs.defined() || passes != passes_) {
      graph_.forget();
      passes_ = passes;
      current_ = {beliefs, evidence};
    } else {
      current_.beliefs.copy_(beliefs);
      current_.evidence.copy_(evidence);
    }
    graph_.run([&] { logits_ = networks_->model->reasoner->forward(current_, passes).logits.back(); });
    return logits_.narrow(0, 0, count).clone();
  }

  std::shared_ptr<Networks> networks_;
  tp::SoftTp soft_tp_;
  const bool cuda_;
  const std::size_t at_once_;
  StepGraph graph_;
  nn::ReasonerInput current_;  // what the graph reads,
  torch::Tensor logits_;       // and what it writes
  int passes_ = 0;             // that it was captured with
};

}  // namespace

PerceiverAndGuide perceiver_and_guide(std::shared_ptr<nn::Model> model,
                                      std::shared_ptr<const compile::ConstraintProgram> program,
                                      const PictureMap& map, torch::Device device,
                                      const std::filesystem::path& weights) {
  const auto networks =
      std::make_shared<Networks>(std::move(model), std::move(program), map, device, weights);
  PerceiverAndGuide both;
  if (!networks->model->perception.is_empty()) both.perceiver = std::make_unique<TensorPerceiver>(networks);
  if (networks->model->reasoner) both.guide = std::make_unique<TensorGuide>(networks);
  return both;
}

PerceiverAndGuide perceiver_and_guide(const Card& card,
                                      std::shared_ptr<const compile::ConstraintProgram> program,
                                      torch::Device device) {
  PictureMap map;
  if (card.network.perception) map = map_pictures(*program, card.pictures.positions, card.pictures.classes);
  auto model = nn::load_model(card, *program);
  return perceiver_and_guide(std::move(model), std::move(program), map, device, card.weights);
}

Solver open_solver(const Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   bool with_guide, const SolverOptions& options) {
  SolverOptions own = options;
  if (own.threads == 0) own.threads = at::get_num_threads();
  return make_solver(card, program, perceiver_and_guide(card, program, torch::kCPU), with_guide, own);
}

}  // namespace as2::infer
