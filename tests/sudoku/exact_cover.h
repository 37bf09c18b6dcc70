// An independent judge of Sudoku puzzles: Knuth's Algorithm X with dancing links on the exact-cover form (one
// digit in each cell; each digit once in every row, column and box). Shares nothing with src/sudoku.
#pragma once

#include <cstdint>
#include <vector>

namespace as2::test {

class ExactCover {
 public:
  // The number of solutions, counted no further than `limit`. A box has so many rows and columns.
  static int count(const std::vector<std::uint8_t>& puzzle, int rows, int columns, int limit) {
    ExactCover cover(puzzle, rows, columns);
    cover.limit_ = limit;
    cover.search();
    return cover.found_;
  }

 private:
  struct Node {
    int left, right, up, down, column;
  };

  ExactCover(const std::vector<std::uint8_t>& puzzle, int rows, int columns) {
    const int side = rows * columns, cells = side * side;
    nodes_.push_back({4 * cells, 1, 0, 0, 0});
    for (int c = 1; c <= 4 * cells; ++c) nodes_.push_back({c - 1, (c + 1) % (4 * cells + 1), c, c, c});
    sizes_.assign(4 * cells + 1, 0);
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column) {
        const int clue = puzzle[row * side + column];
        for (int digit = 1; digit <= side; ++digit) {
          if (clue != 0 && clue != digit) continue;
          const int block = row / rows * rows + column / columns;
          const int items[4] = {row * side + column, cells + row * side + digit - 1,
                                2 * cells + column * side + digit - 1, 3 * cells + block * side + digit - 1};
          const int first = static_cast<int>(nodes_.size());
          for (int k = 0; k < 4; ++k) {
            const int item = items[k] + 1;
            const int self = first + k;
            nodes_.push_back({first + (k + 3) % 4, first + (k + 1) % 4, nodes_[item].up, item, item});
            nodes_[nodes_[item].up].down = self;
            nodes_[item].up = self;
            ++sizes_[item];
          }
        }
      }
    }
  }

  void cover(int c) {
    nodes_[nodes_[c].right].left = nodes_[c].left;
    nodes_[nodes_[c].left].right = nodes_[c].right;
    for (int i = nodes_[c].down; i != c; i = nodes_[i].down) {
      for (int j = nodes_[i].right; j != i; j = nodes_[j].right) {
        nodes_[nodes_[j].down].up = nodes_[j].up;
        nodes_[nodes_[j].up].down = nodes_[j].down;
        --sizes_[nodes_[j].column];
      }
    }
  }

  void uncover(int c) {
    for (int i = nodes_[c].up; i != c; i = nodes_[i].up) {
      for (int j = nodes_[i].left; j != i; j = nodes_[j].left) {
        ++sizes_[nodes_[j].column];
        nodes_[nodes_[j].down].up = j;
        nodes_[nodes_[j].up].down = j;
      }
    }
    nodes_[nodes_[c].right].left = c;
    nodes_[nodes_[c].left].right = c;
  }

  void search() {
    if (nodes_[0].right == 0) {
      ++found_;
      return;
    }
    int best = nodes_[0].right;
    for (int c = best; c != 0; c = nodes_[c].right) {
      if (sizes_[c] < sizes_[best]) best = c;
    }
    if (sizes_[best] == 0) return;
    cover(best);
    for (int r = nodes_[best].down; r != best && found_ < limit_; r = nodes_[r].down) {
      for (int j = nodes_[r].right; j != r; j = nodes_[j].right) cover(nodes_[j].column);
      search();
      for (int j = nodes_[r].left; j != r; j = nodes_[j].left) uncover(nodes_[j].column);
    }
    uncover(best);
  }

  std::vector<Node> nodes_;
  std::vector<int> sizes_;
  int found_ = 0, limit_ = 0;
};

}  // namespace as2::test
