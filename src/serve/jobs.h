// Runs command lines of this program in children with limits, a few at a time.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>

#include "serve/api.h"

namespace as2::serve {

struct JobOptions {
  CallLimits limits;
  int at_once = 2;   // children
  int waiting = 64;  // requests beyond those; the next is refused
};

class Jobs {
 public:
  // InputError or EnvironmentError where no folder for the requests' files can be made.
  explicit Jobs(const JobOptions& options);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // What the command line printed. The status says whose fault it was: 422 the input's, 400 the request's,
  // 500 ours, 503 too much work or too little machine, 504 the time limit. `make_call`, which may throw
  // InputError, is asked when it is the request's turn: what reads its body can take many times its memory.
  Reply run(const std::function<Call()>& make_call);

 private:
  Reply run_now(const std::function<Call()>& make_call);

  JobOptions options_;
  std::string program_;
  std::filesystem::path folder_;
  std::mutex mutex_;
  std::condition_variable freed_;
  int running_ = 0;
  int waiting_ = 0;
  long next_ = 0;
};

}  // namespace as2::serve
