#include "task/instances.h"

#include <algorithm>
#include <numeric>

namespace as2::task {

ImagePool ImagePool::of(const Table<std::uint8_t>& pixels, const std::vector<int>& classes) {
  std::vector<std::size_t> order(classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return classes[a] < classes[b]; });
  ImagePool pool;
  pool.pixels.columns = pixels.columns;
  pool.pixels.cells.reserve(pixels.cells.size());
  pool.place.resize(order.size());
  for (const std::size_t image : order) {
    pool.place[image] = pool.size();
    pool.classes.push_back(classes[image]);
    pool.pixels.add_row(pixels[static_cast<std::int64_t>(image)]);
  }
  return pool;
}

Instances Instances::blank(std::int64_t count, std::int64_t positions) {
  Instances instances;
  instances.labels = {count, positions, -1};
  instances.evidence = {count, positions, 0};
  return instances;
}

Instances Instances::completed() const {
  Instances whole = *this;
  if (!shows.defined()) whole.shows = labels;
  if (!known.defined()) {
    whole.known = {labels.rows, labels.columns, 0};
    std::transform(labels.cells.begin(), labels.cells.end(), whole.known.cells.begin(),
                   [](std::int16_t label) { return label >= 0; });
  }
  if (!observed.defined()) whole.observed = {labels.rows, labels.columns, 0};
  return whole;
}

Instances Instances::slice(std::int64_t first, std::int64_t count) const {
  Instances part;
  part.files = files;
  const auto cut = [&](auto field) {
    if ((this->*field).defined()) part.*field = (this->*field).slice(first, count);
  };
  for (const auto field : {&Instances::labels, &Instances::shows}) cut(field);
  for (const auto field : {&Instances::evidence, &Instances::known, &Instances::observed}) cut(field);
  for (const auto field : {&Instances::pictures, &Instances::lines}) cut(field);
  cut(&Instances::atoms);
  return part;
}

}  // namespace as2::task
