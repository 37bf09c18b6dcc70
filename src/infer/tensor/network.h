// The way from pictures to beliefs on LibTorch: perception → evidence → reasoner. Training, evaluation and
// answering all go it here.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <vector>

#include "infer/tensor/batch.h"
#include "nn/model.h"

namespace as2::infer {

// What the network makes of a batch.
struct Prediction {
  torch::Tensor perceived;  // [rows, slots, classes] perception's logits; undefined without pictures
  torch::Tensor evidence;   // [batch, positions, symbols] what the reasoner was given
  std::vector<torch::Tensor>
      logits;               // per pass [batch, positions, symbols]; without a reasoner: log evidence
  nn::ReasonerState state;  // after the last pass, as ReasonerOutput has it
};

struct ForwardOptions {
  std::int64_t perceived_rows =
      0;  // the first rows' evidence is what perception sees; the rest is given its labels
  bool evidence_gradient = false;  // the reasoner's loss reaches perception
  // The state that the reasoner goes on from, given its input; none: it starts anew.
  std::function<nn::ReasonerState(const nn::ReasonerInput&)> state;
};

class Network {
 public:
  // Keeps a reference to the model; `mask` [positions, symbols] bool: inside a domain.
  Network(nn::Model& model, const PictureMap& map, torch::Tensor mask);

  Prediction forward(const Batch& batch, const ForwardOptions& options);

  // `pixels` [.., 28, 28] in 0 … 1 → logits [.., classes].
  torch::Tensor perceive(const torch::Tensor& pixels);
  // Logits of pictures [.., classes] at `positions` [..] → beliefs over the symbols of each [.., symbols]:
  // perception's distribution over the classes that its position's symbols have.
  torch::Tensor symbol_beliefs(const torch::Tensor& logits, const torch::Tensor& positions) const;

  nn::Model& model() { return model_; }
  const torch::Tensor& mask() const { return mask_; }

 private:
  // `base` with perception's beliefs in the place of what it says at positions with pictures.
  torch::Tensor with_perceived(const torch::Tensor& base, const torch::Tensor& logits,
                               const torch::Tensor& slot_positions, const torch::Tensor& slot_mask) const;

  nn::Model& model_;
  torch::Tensor class_of_, mask_;
};

}  // namespace as2::infer
