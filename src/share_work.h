// Threads, as many as the system gives, and work that they share.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace as2 {

// Starts this many threads, of which number k runs work(k); where the system gives no more (`ulimit -u`,
// `ulimit -v`), fewer, or none. Whoever calls this joins them.
template <class Work>
std::vector<std::thread> start_threads(std::size_t count, const Work& work) {
  // The addresses that malloc sets aside for a thread. Where they are scarce, the stacks of many threads
  // would leave none to the work; so each thread's are kept back until all have started. What is not written
  // to is no memory. A call of the function, unlike `new`, is never optimised away.
  struct Room {
    void* addresses = ::operator new (std::size_t{64} << 20);
    Room() = default;
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() { ::operator delete(addresses); }
  };
  std::vector<std::thread> threads;
  if (count == 0) return threads;
  try {
    const auto starting = std::make_shared<std::mutex>();
    const std::lock_guard<std::mutex> wait(*starting);
    std::deque<Room> rooms(1);  // the caller's
    threads.reserve(count);
    while (threads.size() < count) {
      rooms.emplace_back();
      threads.emplace_back([starting, work, number = threads.size()] {
        starting->lock();
        starting->unlock();
        work(number);
      });
    }
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  return threads;
}

// Runs `work` on this many threads, the caller's among them, until all have returned; then throws what one of
// them threw. `work` takes what is next from a counter that all share: where there are fewer threads, those
// there are do all of it.
template <class Work>
void share_work(std::size_t threads, const Work& work) {
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers =
      start_threads(threads > 1 ? threads - 1 : 0, [&](std::size_t) { guarded(); });
  guarded();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace as2
