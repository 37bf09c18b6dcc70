// Data-parallel training over processes and machines, on LibTorch's own c10d: Gloo on the CPU, NCCL on CUDA.
// Started the usual way (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), so torchrun, Slurm and MPI launchers
// work; `as2 train --workers N` starts N local processes with the same variables.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "as2/error.h"
#include "train/launch.h"

namespace as2::train {

// A peer has ended, or cannot be reached any more.
class LostWorker : public EnvironmentError {
 public:
  using EnvironmentError::EnvironmentError;
};

// The processes that train together. One process that no launcher started is not connected, and then every
// call is a no-op. A call that fails because a peer has ended throws LostWorker.
class Workers {
 public:
  explicit Workers(const Launch& launch = {}, torch::Device device = torch::kCPU);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int rank() const { return launch_.rank; }
  int world() const { return launch_.world; }
  bool writes() const { return launch_.rank == 0; }  // only this process touches the run folder
  bool connected() const;
  std::string backend() const;  // "none", "gloo" or "nccl"

  // Everybody gets rank 0's values, in place.
  void broadcast(const std::vector<torch::Tensor>& tensors);
  // Everybody gets rank 0's text.
  std::string broadcast(const std::string& text);
  // Everybody gets the mean over the ranks, in place.
  void average(const torch::Tensor& tensor);
  // Returns when every rank has come here.
  void barrier();
  // Returns what `make` returns. Rank 0 calls it before the others, who then find what it fetched or cached;
  // an error that all would meet is thrown by rank 0 alone.
  template <typename Make>
  auto after_rank_zero(const Make& make) {
    if (!writes()) barrier();
    auto made = make();
    if (writes()) barrier();
    return made;
  }

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

  // After backward: waits for the buckets and puts the averages into the parameters' gradients. A parameter
  // that this rank's batch did not touch counts as zero here.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace as2::train
