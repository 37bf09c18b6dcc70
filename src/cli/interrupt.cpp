#include "cli/interrupt.h"

namespace as2::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void on_interrupt(int) {
  interrupted = true;
}

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};

std::array<struct sigaction, 3> install() {
  std::array<struct sigaction, 3> before{};
  for (std::size_t k = 0; k < kSignals.size(); ++k) {
    sigaction(kSignals[k], nullptr, &before[k]);
    if (kSignals[k] == SIGHUP && before[k].sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second signal ends the program
    sigaction(kSignals[k], &action, nullptr);
  }
  return before;
}

}  // namespace

const std::atomic<bool>& stop_on_interrupt() {
  static const auto before = install();
  static_cast<void>(before);
  return interrupted;
}

InterruptScope::InterruptScope() : before_(install()) {}

InterruptScope::~InterruptScope() {
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &before_[k], nullptr);
}

const std::atomic<bool>& InterruptScope::stop() const {
  return interrupted;
}

}  // namespace as2::cli
