// Which reading counts.
//
// Where a sheet shows printed digits and a pen's, the printed ones are the clues if they alone have exactly
// one solution; else all are. Where a reading has several solutions a clue was probably taken for a blank, so
// cells that are probably but not surely blank are read as well; only then may the solver take the next best
// reading that has one. Handwriting alone is read by the model's own perception, which has seen more of it.
// A digit that the rules contradict where a blank explains the cell better is no clue.
// Rejected: multiplying what both networks say (both see the same ink, so their errors are not independent).
#include "boards/photo_solver.h"

#include <algorithm>

#include "as2/error.h"
#include "boards/boards.h"

namespace as2::boards {
namespace {

constexpr double kSurelyBlank = 0.999;

// The digits of a handwritten board as the model's perception wants them: every cell with ink whose belief in
// a blank is less than `most_blank`.
infer::Scene handwriting(const vision::Photo& photo, const BoardCells& board, double most_blank) {
  if (photo.straight && board.turns == 0) return scene_of(*photo.straight);
  vision::Photo upright = photo;
  upright.lattice = board.lattice;
  const std::vector<formats::Image> cells = vision::normalised_cells(upright);
  infer::Scene scene;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const bool inked =
        std::any_of(cells[k].pixels.begin(), cells[k].pixels.end(), [](int p) { return p > 0; });
    if (inked && board.cells[k].blank < most_blank) scene.push_back({static_cast<int>(k), cells[k].pixels});
  }
  return scene;
}

}  // namespace

PhotoSolver::PhotoSolver(infer::Solver& board, std::function<infer::Solver()> open_cells)
    : board_(board), open_cells_(std::move(open_cells)) {}

PhotoAnswer PhotoSolver::answered(const vision::Photo& photo, infer::Answer answer) {
  PhotoAnswer result;
  result.answer = std::move(answer);
  result.saw = photo.saw;
  result.lattice = photo.lattice.scaled(photo.shrunk);
  result.blank.assign(photo.cells.size(), true);
  for (const int position : result.answer.evidence) result.blank[static_cast<std::size_t>(position)] = false;
  return result;
}

PhotoAnswer PhotoSolver::solve(const vision::Photo& photo, const std::string& name,
                               infer::SolveTimes* times) {
  if (photo.straight && !photo.straight->lines)
    return answered(photo, board_.solve({scene_of(*photo.straight)}, times).front());
  if (!reader_) reader_ = std::make_unique<CellReader>(open_cells_(), board_.program());
  const BoardCells board = reader_->read(photo, times);
  const int filled = board.printed + board.written;
  std::string saw = photo.saw;
  if (!photo.straight || board.turns > 0 || !board.is_handwritten()) {
    saw = photo.seen + ", " + std::to_string(filled) + " of " + std::to_string(board.cells.size()) +
          " cells filled: " + board.text();
  }
  if (filled == 0)
    throw InputError({name}, "unreadable: saw " + saw, {"no cell has ink that could be a digit"});
  infer::Answer best;
  std::vector<Entry> entries;
  if (board.is_handwritten()) {
    for (const double most_blank : {0.5, kSurelyBlank}) {
      infer::Answer answer =
          board_.answer(board_.look({handwriting(photo, board, most_blank)}, times), times).front();
      const bool settled = answer.completable && answer.unique.value_or(false);
      if (most_blank == 0.5 || settled) best = std::move(answer);
      if (settled || !best.completable) break;
    }
  } else {
    const std::vector<infer::Evidence> readings = reader_->evidence(board);
    for (std::size_t k = 0; k < readings.size(); ++k) {
      infer::Answer answer = board_.answer({readings[k]}, times).front();
      if (answer.completable) {
        if (const auto fewer = reader_->without_blanks(board, readings[k], answer)) {
          infer::Answer again = board_.answer({*fewer}, times).front();
          if (again.completable && again.unique.value_or(false)) answer = std::move(again);
        }
      }
      const bool settled = answer.completable && answer.unique.value_or(false);
      if (k == 0 || settled || (!best.completable && answer.completable)) best = std::move(answer);
      if (!settled) continue;
      if (k == 0 && readings.size() > 1 && readings[0].positions.size() < static_cast<std::size_t>(filled))
        entries = reader_->entries(board);
      break;
    }
  }
  PhotoAnswer result = answered(photo, std::move(best));
  result.saw = saw;
  result.lattice = board.lattice.scaled(photo.shrunk);
  result.entries = std::move(entries);
  for (const Entry& entry : result.entries) result.blank[static_cast<std::size_t>(entry.position)] = false;
  return result;
}

}  // namespace as2::boards
