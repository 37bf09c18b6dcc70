// Work that several threads share.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace as2 {

// Runs `work` on this many threads, the caller's among them, until all have returned; then throws what one of
// them threw. `work` takes what is next from a counter that all share: where the system gives no more
// threads (`ulimit -u`, `ulimit -v`), those there are do all of it.
template <class Work>
void share_work(std::size_t threads, const Work& work) {
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
  std::exception_ptr failure;
  std::mutex failure_mutex, starting;
  const auto guarded = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  if (threads > 1) {
    try {
      const std::lock_guard<std::mutex> wait(starting);
      std::deque<Room> rooms(1);  // the caller's
      helpers.reserve(threads);
      while (helpers.size() + 1 < threads) {
        rooms.emplace_back();
        helpers.emplace_back([&] {
          starting.lock();
          starting.unlock();
          guarded();
        });
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  guarded();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace as2
