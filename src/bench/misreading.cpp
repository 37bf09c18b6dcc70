// When a board is impossible and when it was only misread: the threshold kMisreading, chosen and then
// measured.
//
// Evidence is soft, so a board whose clues contradict one another has a nearest valid board too. A true board
// whose clues perception misread costs few nats to put right; one with a clear digit that does not belong
// costs many. A threshold separates the two. It is chosen on boards of held-out training digits, and what it
// does is measured on other boards of test digits.
#include <algorithm>

#include "bench/bench.h"
#include "boards/boards.h"
#include "datasets/mnist.h"
#include "infer/card.h"
#include "native/networks.h"
#include "sudoku/board.h"
#include "sudoku/render.h"
#include "task/task.h"
#include "vision/board_image.h"

namespace as2::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMisreadBoards = 500;
constexpr std::size_t kHeldOut = task::kValidationDigits;

// The cost, in nats, of correcting boards as they are and boards with one forged digit.
struct Corrections {
  std::vector<double> honest, forged;
};

// The puzzle with another digit at one of its clues, such that no board has these clues. Empty if random
// attempts find none.
sudoku::Grid forge(const sudoku::Grid& puzzle, Random& random) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    sudoku::Grid forged = puzzle;
    const std::uint32_t cell = random.below(81);
    const auto digit = static_cast<std::uint8_t>(random.between(1, 9));
    if (puzzle[cell] == 0 || puzzle[cell] == digit) continue;
    forged[cell] = digit;
    if (!sudoku::solve(forged)) return forged;
  }
  return {};
}

std::vector<double> corrections(infer::Solver& solver, const std::vector<sudoku::Grid>& puzzles,
                                const datasets::Digits& digits, std::uint64_t seed) {
  const auto by_label = datasets::indices_by_label(digits);
  Random random(seed);
  std::vector<vision::BoardReading> readings;
  for (const sudoku::Grid& puzzle : puzzles)
    readings.push_back(vision::read_board(
        sudoku::render_board(sudoku::choose_images(puzzle, by_label, random), digits), "board"));
  std::vector<double> nats;
  for (const infer::Answer& answer : solver.solve(boards::scenes_of(readings)))
    nats.push_back(answer.correction);
  return nats;
}

Corrections measure(infer::Solver& solver, const datasets::Digits& digits, std::uint64_t seed) {
  sudoku::GenerateOptions options;
  options.min_clues = 24;
  options.max_clues = 45;
  options.seed = seed;
  std::vector<sudoku::Grid> honest, forged;
  Random random(seed, 1);
  for (const sudoku::Board& board : sudoku::generate(options, 0, kMisreadBoards)) {
    honest.push_back(board.puzzle);
    if (sudoku::Grid other = forge(board.puzzle, random); !other.empty()) forged.push_back(std::move(other));
  }
  return {corrections(solver, honest, digits, seed), corrections(solver, forged, digits, seed + 1)};
}

// What a threshold does: the share of honest boards it refuses, and of forged ones it lets pass as misread.
struct Mistakes {
  double refused = 0, corrected = 0;
};

Mistakes mistakes(const Corrections& of, double threshold) {
  const auto share = [&](const std::vector<double>& nats, bool above) {
    const auto count =
        std::count_if(nats.begin(), nats.end(), [&](double n) { return (n > threshold) == above; });
    return static_cast<double>(count) / static_cast<double>(nats.size());
  };
  return {share(of.honest, true), share(of.forged, false)};
}

// The rule: of all whole numbers the one with the fewest mistakes of both sorts together.
double chosen_threshold(const Corrections& of) {
  double best = 0, fewest = 2;
  for (int threshold = 1; threshold <= 30; ++threshold) {
    const Mistakes made = mistakes(of, threshold);
    if (made.refused + made.corrected >= fewest) continue;
    fewest = made.refused + made.corrected;
    best = threshold;
  }
  return best;
}

}  // namespace

Json measure_misreading(const Options&, const ReportStep&) {
  const datasets::Mnist mnist = datasets::load_mnist();
  datasets::Digits held;
  const std::size_t first = mnist.train.size() - kHeldOut;
  held.labels.assign(mnist.train.labels.begin() + static_cast<std::ptrdiff_t>(first),
                     mnist.train.labels.end());
  held.pixels.assign(mnist.train.image(first), mnist.train.image(first) + kHeldOut * datasets::kDigitPixels);
  infer::Solver solver =
      boards::open_board_solver(infer::default_model("sudoku"), 3, [](const auto& card, auto program) {
        return native::open_solver(card, std::move(program), /*with_guide=*/false);
      }).solver;
  const Corrections choice = measure(solver, held, 2024), report = measure(solver, mnist.test, 4048);
  const double chosen = chosen_threshold(choice);
  Json rows = {row("threshold in use", infer::kMisreading, "nats", "the one chosen here",
                   infer::kMisreading == chosen),
               row("  chosen on held-out training digits", chosen, "nats")};
  const auto add = [&](const std::string& where, const Mistakes& made) {
    rows.push_back(row("  true boards refused, " + where, 100 * made.refused, "%"));
    rows.push_back(row("  forged boards corrected, " + where, 100 * made.corrected, "%"));
  };
  add("where it was chosen", mistakes(choice, infer::kMisreading));
  add("test digits, other boards", mistakes(report, infer::kMisreading));
  return {{"boards", kMisreadBoards}, {"rows", rows}};
}

}  // namespace as2::bench
