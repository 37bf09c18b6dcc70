// Differentiable operators over one tensor of beliefs, as PyTorch wants them.
//
// An operator F has `compute`, which works on tensors with values and is differentiable by itself, and
// `shape`, an empty tensor of the result's shape. Called with values it simply runs `compute`, whose graph
// keeps what its gradient needs. Called by whoever traces a graph (torch.compile, FakeTensor, the device
// `meta`) there are no values: then the result is `shape`, and the gradient is an operator of its own,
// NAME_backward, which computes everything again. So both ways give the same numbers, and neither needs to
// know LibTorch's version.
#pragma once

#include <torch/library.h>
#include <torch/torch.h>

#include <string>

#include "library/errors.h"
#include "once_differentiable.h"
#include "torch_compat.h"

namespace as2::python {

using Signature = torch::Tensor(const torch::Tensor&, std::int64_t, std::int64_t);
using BackwardSignature = torch::Tensor(const torch::Tensor&, const torch::Tensor&, std::int64_t,
                                        std::int64_t);

template <class S>
c10::TypedOperatorHandle<S> find_operator(const std::string& name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(("as2::" + name).c_str(), "").typed<S>();
}

inline bool has_values(const torch::Tensor& tensor) {
  const c10::DispatchKeySet keys = tensor.key_set();
  return !tensor.is_meta() && !keys.has(c10::DispatchKey::Python) &&
         !keys.has(c10::DispatchKey::Functionalize);
}

// The dtype of a result: lower precisions are computed in float32.
inline torch::TensorOptions result_options(const torch::Tensor& beliefs) {
  const auto type = beliefs.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  return beliefs.options().dtype(type);
}

// [batch], without reading a size that may be symbolic.
inline torch::Tensor batch_of(const torch::Tensor& beliefs) {
  return beliefs.detach().to(result_options(beliefs).dtype()).sum({1, 2});
}

// Gradients are recorded, though whoever called us may have switched that off for what is inside an operator.
class WithAutograd {
 public:
  WithAutograd() : guard_(keys()), mode_(true) {}

 private:
  static c10::impl::LocalDispatchKeySet keys() {
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }
  c10::impl::ForceDispatchKeyGuard guard_;
  torch::AutoGradMode mode_;
};

template <class F>
torch::Tensor run(const torch::Tensor& beliefs, std::int64_t object, std::int64_t argument) {
  return reported([&] {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    return F::compute(beliefs, object, argument);
  });
}

template <class F>
torch::Tensor run_backward(const torch::Tensor& gradient, const torch::Tensor& beliefs, std::int64_t object,
                           std::int64_t argument) {
  const WithAutograd enabled;
  const torch::Tensor input = beliefs.detach().requires_grad_(true);
  const torch::Tensor result = run<F>(input, object, argument);
  if (!result.requires_grad()) return torch::zeros_like(input);
  const auto found =
      torch::autograd::grad({result}, {input}, {gradient.to(result.scalar_type())}, false, false, true);
  return found[0].defined() ? found[0].contiguous() : torch::zeros_like(input);
}

template <class F>
torch::Tensor shape_only(const torch::Tensor& beliefs, std::int64_t object, std::int64_t argument) {
  return reported(
      [&] { return torch::empty_like(F::shape(beliefs, object, argument), at::MemoryFormat::Contiguous); });
}

inline torch::Tensor backward_shape(const torch::Tensor&, const torch::Tensor& beliefs, std::int64_t,
                                    std::int64_t) {
  return torch::empty_like(beliefs, at::MemoryFormat::Contiguous);
}

template <class F>
class Traced : public torch::autograd::Function<Traced<F>> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& beliefs,
                               std::int64_t object, std::int64_t argument) {
    context->save_for_backward({beliefs});
    keep_edges(context, {beliefs});
    context->saved_data["object"] = object;
    context->saved_data["argument"] = argument;
    const at::AutoDispatchBelowADInplaceOrView below;
    static const auto forward_operator = find_operator<Signature>(F::name);
    return forward_operator.call(beliefs, object, argument);
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& gradients) {
    static const auto backward_operator =
        find_operator<BackwardSignature>(std::string(F::name) + "_backward");
    const torch::Tensor gradient = backward_operator.call(gradients[0], context->get_saved_variables()[0],
                                                          context->saved_data["object"].toInt(),
                                                          context->saved_data["argument"].toInt());
    return once_differentiable(context, gradients, {gradient, torch::Tensor(), torch::Tensor()});
  }
};

template <class F>
torch::Tensor run_with_graph(const torch::Tensor& beliefs, std::int64_t object, std::int64_t argument) {
  if (has_values(beliefs)) return run<F>(beliefs, object, argument);
  return Traced<F>::apply(beliefs, object, argument);
}

template <class F>
void define(torch::Library& library) {
  const std::string name = F::name, arguments = "int object, int argument=0) -> Tensor";
  const std::string schemas[] = {name + "(Tensor beliefs, " + arguments,
                                 name + "_backward(Tensor gradient, Tensor beliefs, " + arguments};
  for (const std::string& schema : schemas) {
#if AS2_TORCH_AT_LEAST(2, 2)
    library.def(torch::schema(schema.c_str(), c10::AliasAnalysisKind::FROM_SCHEMA),
                {at::Tag::pt2_compliant_tag});
#else
    library.def(torch::schema(schema.c_str(), c10::AliasAnalysisKind::FROM_SCHEMA));
#endif
  }
  const std::string backward = name + "_backward";
  for (const c10::DispatchKey device : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
    library.impl(name.c_str(), torch::dispatch(device, TORCH_FN(run<F>)));
    library.impl(backward.c_str(), torch::dispatch(device, TORCH_FN(run_backward<F>)));
  }
  library.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(shape_only<F>)));
  library.impl(backward.c_str(), torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(backward_shape)));
  library.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd, TORCH_FN(run_with_graph<F>)));
  // LibTorch 1.13 has no such default for the device `meta`.
  library.impl(backward.c_str(),
               torch::dispatch(c10::DispatchKey::Autograd, torch::CppFunction::makeFallthrough()));
}

}  // namespace as2::python
