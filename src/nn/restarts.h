// Several trajectories of one reasoner from different noise; the one that the program objects to least
// answers.
//
// At a one-hot belief the residual of soft T_P is 0 if and only if the assignment is an answer set. So what a
// trajectory answers is known to be valid or known not to be, without any label, and only instances without a
// valid answer need another trajectory.
#pragma once

#include "as2/soft_tp.h"
#include "nn/reasoner.h"

namespace as2::nn {

struct RestartedOutput {
  torch::Tensor logits;  // [batch, positions, symbols] float32 of the trajectory that answers
  torch::Tensor valid;   // [batch] bool: its most likely symbols are an answer set that the evidence allows
  torch::Tensor trajectories;  // [batch] int64: how many were run
};

// [batch] float32: 0 where the most likely symbols of `logits` [batch, positions, symbols] are an answer set
// to which the evidence gives any probability; else the larger the more terms of the program they break.
torch::Tensor objection(const tp::SoftTp& soft_tp, const torch::Tensor& logits, const ReasonerInput& input);

// Goes on from `first`, the logits that the input's own trajectory ended with: instances that it left without
// a valid answer get the next trajectories, `most` in all with the first. Evaluation only; asks the device
// after every trajectory.
RestartedOutput run_restarts(Reasoner& reasoner, const tp::SoftTp& soft_tp, const ReasonerInput& input,
                             const torch::Tensor& first, int most, int passes = 0);

}  // namespace as2::nn
