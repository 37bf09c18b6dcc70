// A task's examples as tensors on the device, and batches of them.
//
// A batch is a pure function of (seed, epoch, index): the order of an epoch, the symmetry an example is seen
// under, the pictures drawn for it and their distortion all come from numbers seeded with those three, so a
// resumed run sees what an unbroken one would have seen. Numbers are drawn for the whole batch and then cut
// to the rank's rows, so that N processes see together what one would.
#pragma once

#include <optional>

#include "infer/tensor/batch.h"
#include "task/tensor/instances.h"
#include "task/tensor/symmetries.h"

namespace as2::task {

using infer::Batch;

struct BatchOptions {
  std::int64_t batch = 256;       // over all ranks
  std::int64_t picture_rows = 0;  // the first rows of the whole batch get pictures
  std::uint64_t seed = 0;
  int rank = 0, world = 1;
  bool shuffle = true;
  double distortion = 0;    // strength of the random changes to pictures; 0: none
  bool symmetries = false;  // Sudoku: a random symmetry each
};

// Examples that take the place of others at random, each time one is drawn.
struct ListedInstances {
  Instances instances;
  double share = 0;  // of every batch
  double hints = 0;  // every second one shows up to this share of its hidden positions as further evidence
};

class Batches {
 public:
  Batches(const Instances& instances, const ImagePool& pool, const infer::PictureMap& map,
          const BatchOptions& options, torch::Device device, const ListedInstances& listed = {});

  // Full batches per epoch; the rest of the examples has its turn in another epoch. Without shuffling the
  // last batch is filled up with the first examples.
  std::int64_t batches() const;
  std::int64_t size() const { return instances_.size(); }
  // Rows of this rank in a batch, and how many of the first `count` rows of the whole batch are among them.
  std::int64_t rows() const { return options_.batch / options_.world; }
  std::int64_t own(std::int64_t count) const {
    return (count + options_.world - 1 - options_.rank) / options_.world;
  }
  Batch batch(std::int64_t epoch, std::int64_t index);

 private:
  const torch::Tensor& order(std::int64_t epoch);
  // Every world-th row: the first rows of the whole batch are spread over the ranks as its first rows.
  torch::Tensor own_rows(const torch::Tensor& all) const;
  // Numbers in 0 … 1 on the device, the same for the same seed.
  torch::Tensor uniform(torch::IntArrayRef shape, std::uint64_t seed);
  // [positions], or [rows, positions] where examples have evidence without a picture.
  torch::Tensor may_have_picture(const torch::Tensor& rows) const;
  void mix_in_listed(Batch& batch, std::int64_t epoch, std::int64_t index);
  void apply_symmetry(Batch& batch, std::int64_t epoch, std::int64_t index);
  void add_pictures(Batch& batch, const torch::Tensor& rows, std::int64_t epoch, std::int64_t index);

  InstanceTensors instances_, listed_;
  double listed_share_ = 0, listed_hints_ = 0;
  torch::Tensor pixels_;  // [images, 28, 28] uint8; undefined: there are none
  BatchOptions options_;
  torch::Device device_;
  at::Generator generator_;  // our own: LibTorch's default one is the process's
  std::int64_t slots_ = 0;
  torch::Tensor class_begin_, class_count_;  // [classes + 1] int64
  torch::Tensor may_have_picture_;           // [positions] bool
  torch::Tensor no_picture_;                 // [instances, positions] bool; undefined: all that may have one
  torch::Tensor class_of_;                   // class_tensor() of the map
  std::optional<Symmetries> symmetries_;
  torch::Tensor order_;  // [instances] int64 on the device, of order_epoch_
  std::int64_t order_epoch_ = -1;
};

// Random affine changes (turn, scale, shear, shift) and a smooth elastic field. `images` [n, 28, 28] in 0 …
// 1; `noise` [n, 6 + 2·7·7] uniform in 0 … 1.
torch::Tensor distorted(const torch::Tensor& images, const torch::Tensor& noise, double strength);
constexpr std::int64_t kDistortionNoise = 6 + 2 * 7 * 7;

}  // namespace as2::task
