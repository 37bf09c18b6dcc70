// A step of training or inference captured once and replayed: on CUDA the host then issues one call per step
// instead of a thousand.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>

namespace as2::infer {

// On the CPU, or where capturing is switched off, run() simply calls the step.
class StepGraph {
 public:
  StepGraph(torch::Device device, bool capture);
  ~StepGraph();

  // Runs `step`, whose tensors must be the same ones in every call. The first calls after forget() run it as
  // it is and warm up what it uses; then it is captured, and replayed from there on.
  void run(const std::function<void()>& step);
  // What was captured no longer fits: a part was frozen or released.
  void forget();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace as2::infer
