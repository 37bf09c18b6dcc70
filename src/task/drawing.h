// The pictures that stand at the evidence of examples, without LibTorch: those that Batches draws on the CPU
// when it does not shuffle (task/tensor/batches.h), number for number.
#pragma once

#include <cstdint>
#include <vector>

#include "as2/solver.h"
#include "infer/pictures.h"
#include "random.h"
#include "task/instances.h"

namespace as2::task {

// A stream of random numbers for one batch of an epoch; each purpose has its own.
inline std::uint64_t stream_of(std::int64_t epoch, std::int64_t index, std::uint64_t purpose) {
  return scatter(scatter(static_cast<std::uint64_t>(epoch) * 8 + purpose) ^
                 static_cast<std::uint64_t>(index));
}
inline std::uint64_t picture_seed(std::uint64_t seed, std::int64_t epoch, std::int64_t index) {
  return scatter(seed ^ stream_of(epoch, index, 2));
}

// Whether what an example is given at a position is a picture; else it is the value itself.
bool has_picture(const Instances& instances, const infer::PictureMap& map, std::int64_t n, int position);

// Whether any picture of the examples is left to chance: those of tuples, images and files are named.
bool draws_pictures(const Instances& instances, const infer::PictureMap& map);

class DrawnPictures {
 public:
  // Keeps references. What is drawn depends on `batch`, the number of examples at once.
  DrawnPictures(const Instances& instances, const ImagePool& pool, const infer::PictureMap& map,
                std::int64_t batch, std::uint64_t seed);

  std::int64_t batches() const { return (instances_.size() + batch_ - 1) / batch_; }
  // One scene for each example of a batch; the last batch may have fewer.
  std::vector<infer::Scene> batch(std::int64_t index) const;

 private:
  std::int64_t drawn(int shown_class, float number) const;
  const std::uint8_t* pixels(std::int64_t n, int position, float number) const;

  const Instances& instances_;
  const ImagePool& pool_;
  const infer::PictureMap& map_;
  std::int64_t batch_, slots_ = 0;  // the most pictures of an example
  std::uint64_t seed_;
};

}  // namespace as2::task
