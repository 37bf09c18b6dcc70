#include "native/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "as2/error.h"
#include "share_work.h"

namespace as2::native {

struct Threads::Pool {
  std::mutex one_call;  // callers take turns
  std::mutex mutex;
  std::condition_variable begin, end;
  std::uint64_t call = 0;  // grows with each run()
  int wanted = 0, busy = 0;
  bool closing = false;
  const std::function<void(std::int64_t, int)>* work = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::vector<std::thread> helpers;  // worker 0 is the caller

  void take_tasks(int worker) {
    try {
      for (std::int64_t task = next++; task < tasks; task = next++) (*work)(task, worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
      next = tasks;
    }
  }

  // Starts the helpers that are missing; returns how many workers there are, `most` at most.
  int ready(int most) {
    const int there = static_cast<int>(helpers.size()) + 1;
    if (there < most) {
      helpers.reserve(static_cast<std::size_t>(most));
      for (std::thread& helper : start_threads(
               static_cast<std::size_t>(most - there),
               [this, there, seen = call](std::size_t k) { help(there + static_cast<int>(k), seen); }))
        helpers.push_back(std::move(helper));
    }
    return std::min(most, static_cast<int>(helpers.size()) + 1);
  }

  void help(int worker, std::uint64_t seen) {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      begin.wait(lock, [&] { return closing || call != seen; });
      if (closing) return;
      seen = call;
      if (worker >= wanted) continue;
      lock.unlock();
      take_tasks(worker);
      lock.lock();
      if (--busy == 0) end.notify_one();
    }
  }
};

Threads::Threads(int count) : pool_(std::make_unique<Pool>()), count_(count) {
  AS2_REQUIRE(count >= 0, "a number of threads");
  if (count == 0) count_ = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

Threads::~Threads() {
  {
    const std::lock_guard<std::mutex> lock(pool_->mutex);
    pool_->closing = true;
  }
  pool_->begin.notify_all();
  for (std::thread& helper : pool_->helpers) helper.join();
}

void Threads::run(std::int64_t tasks, const std::function<void(std::int64_t, int)>& work, int workers) {
  if (tasks <= 0) return;
  if (workers <= 0) workers = count_;
  const std::lock_guard<std::mutex> turn(pool_->one_call);
  const int wanted = pool_->ready(static_cast<int>(std::min<std::int64_t>({tasks, workers, count_})));
  {
    const std::lock_guard<std::mutex> lock(pool_->mutex);
    pool_->work = &work;
    pool_->tasks = tasks;
    pool_->next = 0;
    pool_->failure = nullptr;
    pool_->wanted = wanted;
    pool_->busy = wanted - 1;
    ++pool_->call;
  }
  if (wanted > 1) pool_->begin.notify_all();
  pool_->take_tasks(0);
  std::unique_lock<std::mutex> lock(pool_->mutex);
  pool_->end.wait(lock, [&] { return pool_->busy == 0; });
  if (pool_->failure) std::rethrow_exception(pool_->failure);
}

}  // namespace as2::native
