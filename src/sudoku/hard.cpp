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
//
// Hard puzzles lie close to hard puzzles: a third of the changes of a hard one are hard again. So a list,
// once there is one, grows faster by changing what it holds than by climbing anew.
#include "sudoku/hard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <set>
#include <string>

#include "as2/error.h"
#include "share_work.h"
#include "sudoku/search.h"

namespace as2::sudoku {
namespace {

using State = SudokuState<3, 3>;

constexpr std::int64_t kMostGuesses =
    20000;  // limit of one search; a puzzle that needs more counts as needing this many
constexpr int kCopies = 6, kCarefulCopies = 24;
constexpr int kQuickMargin = 300;  // what one search may fall short of the mean
constexpr int kMostSolutions = 400;
constexpr std::size_t kPerChange = 5;
constexpr int kNoise = 5;  // a loss of effort within the error of its estimate is no loss
constexpr int kClimbsWithoutPuzzle = 4000;
constexpr std::size_t kVariedAtOnce = 256;  // between two reports of what was found
constexpr std::size_t kChangesWithoutPuzzle = 3000;

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

// The effort of a changed puzzle that was made minimal; none where one search or the mean of a few says that
// it takes less than `wanted`.
std::optional<int> effort_if(Grid& changed, int wanted, Random& random) {
  if (effort_of_guesses(guesses_if_unique(changed).value_or(0)) < wanted - kQuickMargin) return std::nullopt;
  make_minimal(changed, random);
  const int effort = search_effort(changed, kCopies, random);
  return effort < wanted ? std::nullopt : std::optional(effort);
}

// The estimate that lets a puzzle through is the best of many noisy ones, so it flatters: before a puzzle
// enters a list its effort is measured again.
bool is_hard(const Grid& puzzle, int bound, Random& random) {
  return search_effort(puzzle, kCarefulCopies, random) >= bound;
}

bool is_stopped(const HardOptions& options) {
  return options.stop && *options.stop;
}

struct Climb {
  std::vector<Board> visited;
  bool ended = true;  // false: stopped on the way
};

Climb climb(const HardOptions& options, std::uint64_t index) {
  Random random(options.seed, index);
  const int bound = effort_of_guesses(options.guesses);
  Climb result;
  std::vector<Board>& visited = result.visited;
  Grid puzzle = generate({3, 17, 26, scatter(options.seed)}, index).puzzle;
  int effort = search_effort(puzzle, kCopies, random);
  for (int failures = 0;
       failures < patience(effort, bound) && visited.size() < options.per_climb && !is_stopped(options);
       ++failures) {
    for (Grid& next : neighbours(puzzle, random)) {
      const std::optional<int> reached = effort_if(next, std::min(effort - kNoise, bound), random);
      if (!reached) continue;
      if (*reached > effort + kNoise || *reached >= bound) failures = 0;
      puzzle = next;
      effort = *reached;
      if (effort >= bound && visited.size() < options.per_climb && is_hard(puzzle, bound, random))
        visited.push_back({puzzle, solve(puzzle).value()});
    }
  }
  result.ended = !is_stopped(options);
  return result;
}

// Those of a puzzle's changes that are hard.
std::vector<Grid> hard_neighbours(const Grid& puzzle, int bound, Random random) {
  std::vector<Grid> hard;
  for (Grid& next : neighbours(puzzle, random)) {
    if (effort_if(next, bound, random) && is_hard(next, bound, random)) hard.push_back(next);
  }
  return hard;
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
  for (std::uint64_t first = 0; boards.size() < count && !is_stopped(options);
       first += static_cast<std::uint64_t>(threads)) {
    std::vector<Climb> climbs(static_cast<std::size_t>(threads));
    std::atomic<std::size_t> next{0};
    share_work(climbs.size(), [&] {
      for (std::size_t t; (t = next++) < climbs.size();) climbs[t] = climb(options, first + t);
    });
    for (const Climb& climb : climbs) {
      fruitless = climb.visited.empty() ? fruitless + 1 : 0;
      boards.insert(boards.end(), climb.visited.begin(), climb.visited.end());
      if (!climb.ended) break;
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

std::vector<Board> vary_hard(const HardOptions& options, const std::vector<Grid>& list, std::size_t count,
                             int threads, const std::function<void(std::size_t)>& found) {
  AS2_REQUIRE(options.guesses > 0 && threads > 0, "a positive number of guesses and of threads");
  AS2_REQUIRE(std::all_of(list.begin(), list.end(),
                          [](const Grid& puzzle) { return puzzle.size() == State::kCells; }),
              "a list of 9×9 puzzles");
  const int bound = effort_of_guesses(options.guesses);
  std::vector<Grid> all = list;
  std::set<Grid> known(list.begin(), list.end());
  std::vector<Board> boards;
  std::size_t fruitless = 0;
  // Each round changes every puzzle there is once, those of the rounds before included.
  for (std::uint64_t round = 0; boards.size() < count && !is_stopped(options); ++round) {
    const std::size_t here = all.size();
    for (std::size_t first = 0; first < here && boards.size() < count && !is_stopped(options);
         first += kVariedAtOnce) {
      const std::size_t before = boards.size();
      std::vector<std::optional<std::vector<Grid>>> changed(std::min(kVariedAtOnce, here - first));
      std::atomic<std::size_t> next{0};
      share_work(std::min<std::size_t>(static_cast<std::size_t>(threads), changed.size()), [&] {
        for (std::size_t n; (n = next++) < changed.size() && !is_stopped(options);)
          changed[n] =
              hard_neighbours(all[first + n], bound, Random(options.seed, round << 40 | (first + n)));
      });
      for (const auto& hard : changed) {
        if (!hard) break;
        for (const Grid& puzzle : *hard) {
          if (boards.size() == count || !known.insert(puzzle).second) continue;
          all.push_back(puzzle);
          boards.push_back({puzzle, solve(puzzle).value()});
        }
      }
      if (found) found(boards.size());
      fruitless = boards.size() > before ? 0 : fruitless + changed.size();
    }
    if (fruitless > kChangesWithoutPuzzle)
      throw InputError("no new puzzle of " + std::to_string(options.guesses) + " guesses after varying " +
                           std::to_string(fruitless) + ", starting from the " + std::to_string(list.size()) +
                           " given",
                       {"give a longer list, or ask for fewer guesses"});
  }
  return boards;
}

}  // namespace as2::sudoku
