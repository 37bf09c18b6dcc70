// Our exceptions on their way through LibTorch, which passes on only a message: the message is JSON that the
// package turns back into as2.InputError and its like.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "as2/error.h"

namespace as2::python {

// Throws the exception in flight again, as a std::runtime_error whose message is
// `as2-error {"kind":…,"what":…,"file":…,"line":…}`. Exceptions of others pass as they are.
[[noreturn]] void rethrow();

template <class Function>
auto reported(Function&& function) {
  try {
    return function();
  } catch (...) {
    rethrow();
  }
}

// Operators name their program by number: a number is a constant to whoever traces a graph, an object is
// not. Numbers are never used twice.
template <class T>
class Numbered {
 public:
  static std::int64_t add(const std::shared_ptr<T>& object) {
    const std::lock_guard<std::mutex> lock(mutex());
    static std::int64_t last = 0;
    objects()[++last] = object;
    return last;
  }
  static void remove(std::int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex());
    objects().erase(number);
  }
  static std::shared_ptr<T> find(std::int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex());
    const auto found = objects().find(number);
    const std::shared_ptr<T> object = found == objects().end() ? nullptr : found->second.lock();
    if (!object) {
      throw InputError("the program of this operator no longer exists",
                       {"keep the as2.Program, or the module made from it, as long as its graph is used"});
    }
    return object;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::unordered_map<std::int64_t, std::weak_ptr<T>>& objects() {
    static std::unordered_map<std::int64_t, std::weak_ptr<T>> all;
    return all;
  }
};

}  // namespace as2::python
