#include "eval/board_solver.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "datasets/mnist.h"
#include "eval/trained.h"

namespace as2::eval {
namespace {

constexpr double kTimeBudgetSeconds = 10;
// Boards through the networks at once: more, and the tensors of every step are new pages from the system.
constexpr std::size_t kAtOnce = 16;

class Stopwatch {
 public:
  // Seconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// The program the model was trained on, or the same for boxes of another side.
train::ProgramConfig board_program(const std::filesystem::path& weights, int box) {
  const train::Config config = trained_config(weights);
  train::ProgramConfig program = config.program;
  if (box != config.data.box) {
    program.compiled.clear();
    program.constants = {{"b", std::to_string(box)}};
  }
  return program;
}

}  // namespace

BoardSolver::BoardSolver(const std::filesystem::path& weights, int box, bool with_reasoner)
    : program_config_(board_program(weights, box)), program_(train::load_program(program_config_)) {
  model_ = nn::load_model(weights, program_);
  if (!with_reasoner) model_->reasoner = nullptr;
  decoder_ = std::make_unique<decode::Decoder>(program_);
  const auto fail = [&](const std::string& what) {
    throw InputError({weights.string()}, what,
                     {"give --model a model of pictures, as `as2 train` writes it"});
  };
  if (model_->perception.is_empty()) fail("the model has no perception, so it reads no pictures");
  const auto classes = nn::read_card(weights).value("classes", std::vector<std::string>());
  if (program_.positions.size() != static_cast<std::size_t>(box * box * box * box))
    fail("its program has " + std::to_string(program_.positions.size()) + " positions, the board " +
         std::to_string(box * box * box * box) + " cells");
  std::vector<std::int64_t> class_of;
  for (const std::string& symbol : program_.positions.at(0).symbols) {
    const auto found = std::find(classes.begin(), classes.end(), symbol);
    if (found == classes.end()) fail("the model knows no picture of " + symbol);
    class_of.push_back(found - classes.begin());
  }
  class_of_ = torch::tensor(class_of);
}

std::vector<BoardAnswer> BoardSolver::solve(const std::vector<vision::BoardReading>& boards,
                                            SolveTimes* times) {
  std::vector<BoardAnswer> answers;
  for (std::size_t first = 0; first < boards.size(); first += kAtOnce) {
    const auto begin = boards.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kAtOnce, boards.size() - first));
    for (BoardAnswer& answer : solve_together({begin, begin + count}, times))
      answers.push_back(std::move(answer));
  }
  return answers;
}

std::vector<BoardAnswer> BoardSolver::solve_together(const std::vector<vision::BoardReading>& boards,
                                                     SolveTimes* times) {
  const torch::NoGradGuard no_grad;
  std::vector<BoardAnswer> answers(boards.size());
  SolveTimes spent;
  Stopwatch watch;
  look(boards, answers);
  spent.perception = watch.lap();
  reason(answers);
  spent.reasoning = watch.lap();
  decode(answers);
  spent.decoding = watch.lap();
  if (times) {
    times->perception += spent.perception;
    times->reasoning += spent.reasoning;
    times->decoding += spent.decoding;
  }
  return answers;
}

void BoardSolver::look(const std::vector<vision::BoardReading>& boards, std::vector<BoardAnswer>& answers) {
  const std::size_t stride = static_cast<std::size_t>(program_.max_symbols());
  std::int64_t pictures = 0;
  for (std::size_t n = 0; n < boards.size(); ++n) {
    AS2_REQUIRE(boards[n].cells.size() == program_.positions.size(), "a board of the program's size");
    answers[n].beliefs.assign(program_.positions.size() * stride, 1.0 / static_cast<double>(stride));
    for (std::size_t cell = 0; cell < boards[n].cells.size(); ++cell) {
      if (!boards[n].blank[cell]) answers[n].clues.push_back(static_cast<int>(cell));
    }
    pictures += static_cast<std::int64_t>(answers[n].clues.size());
  }
  torch::Tensor pixels = torch::empty({pictures, datasets::kDigitSide, datasets::kDigitSide}, torch::kUInt8);
  std::uint8_t* pixel = pixels.data_ptr<std::uint8_t>();
  for (std::size_t n = 0; n < boards.size(); ++n) {
    for (const int clue : answers[n].clues) {
      const formats::Image& cell = boards[n].cells[static_cast<std::size_t>(clue)];
      pixel = std::copy(cell.pixels.begin(), cell.pixels.end(), pixel);
    }
  }
  const torch::Tensor logits = model_->perception->forward(pixels.to(torch::kFloat32).div(255)).logits;
  const torch::Tensor beliefs =
      model_->perception->beliefs(logits.index_select(1, class_of_)).to(torch::kFloat64).contiguous();
  const double* row = beliefs.data_ptr<double>();
  for (BoardAnswer& answer : answers) {
    for (const int clue : answer.clues) {
      std::copy(row, row + stride, answer.beliefs.begin() + static_cast<std::ptrdiff_t>(clue * stride));
      row += stride;
    }
  }
}

void BoardSolver::reason(std::vector<BoardAnswer>& answers) {
  const auto count = static_cast<std::int64_t>(answers.size());
  const auto positions = static_cast<std::int64_t>(program_.positions.size());
  const std::int64_t symbols = program_.max_symbols();
  torch::Tensor beliefs = torch::empty({count, positions, symbols}, torch::kFloat64);
  torch::Tensor evidence = torch::zeros({count, positions}, torch::kBool);
  double* belief = beliefs.data_ptr<double>();
  bool* given = evidence.data_ptr<bool>();
  for (BoardAnswer& answer : answers) {
    belief = std::copy(answer.beliefs.begin(), answer.beliefs.end(), belief);
    for (const int clue : answer.clues) given[clue] = true;
    given += positions;
    answer.reasoned = answer.beliefs;
  }
  if (!model_->reasoner) return;
  const torch::Tensor logits =
      model_->reasoner->forward({beliefs.to(torch::kFloat32), evidence}).logits.back();
  const torch::Tensor reasoned = torch::softmax(logits, -1).to(torch::kFloat64).contiguous();
  const double* row = reasoned.data_ptr<double>();
  for (BoardAnswer& answer : answers) {
    std::copy(row, row + answer.reasoned.size(), answer.reasoned.begin());
    row += answer.reasoned.size();
  }
}

void BoardSolver::decode(std::vector<BoardAnswer>& answers) const {
  decode::DecodeOptions options;
  options.models = 2;
  options.time_budget_seconds = kTimeBudgetSeconds;
  options.minimal_conflict = false;
  std::vector<decode::Query> queries;
  for (const BoardAnswer& answer : answers) queries.push_back({answer.beliefs, {}, {}, answer.reasoned});
  std::vector<decode::Decoded> decoded = decoder_->decode_batch(queries, options, at::get_num_threads());
  for (std::size_t n = 0; n < answers.size(); ++n) {
    answers[n].decoded = std::move(decoded[n]);
    judge(answers[n]);
  }
}

void BoardSolver::judge(BoardAnswer& answer) const {
  const auto& models = answer.decoded.models;
  if (models.empty()) return;
  answer.explanation = decode::explain(program_, answer.beliefs, models[0].assignment);
  for (const decode::Change& change : answer.explanation.changed)
    answer.correction += std::log(change.p_read) - std::log(std::max(change.p_decoded, 1e-30));
  answer.completable = answer.correction <= kMisreading;
  if (models.size() > 1) {
    answer.margin = models[0].log_probability - models[1].log_probability;
    answer.unique = std::any_of(answer.clues.begin(), answer.clues.end(), [&](int clue) {
      return models[0].assignment[clue] != models[1].assignment[clue];
    });
  } else if (answer.decoded.status == decode::Status::kOptimal) {
    answer.unique = true;
  }
}

std::vector<int> BoardSolver::conflict(const BoardAnswer& answer) const {
  if (answer.explanation.changed.empty()) return {};
  if (!answer.explanation.broken_groups.empty()) return answer.explanation.broken_groups;
  decode::Query query{answer.beliefs};
  for (const int clue : answer.clues) query.pins.push_back({clue, read_at(answer, clue)});
  decode::DecodeOptions options;
  options.time_budget_seconds = kTimeBudgetSeconds;
  return decoder_->decode(query, options).conflict.groups;
}

int BoardSolver::read_at(const BoardAnswer& answer, int position) const {
  const auto begin = answer.beliefs.begin() + static_cast<std::ptrdiff_t>(position) * program_.max_symbols();
  const auto end = begin + static_cast<std::ptrdiff_t>(program_.positions[position].symbols.size());
  return static_cast<int>(std::max_element(begin, end) - begin);
}

double BoardSolver::belief(const decode::Beliefs& beliefs, int position, int symbol) const {
  return beliefs[static_cast<std::size_t>(position) * program_.max_symbols() + symbol];
}

double BoardSolver::confidence(const BoardAnswer& answer, int position, int symbol) const {
  const bool clue = std::binary_search(answer.clues.begin(), answer.clues.end(), position);
  return belief(clue ? answer.beliefs : answer.reasoned, position, symbol);
}

sudoku::Grid BoardSolver::digits(const BoardAnswer& answer) const {
  sudoku::Grid grid;
  for (std::size_t i = 0; i < program_.positions.size(); ++i) {
    grid.push_back(static_cast<std::uint8_t>(
        std::stoi(program_.positions[i].symbols[static_cast<std::size_t>(answer.assignment()[i])])));
  }
  return grid;
}

}  // namespace as2::eval
