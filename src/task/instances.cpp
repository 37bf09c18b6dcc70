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

namespace {

constexpr torch::Tensor Instances::*kFields[] = {
    &Instances::labels, &Instances::evidence, &Instances::pictures, &Instances::shows,
    &Instances::known,  &Instances::observed, &Instances::atoms};

template <class Change>
Instances changed(const Instances& from, const Change& change) {
  Instances to;
  to.files = from.files;
  for (const auto field : kFields) {
    if ((from.*field).defined()) to.*field = change(from.*field);
  }
  return to;
}

}  // namespace

Instances Instances::blank(std::int64_t count, std::int64_t positions) {
  Instances instances;
  instances.labels = torch::full({count, positions}, -1, torch::kInt16);
  instances.evidence = torch::zeros({count, positions}, torch::kBool);
  return instances;
}

Instances Instances::completed() const {
  Instances whole = *this;
  if (!shows.defined()) whole.shows = labels;
  if (!known.defined()) whole.known = labels >= 0;
  if (!observed.defined()) whole.observed = torch::zeros_like(whole.known);
  return whole;
}

Instances Instances::slice(std::int64_t first, std::int64_t count) const {
  return changed(*this, [&](const torch::Tensor& tensor) { return tensor.narrow(0, first, count); });
}

Instances Instances::to(torch::Device device) const {
  Instances there = changed(*this, [&](const torch::Tensor& tensor) { return tensor.to(device); });
  if (files.defined()) there.files = files.to(device);
  return there;
}

}  // namespace as2::task
