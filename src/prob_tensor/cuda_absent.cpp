#include "prob_tensor/fused.h"

namespace as2::prob_tensor {

bool cuda_takes(const torch::Tensor&) {
  return false;
}

void cuda_evaluate(const kernels::CircuitArrays&, const torch::Tensor&, torch::Tensor&, torch::Tensor&) {
  AS2_REQUIRE(false, "this build has no CUDA kernels");
}

}  // namespace as2::prob_tensor
