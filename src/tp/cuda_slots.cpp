#include "tp/cuda_slots.h"

#include <ATen/cuda/CUDAContext.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "once_differentiable.h"
#include "overloaded.h"
#include "tp/kernels/exclusive_cuda.h"

namespace as2::tp {
namespace {

using kernels::cuda::RegularSlots;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// The kernels read 16 bytes at a time.
torch::Tensor aligned(const torch::Tensor& tensor) {
  const torch::Tensor whole = tensor.contiguous();
  return reinterpret_cast<std::uintptr_t>(whole.data_ptr()) % 16 == 0 ? whole : whole.clone();
}

void* current_stream(const torch::Tensor& tensor) {
  return at::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
}

class Slots : public CudaSlots {
 public:
  Slots(RegularSlots shape, std::vector<std::int32_t> members, std::vector<std::int32_t> families)
      : shape_(shape),
        members_(torch::tensor(members, torch::kInt32)),
        families_(torch::tensor(families, torch::kInt32)) {}

  bool takes(const torch::Tensor& beliefs) const override {
    return beliefs.is_cuda() && beliefs.scalar_type() == torch::kFloat32 &&
           kernels::cuda::fits(shape_, beliefs.device().index());
  }
  void prepare(const torch::Tensor& like) const override { on(like); }
  torch::Tensor squared_residual(const torch::Tensor& beliefs, double scale) const override;
  torch::Tensor factors(const torch::Tensor& beliefs) const override;

  // The arrays on the tensor's device, copied there at first use.
  RegularSlots on(const torch::Tensor& like) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto& arrays = moved_[like.device().index()];
    if (!arrays.first.defined()) arrays = {members_.to(like.device()), families_.to(like.device())};
    RegularSlots slots = shape_;
    slots.members = arrays.first.data_ptr<std::int32_t>();
    slots.slot_family = arrays.second.data_ptr<std::int32_t>();
    return slots;
  }
  std::int64_t outputs() const { return std::int64_t{shape_.families} * shape_.cells; }

 private:
  CudaSlotsPtr self() const {
    return c10::intrusive_ptr<CudaSlots>::unsafe_reclaim_from_nonowning(const_cast<Slots*>(this));
  }
  RegularSlots shape_;
  torch::Tensor members_, families_;
  mutable std::mutex mutex_;
  mutable std::map<int, std::pair<torch::Tensor, torch::Tensor>> moved_;
};

// The gradient is computed with the value, in the same pass over the beliefs.
struct CudaSquaredResidual : torch::autograd::Function<CudaSquaredResidual> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const CudaSlotsPtr& slots, double scale) {
    const c10::DeviceGuard guard(given.device());
    const torch::Tensor beliefs = aligned(given);
    const RegularSlots regular = static_cast<Slots&>(*slots).on(beliefs);
    const std::int64_t batch = beliefs.size(0);
    const torch::Tensor parts = torch::empty({kernels::cuda::blocks(regular, batch)}, beliefs.options());
    const torch::Tensor loss = torch::empty({}, beliefs.options());
    const torch::Tensor gradient = torch::empty_like(beliefs);
    kernels::cuda::loss(regular, batch, beliefs.data_ptr<float>(), static_cast<float>(scale),
                        parts.data_ptr<float>(), loss.data_ptr<float>(), gradient.data_ptr<float>(),
                        current_stream(beliefs));
    context->save_for_backward({gradient});
    keep_edges(context, {given});
    return loss;
  }
  static tensor_list backward(AutogradContext* context, tensor_list upstream) {
    const torch::Tensor gradient = context->get_saved_variables()[0] * upstream[0];
    return once_differentiable(context, upstream, {gradient, torch::Tensor(), torch::Tensor()});
  }
};

struct Factors : torch::autograd::Function<Factors> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& given,
                               const CudaSlotsPtr& slots) {
    const c10::DeviceGuard guard(given.device());
    const torch::Tensor beliefs = aligned(given);
    const auto& regular = static_cast<Slots&>(*slots);
    torch::Tensor factors = torch::empty({beliefs.size(0), regular.outputs()}, beliefs.options());
    kernels::cuda::factors(regular.on(beliefs), beliefs.size(0), beliefs.data_ptr<float>(),
                           factors.data_ptr<float>(), current_stream(beliefs));
    context->save_for_backward({beliefs});
    keep_edges(context, {given});
    context->saved_data["slots"] = torch::IValue::make_capsule(slots);
    return factors;
  }
  static tensor_list backward(AutogradContext* context, tensor_list upstreams) {
    const torch::Tensor beliefs = context->get_saved_variables()[0], upstream = aligned(upstreams[0]);
    const c10::DeviceGuard guard(beliefs.device());
    const auto slots = context->saved_data["slots"].toCapsule();
    torch::Tensor gradient = torch::empty_like(beliefs);
    kernels::cuda::factors_backward(static_cast<Slots&>(*slots).on(beliefs), beliefs.size(0),
                                    beliefs.data_ptr<float>(), upstream.data_ptr<float>(),
                                    gradient.data_ptr<float>(), current_stream(beliefs));
    return once_differentiable(context, upstreams, {gradient, torch::Tensor()});
  }
};

torch::Tensor Slots::squared_residual(const torch::Tensor& beliefs, double scale) const {
  return CudaSquaredResidual::apply(beliefs, self(), scale);
}

torch::Tensor Slots::factors(const torch::Tensor& beliefs) const {
  return Factors::apply(beliefs, self());
}

// The group's slots; null for the kinds that the kernels leave to the tensor form.
const compile::Slots* slots_of(const compile::Group& group) {
  using Result = const compile::Slots*;
  return std::visit(Overloaded{[](const compile::Slots& slots) -> Result { return &slots; },
                               [](const compile::Linears&) -> Result { return nullptr; },
                               [](const compile::Nogoods&) -> Result { return nullptr; },
                               [](const compile::DerivedNogoods&) -> Result { return nullptr; }},
                    group.content);
}

}  // namespace

CudaSlotsPtr cuda_slots_of(const compile::ConstraintProgram& program) {
  const int symbols = program.max_symbols();
  RegularSlots shape;
  shape.cells = static_cast<std::int32_t>(program.positions.size()) * symbols;
  shape.families = static_cast<std::int32_t>(program.families.size());
  std::vector<std::vector<std::int32_t>> slots;
  std::vector<std::int32_t> families;
  std::vector<char> seen(static_cast<std::size_t>(shape.families) * shape.cells, 0);
  for (const compile::Group& group : program.groups) {
    const compile::Slots* parts = slots_of(group);
    if (parts == nullptr) return {};
    for (const compile::Slot& slot : *parts) {
      slots.emplace_back();
      families.push_back(group.family);
      for (const compile::SetLiteral& member : slot.members) {
        if (member.symbols.size() != 1) return {};
        const int cell = member.position * symbols + member.symbols[0];
        char& once = seen[static_cast<std::size_t>(group.family) * shape.cells + cell];
        if (once) return {};
        once = 1;
        slots.back().push_back(cell);
      }
      shape.width = std::max(shape.width, static_cast<std::int32_t>(slots.back().size()));
    }
  }
  if (slots.empty() || std::count(seen.begin(), seen.end(), 0) > 0) return {};
  shape.slots = static_cast<std::int32_t>(slots.size());
  shape.full = true;
  std::vector<std::int32_t> members(static_cast<std::size_t>(shape.width) * slots.size(), -1);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    shape.full = shape.full && static_cast<std::int32_t>(slots[s].size()) == shape.width;
    for (std::size_t j = 0; j < slots[s].size(); ++j)
      members[j * slots.size() + s] = static_cast<std::int32_t>(sizeof(float)) * slots[s][j];
  }
  return c10::make_intrusive<Slots>(shape, std::move(members), std::move(families));
}

}  // namespace as2::tp
