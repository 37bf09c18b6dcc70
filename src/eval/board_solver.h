// Boards read from pictures, solved: perception at the clues, the reasoner, and the exact decoder.
//
// The decoder maximises Σ log p over perception's beliefs at the clues, blanks being uniform, so a clue read
// wrongly may be put right by the rules. The reasoner's beliefs guide its search and break ties; multiplied
// in, they would count the evidence twice. The two best answers say whether the best is the only one: a
// second with the same clues means that the puzzle has several solutions, else it says how far the next
// reading is.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/decoder.h"
#include "nn/model.h"
#include "train/config.h"
#include "vision/board_image.h"

namespace as2::eval {

// Nats of correction beyond which clues are not misread but wrong; `as2 bench misreading` measures what it
// costs.
constexpr double kMisreading = 4;

struct BoardAnswer {
  decode::Beliefs beliefs;   // perception's at clues, uniform at blanks
  decode::Beliefs reasoned;  // the reasoner's, or the same without one
  std::vector<int> clues;    // positions with ink
  decode::Decoded decoded;   // at most two models
  decode::Explanation explanation;
  double correction = 0;         // nats by which the changed clues are less likely than what was read
  bool completable = false;      // there is an answer, and misreading explains its correction
  std::optional<bool> unique;    // none: no answer, or the search for a second one was given up
  std::optional<double> margin;  // log p of the answer minus that of the next best; none: there is no other

  const compile::Assignment& assignment() const { return decoded.models.front().assignment; }
};

// Seconds spent on each step.
struct SolveTimes {
  double perception = 0, reasoning = 0, decoding = 0;
};

class BoardSolver {
 public:
  // Loads weights with their card for boards of box × box boxes; InputError where they do not fit. Without
  // the reasoner the answers are as probable, and found without its guidance.
  BoardSolver(const std::filesystem::path& weights, int box, bool with_reasoner = true);

  const compile::ConstraintProgram& program() const { return program_; }
  const train::ProgramConfig& program_config() const { return program_config_; }
  // Answers in order. Adds to `times` where given.
  std::vector<BoardAnswer> solve(const std::vector<vision::BoardReading>& boards,
                                 SolveTimes* times = nullptr);

  // The groups that the clues as read cannot all satisfy; empty where nothing was changed.
  std::vector<int> conflict(const BoardAnswer& answer) const;
  // What perception read at a position: the symbol it believes most.
  int read_at(const BoardAnswer& answer, int position) const;
  double belief(const decode::Beliefs& beliefs, int position, int symbol) const;
  // How sure: perception of a clue's symbol, the reasoner of a blank's.
  double confidence(const BoardAnswer& answer, int position, int symbol) const;
  // The digits of the answer in reading order.
  sudoku::Grid digits(const BoardAnswer& answer) const;

 private:
  std::vector<BoardAnswer> solve_together(const std::vector<vision::BoardReading>& boards, SolveTimes* times);
  void look(const std::vector<vision::BoardReading>& boards, std::vector<BoardAnswer>& answers);
  void reason(std::vector<BoardAnswer>& answers);
  void decode(std::vector<BoardAnswer>& answers) const;
  // What the models say about an answer: what was changed, whether it is the only one.
  void judge(BoardAnswer& answer) const;

  train::ProgramConfig program_config_;
  compile::ConstraintProgram program_;
  std::shared_ptr<nn::Model> model_;
  std::unique_ptr<decode::Decoder> decoder_;
  torch::Tensor class_of_;  // [symbols] int64: perception's class of each symbol
};

}  // namespace as2::eval
