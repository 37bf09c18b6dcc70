#include "cli/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace as2::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void on_interrupt(int) {
  interrupted = true;
}

bool install() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (number == SIGHUP && before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second signal ends the program
    sigaction(number, &action, nullptr);
  }
  return true;
}

}  // namespace

const std::atomic<bool>& stop_on_interrupt() {
  static const bool installed = install();
  static_cast<void>(installed);
  return interrupted;
}

}  // namespace as2::cli
