#include "tp/backend.h"

#include "tp/cuda_slots.h"
#include "tp/fused.h"
#include "tp/reference.h"

namespace as2::tp {
namespace {

using torch::Tensor;
using TablesPtr = std::shared_ptr<const DeviceTables>;

Tensor sum(const Tensor& a, const Tensor& b) {
  return a + b;
}
Tensor maximum(const Tensor& a, const Tensor& b) {
  return a.maximum(b);
}

// Plain tensor operations for every kind of group: the definition.
class ReferenceBackend : public Backend {
 public:
  explicit ReferenceBackend(TablesPtr tables) : tables_(std::move(tables)) {}

  bool takes(const Tensor&) const override { return true; }
  void prepare(const Tensor& like) const override { tables_->on(like); }
  Tensor squared_residual(const Tensor& beliefs, double scale) const override {
    return scale * over_terms(beliefs, reference::squared_residual, sum);
  }
  Tensor largest_residual(const Tensor& beliefs) const override {
    return over_terms(beliefs, reference::largest_residual, maximum);
  }
  Tensor factors_by_family(const Tensor& beliefs) const override {
    return factors(beliefs, tables_->on(beliefs).family_base, reference::add_by_family);
  }
  Tensor factors_by_group(const Tensor& beliefs) const override {
    return factors(beliefs, tables_->on(beliefs).group_base, reference::add_by_group);
  }

 private:
  template <class Of, class Join>
  Tensor over_terms(const Tensor& beliefs, Of of, Join join) const {
    const Tables& tables = tables_->on(beliefs);
    const Tensor values = reference::values(tables, beliefs);
    const Tensor exclusive = of(tables.exclusive.terms, reference::units(tables.exclusive, values), values);
    const Tensor linear = of(tables.linear.terms, reference::units(tables.linear, values), values);
    const Tensor both = join(exclusive, linear);
    if (tables.other.terms.count == 0) return both;
    return join(both, of(tables.other.terms, reference::units(tables.other, tables.nodes, values), values));
  }

  template <class Add>
  Tensor factors(const Tensor& beliefs, const Tensor& base, Add add) const {
    const Tables& tables = tables_->on(beliefs);
    const Tensor values = reference::values(tables, beliefs);
    Tensor sums = base.unsqueeze(0).expand({beliefs.size(0), base.size(0)});
    sums = add(tables.exclusive.terms, reference::units(tables.exclusive, values), sums);
    sums = add(tables.linear.terms, reference::units(tables.linear, values), sums);
    if (tables.other.terms.count == 0) return sums;
    return add(tables.other.terms, reference::units(tables.other, tables.nodes, values), sums);
  }

  const TablesPtr tables_;
};

// On the CPU: kernels for exclusive groups and linear constraints, tensor operations for the rest.
class FusedBackend : public Backend {
 public:
  FusedBackend(const compile::ConstraintProgram& program, TablesPtr tables)
      : tables_(std::move(tables)),
        fused_(c10::make_intrusive<FusedTables>(program, *tables_->host().counts)) {}

  bool takes(const Tensor& beliefs) const override { return beliefs.is_cpu(); }
  void prepare(const Tensor& like) const override { tables_->on(like); }
  Tensor squared_residual(const Tensor& beliefs, double scale) const override {
    return scale *
           with_others(beliefs, fused_squared_residual(fused_, beliefs), reference::squared_residual, sum);
  }
  Tensor largest_residual(const Tensor& beliefs) const override {
    return with_others(beliefs, fused_largest_residual(fused_, beliefs), reference::largest_residual,
                       maximum);
  }
  Tensor factors_by_family(const Tensor& beliefs) const override {
    const Tensor sums = fused_factors_by_family(fused_, beliefs, tables_->on(beliefs).family_base);
    return add_others(beliefs, sums, reference::add_by_family);
  }
  Tensor factors_by_group(const Tensor& beliefs) const override {
    const Tensor sums = fused_factors_by_group(fused_, beliefs, tables_->on(beliefs).group_base);
    return add_others(beliefs, sums, reference::add_by_group);
  }

 private:
  template <class Of, class Join>
  Tensor with_others(const Tensor& beliefs, const Tensor& part, Of of, Join join) const {
    const Tables& tables = tables_->on(beliefs);
    if (tables.other.terms.count == 0) return part;
    const Tensor values = reference::values(tables, beliefs);
    return join(part, of(tables.other.terms, reference::units(tables.other, tables.nodes, values), values));
  }

  template <class Add>
  Tensor add_others(const Tensor& beliefs, const Tensor& sums, Add add) const {
    const Tables& tables = tables_->on(beliefs);
    if (tables.other.terms.count == 0) return sums;
    const Tensor values = reference::values(tables, beliefs);
    return add(tables.other.terms, reference::units(tables.other, tables.nodes, values), sums);
  }

  const TablesPtr tables_;
  const FusedTablesPtr fused_;
};

// On CUDA, for programs whose groups are all regular slots; refinement, which no training step uses, is left
// to tensor operations.
class CudaBackend : public Backend {
 public:
  CudaBackend(CudaSlotsPtr slots, TablesPtr tables)
      : slots_(std::move(slots)), families_(tables->host().families), reference_(std::move(tables)) {}

  bool takes(const Tensor& beliefs) const override { return slots_->takes(beliefs); }
  void prepare(const Tensor& like) const override {
    reference_.prepare(like);
    slots_->prepare(like);
  }
  Tensor squared_residual(const Tensor& beliefs, double scale) const override {
    return slots_->squared_residual(beliefs, scale);
  }
  Tensor largest_residual(const Tensor& beliefs) const override {
    // One term per family and cell.
    const Tensor factors =
        slots_->factors(beliefs).view({beliefs.size(0), families_, beliefs.size(1) * beliefs.size(2)});
    return (beliefs.flatten(1).unsqueeze(1) * (1 - factors)).abs().flatten(1).amax(1);
  }
  Tensor factors_by_family(const Tensor& beliefs) const override { return slots_->factors(beliefs); }
  Tensor factors_by_group(const Tensor& beliefs) const override {
    return reference_.factors_by_group(beliefs);
  }

 private:
  const CudaSlotsPtr slots_;
  const std::int64_t families_;
  const ReferenceBackend reference_;
};

}  // namespace

const Tables& DeviceTables::on(const Tensor& like) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = moved_[{like.device().str(), like.scalar_type()}];
  if (!entry) entry = std::make_unique<Tables>(tables_.to(like.device(), like.scalar_type()));
  return *entry;
}

std::vector<std::unique_ptr<Backend>> backends_of(const compile::ConstraintProgram& program, TablesPtr tables,
                                                  Kernel kernel) {
  std::vector<std::unique_ptr<Backend>> backends;
  if (kernel == Kernel::kFused) {
    if (CudaSlotsPtr slots = cuda_slots_of(program))
      backends.push_back(std::make_unique<CudaBackend>(std::move(slots), tables));
    backends.push_back(std::make_unique<FusedBackend>(program, tables));
  }
  backends.push_back(std::make_unique<ReferenceBackend>(std::move(tables)));
  return backends;
}

}  // namespace as2::tp
