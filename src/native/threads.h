// A few threads that share a list of tasks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace as2::native {

class Threads {
 public:
  // `count` ≥ 1 workers, the caller of run() among them; 0: one per core. They are started when there is work
  // for them, and where the system gives no more, those there are do it all.
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_; }
  // Runs work(task, worker) for every task, `workers` of them at once at most (0: all), and returns when all
  // are done. A worker's number is below count(), and no two tasks have the same one at the same time. The
  // first exception is thrown again here, and the tasks not begun by then are left out. Not to be called from
  // within a task.
  void run(std::int64_t tasks, const std::function<void(std::int64_t task, int worker)>& work,
           int workers = 0);

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
  int count_;
};

}  // namespace as2::native
