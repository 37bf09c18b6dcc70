// The search behind board.cpp, one instance per shape of box.
//
// Used digits are one bitmask per row, column and box, so a cell's candidates are one `or` away. Propagation
// alternates sweeps for naked singles with sweeps for hidden singles (a digit with one place left in a unit,
// found by two running masks "seen once" and "seen twice"); what is left is searched by copying the state,
// fewest candidates first. Rejected: dancing links (several times slower here; the tests use it as the
// independent judge) and band-wise bit tricks (faster still, but unreadable and bound to 9×9).
#pragma once

#include <array>
#include <cstdint>

#include "random.h"
#include "sudoku/board.h"

namespace as2::sudoku {

// Boxes of kRows × kColumns cells: a board has kColumns bands of kRows lines, and kRows stacks of kColumns.
template <int kRows, int kColumns>
struct SudokuTables {
  static constexpr int kSide = kRows * kColumns;
  static constexpr int kCells = kSide * kSide;
  std::array<std::uint8_t, kCells> row{}, column{}, box{};

  constexpr SudokuTables() {
    for (int cell = 0; cell < kCells; ++cell) {
      row[cell] = static_cast<std::uint8_t>(cell / kSide);
      column[cell] = static_cast<std::uint8_t>(cell % kSide);
      box[cell] = static_cast<std::uint8_t>(cell / kSide / kRows * kRows + cell % kSide / kColumns);
    }
  }
};

template <int kRows, int kColumns>
class SudokuState {
 public:
  static constexpr SudokuTables<kRows, kColumns> kTable{};
  static constexpr Box kBox{kRows, kColumns};
  static constexpr int kSide = kBox.side();
  static constexpr int kCells = kSide * kSide;
  using Mask = std::uint16_t;
  static constexpr Mask kAll = static_cast<Mask>((1u << kSide) - 1);

  SudokuState() {
    for (int cell = 0; cell < kCells; ++cell) open_[cell] = static_cast<std::uint8_t>(cell);
  }

  // Loads a grid of digits 0 … side; false if two clues clash.
  bool load(const std::uint8_t* grid) {
    open_count_ = 0;
    for (int cell = 0; cell < kCells; ++cell) {
      if (grid[cell] == 0) {
        open_[open_count_++] = static_cast<std::uint8_t>(cell);
        continue;
      }
      const Mask bit = static_cast<Mask>(1u << (grid[cell] - 1));
      if (!(candidates(cell) & bit)) return false;
      place(cell, bit);
    }
    return true;
  }

  void store(std::uint8_t* grid) const {
    for (int cell = 0; cell < kCells; ++cell)
      grid[cell] = value_[cell] ? static_cast<std::uint8_t>(__builtin_ctz(value_[cell]) + 1) : 0;
  }

  Mask candidates(int cell) const {
    return static_cast<Mask>(kAll & ~(row_[kTable.row[cell]] | column_[kTable.column[cell]] |
                                      box_[kTable.box[cell]] | barred_[cell]));
  }

  // Takes a clue back.
  void lift(int cell) {
    toggle(cell, value_[cell]);
    value_[cell] = 0;
    open_[open_count_++] = static_cast<std::uint8_t>(cell);
  }
  // Undoes the last lift.
  void put_back(int cell, Mask bit) {
    --open_count_;
    barred_[cell] = 0;
    place(cell, bit);
  }
  void bar(int cell, Mask bit) { barred_[cell] = bit; }
  Mask value(int cell) const { return value_[cell]; }

  // The digit follows from the clues in one step: nothing else fits the cell, or the digit fits no other
  // open cell of one of its units.
  bool is_single(int cell, Mask bit) const {
    if (candidates(cell) == bit) return true;
    bool row = true, column = true, box = true;
    for (int k = 0; k < open_count_; ++k) {
      const int other = open_[k];
      if (other == cell || !(candidates(other) & bit)) continue;
      if (kTable.row[other] == kTable.row[cell]) row = false;
      if (kTable.column[other] == kTable.column[cell]) column = false;
      if (kTable.box[other] == kTable.box[cell]) box = false;
    }
    return row || column || box;
  }

  // Counts solutions up to `limit`, writing the last one found to `solution` (kCells digits, may be null).
  // With `random`, candidates are tried in random order. Visits at most `budget` nodes; when they run out, it
  // returns `limit`.
  int count(int limit, std::int64_t& budget, std::uint8_t* solution, Random* random) const {
    SudokuState state = *this;
    const int branch = state.propagate();
    if (branch == kDead) return 0;
    if (branch == kDone) {
      if (solution) state.store(solution);
      return 1;
    }
    if (--budget < 0) return limit;
    Mask choices = state.candidates(branch);
    int found = 0;
    while (choices && found < limit) {
      Mask bit = static_cast<Mask>(choices & -choices);
      if (random) {
        for (int skip =
                 static_cast<int>(random->below(static_cast<std::uint32_t>(__builtin_popcount(choices))));
             skip > 0; --skip)
          bit = next_bit(choices, bit);
      }
      choices = static_cast<Mask>(choices & ~bit);
      SudokuState child = state;
      child.barred_[branch] = static_cast<Mask>(kAll & ~bit);
      found += child.count(limit - found, budget, solution, random);
    }
    return found;
  }

  // Calls `visit(digits)`, one bit per cell's digit, for every solution; false where there are more than
  // `limit` or they take more than `budget` nodes.
  template <class Visit>
  bool for_each_solution(int& limit, std::int64_t& budget, const Visit& visit) const {
    SudokuState state = *this;
    const int branch = state.propagate();
    if (branch == kDead) return true;
    if (branch == kDone) {
      if (--limit < 0) return false;
      visit(state.value_);
      return true;
    }
    if (--budget < 0) return false;
    for (Mask choices = state.candidates(branch); choices; choices &= static_cast<Mask>(choices - 1)) {
      SudokuState child = state;
      child.barred_[branch] = static_cast<Mask>(kAll & ~(choices & -choices));
      if (!child.for_each_solution(limit, budget, visit)) return false;
    }
    return true;
  }

 private:
  static constexpr int kDead = -1, kDone = -2;

  static Mask next_bit(Mask set, Mask bit) {
    const unsigned above = set & ~((static_cast<unsigned>(bit) << 1) - 1);
    return static_cast<Mask>(above & (0u - above));
  }

  void toggle(int cell, Mask bit) {
    row_[kTable.row[cell]] ^= bit;
    column_[kTable.column[cell]] ^= bit;
    box_[kTable.box[cell]] ^= bit;
  }
  void place(int cell, Mask bit) {
    toggle(cell, bit);
    value_[cell] = bit;
  }

  // Places all naked and hidden singles. Returns kDead, kDone, or the open cell with the fewest candidates.
  int propagate() {
    for (;;) {
      int fewest = kSide + 1, branch = kDone;
      bool placed = false;
      Mask once[3][kSide] = {}, twice[3][kSide] = {};
      for (int k = 0; k < open_count_;) {
        const int cell = open_[k];
        const Mask set = candidates(cell);
        if (set == 0) return kDead;
        if ((set & (set - 1)) == 0) {
          place(cell, set);
          open_[k] = open_[--open_count_];
          placed = true;
          continue;
        }
        const int size = __builtin_popcount(set);
        if (size < fewest) {
          fewest = size;
          branch = cell;
        }
        const int units[3] = {kTable.row[cell], kTable.column[cell], kTable.box[cell]};
        for (int kind = 0; kind < 3; ++kind) {
          twice[kind][units[kind]] |= once[kind][units[kind]] & set;
          once[kind][units[kind]] |= set;
        }
        ++k;
      }
      if (placed) continue;
      if (open_count_ == 0) return kDone;
      for (int unit = 0; unit < kSide; ++unit) {
        if ((once[0][unit] | row_[unit]) != kAll || (once[1][unit] | column_[unit]) != kAll ||
            (once[2][unit] | box_[unit]) != kAll)
          return kDead;
      }
      for (int k = 0; k < open_count_;) {
        const int cell = open_[k];
        const int r = kTable.row[cell], c = kTable.column[cell], b = kTable.box[cell];
        const Mask lone =
            static_cast<Mask>(candidates(cell) & ((once[0][r] & ~twice[0][r]) | (once[1][c] & ~twice[1][c]) |
                                                  (once[2][b] & ~twice[2][b])));
        if (lone == 0) {
          ++k;
          continue;
        }
        if (lone & (lone - 1)) return kDead;
        place(cell, lone);
        open_[k] = open_[--open_count_];
        placed = true;
      }
      if (!placed) return branch;
    }
  }

  Mask row_[kSide] = {}, column_[kSide] = {}, box_[kSide] = {};
  Mask value_[kCells] = {};
  Mask barred_[kCells] = {};
  std::uint8_t open_[kCells];
  int open_count_ = kCells;
};

}  // namespace as2::sudoku
