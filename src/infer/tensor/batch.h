// Instances as tensors on a device: what a network reads.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "infer/pictures.h"

namespace as2::infer {

// What a position shows, what its label is and what may be used of it are kept apart: hiding a label changes
// no picture, and what may not be used is not in the batch.
struct Batch {
  torch::Tensor labels;    // [batch, positions] int64, 0 where neither known nor observed
  torch::Tensor known;     // [batch, positions] bool: labels that cross-entropy may use
  torch::Tensor observed;  // [batch, positions] bool: labels that constraint terms and likelihoods are given
  torch::Tensor atoms;     // [batch, atoms] int8: 1 and 0, observed to hold or not to; −1: not observed
  torch::Tensor evidence;  // [batch, positions] bool
  torch::Tensor shows;     // [batch, positions] int64: what pictures and given values show, 0 where nothing
  torch::Tensor given;     // [batch, positions] bool: evidence whose value may stand for its picture
  torch::Tensor slot_positions;  // [rows, slots] int64: the positions with pictures, padded with 0
  torch::Tensor slot_mask;       // [rows, slots] bool
  torch::Tensor pixels;  // [rows, slots, 28, 28] float in 0 … 1; rows ≤ batch: the first rows only; may be
                         // undefined

  // Takes another batch's values into the same storage, made at the first call: what a captured step reads.
  void copy_from(const Batch& other);
  // Takes the marked rows (`rows` [batch] bool) of another batch into the same storage.
  void take_rows(const Batch& other, const torch::Tensor& rows);
  // Those that are defined, under their names, sharing storage.
  std::vector<std::pair<std::string, torch::Tensor>> tensors() const;
  // [rows, slots] int64: the class that shows the symbol which `symbols` [batch, positions] has at each slot,
  // from class_tensor().
  torch::Tensor classes_at_slots(const torch::Tensor& symbols, const torch::Tensor& class_of) const;
};

// The first of `flags` [batch], one for each row of `like`, shaped to be broadcast over it.
torch::Tensor by_row(const torch::Tensor& flags, const torch::Tensor& like);

// [positions, symbols] int64: the class that shows a symbol; the number of classes where none does.
torch::Tensor class_tensor(const PictureMap& map, torch::Device device);

// One-hot labels where known, uniform over the domain elsewhere. [batch, positions, symbols]; `mask`
// [positions, symbols] bool: inside a domain.
torch::Tensor label_beliefs(const torch::Tensor& labels, const torch::Tensor& known,
                            const torch::Tensor& mask);

}  // namespace as2::infer
