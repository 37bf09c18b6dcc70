#include <ATen/cuda/CUDAContext.h>

#include "nn/group_max_cuda.h"
#include "nn/group_pooling.h"

namespace as2::nn {
namespace {

using torch::Tensor;

cuda::Groups groups_of(const Tensor& members, const Tensor& members_mask, const Tensor& position_groups,
                       const Tensor& position_groups_mask) {
  cuda::Groups groups;
  groups.positions = position_groups.size(0);
  groups.groups = members.size(0);
  groups.width = members.size(1);
  groups.degree = position_groups.size(1);
  groups.members = members.data_ptr<std::int64_t>();
  groups.members_mask = members_mask.data_ptr<bool>();
  groups.position_groups = position_groups.data_ptr<std::int64_t>();
  groups.position_groups_mask = position_groups_mask.data_ptr<bool>();
  return groups;
}

template <class T>
T* elements(const Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

// Calls `visit` with a value of the type that stands for the tensor's elements in the kernels.
template <class Visit>
void with_type(const Tensor& tensor, Visit visit) {
  tensor.scalar_type() == torch::kFloat32 ? visit(float{}) : visit(std::uint16_t{});
}

struct CudaGroupMax : torch::autograd::Function<CudaGroupMax> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& given, const Tensor& members,
                        const Tensor& members_mask, const Tensor& groups, const Tensor& groups_mask) {
    const Tensor x = given.contiguous();
    const auto shape = groups_of(members, members_mask, groups, groups_mask);
    Tensor maximum = torch::empty({x.size(0), shape.groups, x.size(2)}, x.options());
    Tensor ties = torch::empty(maximum.sizes(), x.options().dtype(torch::kInt16));
    void* stream = at::cuda::getCurrentCUDAStream(x.device().index()).stream();
    with_type(x, [&](auto zero) {
      using T = decltype(zero);
      cuda::group_max<T>(shape, x.size(0), x.size(2), elements<T>(x), elements<T>(maximum),
                         elements<std::uint16_t>(ties), stream);
    });
    context->save_for_backward({x, maximum, ties, members, members_mask, groups, groups_mask});
    return maximum;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], upstream = gradients[0].contiguous();
    const auto shape = groups_of(saved[3], saved[4], saved[5], saved[6]);
    Tensor gradient = torch::empty_like(x);
    void* stream = at::cuda::getCurrentCUDAStream(x.device().index()).stream();
    with_type(x, [&](auto zero) {
      using T = decltype(zero);
      cuda::group_max_backward<T>(shape, x.size(0), x.size(2), elements<T>(x), elements<T>(saved[1]),
                                  elements<std::uint16_t>(saved[2]), elements<T>(upstream),
                                  elements<T>(gradient), stream);
    });
    return {gradient, {}, {}, {}, {}};
  }
};

}  // namespace

bool cuda_group_max_takes(const Tensor& x) {
  return x.is_cuda() && (x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16);
}

Tensor cuda_group_max(const Tensor& x, const Structure& structure) {
  return CudaGroupMax::apply(x, structure.group_members, structure.group_mask, structure.position_groups,
                             structure.position_groups_mask);
}

}  // namespace as2::nn
