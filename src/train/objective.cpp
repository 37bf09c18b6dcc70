#include "train/objective.h"

#include "as2/error.h"

namespace as2::train {

Objective::Objective(const LossConfig& losses, const LossOperators& operators, const infer::PictureMap& map,
                     torch::Tensor mask)
    : losses_(losses),
      operators_(operators),
      class_of_(infer::class_tensor(map, mask.device())),
      mask_(std::move(mask)) {
  for (const LossTerm& term : loss_terms()) {
    if (losses_.weight(term.name) == 0) continue;
    names_.emplace_back(term.name);
    terms_.push_back(&term);
  }
  if (names_.empty())
    throw InputError("every loss has weight 0", {"set losses.NAME.weight for at least one term"});
  weights_ = torch::zeros({static_cast<std::int64_t>(names_.size())}, mask_.options().dtype(torch::kFloat32));
  set_epoch(0);
}

void Objective::set_epoch(double epoch) {
  for (std::size_t term = 0; term < names_.size(); ++term) {
    weights_.narrow(0, static_cast<std::int64_t>(term), 1).fill_(losses_.terms.at(names_[term]).at(epoch));
  }
}

torch::Tensor Objective::counts(const infer::Batch& batch) const {
  torch::Tensor counts = torch::ones_like(weights_);
  for (std::size_t term = 0; term < terms_.size(); ++term) {
    if (!terms_[term]->labels) continue;
    counts.select(0, static_cast<std::int64_t>(term)).copy_(terms_[term]->labels(batch).sum());
  }
  return counts;
}

torch::Tensor Objective::values(const infer::Batch& batch, const infer::Prediction& prediction,
                                const torch::Tensor& counts) const {
  LossInput input(losses_, operators_, class_of_, mask_, batch, prediction);
  const torch::Tensor at_least = counts.clamp_min(1e-9);  // a term without labels is 0
  std::vector<torch::Tensor> values;
  for (std::size_t term = 0; term < terms_.size(); ++term) {
    const torch::Tensor read = terms_[term]->labels ? terms_[term]->labels(batch) : torch::Tensor();
    values.push_back(terms_[term]->value(input, read, at_least.select(0, static_cast<std::int64_t>(term))));
  }
  return torch::stack(values);
}

}  // namespace as2::train
