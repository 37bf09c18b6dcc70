#include "as2/error.h"
#include "nn/group_pooling.h"

namespace as2::nn {

bool cuda_group_max_takes(const torch::Tensor&) {
  return false;
}

torch::Tensor cuda_group_max(const torch::Tensor&, const Structure&) {
  throw ContractError("this build has no CUDA kernels");
}

}  // namespace as2::nn
