// The decoder's figures, beside clingo on the same boards. Every result is checked against the board's
// solution and the compiled program, and by clingo where there is one, before its time counts. One-core
// figures are processor time, ours and clingo's alike, so that a busy machine does not blur their ratio.
#include <algorithm>
#include <chrono>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "as2/compile.h"
#include "as2/decoder.h"
#include "as2/resources.h"
#include "as2/verifier.h"
#include "bench/bench.h"
#include "bench/beside_clingo.h"
#include "bench/decode_problems.h"
#include "files.h"
#include "sudoku/board.h"
#include "sudoku/board_list.h"
#include "verify/clingo.h"

namespace as2::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kAskedEasy = 20000;   // boards per second, 36 clues
constexpr double kAskedHard = 100000;  // 17 clues
constexpr double kAskedLarge = 0.050;  // seconds, 16×16
constexpr double kAskedOverClingo = 200;
constexpr int kDecodedBoards = 1000;
constexpr int kLargeBoards = 20;
constexpr int kClingoRuns = 20;
constexpr int kPasses = 7;
constexpr double kAskedOfProblems = 10;  // a problem may take at most this many times clingo's time
constexpr double kProblemSeconds = 60;   // after these either search for a problem's answer ends

// Puzzles of the public 17-clue collection, spread over it; symmetries make as many boards as are needed.
constexpr const char* kSeventeen =
    "................12....34........1.5...62......74..........6.8....3.8.4..1..7.....\n"
    "................12..3..4........3..1..4.56....2......7...8..6....6...3...9.7.....\n"
    "................12..3..4..5.....6....1...73..52......8....8.......12......9...7..\n"
    "................12..3.45...........4.163......7..........6...374.....5..8...2....\n"
    "................12..3.45.........6.3.1.....7.8....3........7......1.8....26...4..\n"
    "..............1..2..3....4..............2.1.5.46.7.......4..38.1......6.5....9...\n"
    "..............1..2..3....4.....3......564.....7....8.1...4...5.18.2.....7........\n"
    "..............1..2.34....5............546......7...1.8....9..4..8.......21.7.....\n"
    "..............1.23..4.56......2.......6...5...7...8......9......2.3.....3.....6.1\n"
    "........1........2..3..4..........5......64..17.........5...36..8.12....9...7....\n"
    "........1.......2...3..4........5..4....1.....67...8.....2..37.4..8.....5.......9\n"
    "........1.......23....24........56....27......81..........1..8..3....4..5.....7..\n"
    "........1.......23..4..5.......1..32.5........67.........1.65.....8.....2......4.\n"
    "........1.....2.....1....34......5.....14....26....7.....48....7........9.....2.8\n"
    "........1.....2....34.....5.....3.4..1..6....5.....7......5......3...28.2..1.....\n";

std::vector<sudoku::Board> seventeen_clues(std::size_t count) {
  std::vector<sudoku::Board> boards = sudoku::parse_boards(kSeventeen, "17 clues");
  for (sudoku::Board& board : boards) board.solution = sudoku::solve(board.puzzle).value();
  Random random(1);
  std::vector<sudoku::Board> result;
  for (std::size_t k = 0; k < count; ++k) {
    result.push_back(sudoku::Symmetry::random(3, random).apply(boards[k % boards.size()]));
  }
  return result;
}

// One query per board: near-certain beliefs for clues, uniform ones for blanks.
std::vector<decode::Query> queries_of(const std::vector<sudoku::Board>& boards, std::size_t side) {
  std::vector<decode::Query> all;
  for (const sudoku::Board& board : boards) {
    decode::Beliefs beliefs(side * side * side, 1.0 / static_cast<double>(side));
    for (std::size_t i = 0; i < board.puzzle.size(); ++i) {
      if (!board.puzzle[i]) continue;
      for (std::size_t s = 0; s < side; ++s) beliefs[i * side + s] = 1e-4 / static_cast<double>(side - 1);
      beliefs[i * side + board.puzzle[i] - 1] = 1 - 1e-4;
    }
    all.push_back({std::move(beliefs)});
  }
  return all;
}

void require_right(const compile::ConstraintProgram& program, const std::vector<sudoku::Board>& boards,
                   const std::vector<decode::Decoded>& decoded) {
  for (std::size_t k = 0; k < boards.size(); ++k) {
    bool right = decoded[k].status == decode::Status::kOptimal;
    for (std::size_t i = 0; right && i < boards[k].solution.size(); ++i) {
      right = decoded[k].models[0].assignment[i] + 1 == boards[k].solution[i];
    }
    right = right && compile::violated_groups(program, decoded[k].models[0].assignment).empty();
    if (!right)
      throw std::runtime_error("bench decode: a board was not solved: " +
                               sudoku::grid_text(boards[k].puzzle));
  }
}

// Lets clingo check every decoded board; false if there is no clingo.
bool certified(const std::string& file, const compile::ConstraintProgram& program,
               const std::vector<decode::Decoded>& decoded, const std::string& box) {
  std::vector<verify::ChosenAtoms> chosen;
  for (const decode::Decoded& one : decoded) {
    chosen.push_back(verify::chosen_atoms(program, one.models[0].assignment));
  }
  verify::VerifyOptions options;
  options.constants = {{"b", box}};
  const std::vector<verify::Verdict> verdicts = verify::verify({file}, chosen, options);
  for (const verify::Verdict& verdict : verdicts) {
    if (verdict.valid == false) throw std::runtime_error("bench decode: clingo refuses a decoded board");
  }
  return std::all_of(verdicts.begin(), verdicts.end(), [](const auto& v) { return v.valid.has_value(); });
}

template <typename Call>
double processor_seconds_of(const Call& call) {
  const double start = processor_seconds();
  call();
  return processor_seconds() - start;
}

template <typename Call>
double wall_seconds(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double least_of_passes(const std::function<double()>& pass) {
  double least = pass();
  for (int k = 1; k < kPasses; ++k) least = std::min(least, pass());
  return least;
}

// Boards per second on one core, in the fastest pass.
double boards_a_second(const decode::Decoder& decoder, const std::vector<decode::Query>& queries) {
  const double seconds =
      least_of_passes([&] { return processor_seconds_of([&] { decoder.decode_batch(queries, {}, 1); }); });
  return static_cast<double>(queries.size()) / seconds;
}

std::string clue_constraints(const sudoku::Grid& puzzle, const std::string& guard) {
  std::ostringstream text;
  for (std::size_t i = 0; i < puzzle.size(); ++i) {
    if (puzzle[i]) {
      text << ":- " << guard << "not cell(" << i / 9 + 1 << ',' << i % 9 + 1 << ',' << int{puzzle[i]}
           << ").\n";
    }
  }
  return text.str();
}

nlohmann::json solved_by_clingo(const std::string& clingo, const std::string& input, const char* models) {
  constexpr double kSeconds = 300;
  nlohmann::json answer = ask_clingo(clingo, input, {models}, kSeconds);
  if (answer["Models"]["Number"].get<int>() < 1)
    throw std::runtime_error("bench decode: clingo found no solution");
  return answer;
}

// clingo with the clues as facts: one process per board, and all boards in one grounding (one answer set per
// board).
void add_clingo_rows(const std::string& clingo, const std::string& program,
                     const std::vector<sudoku::Board>& boards, double ours, Json& rows) {
  double each = 0;
  for (int k = 0; k < kClingoRuns; ++k) {
    const std::string input = program + clue_constraints(boards[static_cast<std::size_t>(k)].puzzle, "");
    each += solved_by_clingo(clingo, input, "1")["Time"]["CPU"].get<double>() / kClingoRuns;
  }
  std::string together =
      program + "{ board(1.." + std::to_string(boards.size()) + ") } = 1.\n#show board/1.\n";
  for (std::size_t k = 0; k < boards.size(); ++k) {
    together += clue_constraints(boards[k].puzzle, "board(" + std::to_string(k + 1) + "), ");
  }
  const double count = static_cast<double>(boards.size());
  const nlohmann::json answer = solved_by_clingo(clingo, together, "0");
  if (answer["Models"]["Number"].get<std::size_t>() != boards.size()) {
    throw std::runtime_error("bench decode: clingo found another number of solutions");
  }
  const nlohmann::json& time = answer["Time"];
  const double shared = time["CPU"].get<double>() / count;
  // clingo reports solving in wall time only, so its share of the total wall time is applied to the processor
  // time.
  const double solving = shared * time["Solve"].get<double>() / time["Total"].get<double>();
  rows.push_back(row("clingo, one process and one grounding per board", each * 1e3, "ms"));
  rows.push_back(row("clingo, all boards in one grounding", shared * 1e3, "ms"));
  rows.push_back(row("clingo, all boards in one grounding, solving alone", solving * 1e3, "ms"));
  rows.push_back(row("times faster than clingo with process and grounding", each / ours, "x", "at least 200",
                     each / ours >= kAskedOverClingo));
  rows.push_back(row("times faster than clingo in one grounding", shared / ours, "x"));
  rows.push_back(row("times faster than clingo's solving alone", solving / ours, "x"));
}

// Times clingo's time, grounding included on both sides; where clingo did not prove its answer in time, ours.
void add_problem_rows(const std::string& clingo, const ReportStep& progress, Json& rows, Json& problems) {
  for (const ProblemFigures& figures : measure_problems(clingo, kProblemSeconds, progress)) {
    problems.push_back({{"name", figures.name},
                        {"seconds", figures.whole},
                        {"seconds_decoding", figures.decoding},
                        {"proved", figures.proved},
                        {"clingo_seconds", clingo.empty() ? Json(nullptr) : Json(figures.clingo)},
                        {"clingo_proved", clingo.empty() ? Json(nullptr) : Json(figures.clingo_proved)}});
    rows.push_back(row(figures.name, figures.whole * 1e3, "ms", "proved", figures.proved));
    if (!figures.clingo_proved) continue;
    const double times = figures.whole / std::max(figures.clingo, 1e-3);  // clingo counts milliseconds
    rows.push_back(row("  times clingo's time", times, "x", "at most 10", times <= kAskedOfProblems));
  }
}

}  // namespace

Json measure_decode(const Options&, const ReportStep& progress) {
  const std::string file = shipped_file("programs/sudoku.lp").string();
  const std::string clingo = verify::find_clingo({});
  const compile::ConstraintProgram nine = compile::compile_files({file}).program;
  const decode::Decoder decoder(nine);
  Json rows = Json::array();
  bool all_certified = true;

  progress("9x9, 36 clues");
  const std::vector<sudoku::Board> easy = sudoku::generate(sudoku::GenerateOptions{}, 0, kDecodedBoards, 2);
  const std::vector<decode::Query> easy_queries = queries_of(easy, 9);
  const auto easy_decoded = decoder.decode_batch(easy_queries, {}, 1);
  require_right(nine, easy, easy_decoded);
  all_certified = certified(file, nine, easy_decoded, "3") && all_certified;
  const double one = boards_a_second(decoder, easy_queries);
  const double two = kDecodedBoards / least_of_passes([&] {
                       return wall_seconds([&] { decoder.decode_batch(easy_queries, {}, 2); });
                     });
  rows.push_back(row("9x9, 36 clues, one core", one, "/s", "at least 20,000", one >= kAskedEasy));
  rows.push_back(row("9x9, 36 clues, two cores (wall time)", two, "/s"));
  if (!clingo.empty()) add_clingo_rows(clingo, read_file(file), easy, 1 / one, rows);

  progress("9x9, 17 clues");
  const std::vector<sudoku::Board> hard = seventeen_clues(kDecodedBoards);
  const std::vector<decode::Query> hard_queries = queries_of(hard, 9);
  const auto hard_decoded = decoder.decode_batch(hard_queries, {}, 1);
  require_right(nine, hard, hard_decoded);
  all_certified = certified(file, nine, hard_decoded, "3") && all_certified;
  const double hard_one = boards_a_second(decoder, hard_queries);
  rows.push_back(row("9x9, 17 clues, one core", hard_one, "/s", "at least 100,000", hard_one >= kAskedHard));

  progress("16x16");
  asp::GroundOptions large_options;
  large_options.constants = {{"b", "4"}};
  const compile::ConstraintProgram sixteen = compile::compile_files({file}, large_options).program;
  const decode::Decoder large(sixteen);
  sudoku::GenerateOptions large_boards;
  large_boards.box = 4;
  large_boards.min_clues = large_boards.max_clues = 102;  // 40 % of 256
  const std::vector<sudoku::Board> boards = sudoku::generate(large_boards, 0, kLargeBoards, 2);
  const std::vector<decode::Query> large_queries = queries_of(boards, 16);
  std::vector<decode::Decoded> large_decoded;
  std::vector<double> seconds;
  for (const decode::Query& query : large_queries) {
    seconds.push_back(processor_seconds_of([&] { large_decoded.push_back(large.decode(query)); }));
  }
  require_right(sixteen, boards, large_decoded);
  all_certified = certified(file, sixteen, large_decoded, "4") && all_certified;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  rows.push_back(row("16x16, 40 % clues, median", median * 1e3, "ms", "under 50", median < kAskedLarge));
  rows.push_back(row("16x16, 40 % clues, slowest", seconds.back() * 1e3, "ms"));
  Json problems = Json::array();
  add_problem_rows(clingo, progress, rows, problems);
  return Json{{"rows", rows},
              {"boards", kDecodedBoards},
              {"certified_by_clingo", all_certified},
              {"problems", problems}};
}

}  // namespace as2::bench
