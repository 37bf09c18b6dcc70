#include "infer/tensor/network.h"

#include <limits>

namespace as2::infer {

Network::Network(nn::Model& model, const PictureMap& map, torch::Tensor mask)
    : model_(model), class_of_(class_tensor(map, mask.device())), mask_(std::move(mask)) {}

torch::Tensor Network::perceive(const torch::Tensor& pixels) {
  std::vector<std::int64_t> shape = pixels.sizes().vec();
  shape.resize(shape.size() - 2);
  const torch::Tensor logits =
      model_.perception->forward(pixels.reshape({-1, kPictureSide, kPictureSide})).logits;
  shape.push_back(logits.size(-1));  // −1 would be no number where there is no picture
  return logits.view(shape);
}

torch::Tensor Network::symbol_beliefs(const torch::Tensor& logits, const torch::Tensor& positions) const {
  std::vector<std::int64_t> shape = positions.sizes().vec();
  shape.push_back(1);
  const torch::Tensor outside = torch::full(shape, -std::numeric_limits<float>::infinity(), logits.options());
  shape.back() = class_of_.size(1);
  const torch::Tensor classes = class_of_.index_select(0, positions.flatten()).view(shape);
  const torch::Tensor own = torch::cat({logits, outside}, -1).gather(-1, classes);
  // A slot that is padding stands at position 0, whose symbols need not have classes. Its row is never used,
  // but NaN in it would spoil the gradient.
  const torch::Tensor none = (classes == logits.size(-1)).all(-1, true);
  return model_.perception->beliefs(torch::where(none, torch::zeros_like(own), own));
}

torch::Tensor Network::with_perceived(const torch::Tensor& base, const torch::Tensor& logits,
                                      const torch::Tensor& slot_positions,
                                      const torch::Tensor& slot_mask) const {
  const std::int64_t rows = logits.size(0), slots = logits.size(1), positions = base.size(1),
                     symbols = base.size(2);
  const torch::Tensor beliefs = symbol_beliefs(logits, slot_positions);
  // One row more takes what padding writes.
  const torch::Tensor target =
      torch::where(slot_mask, slot_positions, torch::full_like(slot_positions, positions));
  const torch::Tensor padded = torch::cat({base, torch::zeros({rows, 1, symbols}, base.options())}, 1);
  return padded.scatter(1, target.unsqueeze(-1).expand({rows, slots, symbols}), beliefs)
      .narrow(1, 0, positions);
}

Prediction Network::forward(const Batch& batch, const ForwardOptions& options) {
  Prediction prediction;
  prediction.evidence = label_beliefs(batch.shows, batch.given, mask_);
  if (batch.pixels.defined() && model_.perception) {
    prediction.perceived = perceive(batch.pixels);
    const std::int64_t seen = std::min(options.perceived_rows, batch.pixels.size(0));
    if (seen > 0) {
      const torch::Tensor beliefs =
          with_perceived(prediction.evidence.narrow(0, 0, seen), prediction.perceived.narrow(0, 0, seen),
                         batch.slot_positions.narrow(0, 0, seen), batch.slot_mask.narrow(0, 0, seen));
      const std::int64_t rest = prediction.evidence.size(0) - seen;
      prediction.evidence =
          rest == 0 ? beliefs : torch::cat({beliefs, prediction.evidence.narrow(0, seen, rest)}, 0);
    }
  }
  if (model_.reasoner) {
    nn::ReasonerInput input{options.evidence_gradient ? prediction.evidence : prediction.evidence.detach(),
                            batch.evidence};
    if (options.state) input.state = options.state(input);
    nn::ReasonerOutput output = model_.reasoner->forward(input);
    prediction.logits = std::move(output.logits);
    prediction.state = std::move(output.state);
  } else {
    prediction.logits = {prediction.evidence.clamp_min(1e-30).log()};
  }
  return prediction;
}

}  // namespace as2::infer
