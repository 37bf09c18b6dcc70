#include "decode/row_search.h"

#include <algorithm>
#include <array>

namespace as2::decode {

// The search, in the number of words that a plane has.
class RowSearch::Engine {
 public:
  virtual ~Engine() = default;
  virtual RowResult run(const std::vector<std::int64_t>& losses, const Problem& problem,
                        const std::vector<Pin>& pins, std::size_t models, std::int64_t nodes) = 0;
};

namespace {

template <int kWords>
class RowEngine : public RowSearch::Engine {
 public:
  explicit RowEngine(const RowTables& tables)
      : t_(tables),
        planes_(tables.planes),
        size_(tables.state_size()),
        states_((static_cast<std::size_t>(tables.positions) + 2) * size_),
        frames_(static_cast<std::size_t>(tables.positions) + 2) {}

  RowResult run(const std::vector<std::int64_t>& losses, const Problem& problem, const std::vector<Pin>& pins,
                std::size_t models, std::int64_t nodes) override {
    RowResult result;
    std::uint64_t* root = states_.data();
    std::copy(t_.root.begin(), t_.root.end(), root);
    result.complete = !keep_lossless(root, losses, problem, pins) || !settle(root);
    if (result.complete) return result;
    for (std::size_t depth = 0;;) {
      const std::uint64_t* state = states_.data() + depth * size_;
      const int row = choose(state);
      if (row < 0) {
        result.found.push_back(assignment(state));
        if (result.found.size() == models) return result;
      }
      frames_[depth] = {row, row < 0 ? planes_ : 0};
      while (!descend(depth)) {
        if (depth == 0) {
          result.complete = true;
          return result;
        }
        --depth;
      }
      if (++result.nodes > nodes) return result;
      ++depth;
    }
  }

 private:
  using Words = std::array<std::uint64_t, kWords>;
  struct Frame {
    int row;
    int plane;  // the next to try
  };

  static std::uint64_t bit_of(int row) { return std::uint64_t{1} << (row % 64); }
  bool left(const std::uint64_t* state, int row, int plane) const {
    return (state[plane * kWords + row / 64] & bit_of(row)) != 0;
  }
  const std::uint64_t* settled(const std::uint64_t* state) const { return state + planes_ * kWords; }

  void fix(std::uint64_t* state, int value) const {
    const int size = planes_ * kWords;
    const std::uint64_t* keep = t_.keep.data() + static_cast<std::ptrdiff_t>(value) * size;
    for (int k = 0; k < size; ++k) state[k] &= keep[k];
    const std::uint64_t* settles = t_.settles.data() + static_cast<std::ptrdiff_t>(value) * kWords;
    for (int w = 0; w < kWords; ++w) state[size + w] |= settles[w];
  }

  void remove(std::uint64_t* state, int value) const {
    for (const int* place = t_.places.first(value); place != t_.places.last(value); ++place) {
      const int row = *place / planes_;
      state[*place % planes_ * kWords + row / 64] &= ~bit_of(row);
    }
  }

  // Leaves the values without a loss; false if a position has none.
  bool keep_lossless(std::uint64_t* state, const std::vector<std::int64_t>& losses, const Problem& problem,
                     const std::vector<Pin>& pins) const {
    for (int i = 0; i < t_.positions; ++i) {
      const int begin = problem.value_begin[i];
      const int end = problem.value_begin[i + 1];
      std::int64_t all = 0;
      for (int v = begin; v < end; ++v) all |= losses[v];
      if (all == 0) continue;
      int free = 0;
      int last = -1;
      for (int v = begin; v < end; ++v) {
        free += losses[v] == 0 ? 1 : 0;
        last = losses[v] == 0 ? v : last;
      }
      if (free == 1) {
        if (!left(state, i, last - begin)) return false;
        fix(state, last);
        continue;
      }
      for (int v = begin; v < end; ++v) {
        if (losses[v] != 0) remove(state, v);
      }
    }
    for (const Pin& pin : pins) {
      if (!left(state, pin.position, pin.symbol)) return false;
      fix(state, problem.value_begin[pin.position] + pin.symbol);
    }
    return true;
  }

  // Fixes single values, and removes what locked candidates exclude, until nothing changes; false on a
  // conflict.
  bool settle(std::uint64_t* state) const {
    for (;;) {
      Words one{}, more{};
      for (int k = 0; k < planes_; ++k) {
        const std::uint64_t* plane = state + k * kWords;
        for (int w = 0; w < kWords; ++w) {
          more[w] |= one[w] & plane[w];
          one[w] |= plane[w];
        }
      }
      const std::uint64_t* done = settled(state);
      std::uint64_t lost = 0;
      std::uint64_t any = 0;
      Words single;
      for (int w = 0; w < kWords; ++w) {
        lost |= t_.all[w] & ~one[w];
        single[w] = one[w] & ~more[w] & ~done[w];
        any |= single[w];
      }
      if (lost != 0) return false;
      if (any == 0) {
        if (!remove_locked(state)) return true;
        continue;
      }
      for (int w = 0; w < kWords; ++w) {
        for (std::uint64_t rest = single[w]; rest != 0; rest &= rest - 1) {
          const std::uint64_t bit = rest & (~rest + 1);
          if (done[w] & bit) continue;  // settled by another row's single value
          int plane = 0;
          while (plane < planes_ && !(state[plane * kWords + w] & bit)) ++plane;
          if (plane == planes_) return false;
          fix(state, t_.value_at[(64 * w + __builtin_ctzll(bit)) * planes_ + plane]);
        }
      }
    }
  }

  // True if something was removed.
  bool remove_locked(std::uint64_t* state) const {
    std::array<Words, RowTables::kMostShared> outside;  // per entry of `shared`: rows with values elsewhere
    for (std::size_t e = 0; e < t_.shared.size(); ++e) {
      outside[e] = {};
      for (int k = 0; k < planes_; ++k) {
        if ((t_.shared[e].planes >> k) & 1U) continue;
        for (int w = 0; w < kWords; ++w) outside[e][w] |= state[k * kWords + w];
      }
    }
    bool removed = false;
    const std::uint64_t* done = settled(state);
    for (std::size_t e = 0; e < t_.shared.size(); ++e) {
      const RowTables::Shared& shared = t_.shared[e];
      for (int w = 0; w < kWords; ++w) {
        for (std::uint64_t rest = shared.rows[w] & ~outside[e][w] & ~done[w]; rest != 0; rest &= rest - 1) {
          const int row = 64 * w + __builtin_ctzll(rest);
          const int partner = shared.partner[row];
          const auto theirs = static_cast<std::size_t>(shared.theirs[row]);
          if (!(outside[theirs][partner / 64] & bit_of(partner))) continue;
          for (int k = 0; k < planes_; ++k) {
            if (((t_.shared[theirs].planes >> k) & 1U) || !left(state, partner, k)) continue;
            remove(state, t_.value_at[partner * planes_ + k]);
            removed = true;
          }
        }
      }
    }
    return removed;
  }

  // A row with two values left, else the position with the fewest; -1 if every row is settled.
  int choose(const std::uint64_t* state) const {
    Words one{}, two{}, more{};
    for (int k = 0; k < planes_; ++k) {
      const std::uint64_t* plane = state + k * kWords;
      for (int w = 0; w < kWords; ++w) {
        more[w] |= two[w] & plane[w];
        two[w] |= one[w] & plane[w];
        one[w] |= plane[w];
      }
    }
    const std::uint64_t* done = settled(state);
    for (int w = 0; w < kWords; ++w) {
      const std::uint64_t pairs = two[w] & ~more[w] & ~done[w];
      if (pairs != 0) return 64 * w + __builtin_ctzll(pairs);
    }
    int best = -1;
    int least = planes_ + 1;
    for (int i = 0; i < t_.positions; ++i) {
      if (done[i / 64] & bit_of(i)) continue;
      int count = 0;
      for (int k = 0; k < planes_; ++k) count += left(state, i, k) ? 1 : 0;
      if (count < least) {
        least = count;
        best = i;
      }
    }
    return best;
  }

  // Goes on with the next value of the row that this depth has chosen; false if there is none.
  bool descend(std::size_t depth) {
    const std::uint64_t* state = states_.data() + depth * size_;
    std::uint64_t* next = states_.data() + (depth + 1) * size_;
    Frame& frame = frames_[depth];
    while (frame.plane < planes_) {
      const int plane = frame.plane++;
      if (!left(state, frame.row, plane)) continue;
      std::copy(state, state + size_, next);
      fix(next, t_.value_at[frame.row * planes_ + plane]);
      if (settle(next)) return true;
    }
    return false;
  }

  compile::Assignment assignment(const std::uint64_t* state) const {
    compile::Assignment result(static_cast<std::size_t>(t_.positions), 0);
    for (int i = 0; i < t_.positions; ++i) {
      int plane = 0;
      while (!left(state, i, plane)) ++plane;
      result[i] = plane;
    }
    return result;
  }

  const RowTables& t_;
  const int planes_;
  const std::size_t size_;
  std::vector<std::uint64_t> states_;
  std::vector<Frame> frames_;
};

std::unique_ptr<RowSearch::Engine> engine_of(const RowTables& tables) {
  switch (tables.words) {
    case 1:
      return std::make_unique<RowEngine<1>>(tables);
    case 2:
      return std::make_unique<RowEngine<2>>(tables);
    case 4:
      return std::make_unique<RowEngine<4>>(tables);
    case 6:
      return std::make_unique<RowEngine<6>>(tables);
    default:
      return std::make_unique<RowEngine<8>>(tables);
  }
}

}  // namespace

RowSearch::RowSearch(std::shared_ptr<const RowTables> tables)
    : tables_(std::move(tables)), engine_(engine_of(*tables_)) {}

RowSearch::~RowSearch() = default;

RowResult RowSearch::run(const std::vector<std::int64_t>& losses, const Problem& problem,
                         const std::vector<Pin>& pins, std::size_t models, std::int64_t nodes) {
  return engine_->run(losses, problem, pins, models, nodes);
}

}  // namespace as2::decode
