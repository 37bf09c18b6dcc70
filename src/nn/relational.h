// Reasoner `rrn`: a recurrent relational network (Palm, Paquet, Winther, NeurIPS 2018) on the graph of the
// program.
#pragma once

#include "infer/network_options.h"
#include "nn/precision.h"
#include "nn/reasoner.h"

namespace as2::nn {

using infer::RelationalOptions;

class RelationalReasoner : public Reasoner {
 public:
  RelationalReasoner(const RelationalOptions& options, const compile::ConstraintProgram& program);

  ReasonerOutput forward(const ReasonerInput& input, int passes = 0) override;
  void bind(const compile::ConstraintProgram& program) override;
  const RelationalOptions& options() const { return options_; }

 private:
  // A perceptron with ReLUs between its layers.
  struct Perceptron {
    std::vector<torch::nn::Linear> layers;
  };
  Perceptron perceptron(const std::string& name, std::int64_t inputs);
  static torch::Tensor apply(const Perceptron& perceptron, torch::Tensor x, std::size_t first = 0);
  void move_to(torch::Device device);
  torch::Tensor messages(const torch::Tensor& h) const;

  RelationalOptions options_;
  Structure structure_;
  torch::Tensor neighbours_;  // [positions · degree] int64, padded with 0
  torch::Tensor real_;        // [positions, degree, 1] float32: 1 where there is a neighbour
  torch::Tensor incidence_;   // [positions, groups] float32

  torch::nn::Linear embed_{nullptr}, gates_{nullptr}, read_{nullptr};
  torch::Tensor groups_;  // [groups, embedding]
  Perceptron input_, message_, update_;
};

}  // namespace as2::nn
