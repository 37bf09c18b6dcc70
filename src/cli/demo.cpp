// as2 demo: the main job on the weights that ship. Boards of digits that training never saw are read, solved
// and shown; then the two tables of the paper, with our column measured now and certified by clingo.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "as2/verifier.h"
#include "boards/boards.h"
#include "cli/board_text.h"
#include "cli/engines.h"
#include "cli/print_document.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "datasets/mnist.h"
#include "eval/evaluate.h"
#include "eval/trained.h"
#include "sudoku/board.h"
#include "sudoku/render.h"
#include "vision/board_image.h"

namespace as2::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kSeed = 2026;   // of the boards shown and of the digits drawn for them
constexpr int kShownClues = 36;         // the usual number in published visual Sudoku, within one
constexpr std::size_t kSearched = 200;  // boards looked through for one with a misread digit
constexpr std::size_t kAtOnce = 10;
constexpr const char* kTableClues = "45";  // as the paper's boards, on average
constexpr std::int64_t kFullBoards = 1000;

// What the paper reports, in percent; −1: not reported. From its tables of results on Visual Sudoku and MNIST
// Addition, and the paragraph on Visual Sudoku for raw and refined.
struct PaperBoards {
  const char* method;
  double cell, board, csr, vcsr;
};
constexpr PaperBoards kPaperBoards[] = {{"raw argmax", -1, 95.60, -1, -1},
                                        {"refined, K = 10", -1, -1, 98.7, -1},
                                        {"greedy", 99.89, 100.0, 100.0, 100.0}};
constexpr PaperBoards kPeerBoards = {"PBCS (perception + CP-SAT)", -1, 99.4, -1, -1};
struct PaperSums {
  int addends;
  double digit, sum;
};
constexpr PaperSums kPaperSums[] = {{2, 99.73, 99.45}, {4, 99.87, 99.44}, {8, 99.95, 99.01}};

struct DemoArguments {
  std::int64_t boards = 300;
  bool full = false, json = false, quiet = false;
  std::string out = "demo.png", model, data_dir;
  EngineChoice engine;
};

struct Shown {
  std::size_t number = 0;  // in the seed's list, from 1
  sudoku::Board board;
  formats::Image picture;
  vision::BoardReading reading;
  infer::Answer answer;
  bool misread = false;
  std::optional<bool> valid;  // by clingo
};

class Demo {
 public:
  Demo(const DemoArguments& arguments, const Engine& engine)
      : arguments_(arguments),
        engine_(engine),
        weights_(arguments.model.empty() ? infer::default_model("sudoku") : fs::path(arguments.model)),
        boards_(boards::open_board_solver(weights_, 3, opener(engine, arguments.engine))),
        solver_(boards_.solver) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    choose_boards();
    certify();
    if (!arguments_.json) show_boards();
    draw_picture();
    measure_boards();
    measure_sums();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    document_["seconds"] = seconds;
    if (arguments_.json) {
      print_document(document_);
    } else {
      std::printf("%.0f seconds in all. More: `as2 solve IMAGE`, `as2 eval sudoku`, docs/RESULTS.md\n",
                  seconds);
    }
    return kDone;
  }

 private:
  void tell(const std::string& text) const {
    if (!arguments_.quiet) std::cerr << text << '\n';
  }

  // The first two boards of the seed's list, and the first on which perception misread a digit.
  void choose_boards() {
    const datasets::Mnist mnist = datasets::load_mnist(
        {arguments_.data_dir, arguments_.data_dir.empty(), [&](const std::string& text) { tell(text); }});
    const auto by_label = datasets::indices_by_label(mnist.test);
    sudoku::GenerateOptions options;
    options.min_clues = options.max_clues = kShownClues;
    options.seed = kSeed;
    Random random(kSeed);
    bool found = false;
    for (std::size_t first = 0; first < kSearched && !found; first += kAtOnce) {
      std::vector<Shown> boards(kAtOnce);
      std::vector<vision::BoardReading> readings;
      const auto generated = sudoku::generate(options, first, kAtOnce);
      for (std::size_t k = 0; k < kAtOnce; ++k) {
        boards[k].number = first + k + 1;
        boards[k].board = generated[k];
        boards[k].picture =
            sudoku::render_board(sudoku::choose_images(generated[k].puzzle, by_label, random), mnist.test);
        boards[k].reading =
            vision::read_board(boards[k].picture, "board " + std::to_string(boards[k].number));
        readings.push_back(boards[k].reading);
      }
      const auto answers = solver_.solve(boards::scenes_of(readings));
      for (std::size_t k = 0; k < kAtOnce && !found; ++k) {
        boards[k].answer = answers[k];
        boards[k].misread = is_misread(boards[k]);
        found = boards[k].misread;
        if (found || boards[k].number <= 2) shown_.push_back(std::move(boards[k]));
      }
    }
    if (!found) tell("no digit was misread on the first " + std::to_string(kSearched) + " boards");
  }

  bool is_misread(const Shown& shown) const {
    for (const int clue : shown.answer.evidence) {
      const std::string& read =
          solver_.program().positions[clue].symbols[solver_.read_at(shown.answer, clue)];
      if (read != std::to_string(shown.board.solution[clue])) return true;
    }
    return false;
  }

  bool is_right(const Shown& shown) const {
    return shown.answer.completable && boards::digits_of(solver_, shown.answer) == shown.board.solution;
  }

  void certify() {
    std::vector<verify::ChosenAtoms> chosen;
    for (const Shown& shown : shown_)
      chosen.push_back(verify::chosen_atoms(solver_.program(), shown.answer.assignment()));
    const auto verdicts = verify::verify({boards_.source.file}, chosen);
    document_["boards"] = Json::array();
    for (std::size_t k = 0; k < shown_.size(); ++k) {
      shown_[k].valid = verdicts[k].valid;
      Json board{
          {"number", shown_[k].number}, {"misread", shown_[k].misread}, {"right", is_right(shown_[k])}};
      board["valid"] = shown_[k].valid ? Json(*shown_[k].valid) : Json(nullptr);
      board.update(board_json(solver_, shown_[k].answer, false));
      document_["boards"].push_back(board);
    }
  }

  void show_boards() const {
    std::printf(
        "Handwritten boards: MNIST test digits, which training never saw; puzzles of seed %llu, %d clues.\n",
        static_cast<unsigned long long>(kSeed), kShownClues);
    const bool colour = colour_wanted();
    for (const Shown& shown : shown_) {
      std::printf("\nBoard %zu%s\n", shown.number,
                  shown.misread ? ", the first of the list on which perception misreads a digit" : "");
      std::cout << formats::terminal_picture(shown.picture, 81, colour)
                << board_text(solver_, shown.answer, {0.9, false, colour});
      std::cout << "  " << (is_right(shown) ? "right: every cell as in the puzzle's solution" : "WRONG")
                << "; clingo: "
                << (!shown.valid   ? "no verdict (not installed, or out of time)"
                    : *shown.valid ? "an answer set"
                                   : "NOT an answer set")
                << std::endl;
    }
  }

  // One row per board: the picture, and the answer drawn into it with corrected clues framed.
  void draw_picture() {
    constexpr int kGap = 12, kScale = 2;
    const int side = shown_.front().picture.width * kScale;
    formats::Image sheet(2 * side + 3 * kGap, static_cast<int>(shown_.size()) * (side + kGap) + kGap, 90);
    for (std::size_t k = 0; k < shown_.size(); ++k) {
      const Shown& shown = shown_[k];
      const int y = kGap + static_cast<int>(k) * (side + kGap);
      formats::Image answer =
          vision::draw_answer(shown.picture, shown.reading, boards::digits_of(solver_, shown.answer));
      answer = formats::resize(answer, side, side);
      for (const decode::Change& change : shown.answer.explanation.changed) {
        const vision::CellPlace& cell = shown.reading.places[static_cast<std::size_t>(change.position)];
        const double x0 = cell.x * kScale + 2, y0 = cell.y * kScale + 2, x1 = x0 + cell.width * kScale - 4,
                     y1 = y0 + cell.height * kScale - 4;
        formats::draw_line(answer, x0, y0, x1, y0, 2, 255);
        formats::draw_line(answer, x0, y1, x1, y1, 2, 255);
        formats::draw_line(answer, x0, y0, x0, y1, 2, 255);
        formats::draw_line(answer, x1, y0, x1, y1, 2, 255);
      }
      formats::paste(sheet, formats::resize(shown.picture, side, side), kGap, y);
      formats::paste(sheet, answer, side + 2 * kGap, y);
    }
    formats::write_png(arguments_.out, sheet);
    document_["picture"] = arguments_.out;
    if (!arguments_.json)
      std::printf("\n%s: these boards and their answers; clues the rules corrected are framed\n\n",
                  arguments_.out.c_str());
  }

  eval::EvaluateOptions evaluate_options() const {
    eval::EvaluateOptions options;
    options.seed = kSeed;
    options.batch = 16;
    options.threads = arguments_.engine.threads;
    return options;
  }
  infer::PerceiverAndGuide networks_of(const eval::Trained& trained) const {
    return engine_.open(arguments_.engine, trained.card, trained.task->shared_program());
  }
  task::TaskOptions task_options() const {
    task::TaskOptions options;
    options.data_dir = arguments_.data_dir;
    return options;
  }

  void measure_boards() {
    const std::int64_t count = arguments_.full ? kFullBoards : arguments_.boards;
    tell("measuring on " + std::to_string(count) + " boards");
    const std::string clues = kTableClues;
    const eval::Trained trained = eval::load_trained(
        weights_, "sudoku", {"data.min_clues=" + clues, "data.max_clues=" + clues}, task_options());
    infer::PerceiverAndGuide networks = networks_of(trained);
    const auto ours = eval::evaluate_boards(
        networks, *trained.task, trained.task->instances(task::Part::kTest, count), evaluate_options());
    Json paper = Json::object();
    for (const PaperBoards& row : kPaperBoards) paper[row.method] = numbers(row);
    document_["sudoku"] = {{"clues", 45}, {"paper", paper}, {"pbcs", numbers(kPeerBoards)}, {"ours", ours}};
    if (!arguments_.json) print_boards(ours, count);
  }

  static Json numbers(const PaperBoards& row) {
    const auto share = [](double percent) { return percent < 0 ? Json(nullptr) : Json(percent / 100); };
    return {{"cell", share(row.cell)},
            {"board", share(row.board)},
            {"csr", share(row.csr)},
            {"vcsr", share(row.vcsr)}};
  }

  static void print_row(const std::string& name, const Json& row) {
    std::printf("  %-34s", name.c_str());
    for (const char* measure : {"cell", "board", "csr", "vcsr"}) {
      if (row[measure].is_null()) {
        std::printf("%9s", "-");
      } else {
        std::printf("%9.2f", 100 * row[measure].get<double>());
      }
    }
    std::printf("\n");
  }

  static void print_boards(const Json& ours, std::int64_t count) {
    std::printf("Visual Sudoku, %s clues, percent; ours: %lld boards of MNIST test digits, measured now\n",
                kTableClues, static_cast<long long>(count));
    std::printf("  %-34s%9s%9s%9s%9s\n", "", "cell", "board", "CSR", "VCSR");
    for (const PaperBoards& row : kPaperBoards) print_row(std::string("paper: ") + row.method, numbers(row));
    print_row(kPeerBoards.method, numbers(kPeerBoards));
    for (const char* part : {"given_clues", "perceived_clues"}) {
      if (!ours.contains(part)) continue;
      const std::string prefix = part[0] == 'g' ? "ours, right clues given: " : "ours, clues perceived: ";
      const std::pair<const char*, const char*> rows[] = {{"raw", "raw"},
                                                          {"refined", "refined"},
                                                          {"greedy", "greedy"},
                                                          {"map", "map"},
                                                          {"perception_map", "no reasoner"},
                                                          {"unique_map", "one solution"}};
      for (const auto& [method, name] : rows) {
        if (ours[part].contains(method)) print_row(prefix + name, ours[part][method]);
      }
    }
    if (!ours["clue_accuracy"].is_null())
      std::printf("  clues read right: %.2f\n", 100 * ours["clue_accuracy"].get<double>());
    std::printf(
        "  CSR: boards that satisfy the program, algebraically; VCSR: the same by clingo, the certificate.\n"
        "  The paper restores clues and so reports reasoning; raw, refined and decoded are never mixed in a "
        "row.\n\n");
  }

  void measure_sums() {
    std::vector<Json> measured;
    for (const fs::path& weights : infer::shipped_models("addition")) {
      tell("measuring " + weights.filename().string());
      const eval::Trained trained = eval::load_trained(weights, "addition", {}, task_options());
      const std::int64_t count = 5 * (arguments_.full ? kFullBoards : arguments_.boards);
      infer::PerceiverAndGuide networks = networks_of(trained);
      measured.emplace_back(eval::evaluate_tuples(
          networks, *trained.task, trained.task->instances(task::Part::kTest, count), evaluate_options()));
      measured.back()["model"] = weights.filename().string();
    }
    if (!arguments_.json) {
      std::printf("MNIST Addition, percent; ours: tuples of MNIST test digits, measured now\n");
      std::printf("  %-34s%9s%9s\n", "", "digit", "sum");
    }
    document_["addition"] = Json::array();
    for (const PaperSums& paper : kPaperSums) {
      Json row{{"n", paper.addends},
               {"paper", {{"digit_accuracy", paper.digit / 100}, {"sum_accuracy", paper.sum / 100}}},
               {"ours", Json::array()}};
      const std::string name = "N = " + std::to_string(paper.addends);
      if (!arguments_.json)
        std::printf("  %-34s%9.2f%9.2f\n", (name + ", paper").c_str(), paper.digit, paper.sum);
      for (const Json& ours : measured) {
        if (ours["n"] != paper.addends) continue;
        row["ours"].push_back(ours);
        if (!arguments_.json)
          std::printf("  %-34s%9.2f%9.2f\n",
                      (name + ", ours, " + ours["supervision"].get<std::string>()).c_str(),
                      100 * ours["digit_accuracy"].get<double>(), 100 * ours["sum_accuracy"].get<double>());
      }
      if (row["ours"].empty() && !arguments_.json)
        std::printf("  %-34s%9s%9s  no model ships; `as2 train addition` makes one\n",
                    (name + ", ours").c_str(), "-", "-");
      document_["addition"].push_back(row);
    }
    if (!arguments_.json) std::printf("\n");
  }

  const DemoArguments& arguments_;
  const Engine& engine_;
  fs::path weights_;
  boards::BoardSolver boards_;
  infer::Solver& solver_;
  std::vector<Shown> shown_;
  Json document_{{"seed", kSeed}};
};

}  // namespace

Action declare_demo(CLI::App& command) {
  return declare_demo_on(command, {kNativeEngine});
}

Action declare_demo_on(CLI::App& command, const std::vector<Engine>& engines) {
  auto arguments = std::make_shared<DemoArguments>();
  command.add_option("--boards", arguments->boards, "Boards to measure on")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command.add_flag("--full", arguments->full, "Measure on 1,000 boards");
  command.add_option("--out", arguments->out, "File for the picture of the boards shown")
      ->capture_default_str()
      ->check(png_file())
      ->type_name("PNG");
  command.add_option("--model", arguments->model,
                     "Weights (.safetensors, with the card beside it); default: the shipped ones");
  command.add_option("--data-dir", arguments->data_dir,
                     "Folder of MNIST's idx files; default: $AS2_DATA, the cache, the network");
  declare_engine(command, arguments->engine);
  command.add_flag("--quiet", arguments->quiet, "No progress");
  command.add_flag("--json", arguments->json, "One JSON document");
  command.footer(
      "Accuracies of fewer than 1,000 boards are rough; tables over seeds are in docs/RESULTS.md.");
  return [arguments, engines] {
    const Engine* engine = find_engine(engines, arguments->engine);
    return engine ? Demo(*arguments, *engine).run() : continue_in_tensor_program();
  };
}

}  // namespace as2::cli
