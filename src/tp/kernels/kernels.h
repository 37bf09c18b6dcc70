// The tuned kernels' interface: soft T_P of exclusive groups and linear constraints over flat arrays, forward
// and analytic backward. A layout is a plain view of index arrays, in the memory of the device the kernel
// runs on; whoever owns the arrays (see tp/fused.h) keeps them alive during the call.
//
// Beliefs are [batch, cells], cell = position · symbols + symbol, contiguous. CSR arrays have one entry more
// than what they index, the last being the end.
#pragma once

#include <cstdint>

namespace as2::tp::kernels {

// At-most-one slots: slot → members → terms. A member's belief is the sum over its terms' cells, its factor
// the product of (1 − belief) over the slot's other members.
struct ExclusiveLayout {
  std::int64_t cells = 0, families = 0, slots = 0, terms = 0;
  std::int64_t widest_slot = 0;                    // most members of a slot
  const std::int32_t* slot_members = nullptr;      // [slots + 1]
  const std::int32_t* member_terms = nullptr;      // [members + 1]
  const std::int32_t* term_cell = nullptr;         // [terms]
  const std::int32_t* term_family_cell = nullptr;  // [terms]: family · cells + cell
  const double* term_weight = nullptr;             // [terms]: its share of the mean in leave_one_out
};

// Linear constraints over chains: chain → members (levels) → classes (distinct values) → cells. See
// tp/chains.h for α and V. A constraint's terms are its chain's class cells in order, then its guard's.
struct LinearLayout {
  std::int64_t cells = 0, families = 0, chains = 0, linears = 0;
  std::int64_t most_states = 0;                      // on one level
  std::int64_t most_chain_states = 0;                // on all levels of one chain together
  std::int64_t most_chain_classes = 0;               // of all members of one chain together
  std::int64_t most_guards = 0;                      // guard symbols of one constraint
  const std::int32_t* chain_members = nullptr;       // [chains + 1]
  const std::int32_t* chain_linears = nullptr;       // [chains + 1]: constraints are sorted by chain
  const std::int32_t* chain_final_states = nullptr;  // [chains]
  const std::int32_t* member_classes = nullptr;      // [members + 1]
  const std::int32_t* member_states = nullptr;       // [members]: states before the member
  const std::int64_t* member_next = nullptr;         // [members]: where its transitions begin in `next`
  const std::int32_t* next = nullptr;                // [states before · classes]: state after
  const std::int32_t* class_cells = nullptr;         // [classes + 1]
  const std::int32_t* cell = nullptr;                // [class cells]
  const std::int32_t* linear_guards = nullptr;       // [linears + 1]
  const std::int32_t* guard_cell = nullptr;          // [guards]; −1: always (no guard)
  const std::int32_t* guard_states = nullptr;        // [guards + 1]
  const std::int32_t* allowed_state = nullptr;       // final states the guard's symbol allows
  const std::int32_t* linear_terms = nullptr;        // [linears + 1]
  const std::int32_t* term_family_cell = nullptr;    // [terms]
  const double* term_weight = nullptr;               // [terms]
};

// Defined for T = float or double and Layout = ExclusiveLayout or LinearLayout. All but largest_residual add
// to what their output holds.
namespace cpu {

// `losses` [batch] += Σ_terms (p − p·factor)²; `gradient` [batch, cells] += its derivative (null: not
// wanted).
template <class T, class Layout>
void loss(const Layout& layout, std::int64_t batch, const T* beliefs, T* losses, T* gradient);
// `residuals` [batch] = the larger of itself and the largest |p − p·factor|.
template <class T, class Layout>
void largest_residual(const Layout& layout, std::int64_t batch, const T* beliefs, T* residuals);
// `sums` [batch, families · cells] += weight · factor of every term.
template <class T, class Layout>
void factors(const Layout& layout, std::int64_t batch, const T* beliefs, T* sums);
// `gradient` [batch, cells] += the derivative of Σ upstream · sums, `upstream` [batch, families · cells].
template <class T, class Layout>
void factors_backward(const Layout& layout, std::int64_t batch, const T* beliefs, const T* upstream,
                      T* gradient);

}  // namespace cpu

}  // namespace as2::tp::kernels
