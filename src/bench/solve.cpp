// The whole pipeline of `as2 solve`, ours beside LibTorch's in one run: boards per second, what each step
// takes, and what one board takes from process start to answer, in time and memory.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>
#include <stdexcept>

#include "bench/bench.h"
#include "boards/boards.h"
#include "child_process.h"
#include "datasets/mnist.h"
#include "files.h"
#include "infer/card.h"
#include "infer/tensor/open.h"
#include "native/networks.h"
#include "native/threads.h"
#include "sudoku/board.h"
#include "sudoku/render.h"
#include "vision/photo.h"

namespace as2::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr std::size_t kBoards = 100;
constexpr int kCalls = 4;
constexpr double kAskedRatio = 4;
constexpr double kAskedMilliseconds = 80;  // from process start to answer
constexpr double kAskedMegabytes = 150;

struct Boards {
  std::vector<sudoku::Grid> solutions;
  std::vector<formats::Image> pictures;
};

Boards draw_boards() {
  const datasets::Mnist mnist = datasets::load_mnist();
  const auto by_label = datasets::indices_by_label(mnist.test);
  sudoku::GenerateOptions options;
  options.seed = 1;
  Random random(1);
  Boards boards;
  for (const sudoku::Board& board : sudoku::generate(options, 0, kBoards)) {
    boards.solutions.push_back(board.solution);
    boards.pictures.push_back(
        sudoku::render_board(sudoku::choose_images(board.puzzle, by_label, random), mnist.test));
  }
  return boards;
}

// One call of everything on all boards; its result is checked.
struct Run {
  double seconds = 0, reading = 0;
  infer::SolveTimes times;
};

Run solve_all(const Boards& boards, infer::Solver& solver, native::Threads& threads) {
  Run run;
  const auto start = Clock::now();
  std::vector<infer::Scene> scenes(kBoards);
  threads.run(kBoards, [&](std::int64_t n, int) {
    const auto k = static_cast<std::size_t>(n);
    scenes[k] = boards::scene_of(*vision::read_photo(boards.pictures[k], "board", 9).straight);
  });
  run.reading = std::chrono::duration<double>(Clock::now() - start).count();
  const auto answers = solver.solve(scenes, &run.times);
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::size_t right = 0;
  for (std::size_t k = 0; k < kBoards; ++k)
    right += answers[k].completable && boards::digits_of(solver, answers[k]) == boards.solutions[k];
  if (right < kBoards * 97 / 100)
    throw std::runtime_error("only " + std::to_string(right) + " boards solved");
  return run;
}

// The program that starts without LibTorch: beside this one, or in bin/ of an installation.
fs::path light_program() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate : {here / "as2", here / "../../bin/as2"}) {
    if (fs::exists(candidate)) return candidate;
  }
  throw std::runtime_error("there is no as2 beside " + here.string());
}

struct Process {
  double seconds = 0, megabytes = 0;  // of memory at most
};

// `as2 solve PICTURE… --json --verbose` as a process of its own, which says how much memory it took: what the
// system reports of a child also counts the memory of the process that started it, and this one has loaded
// LibTorch.
Process solve_in_process(const std::vector<std::string>& pictures) {
  const std::string program = light_program().string();
  std::vector<std::string> words{"solve", "--json", "--verbose"};
  words.insert(words.end(), pictures.begin(), pictures.end());
  const auto start = Clock::now();
  const ChildResult finished = run_child(program, words, "", {});
  const std::chrono::duration<double> seconds = Clock::now() - start;
  static const std::regex kMemory("memory at most ([0-9.]+) MB");
  std::smatch memory;
  // Exit code 1: some boards were misread beyond repair, which the checked run above counts.
  if (finished.exit_code < 0 || finished.exit_code > 1 || !std::regex_search(finished.err, memory, kMemory))
    throw std::runtime_error("failed: " + program + " solve");
  return {seconds.count(), std::stod(memory[1])};
}

infer::Solver open(bool libtorch, const infer::SolverOptions& options) {
  return boards::open_board_solver(
             infer::default_model("sudoku"), 3,
             [&](const auto& card, auto program) {
               return libtorch ? infer::open_solver(card, std::move(program), /*with_guide=*/true, options)
                               : native::open_solver(card, std::move(program), /*with_guide=*/true, options);
             })
      .solver;
}

// Both engines with the reasoner asked for every board, as for `--json`, or only where the answer may hang
// on it.
struct Both {
  Run ours, theirs;
};

Both add_rows(bool always, const Boards& boards, native::Threads& threads, Json& rows) {
  infer::SolverOptions options;
  options.unique = true;
  options.reasoned = always;
  infer::Solver solver = open(/*libtorch=*/false, options), libtorch = open(/*libtorch=*/true, options);
  // In turns, so that what else the machine does meets both; the best of each counts.
  Run ours, theirs;
  for (int call = 0; call < kCalls; ++call) {
    const Run fresh = solve_all(boards, solver, threads), other = solve_all(boards, libtorch, threads);
    if (call == 0 || fresh.seconds < ours.seconds) ours = fresh;
    if (call == 0 || other.seconds < theirs.seconds) theirs = other;
  }
  const double ratio = theirs.seconds / ours.seconds;
  rows.push_back(row(std::string("100 boards at once, the reasoner asked ") +
                         (always ? "always" : "where needed") + ": boards per second",
                     kBoards / ours.seconds, "/s"));
  rows.push_back(row("  with LibTorch", kBoards / theirs.seconds, "/s"));
  rows.push_back(row("  ratio", ratio, "", "at least 4", ratio >= kAskedRatio));
  rows.push_back(row("  boards for which it was asked", static_cast<double>(ours.times.asked), ""));
  const auto share = [&](const char* name, double own, double other) {
    rows.push_back(row(std::string("  share of ") + name, 100 * own / ours.seconds, "%"));
    rows.push_back(row("    LibTorch's time / ours", other / own, ""));
  };
  share("finding the cells", ours.reading, theirs.reading);
  share("perception", ours.times.perception, theirs.times.perception);
  if (ours.times.asked > 0) share("reasoning", ours.times.reasoning, theirs.times.reasoning);
  share("decoding", ours.times.decoding, theirs.times.decoding);
  return {ours, theirs};
}

// Removed again, whatever happens meanwhile.
struct PictureFolder {
  PictureFolder() { fs::create_directories(path); }
  ~PictureFolder() { remove_tree(path); }
  PictureFolder(const PictureFolder&) = delete;
  PictureFolder& operator=(const PictureFolder&) = delete;
  const fs::path path = fs::temp_directory_path() / ("as2-bench-" + std::to_string(getpid()));
};

}  // namespace

Json measure_solve(const Options&, const ReportStep&) {
  const Boards boards = draw_boards();
  // Before this process holds networks: starting a child copies the tables of all its memory.
  const PictureFolder folder;
  std::vector<std::string> files;
  for (std::size_t k = 0; k < kBoards; ++k) {
    files.push_back((folder.path / (std::to_string(k) + ".png")).string());
    formats::write_png(files.back(), boards.pictures[k]);
  }
  Process one;
  for (int call = 0; call < 10; ++call) {
    const Process fresh = solve_in_process({files[0]});
    if (call == 0 || fresh.seconds < one.seconds) one.seconds = fresh.seconds;
    one.megabytes = std::max(one.megabytes, fresh.megabytes);
  }
  const Process all = solve_in_process(files);

  native::Threads threads;
  Json rows = Json::array();
  const Both needed = add_rows(/*always=*/false, boards, threads, rows),
             always = add_rows(/*always=*/true, boards, threads, rows);
  rows.push_back(row("ours, asked where needed, over LibTorch, asked always",
                     always.theirs.seconds / needed.ours.seconds, ""));
  rows.push_back(row("one board, from process start to answer", 1000 * one.seconds, "ms", "at most 80",
                     1000 * one.seconds <= kAskedMilliseconds));
  rows.push_back(row("  memory at most", one.megabytes, "MB"));
  rows.push_back(row("100 boards in a process: memory at most", all.megabytes, "MB", "under 150",
                     all.megabytes < kAskedMegabytes));
  return {{"threads", threads.count()}, {"rows", rows}};
}

}  // namespace as2::bench
