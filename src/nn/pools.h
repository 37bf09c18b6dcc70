// Pooling over sets of atoms, and handing what was pooled back to them.
//
// An atom is a (symbol, position); a pool is any set of atoms. To pool along the groups of a program, a pool
// is a (group, symbol); to pool over symbols, it is a position. Both are the same two operations on different
// lists.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace as2::nn {

struct Pools {
  std::int64_t atoms = 0, pools = 0;
  torch::Tensor members;       // [pools, width] int32 atoms, padded with −1
  torch::Tensor member_share;  // [pools, width] float32: the weight of the pool's message at that member
  torch::Tensor inverse_size;  // [pools] float32: 1 / number of members; 0 for an empty pool
  torch::Tensor holders;       // [atoms, degree] int32 pools that hold the atom, padded with −1
  torch::Tensor holder_share;  // [atoms, degree] float32: the weight of that pool's message here

  // `lists` holds the members of each pool, `kinds` its kind: an atom takes the mean over the pools of one
  // kind that hold it, and the sum over kinds.
  static Pools of(std::int64_t atoms, const std::vector<std::vector<std::int32_t>>& lists,
                  const std::vector<std::int64_t>& kinds);
  Pools to(torch::Device device) const;
};

// [pools, batch, 2·channels]: mean and maximum of `x` [batch, atoms, channels] over each pool; 0 for an empty
// one. Members that tie for the maximum share its gradient equally.
torch::Tensor pool(const torch::Tensor& x, const Pools& pools);

// `x` [batch, atoms, channels] plus, at each atom, the `messages` [pools, batch, channels] of the pools that
// hold it, weighted by their shares.
torch::Tensor spread(const torch::Tensor& x, const torch::Tensor& messages, const Pools& pools);

}  // namespace as2::nn
