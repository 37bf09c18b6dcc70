// Soft T_P's figures: the tuned kernels against the same formula composed of LibTorch operations, how
// addition grows with its addends, and the extra memory of one training step on Sudoku. On CUDA: the kernels
// beside a copy of the bytes they have to move.
#include <torch/torch.h>

#include <algorithm>
#include <atomic>

#include "as2/soft_tp.h"
#include "bench/bench.h"
#include "infer/tensor/step_graph.h"
#include "torch_compat.h"

namespace as2::bench {
namespace {

using Json = nlohmann::ordered_json;
using compile::ConstraintProgram;
using tp::Kernel;
using tp::SoftTp;

constexpr double kAskedSpeedup = 5;
constexpr double kAskedGrowth = 4.5;
constexpr double kAskedMemory = 4;

void add_positions(ConstraintProgram& program, int count, int symbols) {
  compile::Position position;
  for (int s = 0; s < symbols; ++s) position.symbols.push_back(std::to_string(s));
  for (int i = 0; i < count; ++i) program.positions.push_back(position);
}

// Σ of `addends` digits equals the guard's symbol.
ConstraintProgram addition(int addends) {
  ConstraintProgram program;
  program.families.resize(1);
  add_positions(program, addends, 10);
  add_positions(program, 1, 9 * addends + 1);
  compile::Aggregate aggregate;
  aggregate.max = 9 * addends;
  compile::Group group;
  for (int i = 0; i < addends; ++i) {
    aggregate.positions.push_back(i);
    aggregate.values.push_back({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  compile::Linear linear;
  linear.guard = addends;
  for (int sum = 0; sum <= 9 * addends; ++sum) linear.allowed.push_back({{{sum, sum}}});
  group.content = compile::Linears{std::move(linear)};
  program.aggregates.push_back(std::move(aggregate));
  program.groups.push_back(std::move(group));
  return program;
}

torch::Tensor random_beliefs(const SoftTp& soft, std::int64_t batch) {
  const torch::Tensor logits =
      torch::sin(torch::arange(batch * soft.positions() * soft.symbols()) * 1.37) * 2;
  const torch::Tensor shaped = logits.view({batch, soft.positions(), soft.symbols()});
  return shaped.masked_fill(soft.mask(shaped).logical_not(), -1e9).softmax(-1);
}

struct TpStep {
  torch::Tensor loss, gradient;
};

TpStep step(const SoftTp& soft, const torch::Tensor& beliefs) {
  const torch::Tensor p = beliefs.detach().requires_grad_(true);
  const torch::Tensor loss = soft.loss(p);
  return {loss.detach(), torch::autograd::grad({loss}, {p})[0]};
}

bool same(const TpStep& a, const TpStep& b) {
  return torch::allclose(a.loss, b.loss, 1e-4, 1e-9) && torch::allclose(a.gradient, b.gradient, 1e-3, 1e-8);
}

// Σ_s p(i,s)·factor(i,s) is P(holds), whichever position i one asks: a check where the reference is too slow.
bool positions_agree(const SoftTp& soft, const torch::Tensor& beliefs) {
  const torch::Tensor holds = soft.image(beliefs).sum(-1);
  return torch::allclose(holds, holds.narrow(2, 0, 1).expand_as(holds), 1e-3, 1e-7);
}

// Counts LibTorch's CPU allocations on this thread; the kernels take their scratch memory from it too.
class MemoryMeter : public c10::MemoryReportingInfoBase {
 public:
  std::atomic<std::int64_t> now{0}, peak{0};

  void reportMemoryUsage(void*, std::int64_t bytes, compat::ReportedSize, compat::ReportedSize,
                         c10::Device) override {
    now += bytes;
    peak = std::max(peak.load(), now.load());
  }
  bool memoryProfilingEnabled() const override { return true; }
};

std::int64_t peak_extra_bytes(const std::function<void()>& call) {
  const auto meter = std::make_shared<MemoryMeter>();
  const c10::DebugInfoGuard counting(c10::DebugInfoKind::PROFILER_STATE, meter);
  call();
  return meter->peak;
}

Json bench_tp_on_cpu() {
  Json rows = Json::array();
  const ConstraintProgram board = board_program(3, 3);
  const SoftTp fused(board, Kernel::kFused), composed(board, Kernel::kReference);
  for (const std::int64_t batch : {1, 32, 256}) {
    const torch::Tensor beliefs = random_beliefs(fused, batch);
    if (!same(step(fused, beliefs), step(composed, beliefs)))
      throw std::runtime_error("kernel and reference differ");
    const double tuned = best_seconds([&] { step(fused, beliefs); });
    const double plain = best_seconds([&] { step(composed, beliefs); });
    const bool asked = batch == 256;
    rows.push_back(row("sudoku, batch " + std::to_string(batch) + ": LibTorch operations / tuned",
                       plain / tuned, "x", asked ? "at least 5" : "", plain / tuned >= kAskedSpeedup));
    rows.push_back(row("sudoku, batch " + std::to_string(batch) + ": tuned, boards per second",
                       static_cast<double>(batch) / tuned, "/s"));
  }
  {
    const torch::Tensor beliefs = random_beliefs(fused, 256);
    const auto size = static_cast<double>(beliefs.numel() * beliefs.element_size());
    const double tuned = static_cast<double>(peak_extra_bytes([&] { step(fused, beliefs); })) / size;
    const double plain = static_cast<double>(peak_extra_bytes([&] { step(composed, beliefs); })) / size;
    rows.push_back(row("sudoku, batch 256: peak extra memory / beliefs, tuned", tuned, "x", "at most 4",
                       tuned <= kAskedMemory));
    rows.push_back(row("sudoku, batch 256: peak extra memory / beliefs, LibTorch", plain, "x"));
  }
  // A batch of one is work for one thread; with more threads, LibTorch's small operations would only wait for
  // each other.
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  for (const int addends : {8, 64, 512}) {
    // Half as many addends are measured right beside it, to show what doubling to this number costs.
    double seconds[2];
    for (const int half : {1, 0}) {
      const int count = half ? addends / 2 : addends;
      const ConstraintProgram program = addition(count);
      const SoftTp soft(program, Kernel::kFused);
      const torch::Tensor beliefs = random_beliefs(soft, 1);
      const bool right = count > 64
                             ? positions_agree(soft, beliefs)
                             : same(step(soft, beliefs), step(SoftTp(program, Kernel::kReference), beliefs));
      if (!right) throw std::runtime_error("wrong factors for " + std::to_string(count) + " addends");
      seconds[1 - half] = best_seconds([&] { step(soft, beliefs); }, 0.2);
    }
    rows.push_back(row("addition, " + std::to_string(addends) + " addends: against half as many",
                       seconds[1] / seconds[0], "x", "at most 4.5", seconds[1] / seconds[0] <= kAskedGrowth));
  }
  at::set_num_threads(threads);
  return {{"threads", threads}, {"rows", rows}};
}

using Tensors = std::vector<torch::Tensor>;

// Seconds of one call on the device: many of them captured into one graph, so that no launch is counted.
// `call` is given which of `copies` inputs to take; what it returns lives until that input's next turn, so
// that outputs take turns as well.
double device_seconds(torch::Device device, int copies, const std::function<Tensors(int)>& call) {
  constexpr int kCalls = 64;
  infer::StepGraph graph(device, /*capture=*/true);
  const auto replay = [&] {
    graph.run([&] {
      std::vector<Tensors> kept(static_cast<std::size_t>(copies));
      for (int n = 0; n < kCalls; ++n) kept[static_cast<std::size_t>(n % copies)] = call(n % copies);
    });
    torch::cuda::synchronize(device.index());
  };
  for (int n = 0; n < 4; ++n) replay();
  return best_seconds(replay, 0.3) / kCalls;
}

// Compares each kernel, which reads its inputs once and writes its outputs once, with a copy of as many
// bytes.
Json bench_tp_on_cuda(torch::Device device) {
  Json rows = Json::array();
  const SoftTp soft(board_program(3, 3), Kernel::kFused);
  constexpr std::int64_t kBatch = 4096, kFamilies = 3;
  const torch::Tensor on_cpu = random_beliefs(soft, kBatch);
  const torch::Tensor beliefs = on_cpu.to(device), upstream = soft.leave_one_out(beliefs).clone();
  const TpStep here = step(soft, beliefs), there = step(soft, on_cpu);
  if (!same({here.loss.cpu(), here.gradient.cpu()}, there)) throw std::runtime_error("CUDA and CPU differ");

  constexpr int kCopies = 16;  // together more than the cache holds, so that bytes come from memory
  Tensors leaves, upstreams;
  for (int n = 0; n < kCopies; ++n) {
    leaves.push_back(beliefs.clone().requires_grad_());
    upstreams.push_back(upstream.clone());
  }
  const auto at = [](const Tensors& tensors, int n) { return tensors[static_cast<std::size_t>(n)]; };
  // `moved`: tensors of the beliefs' size that the call reads or writes.
  const auto add = [&](const std::string& what, std::int64_t moved, int copies, bool asked,
                       const std::function<Tensors(int)>& call) {
    Tensors from;
    for (int n = 0; n < copies; ++n)
      from.push_back(torch::zeros({moved * beliefs.numel() / 2}, beliefs.options()));
    const double seconds = device_seconds(device, copies, call),
                 copy = device_seconds(device, copies, [&](int n) { return Tensors{at(from, n).clone()}; });
    const std::string name = "sudoku, batch 4096: " + what;
    rows.push_back(row(name, seconds * 1e6, "us"));
    rows.push_back(row(name + " / copy", seconds / copy, "x", asked ? "at most 2" : "", seconds / copy <= 2));
  };
  add("terms of the image", 1 + kFamilies, kCopies, true, [&](int n) {
    torch::NoGradGuard no_grad;
    return Tensors{soft.leave_one_out(at(leaves, n))};
  });
  add("terms of the image and their gradient", (1 + kFamilies) + (2 + kFamilies), kCopies, true, [&](int n) {
    const torch::Tensor terms = soft.leave_one_out(at(leaves, n));
    return Tensors{terms, torch::autograd::grad({terms}, {at(leaves, n)}, {at(upstreams, n)})[0]};
  });
  const auto loss = [&](int n) { return Tensors{soft.loss(at(leaves, n))}; };  // keeps its gradient
  add("loss of the residual and its gradient", 2, kCopies, true, loss);
  add("the same, all in the cache", 2, 1, false, loss);
  // Autograd starts from a gradient of 1 and multiplies by it, which reads and writes the result once more.
  add("the same through autograd", 2, kCopies, false, [&](int n) {
    const TpStep both = step(soft, at(leaves, n));
    return Tensors{both.loss, both.gradient};
  });
  return {{"device", device.str()}, {"rows", rows}};
}

}  // namespace

Json measure_tp(const Options& options, const ReportStep&) {
  const torch::Device device = options.device;
  return device.is_cuda() ? bench_tp_on_cuda(device) : bench_tp_on_cpu();
}

}  // namespace as2::bench
