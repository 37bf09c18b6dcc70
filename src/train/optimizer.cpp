#include "train/optimizer.h"

#include <algorithm>

#include "as2/error.h"

namespace as2::train {

Optimizer::Optimizer(std::vector<ParameterGroup> groups, const OptimizerOptions& options)
    : options_(options) {
  torch::NoGradGuard no_grad;
  AS2_REQUIRE(!groups.empty(), "an optimizer needs parameters");
  for (ParameterGroup& source : groups) {
    AS2_REQUIRE(!source.parameters.empty(), "a parameter group is empty");
    std::stable_partition(source.parameters.begin(), source.parameters.end(),
                          [](const auto& parameter) { return parameter.second.dim() > 1; });
    Group group;
    group.name = source.name;
    group.rate = source.rate;
    std::int64_t total = 0;
    for (const auto& [name, parameter] : source.parameters) {
      total += parameter.numel();
      if (parameter.dim() > 1) group.decayed += parameter.numel();
    }
    group.weights = torch::empty({total}, source.parameters[0].second.options().requires_grad(false));
    group.gradient = torch::zeros_like(group.weights);
    std::int64_t begin = 0;
    for (auto& [name, parameter] : source.parameters) {
      torch::Tensor view = group.weights.narrow(0, begin, parameter.numel()).view(parameter.sizes());
      view.copy_(parameter);
      parameter.set_data(view);
      parameter.mutable_grad() = group.gradient.narrow(0, begin, parameter.numel()).view(parameter.sizes());
      begin += parameter.numel();
      group.parameters.push_back(parameter);
    }
    group.first = torch::zeros_like(group.weights);
    group.second = torch::zeros_like(group.weights);
    group.average = group.weights.clone();
    group.steps = torch::zeros({}, group.weights.options());
    groups_.push_back(std::move(group));
  }
  rate_ = torch::zeros({}, groups_[0].weights.options());
  norm_ = torch::zeros({}, groups_[0].weights.options());
}

void Optimizer::freeze(const std::string& name, bool frozen) {
  for (Group& group : groups_) {
    if (group.name != name) continue;
    group.frozen = frozen;
    for (torch::Tensor& parameter : group.parameters) parameter.set_requires_grad(!frozen);
  }
}

void Optimizer::zero_grad() {
  for (Group& group : groups_) group.gradient.zero_();
}

std::vector<torch::Tensor> Optimizer::active_parameters() const {
  std::vector<torch::Tensor> active;
  for (const Group& group : groups_) {
    if (!group.frozen) active.insert(active.end(), group.parameters.begin(), group.parameters.end());
  }
  return active;
}

void Optimizer::step() {
  torch::NoGradGuard no_grad;
  torch::Tensor squares = torch::zeros_like(norm_);
  for (const Group& group : groups_) {
    if (!group.frozen) squares = squares + group.gradient.dot(group.gradient);
  }
  norm_.copy_(squares.sqrt_());
  const torch::Tensor scale = options_.clip_norm > 0 ? (options_.clip_norm / (norm_ + 1e-6)).clamp_max_(1.0)
                                                     : torch::ones_like(norm_);
  for (Group& group : groups_) {
    if (!group.frozen) update(group, scale);
  }
}

// m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², w ← w − η(decay·w + m̂ / (√v̂ + ε)), w̄ ← lerp(w̄, w).
void Optimizer::update(Group& group, const torch::Tensor& scale) {
  const torch::Tensor gradient = group.gradient * scale;
  const torch::Tensor rate = rate_ * group.rate;
  group.steps.add_(1);
  group.first.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
  group.second.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const torch::Tensor first_bias = 1 - torch::pow(options_.beta1, group.steps);
  const torch::Tensor second_bias = 1 - torch::pow(options_.beta2, group.steps);
  const torch::Tensor denominator = (group.second / second_bias).sqrt_().add_(options_.epsilon);
  if (options_.weight_decay > 0 && group.decayed > 0) {
    group.weights.narrow(0, 0, group.decayed).mul_(1 - rate * options_.weight_decay);
  }
  group.weights.addcdiv_(group.first * (-rate / first_bias), denominator);
  const torch::Tensor keep = ((1 + group.steps) / (10 + group.steps)).clamp_max_(options_.ema_decay);
  group.average.sub_(group.weights).mul_(keep).add_(group.weights);
}

void Optimizer::swap_average() {
  torch::NoGradGuard no_grad;
  for (Group& group : groups_) {
    const torch::Tensor weights = group.weights.clone();
    group.weights.copy_(group.average);
    group.average.copy_(weights);
  }
}

NamedTensors Optimizer::state() const {
  NamedTensors tensors;
  for (const Group& group : groups_) {
    const std::string prefix = "optimizer." + group.name + ".";
    tensors.emplace_back(prefix + "weights", group.weights);
    tensors.emplace_back(prefix + "first", group.first);
    tensors.emplace_back(prefix + "second", group.second);
    tensors.emplace_back(prefix + "average", group.average);
    tensors.emplace_back(prefix + "steps", group.steps);
  }
  return tensors;
}

}  // namespace as2::train
