// The engine is c10d's: a TCPStore to meet at, then Gloo or NCCL collectives. Rejected: c10d::Reducer,
// whose constructor differs between LibTorch releases and which wants its own hold on the module; the
// buckets below are all of it that this training loop needs.
#include "train/distributed.h"

#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "as2/error.h"
#include "torch_compat.h"
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

// How long rank 0 waits for the other ranks to connect, and they for it.
constexpr std::chrono::minutes kMeeting{5};
// How long a rank waits for the others in a collective: rank 0 validates and generates data meanwhile. A peer
// that ends closes its sockets and is noticed at once; this is for one whose machine vanished.
constexpr std::chrono::minutes kPatience{30};

std::string name_of(const Launch& launch) {
  return "rank " + std::to_string(launch.rank) + " of " + std::to_string(launch.world);
}

[[noreturn]] void throw_lost(const Launch& launch, const std::string& cause) {
  throw LostWorker(
      name_of(launch) + " lost its connection to the other workers: " + cause,
      {"another worker has ended; its own message says why",
       "`as2 train --resume FOLDER` continues from the last checkpoint, with any number of workers"});
}

// Runs collectives; a failure in them is reported as a lost peer.
template <typename Call>
void together(const Launch& launch, const Call& call) {
  torch::NoGradGuard no_grad;
  try {
    call();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw_lost(launch, error.what());
  }
}

// torchrun listens at MASTER_ADDR itself, for all attempts of a job it restarts.
[[maybe_unused]] c10::intrusive_ptr<c10d::Store> meeting_place(const Launch& launch) {
  const char* agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(launch.port);
  options.isServer = launch.rank == 0 && !(agent && std::string(agent) == "True");
  options.numWorkers = static_cast<std::size_t>(launch.world);
  options.timeout = kMeeting;
  return c10::make_intrusive<c10d::PrefixStore>(std::string("as2/") + (attempt ? attempt : "0"),
                                                c10::make_intrusive<c10d::TCPStore>(launch.address, options));
}

c10::intrusive_ptr<Collective> connect(const Launch& launch, torch::Device device,
                                       [[maybe_unused]] std::string& backend) {
  try {
#ifdef AS2_HAS_NCCL
    if (device.is_cuda()) {
      backend = "nccl";
      auto options = c10d::ProcessGroupNCCL::Options::create();
      options->timeout = kPatience;
      return c10::make_intrusive<c10d::ProcessGroupNCCL>(meeting_place(launch), launch.rank, launch.world,
                                                         options);
    }
#endif
#ifdef AS2_HAS_GLOO
    if (device.is_cpu()) {
      backend = "gloo";
      auto options = c10d::ProcessGroupGloo::Options::create(kPatience);
      // c10d's default is the address of the host's name, which is often a loopback one.
      const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
      options->devices.push_back(interface ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                           : c10d::ProcessGroupGloo::createDeviceForHostname(
                                                 address_towards(launch.address, launch.port)));
      options->threads = 2;
      return c10::make_intrusive<c10d::ProcessGroupGloo>(meeting_place(launch), launch.rank, launch.world,
                                                         options);
    }
#endif
  } catch (const EnvironmentError&) {
    throw;
  } catch (const std::exception& error) {
    throw EnvironmentError(
        name_of(launch) + " could not meet the others at " + launch.address + ":" +
            std::to_string(launch.port) + ": " + error.what(),
        {"every worker needs the same MASTER_ADDR and MASTER_PORT, and rank 0 must run at that address"});
  }
  throw EnvironmentError("this build cannot train with several processes on " + device.str(),
                         {"on the CPU it needs Gloo's headers (libgloo-dev), on CUDA NCCL's"});
}

}  // namespace

struct Workers::Impl {
  torch::Device device;  // where the engine wants its tensors
  c10::intrusive_ptr<Collective> group;
  std::string backend = "none";
};

Workers::Workers(const Launch& launch, torch::Device device)
    : launch_(launch), impl_(std::make_unique<Impl>(Impl{device, {}})) {
  if (launch.world > 1 || launch.connects) impl_->group = connect(launch, device, impl_->backend);
}

Workers::~Workers() {
#ifdef AS2_HAS_NCCL
#if AS2_TORCH_AT_LEAST(2, 4)
  // NCCL has to be shut down together with the peers; after a failure they are no longer there.
  if (impl_->backend == "nccl" && std::uncaught_exceptions() == 0) {
    try {
      static_cast<c10d::ProcessGroupNCCL&>(*impl_->group).shutdown();
    } catch (const std::exception&) {  // the run has ended and its files are written: nothing is lost
    }
  }
#endif
#endif
}

bool Workers::connected() const {
  return impl_->group.defined();
}

std::string Workers::backend() const {
  return impl_->backend;
}

void Workers::broadcast(const std::vector<torch::Tensor>& tensors) {
  if (!connected()) return;
  together(launch_, [&] {
    for (const torch::Tensor& tensor : tensors) {
      std::vector<torch::Tensor> one = {tensor.to(impl_->device).contiguous()};
      impl_->group->broadcast(one)->wait();
      if (!one[0].is_same(tensor)) tensor.copy_(one[0]);
    }
  });
}

std::string Workers::broadcast(const std::string& text) {
  if (!connected()) return text;
  const torch::Tensor size = torch::tensor({static_cast<std::int64_t>(text.size())});
  broadcast({size});
  std::string result = text;
  result.resize(static_cast<std::size_t>(size.item<std::int64_t>()));
  if (!result.empty())
    broadcast({torch::from_blob(result.data(), {static_cast<std::int64_t>(result.size())}, torch::kUInt8)});
  return result;
}

void Workers::average(const torch::Tensor& tensor) {
  if (!connected()) return;
  together(launch_, [&] {
    std::vector<torch::Tensor> one = {tensor.to(impl_->device).contiguous()};
    impl_->group->allreduce(one)->wait();
    one[0].div_(world());
    if (!one[0].is_same(tensor)) tensor.copy_(one[0]);
  });
}

// c10d's own barrier is not used, because with NCCL it guesses the device.
void Workers::barrier() {
  average(torch::zeros({1}));
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
  std::size_t next = 0;  // the first bucket not yet sent
  std::string failure;   // set when sending fails inside backward; finish() throws it

  Impl(Workers& w, std::vector<torch::Tensor> p) : workers(w), parameters(std::move(p)) {}

  void reset() {
    torch::NoGradGuard no_grad;
    for (auto& bucket : buckets) {
      bucket.missing = static_cast<int>(bucket.parameters.size());
      bucket.work.reset();
      bucket.buffer.zero_();
    }
    next = 0;
  }

  void arrive(int parameter, const torch::Tensor& gradient) {
    torch::NoGradGuard no_grad;
    Bucket& bucket = buckets[bucket_of[parameter]];
    view(parameter).copy_(gradient);
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
    try {
      std::vector<torch::Tensor> one = {bucket.buffer};
      bucket.work = workers.impl_->group->allreduce(one);
    } catch (const std::exception& error) {
      failure = error.what();
    }
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
  std::int64_t size = 0;
  for (int p = count - 1; p >= 0; --p) {
    const torch::Tensor& parameter = impl.parameters[p];
    AS2_REQUIRE(parameter.scalar_type() == impl.parameters[0].scalar_type(),
                "all parameters have the same type");
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
  for (; impl.next < impl.buckets.size(); ++impl.next) impl.send(impl.buckets[impl.next]);
  if (!impl.failure.empty()) throw_lost(impl.workers.launch_, impl.failure);
  together(impl.workers.launch_, [&] {
    for (auto& bucket : impl.buckets) {
      bucket.work->wait();
      bucket.buffer.div_(impl.workers.world());
      for (const int p : bucket.parameters) {
        if (impl.parameters[p].grad().defined()) impl.parameters[p].mutable_grad().copy_(impl.view(p));
      }
    }
  });
  impl.reset();
}

}  // namespace as2::train
