#include "as2/soft_tp.h"

#include <torch/torch.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tp/cuda_slots.h"
#include "tp/fused.h"
#include "tp/reference.h"
#include "tp/tables.h"

namespace as2::tp {

struct SoftTp::Impl {
  Impl(const compile::ConstraintProgram& program, Kernel kernel) : tables(Tables::of(program)) {
    if (kernel == Kernel::kReference) return;
    fused = c10::make_intrusive<FusedTables>(program, *tables.counts);
    cuda = cuda_slots_of(program);
  }

  // The tables on the tensor's device, copied there at first use.
  const Tables& on(const torch::Tensor& like) const {
    const std::lock_guard<std::mutex> lock(mutex);
    auto& entry = moved[{like.device().str(), like.scalar_type()}];
    if (!entry) entry = std::make_unique<Tables>(tables.to(like.device(), like.scalar_type()));
    return *entry;
  }

  const Tables tables;
  FusedTablesPtr fused;  // on the CPU; null: the reference is asked for
  CudaSlotsPtr cuda;     // on CUDA, where the program is regular
  mutable std::mutex mutex;
  mutable std::map<std::pair<std::string, torch::ScalarType>, std::unique_ptr<Tables>> moved;
};

namespace {

using NoAutocast = c10::impl::ExcludeDispatchKeyGuard;

torch::Tensor in_full_precision(const torch::Tensor& beliefs) {
  const auto type = beliefs.scalar_type();
  return type == torch::kFloat64 || type == torch::kFloat32 ? beliefs : beliefs.to(torch::kFloat32);
}

}  // namespace

SoftTp::SoftTp(const compile::ConstraintProgram& program, Kernel kernel)
    : impl_(std::make_unique<Impl>(program, kernel)) {}
SoftTp::~SoftTp() = default;
SoftTp::SoftTp(SoftTp&&) noexcept = default;

std::int64_t SoftTp::positions() const {
  return impl_->tables.positions;
}
std::int64_t SoftTp::symbols() const {
  return impl_->tables.symbols;
}
std::int64_t SoftTp::families() const {
  return impl_->tables.families;
}
std::int64_t SoftTp::residual_terms() const {
  return impl_->tables.term_count();
}

namespace {

// What every entry point does first: checks the shape, lifts the precision, keeps autocast out. Then the
// terms of all kinds, in one of three sums; exclusive and linear by the tuned kernels where there are some.
class Call {
 public:
  template <class Impl>
  Call(const Impl& impl, const torch::Tensor& given)
      : no_autocast_(c10::autocast_dispatch_keyset),
        beliefs(in_full_precision(given)),
        tables(impl.on(beliefs)) {
    AS2_REQUIRE(given.dim() == 3 && given.size(1) == tables.positions && given.size(2) == tables.symbols,
                "beliefs are [batch, positions, symbols]");
    if (beliefs.is_cpu()) fused_ = impl.fused;
    if (impl.cuda && impl.cuda->takes(beliefs)) cuda_ = impl.cuda;
  }

  std::int64_t batch() const { return beliefs.size(0); }

  // scale · Σ (p − p·factor)² over batch and terms.
  torch::Tensor squared_residual(double scale) const {
    if (cuda_) return cuda_->squared_residual(beliefs, scale);
    return scale * over_terms(fused_squared_residual, reference::squared_residual,
                              [](const torch::Tensor& x, const torch::Tensor& y) { return x + y; });
  }

  // [batch]: the largest |p − p·factor|.
  torch::Tensor largest_residual() const {
    if (cuda_) {  // one term a family and cell
      const torch::Tensor factors =
          cuda_->factors(beliefs).view({batch(), tables.families, beliefs.size(1) * beliefs.size(2)});
      return (beliefs.flatten(1).unsqueeze(1) * (1 - factors)).abs().flatten(1).amax(1);
    }
    return over_terms(fused_largest_residual, reference::largest_residual,
                      [](const torch::Tensor& x, const torch::Tensor& y) { return x.maximum(y); });
  }

  // [batch, families · cells]: mean factor of each family at each cell.
  torch::Tensor factors_by_family() const {
    if (cuda_) return cuda_->factors(beliefs);
    return factors(beliefs, tables.family_base, fused_factors_by_family, reference::add_by_family);
  }
  // [batch, cells]: mean factor over the groups that hold the position; `at` in place of the beliefs.
  torch::Tensor factors_by_group(const torch::Tensor& at) const {
    return factors(at, tables.group_base, fused_factors_by_group, reference::add_by_group);
  }

 private:
  bool needs_values() const { return !fused_ || tables.other.terms.count > 0; }

  // `of` the terms of every kind, joined.
  template <class Fused, class Of, class Join>
  torch::Tensor over_terms(Fused fused, Of of, Join join) const {
    torch::Tensor values, joined;
    if (needs_values()) values = reference::values(tables, beliefs);
    const auto add = [&](const Terms& terms, const torch::Tensor& units) {
      const torch::Tensor part = of(terms, units, values);
      joined = joined.defined() ? join(joined, part) : part;
    };
    if (fused_) {
      joined = fused(fused_, beliefs);
    } else {
      add(tables.exclusive.terms, reference::units(tables.exclusive, values));
      add(tables.linear.terms, reference::units(tables.linear, values));
    }
    if (tables.other.terms.count > 0)
      add(tables.other.terms, reference::units(tables.other, tables.circuit, values));
    return joined;
  }

  template <class Fused, class Add>
  torch::Tensor factors(const torch::Tensor& at, const torch::Tensor& base, Fused fused, Add add) const {
    torch::Tensor values;
    if (needs_values()) values = reference::values(tables, at);
    torch::Tensor sums;
    if (fused_) {
      sums = fused(fused_, at, base);
    } else {
      sums = base.unsqueeze(0).expand({at.size(0), base.size(0)});
      sums = add(tables.exclusive.terms, reference::units(tables.exclusive, values), sums);
      sums = add(tables.linear.terms, reference::units(tables.linear, values), sums);
    }
    if (tables.other.terms.count == 0) return sums;
    return add(tables.other.terms, reference::units(tables.other, tables.circuit, values), sums);
  }

  NoAutocast no_autocast_;
  FusedTablesPtr fused_;
  CudaSlotsPtr cuda_;

 public:
  const torch::Tensor beliefs;
  const Tables& tables;
};

}  // namespace

void SoftTp::prepare(const at::Tensor& like) const {
  const torch::Tensor lifted = in_full_precision(like);
  impl_->on(lifted);
  if (impl_->cuda && impl_->cuda->takes(lifted)) impl_->cuda->prepare(lifted);
}

at::Tensor SoftTp::mask(const at::Tensor& like) const {
  return impl_->on(in_full_precision(like)).mask;
}

at::Tensor SoftTp::leave_one_out(const at::Tensor& given) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  return call.factors_by_family().reshape({call.batch(), tables.families, tables.positions, tables.symbols});
}

at::Tensor SoftTp::image(const at::Tensor& given) const {
  const Call call(*impl_, given);
  return call.beliefs.unsqueeze(1) * leave_one_out(call.beliefs);
}

at::Tensor SoftTp::residual(const at::Tensor& given) const {
  const Call call(*impl_, given);
  return call.beliefs.unsqueeze(1) *
         (call.tables.mask.to(call.beliefs.scalar_type()) - leave_one_out(call.beliefs));
}

at::Tensor SoftTp::loss(const at::Tensor& given, Reduction reduction) const {
  const Call call(*impl_, given);
  const std::int64_t terms =
      reduction == Reduction::kMean ? std::max<std::int64_t>(call.tables.term_count(), 1) : 1;
  return call.squared_residual(1.0 / static_cast<double>(std::max<std::int64_t>(call.batch(), 1) * terms));
}

at::Tensor SoftTp::max_residual(const at::Tensor& given) const {
  const torch::NoGradGuard no_gradient;
  const Call call(*impl_, given);
  return call.largest_residual();
}

at::Tensor SoftTp::refine(const at::Tensor& given, int steps) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  const double still = call.beliefs.scalar_type() == torch::kFloat64 ? 1e-15 : 1e-7;
  torch::Tensor beliefs = call.beliefs.masked_fill(tables.mask.logical_not(), 0);
  for (int step = 0; step < steps; ++step) {
    const torch::Tensor image = beliefs * call.factors_by_group(beliefs).reshape(beliefs.sizes());
    const torch::Tensor total = image.sum(-1, true);
    const torch::Tensor vanished = total <= 0;
    const torch::Tensor refined = torch::where(vanished, beliefs, image / total.masked_fill(vanished, 1));
    const bool moved = (refined - beliefs).detach().abs().gt(still).any().item<bool>();
    beliefs = refined;
    if (!moved) break;
  }
  return beliefs;
}

at::Tensor SoftTp::expected_cost(const at::Tensor& given) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  const torch::Tensor none = torch::zeros({call.batch(), tables.levels}, call.beliefs.options());
  if (tables.costs.rows == 0) return none;
  const torch::Tensor values = tables.circuit.evaluate(reference::values(tables, call.beliefs));
  return none.index_add(1, tables.cost_level, tables.costs.read(values).squeeze(-1) * tables.cost_weight);
}

at::Tensor SoftTp::log_satisfaction(const at::Tensor& given) const {
  const Call call(*impl_, given);
  const torch::Tensor values = reference::values(call.tables, call.beliefs);
  std::vector<torch::Tensor> rows;
  for (const Linears& linears : call.tables.linear.linears) rows.push_back(log_holds(linears, values));
  if (rows.empty()) return torch::zeros({call.batch(), 0}, values.options());
  return torch::cat(rows, 1).index_select(1, call.tables.linear.order);
}

}  // namespace as2::tp
