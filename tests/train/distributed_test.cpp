// Gradients averaged over processes: the ranks are forked, so that each has an engine of its own.
#include "train/distributed.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "as2/error.h"

namespace as2::train {
namespace {

// A port that was free a moment ago.
int free_port() {
  const int handle = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  bind(handle, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(handle, reinterpret_cast<sockaddr*>(&address), &size);
  close(handle);
  return ntohs(address.sin_port);
}

// Exit codes of `world` processes that each run `body(launch)`.
std::vector<int> run_ranks(int world, const std::function<int(const Launch&)>& body) {
  const int port = free_port();
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(body(Launch{rank, world, "127.0.0.1", port}));
    children.push_back(child);
  }
  std::vector<int> codes;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

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
    } catch (const InputError& error) {
      return std::string(error.what()).find("--resume") != std::string::npos ? 7 : 1;
    }
    return 2;
  });
  EXPECT_EQ(codes, (std::vector<int>{7, 9}));
}

TEST(Distributed, LaunchIsReadFromTheEnvironment) {
  setenv("WORLD_SIZE", "3", 1);
  setenv("RANK", "2", 1);
  setenv("MASTER_PORT", "1234", 1);
  EXPECT_EQ(launch_from_environment().rank, 2);
  EXPECT_EQ(launch_from_environment().port, 1234);
  setenv("RANK", "3", 1);
  EXPECT_THROW(launch_from_environment(), InputError);
  for (const char* name : {"WORLD_SIZE", "RANK", "MASTER_PORT"}) unsetenv(name);
  EXPECT_EQ(launch_from_environment().world, 1);
}

}  // namespace
}  // namespace as2::train
