#include "tp/cuda_slots.h"

namespace as2::tp {

CudaSlotsPtr cuda_slots_of(const compile::ConstraintProgram&) {
  return {};
}

}  // namespace as2::tp
