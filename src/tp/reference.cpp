#include "tp/reference.h"

namespace as2::tp::reference {
namespace {

torch::Tensor joined(const std::vector<torch::Tensor>& parts, const torch::Tensor& like) {
  return parts.empty() ? torch::empty({like.size(0), 0}, like.options()) : torch::cat(parts, 1);
}

torch::Tensor add_weighted(const Terms& terms, const torch::Tensor& units, const torch::Tensor& sums,
                           const torch::Tensor& cell, const torch::Tensor& weight) {
  return terms.count == 0 ? sums : sums.index_add(1, cell, units.index_select(1, terms.unit) * weight);
}

// [batch, terms]: p − p·factor.
torch::Tensor residuals(const Terms& terms, const torch::Tensor& units, const torch::Tensor& values) {
  return values.index_select(1, terms.cell) * (1 - units.index_select(1, terms.unit));
}

}  // namespace

torch::Tensor values(const Tables& tables, const torch::Tensor& beliefs) {
  const std::int64_t batch = beliefs.size(0);
  const torch::Tensor inside =
      beliefs.masked_fill(tables.mask.logical_not(), 0).view({batch, tables.cells()});
  const torch::Tensor padded = torch::cat(
      {inside, torch::zeros({batch, 1}, inside.options()), torch::ones({batch, 1}, inside.options())}, 1);
  if (tables.sums.rows == 0) return padded;
  return torch::cat({padded, tables.sums.read(padded).sum(-1)}, 1);
}

torch::Tensor units(const ExclusivePart& part, const torch::Tensor& values) {
  std::vector<torch::Tensor> factors;
  for (const IndexTable& slots : part.slots) {
    factors.push_back(product_of_others(1 - slots.read(values)).flatten(1));
  }
  return joined(factors, values);
}

torch::Tensor units(const LinearPart& part, const torch::Tensor& values) {
  std::vector<torch::Tensor> factors;
  for (const Linears& linears : part.linears) {
    const LinearFactors both = linear_factors(linears, values);
    factors.push_back(both.members.flatten(1));
    factors.push_back(both.guards.flatten(1));
  }
  return joined(factors, values);
}

torch::Tensor units(const OtherPart& part, const SoftNodes& nodes, const torch::Tensor& values) {
  std::vector<torch::Tensor> factors{torch::zeros({values.size(0), 1}, values.options())};
  for (const IndexTable& nogoods : part.nogoods) {
    factors.push_back((1 - product_of_others(nogoods.read(values))).flatten(1));
  }
  if (part.violated.rows > 0) factors.push_back((1 - part.violated.read(nodes.evaluate(values))).flatten(1));
  return joined(factors, values);
}

torch::Tensor squared_residual(const Terms& terms, const torch::Tensor& units, const torch::Tensor& values) {
  return residuals(terms, units, values).square().sum();
}

torch::Tensor largest_residual(const Terms& terms, const torch::Tensor& units, const torch::Tensor& values) {
  if (terms.count == 0) return torch::zeros({values.size(0)}, values.options());
  return residuals(terms, units, values).abs().amax(1);
}

torch::Tensor add_by_family(const Terms& terms, const torch::Tensor& units, const torch::Tensor& sums) {
  return add_weighted(terms, units, sums, terms.family_cell, terms.family_weight);
}

torch::Tensor add_by_group(const Terms& terms, const torch::Tensor& units, const torch::Tensor& sums) {
  return add_weighted(terms, units, sums, terms.cell, terms.group_weight);
}

}  // namespace as2::tp::reference
