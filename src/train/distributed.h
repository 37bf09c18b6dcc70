// Data-parallel training over processes and machines, on LibTorch's own c10d: Gloo on the CPU, NCCL on CUDA.
// Started the usual way (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), so torchrun, Slurm and MPI launchers
// work; `as2 train --workers N` starts N local processes with the same variables.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace as2::train {

// This process among its peers. One process alone: rank 0 of 1.
struct Launch {
  int rank = 0;
  int world = 1;
  std::string address = "127.0.0.1";
  int port = 29500;
};

// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT; none set means one process alone.
Launch launch_from_environment();

// The processes that train together. With world = 1 every call is a no-op and nothing is connected.
class Workers {
 public:
  explicit Workers(const Launch& launch, torch::Device device = torch::kCPU);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int rank() const { return launch_.rank; }
  int world() const { return launch_.world; }
  bool writes() const { return launch_.rank == 0; }  // only this process touches the run folder
  std::string backend() const;                       // "none", "gloo" or "nccl"

  // Everybody gets rank 0's values, in place.
  void broadcast(const std::vector<torch::Tensor>& tensors);
  // Everybody gets the mean over the ranks, in place.
  void average(const torch::Tensor& tensor);
  void barrier();

 private:
  friend class GradientAverager;
  struct Impl;
  Launch launch_;
  std::unique_ptr<Impl> impl_;
};

// Averages the gradients of `parameters` over the workers, in buckets that travel while backward still
// runs: gradients arrive roughly in reverse order of the parameters, so buckets are filled from the back
// and sent in a fixed order, the same on every rank.
class GradientAverager {
 public:
  GradientAverager(Workers& workers, std::vector<torch::Tensor> parameters,
                   std::int64_t bucket_bytes = std::int64_t{1} << 20);
  ~GradientAverager();
  GradientAverager(const GradientAverager&) = delete;
  GradientAverager& operator=(const GradientAverager&) = delete;

  // After backward: waits for the buckets and puts the averages into the parameters' gradients.
  // Parameters without a gradient in this step (frozen ones) count as zero and stay undefined.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace as2::train
