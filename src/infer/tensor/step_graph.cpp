#include "infer/tensor/step_graph.h"

#ifdef AS2_HAS_CUDA
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <optional>
#endif

namespace as2::infer {

#ifdef AS2_HAS_CUDA

// Capture needs a stream other than the default one, so everything this thread does until the end of the run
// goes to one.
struct StepGraph::Impl {
  Impl(torch::Device device, bool capture_steps) : capture(capture_steps && device.is_cuda()) {
    if (!capture) return;
    stream.emplace(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()));
    at::cuda::getCurrentCUDAStream(device.index()).synchronize();  // what it reads is there
    guard.emplace(*stream);
  }
  bool capture;
  int warm = 0;
  std::optional<c10::cuda::CUDAStream> stream;
  std::optional<c10::cuda::CUDAStreamGuard> guard;
  std::unique_ptr<at::cuda::CUDAGraph> graph;
};

void StepGraph::run(const std::function<void()>& step) {
  constexpr int kWarmUp = 3;
  if (!impl_->capture || impl_->warm < kWarmUp) {
    ++impl_->warm;
    step();
    return;
  }
  if (!impl_->graph) {
    impl_->stream->synchronize();
    c10::cuda::CUDACachingAllocator::emptyCache();  // a capture has memory of its own and can free no other
    impl_->graph = std::make_unique<at::cuda::CUDAGraph>();
    impl_->graph->capture_begin();
    step();
    impl_->graph->capture_end();
  }
  impl_->graph->replay();
}

void StepGraph::forget() {
  impl_->graph.reset();
  impl_->warm = 0;
}

#else

struct StepGraph::Impl {
  Impl(torch::Device, bool) {}
};
void StepGraph::run(const std::function<void()>& step) {
  step();
}
void StepGraph::forget() {}

#endif

StepGraph::StepGraph(torch::Device device, bool capture) : impl_(std::make_unique<Impl>(device, capture)) {}
StepGraph::~StepGraph() = default;

}  // namespace as2::infer
