// Gradients averaged over processes.
#include "train/distributed.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "train/ranks.h"

namespace as2::train {
namespace {

// The gradient of a small network on rows [first, first + count) of a fixed batch.
std::vector<torch::Tensor> parameters_with_gradient(std::int64_t first, std::int64_t count,
                                                    Workers* workers) {
  torch::manual_seed(3);
  torch::nn::Sequential network(torch::nn::Linear(6, 5), torch::nn::GELU(), torch::nn::Linear(5, 2));
  const auto inputs = torch::randn({8, 6}), targets = torch::randn({8, 2});
  auto parameters = network->parameters();
  std::unique_ptr<GradientAverager> averager;
  // Buckets of 16 bytes: several of them, and parameters larger than one.
  if (workers) averager = std::make_unique<GradientAverager>(*workers, parameters, 16);
  for (int step = 0; step < 2; ++step) {
    network->zero_grad();
    const auto error = network->forward(inputs.narrow(0, first, count)) - targets.narrow(0, first, count);
    error.square().mean().backward();
    if (averager) averager->finish();
  }
  return parameters;
}

TEST(Distributed, AveragedGradientsAreThoseOfTheJoinedBatch) {
  for (const int world : {2, 4}) {
    const auto codes = run_ranks(world, [world](const Launch& launch) {
      Workers workers(launch);
      if (workers.backend() == "none") return 3;
      const std::int64_t rows = 8 / world;
      const auto averaged = parameters_with_gradient(launch.rank * rows, rows, &workers);
      const auto joined = parameters_with_gradient(0, 8, nullptr);
      for (std::size_t p = 0; p < joined.size(); ++p) {
        if (!torch::allclose(averaged[p].grad(), joined[p].grad(), 1e-5, 1e-6)) return 1;
      }
      workers.barrier();
      return 0;
    });
    EXPECT_EQ(codes, std::vector<int>(world, 0));
  }
}

TEST(Distributed, EverybodyStartsFromRankZero) {
  const auto codes = run_ranks(2, [](const Launch& launch) {
    Workers workers(launch);
    auto tensor = torch::full({3}, 1.0 + launch.rank), mean = tensor.clone();
    workers.broadcast({tensor});
    workers.average(mean);
    workers.barrier();
    return tensor.eq(1).all().item<bool>() && mean.eq(1.5).all().item<bool>() ? 0 : 1;
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0}));
}

TEST(Distributed, ALostRankEndsTheOthersWithAMessage) {
  const auto codes = run_ranks(2, [](const Launch& launch) {
    Workers workers(launch);
    workers.barrier();
    if (launch.rank == 1) return 9;
    try {
      for (int step = 0; step < 100; ++step) workers.average(torch::ones({1 << 16}));
    } catch (const LostWorker& error) {
      return std::string(error.what()).find("--resume") != std::string::npos ? 7 : 1;
    }
    return 2;
  });
  EXPECT_EQ(codes, (std::vector<int>{7, 9}));
}

// As under `torchrun --nproc-per-node 1`: the same path, with one rank.
TEST(Distributed, OneRankThatALauncherStartedConnects) {
  const auto codes = run_ranks(1, [](const Launch& alone) {
    if (Workers(alone).connected()) return 1;
    Launch launch = alone;
    launch.connects = true;
    Workers workers(launch);
    const auto mean = torch::full({3}, 2.0);
    workers.average(mean);
    return workers.backend() == "gloo" && mean.eq(2).all().item<bool>() &&
                   workers.broadcast(std::string("text")) == "text"
               ? 0
               : 1;
  });
  EXPECT_EQ(codes, std::vector<int>{0});
}

// torchrun listens at MASTER_ADDR itself; the last process plays its part until the others are done.
TEST(Distributed, MeetsAtTheStoreOfTorchrun) {
  int done[2];
  ASSERT_EQ(pipe(done), 0);
  const auto codes = run_ranks(3, [&](Launch launch) {
    launch.world = 2;
    if (launch.rank == 2) {
      c10d::TCPStoreOptions options;
      options.port = static_cast<std::uint16_t>(launch.port);
      options.isServer = true;
      options.waitWorkers = false;
      c10d::TCPStore store(launch.address, options);
      char word = 0;
      return read(done[0], &word, 1) == 1 ? 0 : 1;
    }
    setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    setenv("TORCHELASTIC_RESTART_COUNT", "1", 1);
    const auto mean = torch::full({3}, 1.0 + launch.rank);
    {
      Workers workers(launch);
      workers.average(mean);
      workers.barrier();
    }
    if (launch.rank == 0 && write(done[1], "!", 1) != 1) return 1;
    return mean.eq(1.5).all().item<bool>() ? 0 : 1;
  });
  EXPECT_EQ(codes, (std::vector<int>{0, 0, 0}));
}

TEST(Distributed, LaunchIsReadFromTheEnvironment) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"}) unsetenv(name);
  setenv("MASTER_ADDR", "left over", 1);
  EXPECT_EQ(launch_from_environment().world, 1);
  EXPECT_FALSE(launch_from_environment().connects);
  set_launch_environment({2, 3, 1, "host", 1234});
  EXPECT_EQ(launch_from_environment().rank, 2);
  EXPECT_EQ(launch_from_environment().world, 3);
  EXPECT_EQ(launch_from_environment().local_rank, 1);
  EXPECT_EQ(launch_from_environment().address, "host");
  EXPECT_EQ(launch_from_environment().port, 1234);
  EXPECT_TRUE(launch_from_environment().connects);
  unsetenv("LOCAL_RANK");
  EXPECT_EQ(launch_from_environment().local_rank, 2);
  for (const char* wrong : {"3", "-1", "two"}) {
    setenv("RANK", wrong, 1);
    EXPECT_THROW(launch_from_environment(), InputError);
  }
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    set_launch_environment({2, 3, 1, "host", 1234});
    unsetenv(name);
    try {
      launch_from_environment();
      ADD_FAILURE() << name << " is missing";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(name) + " is not set"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace as2::train
