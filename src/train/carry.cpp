#include "train/carry.h"

#include "as2/error.h"

namespace as2::train {

using infer::Batch;
using infer::by_row;
using infer::label_beliefs;
using infer::Prediction;

namespace {

constexpr double kCertainty = 0.9;  // of a symbol in a corrupted answer; the rest is spread over the domain

}  // namespace

Carry::Carry(nn::Reasoner& reasoner, const CarryOptions& options, const nn::ReasonerState& first,
             torch::Tensor mask)
    : reasoner_(reasoner), options_(options), mask_(std::move(mask)) {
  AS2_REQUIRE(reasoner.carries_state(), "this reasoner carries no state");
  state_ = {first.x.detach().clone(), first.beliefs.detach().clone()};
  const std::int64_t rows = first.beliefs.size(0);
  age_ = torch::zeros({rows}, mask_.options().dtype(torch::kInt64));
  leaving_ = torch::ones({rows}, mask_.options());
  counts_ = torch::zeros({3}, mask_.options().dtype(torch::kFloat32));
}

nn::ReasonerState Carry::state(const Batch& current, const nn::ReasonerInput& input) const {
  nn::ReasonerState fresh = reasoner_.start(input);
  if (options_.corrupted_share > 0) fresh.beliefs = corrupted(current, fresh.beliefs);
  return {torch::where(by_row(leaving_, fresh.x), fresh.x, state_.x),
          torch::where(by_row(leaving_, fresh.beliefs), fresh.beliefs, state_.beliefs)};
}

// The labels of a share of the boards, wrong at up to a share of the positions; evidence stays what it is.
torch::Tensor Carry::corrupted(const Batch& current, const torch::Tensor& beliefs) const {
  const std::int64_t rows = beliefs.size(0), positions = beliefs.size(1);
  const auto numbers = [&](std::int64_t columns) { return torch::rand({rows, columns}, beliefs.options()); };
  const torch::Tensor chosen = numbers(1) < options_.corrupted_share;
  const torch::Tensor wrong = numbers(positions) < numbers(1) * options_.corruption;
  const torch::Tensor domain = mask_.sum(-1);  // a domain is the first symbols
  const torch::Tensor step = (numbers(positions) * (domain - 1)).to(torch::kInt64) + 1;
  const torch::Tensor other = (current.labels + step).remainder(domain);
  const torch::Tensor answer =
      label_beliefs(torch::where(wrong, other, current.labels), torch::ones_like(current.known), mask_);
  const torch::Tensor uniform = mask_.to(torch::kFloat32) / domain.unsqueeze(-1);
  const torch::Tensor where = chosen & current.known & ~current.evidence;
  return torch::where(where.unsqueeze(-1), answer * kCertainty + uniform * (1 - kCertainty), beliefs);
}

void Carry::advance(const Batch& current, const Prediction& prediction) {
  torch::NoGradGuard no_grad;
  torch::Tensor solved = torch::ones_like(leaving_);
  for (const torch::Tensor& logits : prediction.logits) {
    solved = solved & ((logits.argmax(-1) == current.labels) | ~current.known).all(1);
  }
  state_.x.copy_(prediction.state.x);
  state_.beliefs.copy_(prediction.state.beliefs);
  age_.add_(1);
  leaving_.copy_(solved | (age_ >= options_.segments));
  counts_.copy_(torch::stack({leaving_.sum(), solved.sum(), (age_ * leaving_).sum()}));
  age_.mul_(~leaving_);
}

NamedTensors Carry::tensors() const {
  return {{"carry.x", state_.x},
          {"carry.beliefs", state_.beliefs},
          {"carry.age", age_},
          {"carry.leaving", leaving_}};
}

}  // namespace as2::train
