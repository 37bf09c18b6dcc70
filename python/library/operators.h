// Differentiable operators over one tensor of beliefs, as PyTorch wants them.
//
// An operator F has `compute`, which works on tensors with values and is differentiable by itself, and
// `shape`, an empty tensor of the result's shape. Called with values it simply runs `compute`, whose graph
// keeps what its gradient needs. Whoever traces a graph (torch.compile, FakeTensor, the device `meta`) has no
// values: then the result is `shape`, and the gradient is an operator of its own, NAME_backward, which
// computes everything again. That is also the way where a dispatch mode watches (torch.library.opcheck, a
// counter of operations), which is to see this operator and not what it is made of. Both ways give the same
// numbers, and neither needs to know LibTorch's version.
#pragma once

#include <torch/library.h>
#include <torch/torch.h>

#include <initializer_list>
#include <string>
#include <vector>

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

// A dispatch mode is on: it wants to see every operator.
inline bool is_watched() {
  const c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  return keys.included_.has(c10::DispatchKey::Python) && !keys.excluded_.has(c10::DispatchKey::Python);
}

// InputError for the tensors inside torch.func.grad and its like: they have no values of their own, and
// PyTorch offers these transforms only to operators written in Python.
inline void refuse_transforms(const torch::Tensor& tensor) {
  const c10::DispatchKeySet keys = tensor.key_set();
  if (!keys.has(c10::DispatchKey::FuncTorchGradWrapper) && !keys.has(c10::DispatchKey::FuncTorchBatched))
    return;
  throw InputError("the transforms of torch.func do not reach into AS2's operators",
                   {"torch.autograd.grad gives gradients, and every operator takes a batch"});
}

// The dtype of a result: lower precisions are computed in float32.
inline torch::TensorOptions result_options(const torch::Tensor& beliefs) {
  const auto type = beliefs.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  return beliefs.options().dtype(type);
}

// [batch, sizes…] without values. Whoever traces a graph may have a symbol in place of the batch's size.
inline torch::Tensor empty_result(const torch::Tensor& beliefs, std::initializer_list<std::int64_t> sizes) {
  std::vector<c10::SymInt> all{beliefs.sym_size(0)};
  all.insert(all.end(), sizes.begin(), sizes.end());
  return beliefs.new_empty_symint(all, result_options(beliefs));
}

// Gradients are recorded, though whoever called us may have switched that off: for what is inside an
// operator, or altogether, by inference mode.
class WithAutograd {
 public:
  WithAutograd() : no_inference_(false), guard_(keys()) {}

  // A leaf with the tensor's values. One that was made in inference mode cannot be a leaf; its copy can.
  static torch::Tensor leaf(const torch::Tensor& tensor) {
    return (tensor.is_inference() ? tensor.clone() : tensor.detach()).requires_grad_(true);
  }

 private:
  static c10::impl::LocalDispatchKeySet keys() {
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
    return keys;
  }
  c10::InferenceMode no_inference_;
  c10::impl::ForceDispatchKeyGuard guard_;
};

template <class F>
torch::Tensor run(const torch::Tensor& beliefs, std::int64_t object, std::int64_t argument) {
  return reported([&] {
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    return F::compute(beliefs, object, argument).contiguous();  // like what `shape` gives
  });
}

template <class F>
torch::Tensor run_backward(const torch::Tensor& gradient, const torch::Tensor& beliefs, std::int64_t object,
                           std::int64_t argument) {
  const WithAutograd enabled;
  const torch::Tensor input = WithAutograd::leaf(beliefs);
  const torch::Tensor result = run<F>(input, object, argument);
  torch::Tensor found;
  if (result.requires_grad()) {
    found =
        torch::autograd::grad({result}, {input}, {gradient.to(result.scalar_type())}, false, false, true)[0];
  }
  return found.defined() ? found.contiguous() : torch::zeros(beliefs.sizes(), beliefs.options());
}

template <class F>
torch::Tensor shape_only(const torch::Tensor& beliefs, std::int64_t object, std::int64_t argument) {
  return reported([&] { return F::shape(beliefs, object, argument); });
}

inline torch::Tensor backward_shape(const torch::Tensor&, const torch::Tensor& beliefs, std::int64_t,
                                    std::int64_t) {
  return beliefs.new_empty_symint(beliefs.sym_sizes(), beliefs.options());
}

template <class F>
torch::Tensor below_autograd(const torch::Tensor& beliefs, std::int64_t object, std::int64_t argument) {
  static const auto itself = find_operator<Signature>(F::name);
  const at::AutoDispatchBelowADInplaceOrView below;
  return itself.call(beliefs, object, argument);
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
    return below_autograd<F>(beliefs, object, argument);
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
  reported([&] { refuse_transforms(beliefs); });
  if (has_values(beliefs) && !is_watched()) return run<F>(beliefs, object, argument);
  if constexpr (F::differentiable) return Traced<F>::apply(beliefs, object, argument);
  return below_autograd<F>(beliefs, object, argument);
}

inline void declare(torch::Library& library, const std::string& schema) {
#if AS2_TORCH_AT_LEAST(2, 2)
  library.def(torch::schema(schema.c_str(), c10::AliasAnalysisKind::FROM_SCHEMA),
              {at::Tag::pt2_compliant_tag});
#else
  library.def(torch::schema(schema.c_str(), c10::AliasAnalysisKind::FROM_SCHEMA));
#endif
}

// NAME(Tensor beliefs, int object, int argument=0) -> Tensor, and NAME_backward where there is a gradient.
template <class F>
void define(torch::Library& library) {
  const std::string name = F::name, arguments = "Tensor beliefs, int object, int argument=0) -> Tensor";
  declare(library, name + "(" + arguments);
  for (const c10::DispatchKey device : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA})
    library.impl(name.c_str(), torch::dispatch(device, TORCH_FN(run<F>)));
  library.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(shape_only<F>)));
  library.impl(name.c_str(), torch::dispatch(c10::DispatchKey::Autograd, TORCH_FN(run_with_graph<F>)));
  if constexpr (F::differentiable) {
    const std::string backward = name + "_backward";
    declare(library, backward + "(Tensor gradient, " + arguments);
    for (const c10::DispatchKey device : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA})
      library.impl(backward.c_str(), torch::dispatch(device, TORCH_FN(run_backward<F>)));
    library.impl(backward.c_str(), torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(backward_shape)));
    // LibTorch 1.13 has no such default for the device `meta`.
    library.impl(backward.c_str(),
                 torch::dispatch(c10::DispatchKey::Autograd, torch::CppFunction::makeFallthrough()));
  }
}

}  // namespace as2::python
