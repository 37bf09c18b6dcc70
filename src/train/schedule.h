// The curves a run follows: the paper's α(t) and β(t) over epochs, and the learning rate over the whole run;
// and what its validations have time for.
#pragma once

#include <cstdint>

namespace as2::train {

// α(t) = max(floor, 1 − (1 − floor)·t / horizon), or 1 if horizon ≤ 0. The paper: horizon 100 (addition 50),
// floor 0.1.
double decay(double epoch, double horizon, double floor = 0.1);

// β(t) = min(1, t / horizon), or 1 if horizon ≤ 0. The paper: horizon 20 (addition 10).
double ramp(double epoch, double horizon);

// Linear warm-up over the share `warmup` of the run, then a half cosine down to `last` × peak at its end.
// `progress` in [0, 1] is the share of the run done: of its steps, or of its time where time is the budget.
double learning_rate(double progress, double peak, double warmup, double last);

// The least examples of a validation, however little time there is for it.
constexpr std::int64_t kLeastValidation = 32;

// How many of `all` examples a validation has where it may take `seconds`, and where the first `seen`, in
// batches of `batch`, took `spent`. A batch that was cut short is the last, however fast it was: it is not
// taken up again.
std::int64_t validation_size(std::int64_t all, std::int64_t batch, std::int64_t seen, double seconds,
                             double spent);

// The weight of one loss term over the epochs: weight · α(t) · β(t).
struct TermSchedule {
  double weight = 0;
  double decay_epochs = 0;  // 0: no decay
  double floor = 0.1;
  double ramp_epochs = 0;  // 0: no ramp

  double at(double epoch) const {
    return weight * decay(epoch, decay_epochs, floor) * ramp(epoch, ramp_epochs);
  }
};

}  // namespace as2::train
