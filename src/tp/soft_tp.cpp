#include "as2/soft_tp.h"

#include <torch/torch.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tp/reference.h"
#include "tp/tables.h"

namespace as2::tp {

struct SoftTp::Impl {
  Impl(const compile::ConstraintProgram& program, Kernel which)
      : tables(Tables::of(program)), kernel(which) {}

  // The tables on the tensor's device, copied there at first use.
  const Tables& on(const torch::Tensor& like) const {
    const std::lock_guard<std::mutex> lock(mutex);
    auto& entry = moved[{like.device().str(), like.scalar_type()}];
    if (!entry) entry = std::make_unique<Tables>(tables.to(like.device(), like.scalar_type()));
    return *entry;
  }

  const Tables tables;
  const Kernel kernel;
  mutable std::mutex mutex;
  mutable std::map<std::pair<std::string, torch::ScalarType>, std::unique_ptr<Tables>> moved;
};

namespace {

using NoAutocast = c10::impl::ExcludeDispatchKeyGuard;

torch::Tensor in_full_precision(const torch::Tensor& beliefs) {
  const auto type = beliefs.scalar_type();
  return type == torch::kFloat64 || type == torch::kFloat32 ? beliefs : beliefs.to(torch::kFloat32);
}

// The three parts' units at one beliefs tensor.
struct Factors {
  torch::Tensor values, exclusive, linear, other;

  Factors(const Tables& tables, const torch::Tensor& beliefs)
      : values(reference::values(tables, beliefs)),
        exclusive(reference::units(tables.exclusive, values)),
        linear(reference::units(tables.linear, values)),
        other(reference::units(tables.other, tables.circuit, values)) {}
};

torch::Tensor repeated(const torch::Tensor& row, std::int64_t batch) {
  return row.unsqueeze(0).expand({batch, row.size(0)});
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

// What every entry point does first: checks the shape, lifts the precision, keeps autocast out.
class Call {
 public:
  template <class Impl>
  Call(const Impl& impl, const torch::Tensor& given)
      : no_autocast_(c10::autocast_dispatch_keyset),
        beliefs(in_full_precision(given)),
        tables(impl.on(beliefs)) {
    AS2_REQUIRE(given.dim() == 3 && given.size(1) == tables.positions && given.size(2) == tables.symbols,
                "beliefs are [batch, positions, symbols]");
  }
  std::int64_t batch() const { return beliefs.size(0); }

 private:
  NoAutocast no_autocast_;

 public:
  const torch::Tensor beliefs;
  const Tables& tables;
};

}  // namespace

void SoftTp::prepare(const at::Tensor& like) const {
  impl_->on(in_full_precision(like));
}

at::Tensor SoftTp::mask(const at::Tensor& like) const {
  return impl_->on(in_full_precision(like)).mask;
}

at::Tensor SoftTp::leave_one_out(const at::Tensor& given) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  const Factors factors(tables, call.beliefs);
  torch::Tensor sums = repeated(tables.family_base, call.batch());
  sums = reference::add_by_family(tables.exclusive.terms, factors.exclusive, sums);
  sums = reference::add_by_family(tables.linear.terms, factors.linear, sums);
  sums = reference::add_by_family(tables.other.terms, factors.other, sums);
  return sums.reshape({call.batch(), tables.families, tables.positions, tables.symbols});
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
  const Tables& tables = call.tables;
  const Factors factors(tables, call.beliefs);
  const torch::Tensor sum =
      reference::squared_residual(tables.exclusive.terms, factors.exclusive, factors.values) +
      reference::squared_residual(tables.linear.terms, factors.linear, factors.values) +
      reference::squared_residual(tables.other.terms, factors.other, factors.values);
  const std::int64_t terms =
      reduction == Reduction::kMean ? std::max<std::int64_t>(tables.term_count(), 1) : 1;
  return sum / static_cast<double>(std::max<std::int64_t>(call.batch(), 1) * terms);
}

at::Tensor SoftTp::max_residual(const at::Tensor& given) const {
  const torch::NoGradGuard no_gradient;
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  const Factors factors(tables, call.beliefs);
  return reference::largest_residual(tables.exclusive.terms, factors.exclusive, factors.values)
      .maximum(reference::largest_residual(tables.linear.terms, factors.linear, factors.values))
      .maximum(reference::largest_residual(tables.other.terms, factors.other, factors.values));
}

at::Tensor SoftTp::refine(const at::Tensor& given, int steps) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  const double still = call.beliefs.scalar_type() == torch::kFloat64 ? 1e-15 : 1e-7;
  torch::Tensor beliefs = call.beliefs.masked_fill(tables.mask.logical_not(), 0);
  for (int step = 0; step < steps; ++step) {
    const Factors factors(tables, beliefs);
    torch::Tensor mean = repeated(tables.group_base, call.batch());
    mean = reference::add_by_group(tables.exclusive.terms, factors.exclusive, mean);
    mean = reference::add_by_group(tables.linear.terms, factors.linear, mean);
    mean = reference::add_by_group(tables.other.terms, factors.other, mean);
    const torch::Tensor image = beliefs * mean.reshape(beliefs.sizes());
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
