// What computes the sums over a program's terms: plain tensor operations, the CPU kernels or the CUDA
// kernels.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "as2/soft_tp.h"
#include "tp/tables.h"

namespace as2::tp {

// A program's tables, copied to each device and precision at first use there. Safe to use from any thread.
class DeviceTables {
 public:
  explicit DeviceTables(const compile::ConstraintProgram& program) : tables_(Tables::of(program)) {}
  const Tables& host() const { return tables_; }
  const Tables& on(const torch::Tensor& like) const;

 private:
  const Tables tables_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::string, torch::ScalarType>, std::unique_ptr<Tables>> moved_;
};

// `beliefs` are [batch, positions, symbols], float32 or float64. All but largest_residual are differentiable.
class Backend {
 public:
  virtual ~Backend() = default;
  // Whether it can work on beliefs of this device and type.
  virtual bool takes(const torch::Tensor& beliefs) const = 0;
  // Copies to the device of `like` what would otherwise be copied at first use.
  virtual void prepare(const torch::Tensor& like) const = 0;
  // scale · Σ (p − p·factor)² over batch and terms. Scalar.
  virtual torch::Tensor squared_residual(const torch::Tensor& beliefs, double scale) const = 0;
  // [batch]: the largest |p − p·factor|.
  virtual torch::Tensor largest_residual(const torch::Tensor& beliefs) const = 0;
  // [batch, families · cells]: mean factor of each family at each cell.
  virtual torch::Tensor factors_by_family(const torch::Tensor& beliefs) const = 0;
  // [batch, cells]: mean factor over the groups that hold the position.
  virtual torch::Tensor factors_by_group(const torch::Tensor& beliefs) const = 0;
};

// The back ends that fit the program and this build, best first; the last one takes any beliefs.
std::vector<std::unique_ptr<Backend>> backends_of(const compile::ConstraintProgram& program,
                                                  std::shared_ptr<const DeviceTables> tables, Kernel kernel);

}  // namespace as2::tp
