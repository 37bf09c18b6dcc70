// Sums of independent choices (Eq. 2 and its generalisations): prefix and suffix convolution over reachable
// sums.
//
// A chain adds one member after another; its states after l members are the sums reachable by then, so that
// large weights cost nothing while few sums are reachable. With q_l(d) the probability that member l takes
// its d-th distinct value:
//   α_{l+1}(t) = Σ_d q_l(d) α_l(t − d)            P(sum of the first l+1 members = t)
//   V_l(t)     = Σ_d q_l(d) V_{l+1}(t + d)        P(the constraint holds | sum of the first l members = t)
//   V_n(t)     = Σ_g p(g) [t ∈ allowed(g)]        g: the guard's symbols
// The leave-one-out factor of member l at d is Σ_t α_l(t) V_{l+1}(t + d), the guard's at g is
// Σ_{t ∈ allowed(g)} α_n(t), and P(holds) is Σ_t α_n(t) V_n(t): O(N²k²) for N members of k values. Leaving
// one out by convolving all others anew would cost O(N³k²); dividing it out is unstable.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "as2/constraint_program.h"
#include "tp/chain_spec.h"
#include "tp/index_tables.h"

namespace as2::tp {

// Chains of similar size side by side, one per row. On level l, state index states[l] is a dummy of weight
// zero.
struct Chains {
  std::int64_t rows = 0, members = 0, classes = 0;
  std::vector<std::int64_t> states;     // per level 0 … members: the largest number of states in any row
  IndexTable inputs;                    // [rows · members, classes]
  std::vector<torch::Tensor> previous;  // per level l: [rows · states[l+1] · classes] int32 → level l, flat

  // Host only: the padded chains and the sums reachable after each number of members.
  std::vector<ChainSpec> specs;
  std::vector<std::vector<std::vector<std::int64_t>>> reached;  // [row][level]

  static Chains of(std::vector<ChainSpec> specs, Reference zero, Reference one);
  void move(torch::Device device, torch::ScalarType type);
};

// How probabilities add and multiply: as they are, or as logarithms.
struct Semiring {
  double zero, one;
  torch::Tensor (*times)(const torch::Tensor&, const torch::Tensor&);
  torch::Tensor (*sum)(const torch::Tensor&, std::int64_t dim);
};
extern const Semiring kReal;
extern const Semiring kLogarithmic;  // zero is −1e30, so that nothing turns NaN

// α_0 … α_n, each [batch, rows, states[l]]; `probabilities` is [batch, rows, members, classes].
std::vector<torch::Tensor> prefixes(const Chains& chains, const torch::Tensor& probabilities,
                                    const Semiring& semiring);

// Linear constraints over one Chains table.
struct Linears {
  Chains chains;
  std::int64_t rows = 0;
  std::int64_t guard_symbols = 0;
  torch::Tensor chain_of;           // [rows]
  std::vector<torch::Tensor> next;  // per level l: [rows · states[l] · classes] int32 → level l+1, flat
  IndexTable guards;                // [rows, guard_symbols]
  std::int64_t states_width = 0, guards_width = 0;
  torch::Tensor
      guard_states;  // [rows · guard_symbols · states_width] → α_n of the row's chain, flat, dummy last
  torch::Tensor
      state_guards;  // [rows · states[n] · guards_width] → the row's guard symbols, flat, dummy last

  void move(torch::Device device, torch::ScalarType type);
};

struct LinearSpec {
  std::int64_t chain = 0;
  std::vector<Reference> guard;  // one "always" reference where there is no guard
  std::vector<compile::ValueSet> allowed;
};
Linears linears_of(const std::vector<ChainSpec>& chains, const std::vector<LinearSpec>& specs, Reference zero,
                   Reference one);

struct LinearFactors {
  torch::Tensor members;  // [batch, rows, members, classes]
  torch::Tensor guards;   // [batch, rows, guard_symbols]
  torch::Tensor holds;    // [batch, rows]
};
// `values` is the vector of values, [batch, n].
LinearFactors linear_factors(const Linears& linears, const torch::Tensor& values);
// [batch, rows]: log P(holds), in logarithms throughout: right where P underflows, with the gradient
// factor / P even at beliefs that are exactly 0 (computed beside the value, not through a clamp).
torch::Tensor log_holds(const Linears& linears, const torch::Tensor& values);

}  // namespace as2::tp
