// Gradients computed by hand, which autograd cannot differentiate again: to it they are constants, and a
// second derivative (create_graph=True) would silently lack them. With these two calls it is refused instead.
// Without create_graph nothing changes.
#pragma once

#include <torch/csrc/autograd/functions/basic_ops.h>
#include <torch/torch.h>

#include <memory>
#include <utility>

namespace as2 {

struct KeptEdges : torch::CustomClassHolder {
  explicit KeptEdges(torch::autograd::edge_list given) : edges(std::move(given)) {}
  torch::autograd::edge_list edges;
};

// In forward(): keeps where `inputs` came from, not their values.
inline void keep_edges(torch::autograd::AutogradContext* context,
                       const torch::autograd::variable_list& inputs) {
  context->saved_data["edges"] =
      c10::IValue::make_capsule(c10::make_intrusive<KeptEdges>(torch::autograd::collect_next_edges(inputs)));
}

// In backward(): the gradients, whose own gradient throws. `upstream`: what backward() was given.
inline torch::autograd::variable_list once_differentiable(torch::autograd::AutogradContext* context,
                                                          const torch::autograd::variable_list& upstream,
                                                          torch::autograd::variable_list gradients) {
  if (!torch::GradMode::is_enabled()) return gradients;
  torch::autograd::edge_list edges =
      static_cast<const KeptEdges&>(*context->saved_data["edges"].toCapsule()).edges;
  for (torch::autograd::Edge& edge : torch::autograd::collect_next_edges(upstream))
    edges.push_back(std::move(edge));
  const auto refusal = std::make_shared<torch::autograd::Error>(
      "trying to differentiate twice a function that is once differentiable: AS2 computes this gradient by "
      "hand, "
      "and it has no gradient of its own",
      std::move(edges));
  for (torch::Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    gradient = gradient.detach();
    torch::autograd::create_gradient_edge(gradient, refusal);
  }
  return gradients;
}

}  // namespace as2
