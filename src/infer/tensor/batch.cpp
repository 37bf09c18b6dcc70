#include "infer/tensor/batch.h"

namespace as2::infer {

void Batch::copy_from(const Batch& other) {
  const auto load = [](torch::Tensor& to, const torch::Tensor& from) {
    if (!from.defined()) return;
    if (to.defined()) {
      to.copy_(from);
    } else {
      to = from.clone();
    }
  };
  load(labels, other.labels);
  load(known, other.known);
  load(evidence, other.evidence);
  load(slot_positions, other.slot_positions);
  load(slot_mask, other.slot_mask);
  load(pixels, other.pixels);
}

torch::Tensor Batch::shown(const torch::Tensor& class_of) const {
  const torch::Tensor symbols = labels.narrow(0, 0, slot_positions.size(0)).gather(1, slot_positions);
  const torch::Tensor cells = (slot_positions * class_of.size(1) + symbols).flatten();
  return class_of.flatten().index_select(0, cells).view_as(symbols);
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
