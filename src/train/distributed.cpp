// The engine is c10d's: a TCPStore to meet at, then Gloo or NCCL collectives. Rejected: c10d::Reducer,
// whose constructor differs between LibTorch releases and which wants its own hold on the module; the
// buckets below are all of it that this training loop needs.
#include "train/distributed.h"

#include <chrono>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "as2/error.h"
#ifdef AS2_HAS_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#ifdef AS2_HAS_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace as2::train {
namespace {

#if TORCH_VERSION_MAJOR >= 2
using Collective = c10d::Backend;
#else
using Collective = c10d::ProcessGroup;
#endif
using Work = c10d::Work;

int integer_from(const char* name, int fallback, int low, int high) {
  const char* text = std::getenv(name);
  if (!text || !*text) return fallback;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < low || value > high) {
    throw InputError("the environment variable " + std::string(name) + " is '" + text +
                         "'; expected a whole number from " + std::to_string(low) + " to " +
                         std::to_string(high),
                     {"it is normally set by torchrun, srun or mpirun, or by --workers"});
  }
  return static_cast<int>(value);
}

[[noreturn]] void throw_lost(const Launch& launch, const std::exception& cause) {
  throw InputError("rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.world) +
                       " lost its connection to the other workers: " + cause.what(),
                   {"another worker has ended; its own message says why",
                    "`as2 train … --resume` continues from the last checkpoint, with any number of workers"});
}

c10::intrusive_ptr<Collective> connect(const Launch& launch, torch::Device device, std::string& backend) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(launch.port);
  options.isServer = launch.rank == 0;
  options.numWorkers = static_cast<std::size_t>(launch.world);
  options.timeout = std::chrono::seconds(120);
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(launch.address, options);
#ifdef AS2_HAS_NCCL
    if (device.is_cuda()) {
      backend = "nccl";
      return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, launch.rank, launch.world);
    }
#endif
#ifdef AS2_HAS_GLOO
    if (device.is_cpu()) {
      backend = "gloo";
      auto gloo = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(300));
      gloo->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
      gloo->threads = 2;
      return c10::make_intrusive<c10d::ProcessGroupGloo>(store, launch.rank, launch.world, gloo);
    }
#endif
    (void)device;
    (void)backend;
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError(
        "rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.world) +
            " could not meet the others at " + launch.address + ":" + std::to_string(launch.port) + ": " +
            error.what(),
        {"every worker needs the same MASTER_ADDR and MASTER_PORT, and rank 0 must run at that address"});
  }
  throw InputError("this build has no engine to train over several processes on this device",
                   {"on the CPU it needs Gloo's headers (libgloo-dev), on CUDA NCCL's"});
}

}  // namespace

Launch launch_from_environment() {
  Launch launch;
  launch.world = integer_from("WORLD_SIZE", 1, 1, 1 << 16);
  launch.rank = integer_from("RANK", 0, 0, launch.world - 1);
  launch.port = integer_from("MASTER_PORT", launch.port, 1, 65535);
  if (const char* address = std::getenv("MASTER_ADDR"); address && *address) launch.address = address;
  return launch;
}

struct Workers::Impl {
  c10::intrusive_ptr<Collective> group;
  std::string backend = "none";
};

Workers::Workers(const Launch& launch, torch::Device device)
    : launch_(launch), impl_(std::make_unique<Impl>()) {
  if (launch.world > 1) impl_->group = connect(launch, device, impl_->backend);
}

Workers::~Workers() = default;

std::string Workers::backend() const {
  return impl_->backend;
}

void Workers::broadcast(const std::vector<torch::Tensor>& tensors) {
  if (!impl_->group) return;
  try {
    torch::NoGradGuard no_grad;
    for (const auto& tensor : tensors) {
      auto buffer = tensor.contiguous();
      std::vector<torch::Tensor> one = {buffer};
      impl_->group->broadcast(one)->wait();
      if (!buffer.is_same(tensor)) tensor.copy_(buffer);
    }
  } catch (const std::exception& error) {
    throw_lost(launch_, error);
  }
}

void Workers::average(const torch::Tensor& tensor) {
  if (!impl_->group) return;
  try {
    torch::NoGradGuard no_grad;
    auto buffer = tensor.contiguous();
    std::vector<torch::Tensor> one = {buffer};
    impl_->group->allreduce(one)->wait();
    buffer.div_(world());
    if (!buffer.is_same(tensor)) tensor.copy_(buffer);
  } catch (const std::exception& error) {
    throw_lost(launch_, error);
  }
}

void Workers::barrier() {
  if (!impl_->group) return;
  try {
    impl_->group->barrier()->wait();
  } catch (const std::exception& error) {
    throw_lost(launch_, error);
  }
}

struct GradientAverager::Impl {
  struct Bucket {
    torch::Tensor buffer;  // flat
    std::vector<int> parameters;
    std::vector<std::int64_t> offsets;
    int missing = 0;  // gradients that have not arrived yet
    c10::intrusive_ptr<Work> work;
  };

  Workers& workers;
  std::vector<torch::Tensor> parameters;
  std::vector<unsigned> hooks;
  std::vector<Bucket> buckets;  // sent in this order
  std::vector<int> bucket_of, slot_of;
  std::vector<char> arrived;
  std::size_t next = 0;  // the first bucket not yet sent

  Impl(Workers& w, std::vector<torch::Tensor> p) : workers(w), parameters(std::move(p)) {}

  void reset() {
    torch::NoGradGuard no_grad;
    for (auto& bucket : buckets) {
      bucket.missing = static_cast<int>(bucket.parameters.size());
      bucket.work.reset();
      bucket.buffer.zero_();
    }
    std::fill(arrived.begin(), arrived.end(), 0);
    next = 0;
  }

  void arrive(int parameter, const torch::Tensor& gradient) {
    torch::NoGradGuard no_grad;
    Bucket& bucket = buckets[bucket_of[parameter]];
    view(parameter).copy_(gradient);
    arrived[parameter] = 1;
    --bucket.missing;
    send_ready();
  }

  torch::Tensor view(int parameter) {
    Bucket& bucket = buckets[bucket_of[parameter]];
    const torch::Tensor& p = parameters[parameter];
    return bucket.buffer.narrow(0, bucket.offsets[slot_of[parameter]], p.numel()).view(p.sizes());
  }

  void send_ready() {
    while (next < buckets.size() && buckets[next].missing == 0) send(buckets[next++]);
  }

  void send(Bucket& bucket) {
    std::vector<torch::Tensor> one = {bucket.buffer};
    bucket.work = workers.impl_->group->allreduce(one);
  }
};

GradientAverager::GradientAverager(Workers& workers, std::vector<torch::Tensor> parameters,
                                   std::int64_t bucket_bytes)
    : impl_(std::make_unique<Impl>(workers, std::move(parameters))) {
  if (!workers.impl_->group) return;
  Impl& impl = *impl_;
  const int count = static_cast<int>(impl.parameters.size());
  impl.bucket_of.resize(count);
  impl.slot_of.resize(count);
  impl.arrived.assign(count, 0);
  std::int64_t size = 0;
  for (int p = count - 1; p >= 0; --p) {
    const torch::Tensor& parameter = impl.parameters[p];
    AS2_REQUIRE(parameter.scalar_type() == impl.parameters[0].scalar_type(), "parameters of one type");
    if (impl.buckets.empty() || size * parameter.element_size() >= bucket_bytes) {
      impl.buckets.emplace_back();
      size = 0;
    }
    Impl::Bucket& bucket = impl.buckets.back();
    impl.bucket_of[p] = static_cast<int>(impl.buckets.size()) - 1;
    impl.slot_of[p] = static_cast<int>(bucket.parameters.size());
    bucket.parameters.push_back(p);
    bucket.offsets.push_back(size);
    size += parameter.numel();
    bucket.buffer = torch::empty({size}, parameter.options().requires_grad(false));
  }
  impl.reset();
  for (int p = 0; p < count; ++p) {
    impl.hooks.push_back(impl.parameters[p].register_hook(
        [&impl, p](const torch::Tensor& gradient) { impl.arrive(p, gradient); }));
  }
}

GradientAverager::~GradientAverager() {
  for (std::size_t p = 0; p < impl_->hooks.size(); ++p) impl_->parameters[p].remove_hook(impl_->hooks[p]);
}

void GradientAverager::finish() {
  Impl& impl = *impl_;
  if (impl.buckets.empty()) return;
  try {
    torch::NoGradGuard no_grad;
    for (; impl.next < impl.buckets.size(); ++impl.next) impl.send(impl.buckets[impl.next]);
    for (auto& bucket : impl.buckets) {
      bucket.work->wait();
      bucket.buffer.div_(impl.workers.world());
      for (int p : bucket.parameters) {
        if (impl.arrived[p]) impl.parameters[p].mutable_grad().copy_(impl.view(p));
      }
    }
    impl.reset();
  } catch (const std::exception& error) {
    throw_lost(impl.workers.launch_, error);
  }
}

}  // namespace as2::train
