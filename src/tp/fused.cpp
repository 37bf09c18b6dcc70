#include "tp/fused.h"

#include "once_differentiable.h"

namespace as2::tp {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// Calls `visit(layout)` for the layouts that have something to do.
template <class Visit>
void for_each_layout(const Layouts& layouts, Visit visit) {
  if (layouts.exclusive.slots > 0) visit(layouts.exclusive);
  if (layouts.linear.linears > 0) visit(layouts.linear);
}

// The gradient is computed with the value: the kernel has all it needs at hand, and only one tensor of the
// beliefs' size stays until the backward pass.
struct SquaredResidual : torch::autograd::Function<SquaredResidual> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const FusedTablesPtr& tables, bool wants_gradient) {
    const torch::Tensor beliefs = given.contiguous();
    const std::int64_t batch = beliefs.size(0);
    torch::Tensor losses = torch::zeros({batch}, beliefs.options());
    torch::Tensor gradient;
    if (wants_gradient) gradient = torch::zeros_like(beliefs);
    AT_DISPATCH_FLOATING_TYPES(beliefs.scalar_type(), "soft T_P loss", [&] {
      for_each_layout(tables->kernel.by_family, [&](const auto& layout) {
        kernels::cpu::loss<scalar_t>(layout, batch, beliefs.data_ptr<scalar_t>(), losses.data_ptr<scalar_t>(),
                                     wants_gradient ? gradient.data_ptr<scalar_t>() : nullptr);
      });
    });
    if (wants_gradient) context->save_for_backward({gradient});
    keep_edges(context, {given});
    return losses.sum();
  }

  static tensor_list backward(AutogradContext* context, tensor_list upstream) {
    const torch::Tensor gradient = context->get_saved_variables()[0] * upstream[0];
    return once_differentiable(context, upstream, {gradient, torch::Tensor(), torch::Tensor()});
  }
};

struct WeightedFactors : torch::autograd::Function<WeightedFactors> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const FusedTablesPtr& tables, bool by_group, const torch::Tensor& base) {
    const torch::Tensor beliefs = given.contiguous();
    const std::int64_t batch = beliefs.size(0);
    torch::Tensor sums = base.unsqueeze(0).repeat({batch, 1});
    AT_DISPATCH_FLOATING_TYPES(beliefs.scalar_type(), "soft T_P factors", [&] {
      for_each_layout(by_group ? tables->kernel.by_group : tables->kernel.by_family, [&](const auto& layout) {
        kernels::cpu::factors<scalar_t>(layout, batch, beliefs.data_ptr<scalar_t>(),
                                        sums.data_ptr<scalar_t>());
      });
    });
    context->save_for_backward({beliefs});
    keep_edges(context, {given});
    context->saved_data["tables"] = c10::IValue::make_capsule(tables);
    context->saved_data["by_group"] = by_group;
    return sums;
  }

  static tensor_list backward(AutogradContext* context, tensor_list upstreams) {
    const torch::Tensor beliefs = context->get_saved_variables()[0];
    const auto tables =
        c10::static_intrusive_pointer_cast<FusedTables>(context->saved_data["tables"].toCapsule());
    const bool by_group = context->saved_data["by_group"].toBool();
    const torch::Tensor upstream = upstreams[0].contiguous();
    torch::Tensor gradient = torch::zeros_like(beliefs);
    AT_DISPATCH_FLOATING_TYPES(beliefs.scalar_type(), "soft T_P factors' gradient", [&] {
      for_each_layout(by_group ? tables->kernel.by_group : tables->kernel.by_family, [&](const auto& layout) {
        kernels::cpu::factors_backward<scalar_t>(layout, beliefs.size(0), beliefs.data_ptr<scalar_t>(),
                                                 upstream.data_ptr<scalar_t>(),
                                                 gradient.data_ptr<scalar_t>());
      });
    });
    return once_differentiable(context, upstreams,
                               {gradient, torch::Tensor(), torch::Tensor(), torch::Tensor()});
  }
};

}  // namespace

torch::Tensor fused_squared_residual(const FusedTablesPtr& tables, const torch::Tensor& beliefs) {
  const bool wants_gradient = beliefs.requires_grad() && torch::GradMode::is_enabled();
  return SquaredResidual::apply(beliefs, tables, wants_gradient);
}

torch::Tensor fused_largest_residual(const FusedTablesPtr& tables, const torch::Tensor& given) {
  const torch::Tensor beliefs = given.contiguous();
  torch::Tensor residuals = torch::zeros({beliefs.size(0)}, beliefs.options());
  AT_DISPATCH_FLOATING_TYPES(beliefs.scalar_type(), "soft T_P largest residual", [&] {
    for_each_layout(tables->kernel.by_family, [&](const auto& layout) {
      kernels::cpu::largest_residual<scalar_t>(layout, beliefs.size(0), beliefs.data_ptr<scalar_t>(),
                                               residuals.data_ptr<scalar_t>());
    });
  });
  return residuals;
}

torch::Tensor fused_factors_by_family(const FusedTablesPtr& tables, const torch::Tensor& beliefs,
                                      const torch::Tensor& base) {
  return WeightedFactors::apply(beliefs, tables, false, base);
}

torch::Tensor fused_factors_by_group(const FusedTablesPtr& tables, const torch::Tensor& beliefs,
                                     const torch::Tensor& base) {
  return WeightedFactors::apply(beliefs, tables, true, base);
}

}  // namespace as2::tp
