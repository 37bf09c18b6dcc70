// A compiled program as Python holds it, and what is made from it when it is first asked for.
#pragma once

#include <torch/custom_class.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "as2/circuit_operator.h"
#include "as2/compile.h"
#include "as2/decoder.h"
#include "as2/soft_tp.h"
#include "library/errors.h"

namespace as2::python {

using compile::ConstraintProgram;

class ProgramParts {
 public:
  explicit ProgramParts(compile::Compiled compiled)
      : compiled_(std::make_shared<compile::Compiled>(std::move(compiled))) {}

  const compile::Compiled& compiled() const { return *compiled_; }
  const ConstraintProgram& program() const { return compiled_->program; }
  // The same, for those who share its ownership.
  std::shared_ptr<const ConstraintProgram> shared() const { return {compiled_, &compiled_->program}; }

  const tp::SoftTp& soft_tp();
  const decode::Decoder& decoder();
  // The circuit that observes these nodes; kept, for the next question about them.
  std::shared_ptr<const prob_tensor::CircuitOperator> circuit(std::vector<int> nodes,
                                                              const prob::Budget& budget);

 private:
  std::shared_ptr<const compile::Compiled> compiled_;
  std::mutex mutex_;
  std::unique_ptr<tp::SoftTp> soft_tp_;
  std::unique_ptr<decode::Decoder> decoder_;
  std::map<std::vector<int>, std::shared_ptr<const prob_tensor::CircuitOperator>> circuits_;
};

// torch.classes.as2.Program: owns the parts and their number.
struct Program : torch::CustomClassHolder {
  // `description`: JSON, all that Python is told of it.
  Program(std::shared_ptr<ProgramParts> given, std::string description);
  ~Program() override;

  const std::shared_ptr<ProgramParts> parts;
  const std::string description;
  const std::int64_t number;
};
using ProgramPtr = c10::intrusive_ptr<Program>;

// torch.classes.as2.Stop: asked for in one thread, it ends what another has begun. Whatever may take long has
// one as its last argument.
struct Stop : torch::CustomClassHolder {
  std::atomic<bool> asked{false};
};
using StopPtr = c10::intrusive_ptr<Stop>;

// InputError unless `beliefs` is [batch, positions, symbols] of real numbers.
void check_shape(const torch::Tensor& beliefs, std::int64_t positions, std::int64_t symbols);
// On the CPU also: InputError that names the first entry inside a domain that is not finite or outside
// `range`. `positions`: the rows' positions in the program; empty: all.
struct Range {
  double least, most;
};
constexpr Range kWeights{0, std::numeric_limits<double>::infinity()};  // of which probabilities are made
constexpr Range kProbabilities{0, 1 + 1e-3};
constexpr Range kNearProbabilities{-1e-3, 1 + 1e-3};  // where no logarithm is taken
void check_values(const torch::Tensor& beliefs, const ConstraintProgram& program, const Range& range,
                  const std::vector<std::int64_t>& positions = {});

// What each source file adds to torch.ops.as2 and torch.classes.as2.
void register_soft_tp(torch::Library& m);
void register_decode(torch::Library& m);
void register_probability(torch::Library& m);
void register_model(torch::Library& m);
void register_solve(torch::Library& m);

}  // namespace as2::python
