#include "task/instances.h"

namespace as2::task {

ImagePool ImagePool::of(const torch::Tensor& pixels, const torch::Tensor& classes,
                        std::vector<std::string> names) {
  const torch::Tensor order = std::get<1>(torch::sort(classes, /*stable=*/true, 0, /*descending=*/false));
  torch::Tensor place = torch::empty_like(order);
  place.index_put_({order}, torch::arange(order.size(0)));
  return {pixels.index_select(0, order).contiguous(), classes.index_select(0, order), std::move(names),
          place};
}

ImagePool ImagePool::to(torch::Device device) const {
  return pixels.defined() ? ImagePool{pixels.to(device), classes.to(device), names, place} : *this;
}

Instances Instances::blank(std::int64_t count, std::int64_t positions) {
  return {
      torch::full({count, positions}, -1, torch::kInt16), torch::zeros({count, positions}, torch::kBool), {}};
}

Instances Instances::slice(std::int64_t first, std::int64_t count) const {
  return {labels.narrow(0, first, count), evidence.narrow(0, first, count),
          pictures.defined() ? pictures.narrow(0, first, count) : pictures};
}

Instances Instances::to(torch::Device device) const {
  return {labels.to(device), evidence.to(device), pictures.defined() ? pictures.to(device) : pictures};
}

}  // namespace as2::task
