#include "nn/reasoner.h"

#include "as2/error.h"

namespace as2::nn {

ReasonerState Reasoner::start(const ReasonerInput& /*input*/) {
  AS2_REQUIRE(false, "this reasoner carries no state");
}

torch::Tensor clamp_evidence(const torch::Tensor& beliefs, const torch::Tensor& evidence) {
  const auto one_hot = torch::zeros_like(beliefs).scatter_(-1, beliefs.argmax(-1, true), 1.0);
  return torch::where(evidence.unsqueeze(-1), one_hot, beliefs);
}

}  // namespace as2::nn
