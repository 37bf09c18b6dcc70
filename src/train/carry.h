// Boards that stay in the batch: deep supervision over many segments of passes.
//
// A board stays for up to `segments` steps of training. Each step goes on from the state in which the last
// one left the reasoner, has a loss of its own, and sends no gradient into the steps before. A board leaves,
// and a fresh one takes its row, when every pass of a step had all its known labels right, or at the limit.
// Every pass, not only the last: a board that has just been solved stays for one more step, so that the
// network learns to hold an answer and not merely to pass by it. Long evaluations rest on that.
//
// Nothing here asks the device for a value, so that a captured step can hold all of it.
#pragma once

#include "infer/tensor/network.h"
#include "train/optimizer.h"

namespace as2::train {

struct CarryOptions {
  std::int64_t segments = 1;   // the most steps a board stays
  double corrupted_share = 0;  // of fresh boards: their beliefs start as a corrupted answer
  double corruption = 0;       // the most positions of such a board, as a share, that hold a wrong symbol
};

class Carry {
 public:
  // `first`: a state of the right shapes and precision; its values do not matter, all rows are replaced
  // first. Keeps a reference to the reasoner. `mask` [positions, symbols] bool: inside a domain.
  Carry(nn::Reasoner& reasoner, const CarryOptions& options, const nn::ReasonerState& first,
        torch::Tensor mask);

  // Fresh boards take the rows of those that leave.
  void refill(infer::Batch& current, const infer::Batch& fresh) const { current.take_rows(fresh, leaving_); }
  // The state to go on from: carried, or a start for the rows that refill() has replaced.
  nn::ReasonerState state(const infer::Batch& current, const nn::ReasonerInput& input) const;
  // Takes the state after a step, and decides who leaves.
  void advance(const infer::Batch& current, const infer::Prediction& prediction);

  // [3] float32 of the last step: boards that leave, those of them that were solved, and the segments that
  // all of them stayed.
  const torch::Tensor& counts() const { return counts_; }
  // What the next step depends on, sharing storage.
  NamedTensors tensors() const;

 private:
  torch::Tensor corrupted(const infer::Batch& current, const torch::Tensor& beliefs) const;

  nn::Reasoner& reasoner_;
  CarryOptions options_;
  nn::ReasonerState state_;
  torch::Tensor mask_;     // [positions, symbols] bool
  torch::Tensor age_;      // [rows] int64: segments done
  torch::Tensor leaving_;  // [rows] bool
  torch::Tensor counts_;
};

}  // namespace as2::train
