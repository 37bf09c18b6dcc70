// Hill climbing over minimal puzzles.
//
// Digging clues out of random grids gives puzzles that fall to a handful of guesses; the public lists of the
// hardest need 60 to 400. So each climb starts from a dug puzzle and changes it a little: one clue or two are
// taken out, another that makes the solution unique again is put in, and clues that became redundant are
// taken out. The solved grid may change on the way, so a climb does not stay near where it began. A changed
// puzzle replaces its parent if it takes at least as much search, or enough of it: above the bound the climb
// wanders, and every puzzle it visits there is one of the list.
//
// Most climbs end in a local maximum below the bound and are given up. All numbers are integers, so a list is
// the same on every machine.
#include "sudoku/hard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "as2/error.h"
#include "share_work.h"
#include "sudoku/search.h"

namespace as2::sudoku {
namespace {

using State = SudokuState<3>;

constexpr std::int64_t kMostGuesses =
    20000;  // limit of one search; a puzzle that needs more counts as needing this many
constexpr int kCopies = 6, kCarefulCopies = 24;
constexpr int kQuickMargin = 300;  // what one search may fall short of the mean
constexpr int kMostSolutions = 400;
constexpr std::size_t kPerChange = 5;
constexpr int kNoise = 5;  // a loss of effort within the error of its estimate is no loss
constexpr int kClimbsWithoutPuzzle = 4000;

// Unsuccessful changes after which a climb is given up: the nearer to the bound, the more.
int patience(int effort, int bound) {
  return 10 * effort < 8 * bound ? 1200 : effort < bound ? 4000 : 12000;
}

std::vector<int> clues_of(const Grid& puzzle) {
  std::vector<int> clues;
  for (int cell = 0; cell < State::kCells; ++cell) {
    if (puzzle[cell]) clues.push_back(cell);
  }
  return clues;
}

std::optional<std::int64_t> guesses_if_unique(const Grid& puzzle) {
  State state;
  state.load(puzzle.data());
  std::int64_t budget = kMostGuesses;
  if (state.count(2, budget, nullptr, nullptr) != 1) return std::nullopt;
  return kMostGuesses - std::max<std::int64_t>(budget, 0);
}

// Puzzles with one solution that differ from `puzzle` in one clue or two: clues are taken out, and a clue
// that one solution of what is left has and no other makes it unique again. One enumeration finds all such
// clues; at most kPerChange of them are tried, since puzzles that differ so little are much alike.
std::vector<Grid> neighbours(Grid puzzle, Random& random) {
  const Grid before = puzzle;
  std::vector<int> clues = clues_of(puzzle);
  random.shuffle(clues.begin(), static_cast<std::uint32_t>(clues.size()));
  clues.resize(static_cast<std::size_t>(random.between(1, 2)));
  for (const int cell : clues) puzzle[cell] = 0;
  State state;
  state.load(puzzle.data());
  std::array<std::array<std::uint16_t, State::kSide>, State::kCells>
      solutions{};  // that have the digit there
  int limit = kMostSolutions;
  std::int64_t budget = 5 * kMostSolutions;
  const bool all = state.for_each_solution(limit, budget, [&](const State::Mask* digits) {
    for (int cell = 0; cell < State::kCells; ++cell) ++solutions[cell][__builtin_ctz(digits[cell])];
  });
  if (!all) return {};
  std::vector<std::pair<int, std::uint8_t>> decisive;
  for (int cell = 0; cell < State::kCells; ++cell) {
    for (int digit = 1; digit <= State::kSide; ++digit) {
      if (solutions[cell][digit - 1] == 1 && puzzle[cell] == 0 && before[cell] != digit)
        decisive.emplace_back(cell, static_cast<std::uint8_t>(digit));
    }
  }
  random.shuffle(decisive.begin(), static_cast<std::uint32_t>(decisive.size()));
  decisive.resize(std::min<std::size_t>(decisive.size(), kPerChange));
  std::vector<Grid> found;
  for (const auto& [cell, digit] : decisive) {
    found.push_back(puzzle);
    found.back()[cell] = digit;
  }
  return found;
}

// Takes redundant clues out.
void make_minimal(Grid& puzzle, Random& random) {
  std::vector<int> clues = clues_of(puzzle);
  random.shuffle(clues.begin(), static_cast<std::uint32_t>(clues.size()));
  for (const int cell : clues) {
    const std::uint8_t digit = std::exchange(puzzle[cell], std::uint8_t{0});
    if (!guesses_if_unique(puzzle)) puzzle[cell] = digit;
  }
}

std::vector<Board> climb(const HardOptions& options, std::uint64_t index) {
  Random random(options.seed, index);
  const int bound = effort_of_guesses(options.guesses);
  std::vector<Board> visited;
  Grid puzzle = generate({3, 17, 26, scatter(options.seed)}, index).puzzle;
  int effort = search_effort(puzzle, kCopies, random);
  for (int failures = 0; failures < patience(effort, bound) && visited.size() < options.per_climb;
       ++failures) {
    for (Grid& next : neighbours(puzzle, random)) {
      const int wanted = std::min(effort - kNoise, bound);
      if (effort_of_guesses(guesses_if_unique(next).value_or(0)) < wanted - kQuickMargin) continue;
      make_minimal(next, random);
      const int reached = search_effort(next, kCopies, random);
      if (reached < wanted) continue;
      if (reached > effort + kNoise || reached >= bound) failures = 0;
      puzzle = next;
      effort = reached;
      // The estimate that let the puzzle through was the best of many noisy ones, so it flatters: before a
      // puzzle enters the list its effort is measured again.
      if (effort >= bound && visited.size() < options.per_climb &&
          search_effort(puzzle, kCarefulCopies, random) >= bound)
        visited.push_back({puzzle, solve(puzzle).value()});
    }
  }
  return visited;
}

}  // namespace

int effort_of_guesses(std::int64_t guesses) {
  // The binary logarithm with eight digits after the point, by repeated squaring.
  std::uint64_t value = static_cast<std::uint64_t>(guesses) + 1;
  int whole = 63 - __builtin_clzll(value);
  std::uint64_t mantissa = (value << (63 - whole)) >> 32;  // in [2³¹, 2³²)
  int result = whole;
  for (int digit = 0; digit < 8; ++digit) {
    mantissa = mantissa * mantissa >> 31;
    const std::uint64_t carry = mantissa >> 32;
    mantissa >>= carry;
    result = 2 * result + static_cast<int>(carry);
  }
  return result;
}

int search_effort(const Grid& puzzle, int copies, Random& random) {
  int sum = 0;
  for (int copy = 0; copy < copies; ++copy)
    sum += effort_of_guesses(
        guesses_if_unique(Symmetry::random(3, random).apply(puzzle)).value_or(kMostGuesses));
  return sum / copies;
}

std::vector<Board> generate_hard(const HardOptions& options, std::size_t count, int threads,
                                 const std::function<void(std::size_t)>& found) {
  AS2_REQUIRE(options.guesses > 0 && threads > 0, "a positive number of guesses and of threads");
  std::vector<Board> boards;
  int fruitless = 0;
  for (std::uint64_t first = 0; boards.size() < count; first += static_cast<std::uint64_t>(threads)) {
    std::vector<std::vector<Board>> climbs(static_cast<std::size_t>(threads));
    std::atomic<std::size_t> next{0};
    share_work(climbs.size(), [&] {
      for (std::size_t t; (t = next++) < climbs.size();) climbs[t] = climb(options, first + t);
    });
    for (const std::vector<Board>& visited : climbs) {
      fruitless = visited.empty() ? fruitless + 1 : 0;
      boards.insert(boards.end(), visited.begin(), visited.end());
    }
    if (fruitless > kClimbsWithoutPuzzle)
      throw InputError("no puzzle of " + std::to_string(options.guesses) + " guesses in " +
                           std::to_string(fruitless) + " climbs",
                       {"ask for fewer guesses: lists of the hardest puzzles need 60 to 400"});
    if (boards.size() > count) boards.resize(count);
    if (found) found(boards.size());
  }
  return boards;
}

}  // namespace as2::sudoku
