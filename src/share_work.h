// Work that several threads share.
#pragma once

#include <cstddef>
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
  std::vector<std::thread> helpers;
  try {
    helpers.reserve(threads);
    while (helpers.size() + 1 < threads) helpers.emplace_back(guarded);
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  guarded();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace as2
