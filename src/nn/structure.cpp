#include "nn/structure.h"

#include <algorithm>

#include "as2/error.h"

namespace as2::nn {
namespace {

// Rows of different length as one padded tensor and its mask, both [rows, longest].
std::pair<torch::Tensor, torch::Tensor> padded(const std::vector<std::vector<std::int64_t>>& rows) {
  std::size_t width = 1;
  for (const auto& row : rows) width = std::max(width, row.size());
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows.size()),
                                        static_cast<std::int64_t>(width)};
  auto values = torch::zeros(shape, torch::kInt64);
  auto mask = torch::zeros(shape, torch::kBool);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::copy(rows[r].begin(), rows[r].end(), values.data_ptr<std::int64_t>() + r * width);
    std::fill_n(mask.data_ptr<bool>() + r * width, rows[r].size(), true);
  }
  return {values, mask};
}

}  // namespace

Structure Structure::of(const compile::ConstraintProgram& program) {
  Structure s;
  s.positions = static_cast<std::int64_t>(program.positions.size());
  s.symbols = program.max_symbols();
  s.families = static_cast<std::int64_t>(program.families.size());

  s.mask = torch::zeros({s.positions, s.symbols}, torch::kBool);
  for (std::int64_t i = 0; i < s.positions; ++i) {
    std::fill_n(s.mask.data_ptr<bool>() + i * s.symbols, program.positions[i].symbols.size(), true);
  }
  s.full = s.mask.all().item<bool>();

  std::vector<const compile::Group*> groups;
  for (const auto& group : program.groups) {
    if (!group.positions.empty()) groups.push_back(&group);
  }
  std::stable_sort(groups.begin(), groups.end(), [](auto* a, auto* b) { return a->family < b->family; });
  s.groups = static_cast<std::int64_t>(groups.size());

  s.relation = torch::zeros({s.families, s.positions, s.positions}, torch::kBool);
  s.family_groups.assign(program.families.size(), 0);
  std::vector<std::vector<std::int64_t>> members;
  std::vector<std::int64_t> family;
  bool* relation = s.relation.data_ptr<bool>();
  for (const auto* group : groups) {
    for (const int i : group->positions) {
      for (const int j : group->positions) {
        if (i != j) relation[(group->family * s.positions + i) * s.positions + j] = true;
      }
    }
    members.emplace_back(group->positions.begin(), group->positions.end());
    family.push_back(group->family);
    ++s.family_groups[group->family];
  }
  std::tie(s.group_members, s.group_mask) = padded(members);
  s.group_family = torch::tensor(family, torch::kInt64);
  return s;
}

Structure Structure::to(torch::Device device) const {
  Structure s = *this;
  for (auto* tensor : {&s.mask, &s.relation, &s.group_members, &s.group_mask, &s.group_family}) {
    *tensor = tensor->to(device);
  }
  return s;
}

torch::Tensor Structure::incidence() const {
  const auto options = group_members.options().dtype(torch::kFloat32);
  return torch::zeros({groups, positions}, options).scatter_add_(1, group_members, group_mask.to(options));
}

}  // namespace as2::nn
