#include "infer/tensor/batch.h"

namespace as2::infer {

namespace {

constexpr std::pair<const char*, torch::Tensor Batch::*> kFields[] = {
    {"labels", &Batch::labels},       {"known", &Batch::known},
    {"observed", &Batch::observed},   {"atoms", &Batch::atoms},
    {"evidence", &Batch::evidence},   {"shows", &Batch::shows},
    {"given", &Batch::given},         {"slot_positions", &Batch::slot_positions},
    {"slot_mask", &Batch::slot_mask}, {"pixels", &Batch::pixels}};

}  // namespace

torch::Tensor by_row(const torch::Tensor& flags, const torch::Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[0] = like.size(0);
  return flags.narrow(0, 0, like.size(0)).view(shape);
}

void Batch::copy_from(const Batch& other) {
  for (const auto& [name, field] : kFields) {
    torch::Tensor& to = this->*field;
    const torch::Tensor& from = other.*field;
    if (!from.defined()) continue;
    if (to.defined()) {
      to.copy_(from);
    } else {
      to = from.clone();
    }
  }
}

void Batch::take_rows(const Batch& other, const torch::Tensor& rows) {
  for (const auto& [name, field] : kFields) {
    torch::Tensor& to = this->*field;
    if (to.defined()) to.copy_(torch::where(by_row(rows, to), other.*field, to));
  }
}

std::vector<std::pair<std::string, torch::Tensor>> Batch::tensors() const {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& [name, field] : kFields) {
    if ((this->*field).defined()) tensors.emplace_back(name, this->*field);
  }
  return tensors;
}

torch::Tensor Batch::classes_at_slots(const torch::Tensor& symbols, const torch::Tensor& class_of) const {
  const torch::Tensor here = symbols.narrow(0, 0, slot_positions.size(0)).gather(1, slot_positions);
  const torch::Tensor cells = (slot_positions * class_of.size(1) + here).flatten();
  return class_of.flatten().index_select(0, cells).view_as(here);
}

torch::Tensor class_tensor(const PictureMap& map, torch::Device device) {
  std::size_t symbols = 1;
  for (const auto& classes : map.class_of) symbols = std::max(symbols, classes.size());
  torch::Tensor tensor =
      torch::full({static_cast<std::int64_t>(map.class_of.size()), static_cast<std::int64_t>(symbols)},
                  map.classes, torch::kInt64);
  auto to = tensor.accessor<std::int64_t, 2>();
  for (std::size_t position = 0; position < map.class_of.size(); ++position) {
    for (std::size_t symbol = 0; symbol < map.class_of[position].size(); ++symbol) {
      if (map.class_of[position][symbol] < 0) continue;
      to[static_cast<std::int64_t>(position)][static_cast<std::int64_t>(symbol)] =
          map.class_of[position][symbol];
    }
  }
  return tensor.to(device);
}

torch::Tensor label_beliefs(const torch::Tensor& labels, const torch::Tensor& known,
                            const torch::Tensor& mask) {
  const torch::Tensor domain = mask.to(torch::kFloat32), uniform = domain / domain.sum(-1, true);
  torch::Tensor one_hot = torch::zeros({labels.size(0), labels.size(1), mask.size(1)}, uniform.options());
  one_hot.scatter_(2, labels.unsqueeze(-1), 1.0);
  return torch::where(known.unsqueeze(-1), one_hot, uniform.expand_as(one_hot));
}

}  // namespace as2::infer
