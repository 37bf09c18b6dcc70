#include "nn/restarts.h"

#include "as2/error.h"

namespace as2::nn {
namespace {

constexpr double kImpossible = 1e-6;  // the reasoner's floor for evidence: less is none

}  // namespace

torch::Tensor objection(const tp::SoftTp& soft_tp, const torch::Tensor& logits, const ReasonerInput& input) {
  const torch::NoGradGuard no_grad;
  const auto answer = logits.argmax(-1, /*keepdim=*/true);
  const auto certain = torch::zeros_like(logits).scatter_(-1, answer, 1.0);
  // At a vertex every term is 0 or 1, up to rounding.
  const auto breaks = soft_tp.max_residual(certain) > 0.5;
  const auto broken = soft_tp.residual(certain).flatten(1).square().sum(1).clamp_min(1e-6);
  const auto against = (input.beliefs.gather(-1, answer).squeeze(-1) < kImpossible) & input.evidence;
  return torch::where(breaks, broken, torch::zeros_like(broken)) + against.sum(1).to(torch::kFloat32);
}

RestartedOutput run_restarts(Reasoner& reasoner, const tp::SoftTp& soft_tp, const ReasonerInput& input,
                             const torch::Tensor& first, int most, int passes) {
  AS2_REQUIRE(!reasoner.is_training() && most > 0, "restarts are for evaluation");
  AS2_REQUIRE(most == 1 || reasoner.has_trajectories(), "without noise every trajectory is the same");
  const torch::NoGradGuard no_grad;
  RestartedOutput output;
  output.logits = first.clone();
  auto least = objection(soft_tp, output.logits, input);
  output.trajectories = torch::ones_like(least, torch::kInt64);
  for (int k = 1; k < most; ++k) {
    const auto open = (least > 0).nonzero().squeeze(1);
    if (open.numel() == 0) break;
    ReasonerInput again{input.beliefs.index_select(0, open), input.evidence.index_select(0, open)};
    again.trajectory = input.trajectory + k;
    const auto logits = reasoner.forward(again, passes).logits.back();
    const auto objected = objection(soft_tp, logits, again), before = least.index_select(0, open);
    const auto better = objected < before;
    const auto kept = output.logits.index_select(0, open);
    output.logits.index_copy_(0, open, torch::where(better.view({-1, 1, 1}), logits, kept));
    least.index_copy_(0, open, torch::minimum(objected, before));
    output.trajectories.index_fill_(0, open, k + 1);
  }
  output.valid = least == 0;
  return output;
}

}  // namespace as2::nn
