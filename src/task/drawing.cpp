#include "task/drawing.h"

#include <algorithm>
#include <random>

#include "infer/network_options.h"

namespace as2::task {

bool has_picture(const Instances& instances, const infer::PictureMap& map, std::int64_t n, int position) {
  return instances.evidence[n][position] != 0 &&
         !(instances.pictures.defined() && instances.pictures[n][position] == kNoPicture) &&
         std::binary_search(map.positions.begin(), map.positions.end(), position);
}

bool draws_pictures(const Instances& instances, const infer::PictureMap& map) {
  for (std::int64_t n = 0; n < instances.size(); ++n) {
    for (const int position : map.positions) {
      const std::int32_t named = instances.pictures.defined() ? instances.pictures[n][position] : -1;
      if (has_picture(instances, map, n, position) && named == -1) return true;
    }
  }
  return false;
}

DrawnPictures::DrawnPictures(const Instances& instances, const ImagePool& pool, const infer::PictureMap& map,
                             std::int64_t batch, std::uint64_t seed)
    : instances_(instances),
      pool_(pool),
      map_(map),
      batch_(std::min(batch, std::max<std::int64_t>(1, instances.size()))),
      seed_(seed) {
  for (std::int64_t n = 0; n < instances_.size(); ++n) {
    const auto slots = std::count_if(map_.positions.begin(), map_.positions.end(), [&](int position) {
      return has_picture(instances_, map_, n, position);
    });
    slots_ = std::max<std::int64_t>(slots_, slots);
  }
}

std::vector<infer::Scene> DrawnPictures::batch(std::int64_t index) const {
  std::vector<infer::Scene> scenes;
  // As LibTorch draws numbers in 0 … 1 on the CPU: 24 bits of each number of a Mersenne twister.
  std::mt19937 twister(static_cast<std::uint32_t>(picture_seed(seed_, /*epoch=*/0, index)));
  const std::int64_t first = index * batch_, end = std::min(first + batch_, instances_.size());
  for (std::int64_t n = first; n < end; ++n) {
    infer::Scene& scene = scenes.emplace_back();
    std::vector<float> numbers;
    for (std::int64_t slot = 0; slot < slots_; ++slot)
      numbers.push_back(static_cast<float>(twister() & 0xffffff) * 0x1p-24F);
    for (const int position : map_.positions) {
      if (!has_picture(instances_, map_, n, position)) continue;
      const std::uint8_t* picture = pixels(n, position, numbers[scene.size()]);
      scene.push_back({position, {picture, picture + infer::kPictureSide * infer::kPictureSide}});
    }
  }
  return scenes;
}

const std::uint8_t* DrawnPictures::pixels(std::int64_t n, int position, float number) const {
  const std::int32_t named = instances_.pictures.defined() ? instances_.pictures[n][position] : -1;
  if (named >= 0) return pool_.pixels[named];
  if (named <= kFirstFile) return instances_.files[kFirstFile - named];
  const Table<std::int16_t>& shows = instances_.shows.defined() ? instances_.shows : instances_.labels;
  const int symbol = std::max<int>(0, shows[n][position]);
  return pool_.pixels[drawn(
      map_.class_of[static_cast<std::size_t>(position)][static_cast<std::size_t>(symbol)], number)];
}

std::int64_t DrawnPictures::drawn(int shown_class, float number) const {
  const auto [begin, end] = std::equal_range(pool_.classes.begin(), pool_.classes.end(), shown_class);
  const std::int64_t first = begin - pool_.classes.begin(), count = end - begin;
  const auto nth = static_cast<std::int64_t>(number * static_cast<float>(count));
  return std::min(first + std::min(nth, std::max<std::int64_t>(0, count - 1)), pool_.size() - 1);
}

}  // namespace as2::task
