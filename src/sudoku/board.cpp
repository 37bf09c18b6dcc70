// Generating puzzles with exactly one solution.
//
// 1. A random solved grid: the boxes of the diagonal, which do not see each other, get random digits; the
//    rest is completed by search with candidates in random order (fresh start if it wanders off). All grids
//    can occur; they are not equally likely.
// 2. A target number of clues, uniform in the range.
// 3. Digging: in random order each clue is taken out if the solution stays the only one, until the target is
//    reached. Taking a clue out keeps it so at once if the digit follows in one step from the others;
//    otherwise a search for a solution with another digit there has to fail. A clue found to be necessary
//    stays necessary, so one round reaches a puzzle where no clue can go.
// 4. If that stops short of the target, the puzzle is kept if its count is in the range; otherwise everything
//    is repeated with another grid.
//
// How few clues it reaches. On one core it makes 45,000 9×9 puzzles of 36 clues per second, 3,000 of at most
// 24, 190 of at most 22, 14 of at most 21, and one of 20 every few seconds, but none of 19 or fewer within
// the bound on attempts (then an error says so). Searching among the neighbours of a minimal puzzle would get
// lower, with a bias of its own.
#include "sudoku/board.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>

#include "as2/error.h"
#include "share_work.h"
#include "sudoku/search.h"

namespace as2::sudoku {
namespace {

constexpr std::int64_t kNoBudget = INT64_MAX;

struct Reach {
  Box box;
  int fewest;    // clues that a puzzle with one solution is known to have
  int dug;       // digging rarely gets below this many
  int attempts;  // grids per puzzle before a range counts as out of reach: half a minute at most, about
};

constexpr Reach kReaches[] = {{2, 4, 4, 20000},       {{2, 3}, 8, 8, 200000},   {{2, 4}, 14, 17, 200000},
                              {3, 17, 21, 200000},    {{2, 5}, 22, 30, 100000}, {{3, 4}, 30, 44, 20000},
                              {{3, 5}, 48, 77, 1000}, {4, 55, 95, 500}};

// Of one of kBoxes.
constexpr Reach reach_of(Box box) {
  const Reach* reach = kReaches;
  while (reach->box != box) ++reach;
  return *reach;
}

Box box_of(const Grid& grid) {
  const std::optional<Box> box = box_of_cells(grid.size());
  AS2_REQUIRE(box, "no board has that many cells");
  return *box;
}

// Calls `work` with an empty board of that shape, whose type holds the shape as compile-time constants.
template <std::size_t k = 0, typename Work>
auto with_state(Box box, const Work& work) {
  if constexpr (k + 1 < kBoxes.size()) {
    if (box != kBoxes[k]) return with_state<k + 1>(box, work);
  }
  AS2_REQUIRE(box == kBoxes[k], "there is no such box");
  return work(SudokuState<kBoxes[k].rows, kBoxes[k].columns>());
}

template <typename State>
State random_solution(Random& random) {
  constexpr int kRows = State::kBox.rows, kColumns = State::kBox.columns, kSide = State::kSide;
  for (;;) {
    std::array<std::uint8_t, State::kCells> grid{};
    std::array<std::uint8_t, kSide> digits;
    std::iota(digits.begin(), digits.end(), std::uint8_t{1});
    for (int box = 0; box < std::min(kRows, kColumns); ++box) {
      random.shuffle(digits.begin(), kSide);
      for (int k = 0; k < kSide; ++k)
        grid[(box * kRows + k / kColumns) * kSide + box * kColumns + k % kColumns] = digits[k];
    }
    State start;
    start.load(grid.data());
    std::int64_t budget = 500;
    if (start.count(1, budget, grid.data(), &random) == 1 && budget >= 0) {
      State solution;
      solution.load(grid.data());
      return solution;
    }
  }
}

// Takes clues out of `state` until `target` are left or none can go; returns how many are left.
template <typename State>
int dig(State& state, int target, Random& random) {
  constexpr int kCells = State::kCells;
  std::array<std::uint8_t, kCells> order;
  std::iota(order.begin(), order.end(), std::uint8_t{0});
  random.shuffle(order.begin(), kCells);
  int clues = kCells;
  for (int k = 0; k < kCells && clues > target; ++k) {
    const int cell = order[k];
    const auto bit = state.value(cell);
    state.lift(cell);
    if (!state.is_single(cell, bit)) {
      state.bar(cell, bit);
      // On large boards a refutation can take long; a clue stays if it is not shown in time to be redundant.
      std::int64_t budget = 1000;
      if (state.count(1, budget, nullptr, nullptr) > 0) {
        state.put_back(cell, bit);
        continue;
      }
      state.bar(cell, 0);
    }
    --clues;
  }
  return clues;
}

void check_range(const GenerateOptions& options) {
  AS2_REQUIRE(std::count(kBoxes.begin(), kBoxes.end(), options.box) == 1, "there is no such box");
  const int cells = options.box.cells(), fewest = reach_of(options.box).fewest;
  const std::string least = std::to_string(options.min_clues), most = std::to_string(options.max_clues);
  const std::string range = least == most ? most : least + "-" + most;
  if (options.min_clues > options.max_clues || options.max_clues < fewest || options.min_clues > cells) {
    throw InputError("no puzzle has " + range + " clues",
                     {"a board of " + std::to_string(cells) + " cells has between " + std::to_string(fewest) +
                      " and " + std::to_string(cells) + " clues"});
  }
}

template <typename State>
Board generate_one(const GenerateOptions& options, Random& random) {
  constexpr int kCells = State::kCells, kSide = State::kSide;
  constexpr Reach kReach = reach_of(State::kBox);
  for (int attempt = 0; attempt < kReach.attempts; ++attempt) {
    if (options.stop && *options.stop) throw EnvironmentError("making boards was interrupted; none is kept");
    State state = random_solution<State>(random);
    Board board{Grid(kCells), Grid(kCells)};
    state.store(board.solution.data());
    const int target = random.between(options.min_clues, std::min(options.max_clues, kCells));
    if (dig(state, target, random) <= options.max_clues) {
      state.store(board.puzzle.data());
      return board;
    }
  }
  const std::string side = std::to_string(kSide);
  throw InputError("no puzzle of at most " + std::to_string(options.max_clues) + " clues in " +
                       std::to_string(kReach.attempts) + " grids",
                   {"digging rarely gets below " + std::to_string(kReach.dug) + " clues on " + side + "x" +
                    side + ": raise the upper end of the range" +
                    (kSide == 9 ? ", or use a public list of 17-clue puzzles" : "")});
}

}  // namespace

std::optional<Box> find_box(const std::string& name) {
  const auto* const found =
      std::find_if(kBoxes.begin(), kBoxes.end(), [&](Box box) { return name_of(box) == name; });
  return found == kBoxes.end() ? std::nullopt : std::optional(*found);
}

std::string name_of(Box box) {
  const std::string rows = std::to_string(box.rows);
  return box.is_square() ? rows : rows + "x" + std::to_string(box.columns);
}

std::string box_names() {
  std::string names;
  for (const Box box : kBoxes) names += (names.empty() ? "" : ", ") + name_of(box);
  return names;
}

std::optional<Box> box_of_cells(std::size_t cells) {
  for (const Box box : kBoxes) {
    if (static_cast<std::size_t>(box.cells()) == cells) return box;
  }
  return std::nullopt;
}

std::optional<Box> box_of_side(int side) {
  if (const auto box = box_of_cells(static_cast<std::size_t>(side) * static_cast<std::size_t>(side)))
    return box;
  const Box square(static_cast<int>(std::lround(std::sqrt(side))));
  return square.side() == side ? std::optional(square) : std::nullopt;
}

int clue_count(const Grid& puzzle) {
  return static_cast<int>(puzzle.size() - std::count(puzzle.begin(), puzzle.end(), 0));
}

bool is_consistent(const Grid& grid) {
  return with_state(box_of(grid), [&](auto state) {
    return std::all_of(grid.begin(), grid.end(), [&](int digit) { return digit <= state.kSide; }) &&
           state.load(grid.data());
  });
}

bool is_solved(const Grid& grid) {
  return std::count(grid.begin(), grid.end(), 0) == 0 && is_consistent(grid);
}

int count_solutions(const Grid& puzzle, int limit) {
  if (!is_consistent(puzzle)) return 0;
  return with_state(box_of(puzzle), [&](auto state) {
    state.load(puzzle.data());
    std::int64_t budget = kNoBudget;
    return state.count(limit, budget, nullptr, nullptr);
  });
}

std::optional<Grid> solve(const Grid& puzzle) {
  if (!is_consistent(puzzle)) return std::nullopt;
  return with_state(box_of(puzzle), [&](auto state) -> std::optional<Grid> {
    state.load(puzzle.data());
    std::int64_t budget = kNoBudget;
    Grid grid(puzzle.size());
    if (state.count(1, budget, grid.data(), nullptr) == 0) return std::nullopt;
    return grid;
  });
}

Symmetry Symmetry::identity(Box box) {
  const int side = box.side();
  Symmetry symmetry;
  symmetry.digits.resize(side + 1);
  symmetry.rows.resize(side);
  symmetry.columns.resize(side);
  std::iota(symmetry.digits.begin(), symmetry.digits.end(), std::uint8_t{0});
  std::iota(symmetry.rows.begin(), symmetry.rows.end(), 0);
  std::iota(symmetry.columns.begin(), symmetry.columns.end(), 0);
  return symmetry;
}

std::vector<int> line_order(const std::vector<int>& bands, const std::vector<std::vector<int>>& within) {
  std::vector<int> order;
  for (std::size_t band = 0; band < bands.size(); ++band) {
    const int first = bands[band] * static_cast<int>(within[band].size());
    for (const int line : within[band]) order.push_back(first + line);
  }
  return order;
}

namespace {

std::vector<int> ascending(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<std::vector<int>> permutations(int count) {
  std::vector<std::vector<int>> all;
  std::vector<int> order = ascending(count);
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return all;
}

// Every order equally likely: first the bands, then the lines of each.
std::vector<int> random_line_order(int bands, int lines, Random& random) {
  std::vector<int> order = ascending(bands);
  std::vector<std::vector<int>> within(bands, ascending(lines));
  random.shuffle(order.begin(), static_cast<std::uint32_t>(bands));
  for (std::vector<int>& own : within) random.shuffle(own.begin(), static_cast<std::uint32_t>(lines));
  return line_order(order, within);
}

}  // namespace

std::vector<std::vector<int>> line_orders(int bands, int lines) {
  constexpr std::size_t kMost = 4096;
  const std::vector<std::vector<int>> of_bands = permutations(bands), of_lines = permutations(lines);
  std::size_t total = of_bands.size();
  for (int band = 0; band < bands; ++band) total *= of_lines.size();
  std::vector<std::vector<int>> all;
  if (total > kMost) {
    Random random(0);
    while (all.size() < kMost) all.push_back(random_line_order(bands, lines, random));
    return all;
  }
  for (std::size_t n = 0; n < total; ++n) {
    std::vector<std::vector<int>> within;
    std::size_t rest = n / of_bands.size();
    for (int band = 0; band < bands; ++band, rest /= of_lines.size())
      within.push_back(of_lines[rest % of_lines.size()]);
    all.push_back(line_order(of_bands[n % of_bands.size()], within));
  }
  return all;
}

Symmetry Symmetry::random(Box box, Random& random) {
  Symmetry symmetry = identity(box);
  random.shuffle(symmetry.digits.begin() + 1, static_cast<std::uint32_t>(box.side()));
  symmetry.rows = random_line_order(box.columns, box.rows, random);
  symmetry.columns = random_line_order(box.rows, box.columns, random);
  symmetry.transpose = box.is_square() && random.below(2) == 1;
  return symmetry;
}

Grid Symmetry::apply(const Grid& grid) const {
  const int side = static_cast<int>(rows.size());
  AS2_REQUIRE(grid.size() == rows.size() * rows.size(), "the symmetry is for another size of board");
  Grid result(grid.size());
  for (int r = 0; r < side; ++r) {
    for (int c = 0; c < side; ++c) {
      const int from = transpose ? columns[c] * side + rows[r] : rows[r] * side + columns[c];
      result[r * side + c] = digits[grid[from]];
    }
  }
  return result;
}

Board Symmetry::apply(const Board& board) const {
  return {apply(board.puzzle), board.solution.empty() ? Grid{} : apply(board.solution)};
}

Board generate(const GenerateOptions& options, std::uint64_t index) {
  check_range(options);
  Random random(options.seed, index);
  return with_state(options.box, [&](auto state) { return generate_one<decltype(state)>(options, random); });
}

std::vector<Board> generate(const GenerateOptions& options, std::uint64_t first, std::size_t count,
                            int threads) {
  std::vector<Board> boards(count);
  std::atomic<std::size_t> next{0};
  share_work(static_cast<std::size_t>(threads), [&] {
    for (std::size_t k; (k = next++) < count;) boards[k] = generate(options, first + k);
  });
  return boards;
}

}  // namespace as2::sudoku
