#include "bench/beside_clingo.h"

#include <sys/resource.h>

#include "child_process.h"

namespace as2::bench {

nlohmann::json ask_clingo(const std::string& clingo, const std::string& input,
                          std::vector<std::string> arguments, double seconds) {
  arguments.insert(arguments.begin(), "--outf=2");
  ChildOptions limits;
  limits.seconds = seconds;
  return nlohmann::json::parse(run_child(clingo, arguments, input, limits).out);
}

double processor_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return sum;
}

}  // namespace as2::bench
