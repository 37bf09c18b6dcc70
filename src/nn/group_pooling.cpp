// Forward: gather the members, take the maximum. The gradient that autograd would derive scatters with
// atomic additions: slow in bfloat16 and not the same from run to run. Seen from a position it is a gather
// over the few groups that hold it,
//
//   ∂x(i,c) = Σ_{g ∋ i} [x(i,c) = max_g(c)] · ∂max_g(c) / |{j ∈ g : x(j,c) = max_g(c)}|
//
// which is deterministic and reads everything once. Padding repeats a group's first member, so the maximum
// needs no mask; the count of ties does.
#include "nn/group_pooling.h"

namespace as2::nn {
namespace {

using torch::Tensor;

// [rows, index rows, index columns, channels]: positions or groups picked by `index`.
Tensor gather(const Tensor& x, const Tensor& index) {
  return x.index_select(1, index.flatten()).view({x.size(0), index.size(0), index.size(1), x.size(2)});
}

struct GroupMax : torch::autograd::Function<GroupMax> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& members,
                        const Tensor& members_mask, const Tensor& groups, const Tensor& groups_mask) {
    const auto maximum = gather(x, torch::where(members_mask, members, members.narrow(1, 0, 1))).amax(2);
    context->save_for_backward({x, maximum, members, members_mask, groups, groups_mask});
    return maximum;
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               const torch::autograd::tensor_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &x = saved[0], &maximum = saved[1], &members = saved[2], &members_mask = saved[3],
                 &groups = saved[4], &groups_mask = saved[5];
    const auto tied = gather(x, members).eq(maximum.unsqueeze(2)).logical_and_(members_mask.unsqueeze(-1));
    const auto share = gradients[0] / tied.sum(2, false, x.scalar_type());
    const auto won = gather(maximum, groups).eq(x.unsqueeze(2)).logical_and_(groups_mask.unsqueeze(-1));
    return {(gather(share, groups) * won).sum(2), {}, {}, {}, {}};
  }
};

}  // namespace

Tensor group_max(const Tensor& x, const Structure& structure) {
  if (cuda_group_max_takes(x)) return cuda_group_max(x, structure);
  return GroupMax::apply(x, structure.group_members, structure.group_mask, structure.position_groups,
                         structure.position_groups_mask);
}

}  // namespace as2::nn
