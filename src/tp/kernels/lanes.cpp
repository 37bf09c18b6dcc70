// The CPU kernels, vectorised across the batch: W batch elements are transposed into lanes, so that every
// operation on a cell is one operation on W neighbouring numbers, whatever pattern the index arrays have.
// Compiled once per instruction set (AS2_ISA names the namespace); includes nothing that has inline code
// shared with other files, because the linker would keep only one copy of it.
//
// Exclusive, with r_j = 1 − q_j and c_j = ∂L/∂f_j the pull on the factor f_j = ∏_{l≠j} r_l. Carrying a
// product together with its derivative along c from both ends gives the gradient without division:
//   A_{j+1} = A_j r_j,  D_{j+1} = D_j r_j + c_j A_j     (A_0 = 1, D_0 = 0; from the other end likewise B, E)
//   f_j = A_j B_j,      ∂L/∂r_j = D_j B_j + A_j E_j
// Linear is the same with convolutions in place of products (see tp/chains.h): the gradient is the Hessian
// of P(holds) times c, obtained from the tangents α̇ and V̇ along c.
#include "tp/kernels/lanes.h"

namespace as2::tp::kernels::AS2_ISA {
namespace {

// W numbers, one per batch element, with element-wise arithmetic (the compilers' vector extension).
template <class T, int W>
struct LaneOf {
  typedef T Type __attribute__((vector_size(W * sizeof(T)), may_alias));
};
template <class T>
struct LaneOf<T, 1> {
  using Type = T;
};
template <class T, int W>
using Lane = typename LaneOf<T, W>::Type;

template <class L>
inline void clear(L* x, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) x[k] = L{};
}

// Rows of a [lanes, count] matrix into lanes; missing lanes are 0.
template <class T, int W>
void load(Lane<T, W>* lanes, const T* rows, std::int64_t count, std::int64_t used) {
  if (used < W) clear(lanes, count);
  T* flat = reinterpret_cast<T*>(lanes);
  for (std::int64_t w = 0; w < used; ++w) {
    for (std::int64_t k = 0; k < count; ++k) flat[k * W + w] = rows[w * count + k];
  }
}

template <class T, int W>
void add_back(const Lane<T, W>* lanes, T* rows, std::int64_t count, std::int64_t used) {
  const T* flat = reinterpret_cast<const T*>(lanes);
  for (std::int64_t w = 0; w < used; ++w) {
    for (std::int64_t k = 0; k < count; ++k) rows[w * count + k] += flat[k * W + w];
  }
}

// A block's data as lanes, laid out in its scratch memory.
template <class T, int W>
struct Data {
  Lane<T, W>* beliefs;   // [cells]
  Lane<T, W>* gradient;  // [cells]
  Lane<T, W>* sums;      // [families · cells]: sums to fill, or upstream
  Lane<T, W>* rest;
  Lane<T, W> part;  // of the loss, from the slot or chain at hand: small sums first keep float32's precision
  Lane<T, W> loss;  // or the largest residual

  template <class Layout>
  Data(const Layout& layout, const Block<T>& block) {
    beliefs = reinterpret_cast<Lane<T, W>*>(block.scratch);
    gradient = beliefs + layout.cells;
    sums = gradient + layout.cells;
    rest = sums + (uses_sums(block.task) ? layout.families * layout.cells : 0);
    load<T, W>(beliefs, block.beliefs, layout.cells, block.lanes);
    if (block.gradient) clear(gradient, layout.cells);
    if (block.task == Task::kFactors) clear(sums, layout.families * layout.cells);
    if (block.task == Task::kFactorsBackward) {
      load<T, W>(sums, block.upstream, layout.families * layout.cells, block.lanes);
    }
    part = loss = Lane<T, W>{};
  }

  void close_part() {
    loss += part;
    part = Lane<T, W>{};
  }

  template <class Layout>
  void write_back(const Layout& layout, const Block<T>& block) const {
    if (block.gradient) add_back<T, W>(gradient, block.gradient, layout.cells, block.lanes);
    if (block.task == Task::kFactors)
      add_back<T, W>(sums, block.sums, layout.families * layout.cells, block.lanes);
    if (block.task == Task::kLoss) add_back<T, W>(&loss, block.losses, 1, block.lanes);
    if (block.task == Task::kLargest) {
      const T* largest = reinterpret_cast<const T*>(&loss);
      for (std::int64_t w = 0; w < block.lanes; ++w) {
        if (largest[w] > block.losses[w]) block.losses[w] = largest[w];
      }
    }
  }

  // One term of value p and factor f: adds its squared residual, and its pull on p and on f.
  inline void take_term(const Lane<T, W>& f, std::int32_t cell, bool wants_gradient, Lane<T, W>& pull) {
    const Lane<T, W>& p = beliefs[cell];
    const Lane<T, W> missing = 1 - f;
    const Lane<T, W> residual = p * missing;
    part += residual * residual;
    if (!wants_gradient) return;
    gradient[cell] += 2 * residual * missing;
    pull -= 2 * residual * p;
  }

  inline void take_largest(const Lane<T, W>& f, std::int32_t cell) {
    const Lane<T, W> residual = beliefs[cell] * (1 - f);
    const Lane<T, W> size = residual < 0 ? -residual : residual;
    loss = size > loss ? size : loss;
  }

  inline void add_factor(const Lane<T, W>& f, std::int32_t family_cell, T weight) {
    sums[family_cell] += weight * f;
  }

  inline void add_upstream(std::int32_t family_cell, T weight, Lane<T, W>& pull) const {
    pull += weight * sums[family_cell];
  }
};

template <class T, int W>
void run_exclusive(const ExclusiveLayout& layout, const Block<T>& block) {
  Data<T, W> data(layout, block);
  const bool wants_gradient = block.gradient != nullptr;
  Lane<T, W>* rest_of = data.rest;                    // r
  Lane<T, W>* before = rest_of + layout.widest_slot;  // A
  Lane<T, W>* pull = before + layout.widest_slot;     // c
  Lane<T, W>* pulled = pull + layout.widest_slot;     // D
  for (std::int64_t slot = 0; slot < layout.slots; ++slot) {
    const std::int32_t first = layout.slot_members[slot];
    const std::int32_t size = layout.slot_members[slot + 1] - first;
    const std::int32_t* terms = layout.member_terms + first;
    Lane<T, W> running = Lane<T, W>{} + 1;
    for (std::int32_t m = 0; m < size; ++m) {
      Lane<T, W> r = Lane<T, W>{} + 1;
      for (std::int32_t t = terms[m]; t < terms[m + 1]; ++t) {
        r -= data.beliefs[layout.term_cell[t]];
      }
      rest_of[m] = r;
      before[m] = running;
      pull[m] = Lane<T, W>{};
      running *= r;
    }
    running = Lane<T, W>{} + 1;
    for (std::int32_t m = size - 1; m >= 0; --m) {
      Lane<T, W> f = before[m] * running;
      running *= rest_of[m];
      for (std::int32_t t = terms[m]; t < terms[m + 1]; ++t) {
        const T weight = static_cast<T>(layout.term_weight[t]);
        if (block.task == Task::kLoss) data.take_term(f, layout.term_cell[t], wants_gradient, pull[m]);
        if (block.task == Task::kLargest) data.take_largest(f, layout.term_cell[t]);
        if (block.task == Task::kFactors) data.add_factor(f, layout.term_family_cell[t], weight);
        if (block.task == Task::kFactorsBackward)
          data.add_upstream(layout.term_family_cell[t], weight, pull[m]);
      }
    }
    data.close_part();
    if (!wants_gradient) continue;
    Lane<T, W> tangent = Lane<T, W>{};
    for (std::int32_t m = 0; m < size; ++m) {
      pulled[m] = tangent;
      tangent = tangent * rest_of[m] + pull[m] * before[m];
    }
    running = Lane<T, W>{} + 1;
    tangent = Lane<T, W>{};
    for (std::int32_t m = size - 1; m >= 0; --m) {
      Lane<T, W> slope = pulled[m] * running + before[m] * tangent;
      tangent = tangent * rest_of[m] + pull[m] * running;
      running *= rest_of[m];
      for (std::int32_t t = terms[m]; t < terms[m + 1]; ++t) {
        data.gradient[layout.term_cell[t]] -= slope;
      }
    }
  }
  data.write_back(layout, block);
}

// One chain and the constraints on it.
template <class T, int W>
class ChainRun {
 public:
  ChainRun(const LinearLayout& layout, const Block<T>& block, Data<T, W>& data, std::int64_t chain)
      : layout_(layout),
        block_(block),
        data_(data),
        chain_(chain),
        first_(layout.chain_members[chain]),
        last_(layout.chain_members[chain + 1]),
        first_class_(layout.member_classes[first_]),
        final_states_(layout.chain_final_states[chain]) {
    alpha_ = data.rest;
    tangent_ = alpha_ + layout.most_chain_states;
    belief_ = tangent_ + layout.most_chain_states;
    pull_ = belief_ + layout.most_chain_classes;
    factor_ = pull_ + layout.most_chain_classes;
    value_ = factor_ + layout.most_chain_classes;
    value_after_ = value_ + layout.most_states;
    slope_ = value_after_ + layout.most_states;
    slope_after_ = slope_ + layout.most_states;
    guard_pull_ = slope_after_ + layout.most_states;
  }

  void run() {
    for (std::int32_t c = first_class_; c < layout_.member_classes[last_]; ++c) {
      Lane<T, W>& q = belief_[c - first_class_];
      q = Lane<T, W>{};
      for (std::int32_t k = layout_.class_cells[c]; k < layout_.class_cells[c + 1]; ++k) {
        q += data_.beliefs[layout_.cell[k]];
      }
    }
    prefixes();
    for (std::int32_t l = layout_.chain_linears[chain_]; l < layout_.chain_linears[chain_ + 1]; ++l)
      run_linear(l);
    data_.close_part();
  }

 private:
  // α of every level, stored one after another; α of the last level comes last.
  void prefixes() {
    Lane<T, W>* now = alpha_;
    now[0] = Lane<T, W>{} + 1;
    for (std::int32_t m = first_; m < last_; ++m) {
      const std::int32_t states = layout_.member_states[m];
      Lane<T, W>* after = now + states;
      clear(after, states_after(m));
      each_transition(
          m, [&](std::int32_t t, std::int32_t to, std::int32_t c) { after[to] += now[t] * belief_[c]; });
      now = after;
    }
    final_ = now;
  }

  // α̇: the derivative of α along the pulls.
  void tangents() {
    Lane<T, W>* now = tangent_;
    const Lane<T, W>* alpha = alpha_;
    now[0] = Lane<T, W>{};
    for (std::int32_t m = first_; m < last_; ++m) {
      const std::int32_t states = layout_.member_states[m];
      Lane<T, W>* after = now + states;
      clear(after, states_after(m));
      each_transition(m, [&](std::int32_t t, std::int32_t to, std::int32_t c) {
        after[to] += now[t] * belief_[c] + alpha[t] * pull_[c];
      });
      now = after;
      alpha += states;
    }
    final_tangent_ = now;
  }

  std::int32_t states_after(std::int32_t m) const {
    return m + 1 < last_ ? layout_.member_states[m + 1] : final_states_;
  }

  // visit(state, state after, class counted from the chain's first).
  template <class Visit>
  void each_transition(std::int32_t m, Visit visit) const {
    const std::int32_t begin = layout_.member_classes[m] - first_class_;
    const std::int32_t end = layout_.member_classes[m + 1] - first_class_;
    const std::int32_t* next = layout_.next + layout_.member_next[m];
    for (std::int32_t t = 0; t < layout_.member_states[m]; ++t) {
      for (std::int32_t c = begin; c < end; ++c) visit(t, *next++, c);
    }
  }

  // V of the last level.
  void start_values(std::int32_t l) {
    clear(value_after_, final_states_);
    each_guard(l, [&](std::int32_t, std::int32_t cell, std::int32_t state) {
      Lane<T, W>& out = value_after_[state];
      if (cell >= 0) {
        out += data_.beliefs[cell];
      } else {
        out += 1;
      }
    });
  }

  // visit(guard counted from the constraint's first, its cell or −1, an allowed final state).
  template <class Visit>
  void each_guard(std::int32_t l, Visit visit) const {
    const std::int32_t first = layout_.linear_guards[l];
    for (std::int32_t g = first; g < layout_.linear_guards[l + 1]; ++g) {
      for (std::int32_t k = layout_.guard_states[g]; k < layout_.guard_states[g + 1]; ++k) {
        visit(g - first, layout_.guard_cell[g], layout_.allowed_state[k]);
      }
    }
  }

  // The factors of all classes, walking V back.
  void class_factors(std::int32_t l) {
    start_values(l);
    const Lane<T, W>* alpha = final_;
    for (std::int32_t m = last_ - 1; m >= first_; --m) {
      alpha -= layout_.member_states[m];
      clear(value_, layout_.member_states[m]);
      clear(factor_ + layout_.member_classes[m] - first_class_,
            layout_.member_classes[m + 1] - layout_.member_classes[m]);
      each_transition(m, [&](std::int32_t t, std::int32_t to, std::int32_t c) {
        value_[t] += value_after_[to] * belief_[c];
        factor_[c] += value_after_[to] * alpha[t];
      });
      exchange(value_, value_after_);
    }
  }

  // The gradient of Σ pull · factor, walking V and V̇ back.
  void class_gradients(std::int32_t l) {
    start_values(l);
    clear(slope_after_, final_states_);
    each_guard(
        l, [&](std::int32_t g, std::int32_t, std::int32_t state) { slope_after_[state] += guard_pull_[g]; });
    const Lane<T, W>* alpha = final_;
    const Lane<T, W>* tangent = final_tangent_;
    each_guard(l, [&](std::int32_t, std::int32_t cell, std::int32_t state) {
      if (cell >= 0) data_.gradient[cell] += final_tangent_[state];
    });
    for (std::int32_t m = last_ - 1; m >= first_; --m) {
      alpha -= layout_.member_states[m];
      tangent -= layout_.member_states[m];
      clear(value_, layout_.member_states[m]);
      clear(slope_, layout_.member_states[m]);
      const std::int32_t begin = layout_.member_classes[m], end = layout_.member_classes[m + 1];
      Lane<T, W>* gradient = factor_ + begin - first_class_;
      clear(gradient, end - begin);
      each_transition(m, [&](std::int32_t t, std::int32_t to, std::int32_t c) {
        const Lane<T, W>& v = value_after_[to];
        const Lane<T, W>& s = slope_after_[to];
        value_[t] += v * belief_[c];
        slope_[t] += s * belief_[c] + v * pull_[c];
        factor_[c] += tangent[t] * v + alpha[t] * s;
      });
      for (std::int32_t c = begin; c < end; ++c) {
        for (std::int32_t k = layout_.class_cells[c]; k < layout_.class_cells[c + 1]; ++k) {
          data_.gradient[layout_.cell[k]] += gradient[c - begin];
        }
      }
      exchange(value_, value_after_);
      exchange(slope_, slope_after_);
    }
  }

  void run_linear(std::int32_t l) {
    const bool wants_gradient = block_.gradient != nullptr;
    if (block_.task != Task::kFactorsBackward) class_factors(l);
    // Every term gives its part of the result, and what pulls on its factor.
    std::int32_t term = layout_.linear_terms[l];
    for (std::int32_t c = first_class_; c < layout_.member_classes[last_]; ++c) {
      Lane<T, W>& pull = pull_[c - first_class_];
      pull = Lane<T, W>{};
      for (std::int32_t k = layout_.class_cells[c]; k < layout_.class_cells[c + 1]; ++k) {
        take(factor_[c - first_class_], layout_.cell[k], term++, wants_gradient, pull);
      }
    }
    const std::int32_t first_guard = layout_.linear_guards[l];
    for (std::int32_t g = first_guard; g < layout_.linear_guards[l + 1]; ++g) {
      guard_pull_[g - first_guard] = Lane<T, W>{};
      if (layout_.guard_cell[g] < 0) continue;
      Lane<T, W> f = Lane<T, W>{};
      for (std::int32_t k = layout_.guard_states[g]; k < layout_.guard_states[g + 1]; ++k) {
        f += final_[layout_.allowed_state[k]];
      }
      take(f, layout_.guard_cell[g], term++, wants_gradient, guard_pull_[g - first_guard]);
    }
    if (!wants_gradient) return;
    tangents();
    class_gradients(l);
  }

  void take(const Lane<T, W>& f, std::int32_t cell, std::int32_t term, bool wants_gradient,
            Lane<T, W>& pull) {
    const T weight = static_cast<T>(layout_.term_weight[term]);
    if (block_.task == Task::kLoss) data_.take_term(f, cell, wants_gradient, pull);
    if (block_.task == Task::kLargest) data_.take_largest(f, cell);
    if (block_.task == Task::kFactors) data_.add_factor(f, layout_.term_family_cell[term], weight);
    if (block_.task == Task::kFactorsBackward)
      data_.add_upstream(layout_.term_family_cell[term], weight, pull);
  }

  static void exchange(Lane<T, W>*& a, Lane<T, W>*& b) {
    Lane<T, W>* c = a;
    a = b;
    b = c;
  }

  const LinearLayout& layout_;
  const Block<T>& block_;
  Data<T, W>& data_;
  const std::int64_t chain_;
  const std::int32_t first_, last_, first_class_, final_states_;
  Lane<T, W>*alpha_, *tangent_;                              // α and α̇ of all levels
  Lane<T, W>*belief_, *pull_, *factor_;                      // per class: q, c, and f or its gradient
  Lane<T, W>*value_, *value_after_, *slope_, *slope_after_;  // V and V̇ of two neighbouring levels
  Lane<T, W>* guard_pull_;
  Lane<T, W>*final_ = nullptr, *final_tangent_ = nullptr;  // α and α̇ of the last level
};

template <class T, int W>
void run_linear(const LinearLayout& layout, const Block<T>& block) {
  Data<T, W> data(layout, block);
  for (std::int64_t chain = 0; chain < layout.chains; ++chain)
    ChainRun<T, W>(layout, block, data, chain).run();
  data.write_back(layout, block);
}

}  // namespace

template <>
Version<float, ExclusiveLayout> version() {
  return {run_exclusive<float, block_width<float>()>, run_exclusive<float, 1>};
}
template <>
Version<double, ExclusiveLayout> version() {
  return {run_exclusive<double, block_width<double>()>, run_exclusive<double, 1>};
}
template <>
Version<float, LinearLayout> version() {
  return {run_linear<float, block_width<float>()>, run_linear<float, 1>};
}
template <>
Version<double, LinearLayout> version() {
  return {run_linear<double, block_width<double>()>, run_linear<double, 1>};
}

}  // namespace as2::tp::kernels::AS2_ISA
