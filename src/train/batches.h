// A task's examples as tensors on the device, and batches of them.
//
// A batch is a pure function of (seed, epoch, index): the order of an epoch, the symmetry an example is seen
// under, the pictures drawn for it and their distortion all come from numbers seeded with those three, so a
// resumed run sees what an unbroken one would have seen. Numbers are drawn for the whole batch and then cut
// to the rank's rows, so that N processes see together what one would.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

namespace as2::train {

// Pictures, sorted by class.
struct ImagePool {
  torch::Tensor pixels;            // [images, 28, 28] uint8, ink 255 on paper 0
  torch::Tensor classes;           // [images] int64, ascending
  std::vector<std::string> names;  // of the classes: the symbols they show
  torch::Tensor place;             // [images] int64: where the i-th picture of the source now stands

  // Sorts by class.
  static ImagePool of(const torch::Tensor& pixels, const torch::Tensor& classes,
                      std::vector<std::string> names);
  ImagePool to(torch::Device device) const;
};

// Examples: what every position holds, and which positions are evidence.
struct Instances {
  torch::Tensor labels;    // [instances, positions] int16 symbols; −1: not known
  torch::Tensor evidence;  // [instances, positions] bool
  torch::Tensor
      pictures;  // [instances, positions] int32 indices into the pool, −1: none; undefined: drawn by label

  std::int64_t size() const { return labels.size(0); }
  Instances to(torch::Device device) const;
};

// What a program and its pictures have to do with one another.
struct PictureMap {
  std::vector<int> positions;  // that have pictures when they are evidence
  torch::Tensor class_of;  // [positions, symbols] int64 class of a symbol; the number of classes where none
};

struct Batch {
  torch::Tensor labels;          // [batch, positions] int64, 0 where not known
  torch::Tensor known;           // [batch, positions] bool
  torch::Tensor evidence;        // [batch, positions] bool
  torch::Tensor slot_positions;  // [rows, slots] int64: the positions with pictures, padded with 0
  torch::Tensor slot_mask;       // [rows, slots] bool
  torch::Tensor pixels;  // [rows, slots, 28, 28] float in 0 … 1; rows ≤ batch: the first rows only; may be
                         // undefined

  // Takes another batch's values into the same storage, made at the first call: what a captured step reads.
  void copy_from(const Batch& other);
  // [rows, slots] int64: the class that each slot's picture shows, from the labels and PictureMap::class_of.
  torch::Tensor shown(const torch::Tensor& class_of) const;
};

struct BatchOptions {
  std::int64_t batch = 256;       // over all ranks
  std::int64_t picture_rows = 0;  // the first rows of the whole batch get pictures
  std::uint64_t seed = 0;
  int rank = 0, world = 1;
  bool shuffle = true;
  double distortion = 0;  // strength of the random changes to pictures; 0: none
  int symmetry_box = 0;   // Sudoku with boxes of this side: a random symmetry each; 0: none
};

class Batches {
 public:
  Batches(Instances instances, ImagePool pool, PictureMap map, const BatchOptions& options,
          torch::Device device);

  // Full batches an epoch; the rest of the examples has its turn in another epoch. Without shuffling the last
  // batch is filled up with the first examples.
  std::int64_t batches() const;
  std::int64_t size() const { return instances_.size(); }
  // Rows of this rank a batch, and how many of the first `count` rows of the whole batch are among them.
  std::int64_t rows() const { return options_.batch / options_.world; }
  std::int64_t own(std::int64_t count) const {
    return (count + options_.world - 1 - options_.rank) / options_.world;
  }
  Batch batch(std::int64_t epoch, std::int64_t index);

 private:
  const torch::Tensor& order(std::int64_t epoch);
  // Every world-th row: the first rows of the whole batch are spread over the ranks as its first rows.
  torch::Tensor own_rows(const torch::Tensor& all) const;
  void apply_symmetry(Batch& batch, std::int64_t epoch, std::int64_t index) const;
  void add_pictures(Batch& batch, const torch::Tensor& rows, std::int64_t epoch, std::int64_t index) const;

  Instances instances_;
  ImagePool pool_;
  PictureMap map_;
  BatchOptions options_;
  torch::Device device_;
  std::int64_t slots_ = 0;
  torch::Tensor class_begin_, class_count_;  // [classes + 1] int64
  torch::Tensor may_have_picture_;           // [positions] bool
  torch::Tensor line_orders_;                // [orders, side] int64: row orders that keep bands together
  torch::Tensor order_;                      // [instances] int64 on the device, of order_epoch_
  std::int64_t order_epoch_ = -1;
};

// Random affine changes (turn, scale, shear, shift) and a smooth elastic field. `images` [n, 28, 28] in 0 …
// 1; `noise` [n, 6 + 2·7·7] uniform in 0 … 1.
torch::Tensor distorted(const torch::Tensor& images, const torch::Tensor& noise, double strength);
constexpr std::int64_t kDistortionNoise = 6 + 2 * 7 * 7;

}  // namespace as2::train
