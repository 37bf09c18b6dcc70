#include "as2/soft_tp.h"

#include <torch/torch.h>

#include <algorithm>

#include "tp/backend.h"
#include "tp/reference.h"

namespace as2::tp {

struct SoftTp::Impl {
  Impl(const compile::ConstraintProgram& program, Kernel kernel)
      : tables(std::make_shared<const DeviceTables>(program)),
        backends(backends_of(program, tables, kernel)) {}

  const Backend& backend_for(const torch::Tensor& beliefs) const {
    return **std::find_if(backends.begin(), backends.end(),
                          [&](const auto& backend) { return backend->takes(beliefs); });
  }

  const std::shared_ptr<const DeviceTables> tables;
  const std::vector<std::unique_ptr<Backend>> backends;
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
  return impl_->tables->host().positions;
}
std::int64_t SoftTp::symbols() const {
  return impl_->tables->host().symbols;
}
std::int64_t SoftTp::families() const {
  return impl_->tables->host().families;
}
std::int64_t SoftTp::residual_terms() const {
  return impl_->tables->host().term_count();
}

namespace {

// What every entry point does first: checks the shape, raises the precision, switches autocast off, and picks
// the back end.
class Call {
 public:
  template <class Impl>
  Call(const Impl& impl, const torch::Tensor& given)
      : no_autocast_(c10::autocast_dispatch_keyset),
        beliefs(in_full_precision(given)),
        tables(impl.tables->on(beliefs)),
        backend(impl.backend_for(beliefs)) {
    AS2_REQUIRE(given.dim() == 3 && given.size(1) == tables.positions && given.size(2) == tables.symbols,
                "beliefs are [batch, positions, symbols]");
  }

  std::int64_t batch() const { return beliefs.size(0); }

 private:
  NoAutocast no_autocast_;

 public:
  const torch::Tensor beliefs;
  const Tables& tables;
  const Backend& backend;
};

}  // namespace

void SoftTp::prepare(const at::Tensor& like) const {
  const torch::Tensor lifted = in_full_precision(like);
  impl_->backend_for(lifted).prepare(lifted);
}

at::Tensor SoftTp::mask(const at::Tensor& like) const {
  return impl_->tables->on(in_full_precision(like)).mask;
}

at::Tensor SoftTp::leave_one_out(const at::Tensor& given) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  return call.backend.factors_by_family(call.beliefs)
      .reshape({call.batch(), tables.families, tables.positions, tables.symbols});
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
  return call.backend.squared_residual(
      call.beliefs, 1.0 / static_cast<double>(std::max<std::int64_t>(call.batch(), 1) * terms));
}

at::Tensor SoftTp::max_residual(const at::Tensor& given) const {
  const torch::NoGradGuard no_gradient;
  const Call call(*impl_, given);
  return call.backend.largest_residual(call.beliefs);
}

at::Tensor SoftTp::refine(const at::Tensor& given, int steps) const {
  const Call call(*impl_, given);
  const Tables& tables = call.tables;
  const double still = call.beliefs.scalar_type() == torch::kFloat64 ? 1e-15 : 1e-7;
  torch::Tensor beliefs = call.beliefs.masked_fill(tables.mask.logical_not(), 0);
  for (int step = 0; step < steps; ++step) {
    const torch::Tensor image = beliefs * call.backend.factors_by_group(beliefs).reshape(beliefs.sizes());
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
  const torch::Tensor values = tables.nodes.evaluate(reference::values(tables, call.beliefs));
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
