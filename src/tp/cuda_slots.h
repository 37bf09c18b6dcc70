// The CUDA kernels as differentiable tensor functions, for programs whose groups are all regular slots.
#pragma once

#include <torch/torch.h>

#include "as2/constraint_program.h"

namespace as2::tp {

class CudaSlots : public torch::CustomClassHolder {
 public:
  // Whether the kernels apply to beliefs of this device and type.
  virtual bool takes(const torch::Tensor& beliefs) const = 0;
  // Copies the arrays to the device of `like`, which otherwise happens at first use.
  virtual void prepare(const torch::Tensor& like) const = 0;
  // scale · Σ over batch and terms of (p − p·factor)². `beliefs` [batch, positions, symbols]. Scalar.
  virtual torch::Tensor squared_residual(const torch::Tensor& beliefs, double scale) const = 0;
  // [batch, families · cells]: the factor of each family's term.
  virtual torch::Tensor factors(const torch::Tensor& beliefs) const = 0;
};

using CudaSlotsPtr = c10::intrusive_ptr<CudaSlots>;

// Null where the program has groups other than regular slots (kernels/exclusive_cuda.h), and in a build
// without CUDA; the tensor form is used then.
CudaSlotsPtr cuda_slots_of(const compile::ConstraintProgram& program);

}  // namespace as2::tp
