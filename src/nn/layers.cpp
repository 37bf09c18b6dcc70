#include "nn/layers.h"

#include "nn/cuda_call.h"
#ifdef AS2_HAS_CUDA
#include "nn/layers_cuda.h"
#include "once_differentiable.h"
#endif

namespace as2::nn {

using torch::Tensor;

#ifdef AS2_HAS_CUDA
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

bool norm_takes(const Tensor& x) {
  if (!x.is_cuda() || !kernels_take(x)) return false;
  return x.scalar_type() == torch::kFloat32 ? cuda::norm_takes<float>(x.size(-1))
                                            : cuda::norm_takes<std::uint16_t>(x.size(-1));
}

struct AddNorm : torch::autograd::Function<AddNorm> {
  // Without `adds`, y is a placeholder that is ignored: a Function takes no undefined tensor.
  static tensor_list forward(AutogradContext* context, const Tensor& given_x, const Tensor& given_y,
                             const Tensor& weight, const Tensor& bias, bool adds) {
    const Tensor x = given_x.contiguous(), y = adds ? given_y.contiguous() : Tensor();
    const std::int64_t channels = x.size(-1), rows = x.numel() / channels;
    const Tensor sum = y.defined() ? torch::empty_like(x) : x, normed = torch::empty_like(x);
    const Tensor moments = torch::empty({rows, 2}, weight.options());
    cuda_call(x, [&](auto type, void* stream) {
      using T = decltype(type);
      cuda::add_norm<T>(rows, channels, elements<T>(x), y.defined() ? elements<T>(y) : nullptr,
                        elements<float>(weight), elements<float>(bias), elements<T>(sum), elements<T>(normed),
                        elements<float>(moments), stream);
    });
    context->set_materialize_grads(false);
    context->save_for_backward({sum, moments, weight});
    keep_edges(context, {given_x, given_y, weight, bias});
    context->saved_data["adds"] = adds;
    return {sum, normed};
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const bool adds = context->saved_data["adds"].toBool();
    if (!gradients[1].defined()) return {gradients[0], adds ? gradients[0] : Tensor(), {}, {}, {}};
    const auto saved = context->get_saved_variables();
    const Tensor &sum = saved[0], &moments = saved[1], &weight = saved[2];
    const Tensor to_sum = gradients[0].defined() ? gradients[0].contiguous() : Tensor();
    const Tensor to_normed = gradients[1].contiguous();
    const std::int64_t channels = sum.size(-1), rows = sum.numel() / channels;
    const Tensor gradient = torch::empty_like(sum);
    const Tensor partial = torch::empty({cuda::norm_blocks(), 2, channels}, weight.options());
    cuda_call(sum, [&](auto type, void* stream) {
      using T = decltype(type);
      cuda::add_norm_backward<T>(rows, channels, elements<T>(sum), elements<float>(moments),
                                 elements<float>(weight), to_sum.defined() ? elements<T>(to_sum) : nullptr,
                                 elements<T>(to_normed), elements<T>(gradient), elements<float>(partial),
                                 stream);
    });
    const Tensor parameters = partial.sum(0);
    return once_differentiable(context, gradients,
                               {gradient, adds ? gradient : Tensor(), parameters[0], parameters[1], {}});
  }
};

struct SharedGelu : torch::autograd::Function<SharedGelu> {
  static Tensor forward(AutogradContext* context, const Tensor& given_z, const Tensor& given_shared) {
    const Tensor z = given_z.contiguous(), shared = given_shared.contiguous(), output = torch::empty_like(z);
    cuda_call(z, [&](auto type, void* stream) {
      using T = decltype(type);
      cuda::shared_gelu<T>(z.size(0), z.size(1), z.size(2), z.size(3), elements<T>(z), elements<T>(shared),
                           elements<T>(output), stream);
    });
    context->save_for_backward({z, shared});
    keep_edges(context, {given_z, given_shared});
    return output;
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &z = saved[0], &shared = saved[1], upstream = gradients[0].contiguous();
    const Tensor gradient = torch::empty_like(z), shared_gradient = torch::empty_like(shared);
    cuda_call(z, [&](auto type, void* stream) {
      using T = decltype(type);
      cuda::shared_gelu_backward<T>(z.size(0), z.size(1), z.size(2), z.size(3), elements<T>(z),
                                    elements<T>(shared), elements<T>(upstream), elements<T>(gradient),
                                    elements<T>(shared_gradient), stream);
    });
    return once_differentiable(context, gradients, {gradient, shared_gradient});
  }
};

}  // namespace
#endif

std::pair<Tensor, Tensor> add_norm(const Tensor& x, const Tensor& y, const Tensor& weight,
                                   const Tensor& bias) {
  AS2_REQUIRE(!y.defined() || (y.sizes() == x.sizes() && y.scalar_type() == x.scalar_type()),
              "what is added has the shape and type of x");
#ifdef AS2_HAS_CUDA
  if (norm_takes(x)) {
    const auto both = AddNorm::apply(x, y.defined() ? y : x, weight, bias, y.defined());
    return {both[0], both[1]};
  }
#endif
  const Tensor sum = y.defined() ? x + y : x;
  const auto dtype = x.scalar_type();
  return {sum, at::layer_norm(sum, {x.size(-1)}, weight.to(dtype), bias.to(dtype))};
}

Tensor shared_gelu(const Tensor& z, const Tensor& shared) {
  AS2_REQUIRE(z.dim() == 4 && shared.scalar_type() == z.scalar_type() && shared.dim() == 3 &&
                  shared.size(0) == z.size(2) && shared.size(1) == z.size(0) && shared.size(2) == z.size(3),
              "shared is [positions, batch, channels] of z [batch, symbols, positions, channels]");
#ifdef AS2_HAS_CUDA
  if (z.is_cuda() && kernels_take(z)) return SharedGelu::apply(z, shared);
#endif
  return at::gelu(z + shared.transpose(0, 1).unsqueeze(1));
}

}  // namespace as2::nn
