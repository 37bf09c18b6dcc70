// Our exceptions on their way through LibTorch, which passes on only a message: its last line is JSON, of
// which the package makes as2.InputError and its like again. Where torch.compile has left the package out,
// people read the message as it is.
#pragma once

#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "as2/error.h"

namespace as2::python {

// Throws the exception in flight again, as a std::runtime_error whose message ends with the line
// `as2-error {"kind":…,"file":…,"line":…,"column":…}`. Exceptions of others pass as they are.
[[noreturn]] void rethrow();

// What is made at first use and kept, such as tables on a device, serves training, too, which refuses tensors
// made in inference mode. So that mode ends where the library begins; no graph is recorded all the same.
class OutsideInferenceMode {
 public:
  OutsideInferenceMode() {
    if (!c10::InferenceMode::is_enabled()) return;
    off_.emplace(false);
    no_graph_.emplace(false);
  }

 private:
  std::optional<c10::InferenceMode> off_;
  std::optional<c10::AutoGradMode> no_graph_;
};

// Python is about to end, in this thread. A call from another one that is under way never returns: it would
// ask for the lock of an interpreter that is gone, which ends its thread in the midst of C++, and so the
// process. (Python 3.14 has such threads wait, too.)
void leave();
// Waits for the end of the process where that is so.
void stay_if_left();

struct StayIfLeft {
  ~StayIfLeft() { stay_if_left(); }
};

// Every call from Python goes through here.
template <class Function>
auto reported(Function&& function) {
  const StayIfLeft last;
  try {
    const OutsideInferenceMode ours;
    return function();
  } catch (...) {
    rethrow();
  }
}

// Operators name their program by number: a number is a constant to whoever traces a graph, an object is
// not. PyTorch keeps compiled graphs on the disk and knows them by their operators and constants; so the
// number is made of all that the object means, and equal objects have the same one, today and tomorrow.
std::int64_t number_of(const std::string& meaning);

template <class T>
class Numbered {
 public:
  static std::int64_t add(const std::string& meaning, const std::shared_ptr<T>& object) {
    const std::int64_t number = number_of(meaning);
    const std::lock_guard<std::mutex> lock(mutex());
    objects().emplace(number, object);
    return number;
  }
  static void remove(std::int64_t number, const std::shared_ptr<T>& object) {
    const std::lock_guard<std::mutex> lock(mutex());
    const auto [begin, end] = objects().equal_range(number);
    objects().erase(std::find_if(begin, end, [&](const auto& one) { return one.second.lock() == object; }));
  }
  static std::shared_ptr<T> find(std::int64_t number) {
    const std::lock_guard<std::mutex> lock(mutex());
    const auto [begin, end] = objects().equal_range(number);
    for (auto one = begin; one != end; ++one) {
      if (std::shared_ptr<T> object = one->second.lock()) return object;
    }
    throw InputError("the program of this operator no longer exists",
                     {"keep the as2.Program, or the module made from it, as long as its graph is used"});
  }

 private:
  // Never destroyed: threads may be under way to the last.
  static std::mutex& mutex() {
    static auto& one = *new std::mutex;
    return one;
  }
  static std::unordered_multimap<std::int64_t, std::weak_ptr<T>>& objects() {
    static auto& all = *new std::unordered_multimap<std::int64_t, std::weak_ptr<T>>;
    return all;
  }
};

}  // namespace as2::python
