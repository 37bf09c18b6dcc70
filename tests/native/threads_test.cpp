#include "native/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "as2/error.h"
#include "native/memory.h"

namespace as2::native {
namespace {

TEST(Threads, RunsEveryTaskOnceAndNoWorkerTwoAtATime) {
  Threads threads(4);
  ASSERT_EQ(threads.count(), 4);
  for (const int workers : {0, 1, 2}) {
    std::vector<std::atomic<int>> done(1000), busy(4);
    threads.run(
        1000,
        [&](std::int64_t task, int worker) {
          ASSERT_LT(worker, workers == 0 ? 4 : workers);
          ASSERT_EQ(busy[worker]++, 0);
          ++done[task];
          --busy[worker];
        },
        workers);
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
  threads.run(0, [](std::int64_t, int) { FAIL(); });
}

TEST(Threads, ThrowsWhatATaskThrewAndRunsAgain) {
  Threads threads(3);
  EXPECT_THROW(threads.run(50,
                           [](std::int64_t task, int) {
                             if (task == 7) throw std::runtime_error("7");
                           }),
               std::runtime_error);
  std::atomic<int> done{0};
  threads.run(50, [&](std::int64_t, int) { ++done; });
  EXPECT_EQ(done, 50);
}

TEST(Memory, IsSharedAmongWorkersFirst) {
  const Share ample = share_memory(1 << 30, 1000, 10, 4, 100, 16, "boards");
  EXPECT_EQ(ample.workers, 4);
  EXPECT_EQ(ample.at_once, 13);  // eight tasks of them, so that no worker waits long for the last
  const Share tight = share_memory(2100, 1000, 10, 4, 100, 16, "boards");
  EXPECT_EQ(tight.workers, 2);
  EXPECT_EQ(tight.at_once, 5);
  EXPECT_EQ(share_memory(1 << 30, 1000, 10, 4, 1, 16, "boards").workers, 1);
  EXPECT_THROW(share_memory(1009, 1000, 10, 4, 100, 16, "boards"), InputError);
}

}  // namespace
}  // namespace as2::native
