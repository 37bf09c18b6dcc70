#include "infer/tensor/open.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "infer/tensor/network.h"
#include "nn/restarts.h"

namespace as2::infer {
namespace {

// What perceiver and guide share.
struct Networks {
  Networks(const Card& card, std::shared_ptr<const compile::ConstraintProgram> bound)
      : program(std::move(bound)),
        map(map_pictures(*program, card.pictures.positions, card.pictures.classes)),
        model(nn::load_model(card, *program)),
        network(*model, map, nn::Structure::of(*program).mask) {}

  std::shared_ptr<const compile::ConstraintProgram> program;
  PictureMap map;
  std::shared_ptr<nn::Model> model;
  Network network;
};

class TensorPerceiver : public Perceiver {
 public:
  explicit TensorPerceiver(std::shared_ptr<Networks> networks) : networks_(std::move(networks)) {}

  std::vector<std::vector<double>> perceive(const std::vector<const Picture*>& pictures) override {
    const torch::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(pictures.size());
    torch::Tensor pixels = torch::empty({count, kPictureSide, kPictureSide}, torch::kUInt8);
    torch::Tensor positions = torch::empty({count}, torch::kInt64);
    std::uint8_t* pixel = pixels.data_ptr<std::uint8_t>();
    std::int64_t* position = positions.data_ptr<std::int64_t>();
    const std::vector<int>& pictured = networks_->map.positions;
    for (const Picture* picture : pictures) {
      AS2_REQUIRE(picture->pixels.size() == kPictureSide * kPictureSide, "a picture has 28 × 28 pixels");
      AS2_REQUIRE(std::binary_search(pictured.begin(), pictured.end(), picture->position),
                  "a picture at a position that the card gives pictures");
      pixel = std::copy(picture->pixels.begin(), picture->pixels.end(), pixel);
      *position++ = picture->position;
    }
    Network& network = networks_->network;
    const torch::Tensor beliefs =
        network.symbol_beliefs(network.perceive(pixels.to(torch::kFloat32).div(255)), positions)
            .to(torch::kFloat64)
            .contiguous();
    std::vector<std::vector<double>> rows;
    const double* row = beliefs.data_ptr<double>();
    for (const Picture* picture : pictures) {
      rows.emplace_back(row, row + networks_->program->positions[picture->position].symbols.size());
      row += beliefs.size(1);
    }
    return rows;
  }

 private:
  std::shared_ptr<Networks> networks_;
};

class TensorGuide : public Guide {
 public:
  TensorGuide(std::shared_ptr<Networks> networks, const SolverOptions& options)
      : networks_(std::move(networks)), soft_tp_(*networks_->program), options_(options) {}

  std::vector<decode::Beliefs> guide(const std::vector<Evidence>& instances) override {
    const torch::NoGradGuard no_grad;
    const auto count = static_cast<std::int64_t>(instances.size());
    const torch::Tensor& mask = networks_->network.mask();
    torch::Tensor beliefs = torch::empty({count, mask.size(0), mask.size(1)}, torch::kFloat64);
    torch::Tensor evidence = torch::zeros({count, mask.size(0)}, torch::kBool);
    double* belief = beliefs.data_ptr<double>();
    bool* given = evidence.data_ptr<bool>();
    for (const Evidence& instance : instances) {
      belief = std::copy(instance.beliefs.begin(), instance.beliefs.end(), belief);
      for (const int position : instance.positions) given[position] = true;
      given += mask.size(0);
    }
    nn::Reasoner& reasoner = *networks_->model->reasoner;
    const nn::ReasonerInput input{beliefs.to(torch::kFloat32), evidence};
    torch::Tensor logits = reasoner.forward(input, options_.passes).logits.back();
    if (options_.restarts > 1) {
      logits = nn::run_restarts(reasoner, soft_tp_, input, logits, options_.restarts, options_.passes).logits;
    }
    const torch::Tensor reasoned = torch::softmax(logits, -1).to(torch::kFloat64).contiguous();
    std::vector<decode::Beliefs> rows;
    const double* row = reasoned.data_ptr<double>();
    for (std::int64_t n = 0; n < count; ++n, row += mask.numel()) rows.emplace_back(row, row + mask.numel());
    return rows;
  }

 private:
  std::shared_ptr<Networks> networks_;
  tp::SoftTp soft_tp_;
  SolverOptions options_;
};

}  // namespace

Solver open_solver(const Card& card, std::shared_ptr<const compile::ConstraintProgram> program,
                   bool with_guide, const SolverOptions& options) {
  if (!card.network.perception) {
    throw InputError({card.weights.string()}, "the model has no perception, so it reads no pictures",
                     {"give --model a model of pictures, as `as2 train` writes it"});
  }
  const auto networks = std::make_shared<Networks>(card, program);
  std::unique_ptr<Guide> guide;
  nn::Reasoner* const reasoner = with_guide ? networks->model->reasoner.get() : nullptr;
  if (options.restarts > 1 && !(reasoner && reasoner->has_trajectories())) {
    throw InputError({card.weights.string()},
                     "restarts have no effect on this model: without noise every trajectory is the same",
                     {"give --model a model that was trained with noise, as preset hard does"});
  }
  if (reasoner) guide = std::make_unique<TensorGuide>(networks, options);
  SolverOptions own = options;
  if (own.threads == 0) own.threads = at::get_num_threads();
  return {std::move(program), std::make_unique<TensorPerceiver>(networks), std::move(guide), own};
}

}  // namespace as2::infer
