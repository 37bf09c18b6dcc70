// Which reading counts.
//
// Where a sheet shows printed digits and a pen's, the printed ones are the clues if they alone have exactly
// one solution; else all are. Where a reading has several solutions a clue was probably taken for a blank, so
// cells that are probably but not surely blank are read as well; only then may the solver take the next best
// reading that has one. A digit that the rules contradict where a blank explains the cell better is no clue;
// a pale one that they name is (CellReader::with_pale).
// Where nothing settles it, the answer is that of all digits.
// Which way up the sheet lies say its digits. Where they lead to no single solution and another turn is
// nearly as certain, that turn is taken if its digits as read have exactly one.
#include "boards/photo_solver.h"

#include <algorithm>

#include "as2/error.h"
#include "boards/boards.h"

namespace as2::boards {
namespace {

bool is_settled(const infer::Answer& answer) {
  return answer.completable && answer.unique.value_or(false);
}

// Where three digits or more, and one in twelve, are rather something else than what they are read as, the
// grid lies beside the digits, or they are none: an answer would be made up. Of 450 photos that are read
// rightly none has three.
constexpr double kDoubtful = 0.5;
constexpr std::size_t kMostDoubtful = 2, kDoubtfulShare = 12;

std::size_t doubtful_digits(const infer::Solver& board, const infer::Answer& answer) {
  return static_cast<std::size_t>(
      std::count_if(answer.evidence.begin(), answer.evidence.end(), [&](int position) {
        return board.belief(answer.beliefs, position, board.read_at(answer, position)) < kDoubtful;
      }));
}

}  // namespace

PhotoSolver::PhotoSolver(infer::Solver& board, std::function<infer::Solver()> open_cells, double seconds)
    : time_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))),
      board_(board),
      open_cells_(std::move(open_cells)) {}

infer::Answer PhotoSolver::search(infer::Evidence evidence, infer::SolveTimes* times) {
  infer::Answer answer = board_.answer({std::move(evidence)}, times, until_).front();
  timed_out_ = timed_out_ || Clock::now() >= until_;
  return answer;
}

bool PhotoSolver::may_go_on() {
  const bool may = Clock::now() < until_ - time_ / 2;
  timed_out_ = timed_out_ || !may;
  return may;
}

PhotoAnswer PhotoSolver::answered(const vision::Photo& photo, infer::Answer answer) {
  PhotoAnswer result;
  result.answer = std::move(answer);
  result.saw = photo.saw;
  result.lattice = photo.lattice.scaled(photo.shrunk);
  result.blank.assign(photo.cells.size(), true);
  for (const int position : result.answer.evidence) result.blank[static_cast<std::size_t>(position)] = false;
  return result;
}

PhotoSolver::Judged PhotoSolver::judged(const BoardCells& board, infer::SolveTimes* times) {
  Judged best;
  const std::vector<infer::Evidence> readings = reader_->evidence(board);
  const auto filled = static_cast<std::size_t>(board.printed + board.written);
  const bool printed_alone = readings.size() > 1 && readings[0].positions.size() < filled;
  const std::size_t all_digits = printed_alone ? 1 : 0;
  for (std::size_t k = 0; k < readings.size() && !is_settled(best.answer); ++k) {
    if (k > all_digits && !may_go_on()) break;
    infer::Answer answer = search(readings[k], times);
    if (answer.completable) {
      if (const auto fewer = reader_->without_blanks(board, readings[k], answer)) {
        infer::Answer again = search(*fewer, times);
        if (is_settled(again)) answer = std::move(again);
      }
    }
    const bool settled = is_settled(answer);
    if (settled) {
      if (const auto more = reader_->with_pale(board, answer)) {
        infer::Answer again = search(*more, times);
        if (is_settled(again) && again.assignment() == answer.assignment()) answer = std::move(again);
      }
    }
    if (settled && k == 0 && printed_alone) best.entries = reader_->entries(board);
    if (k == 0 || settled || (answer.completable && (k == all_digits || !best.answer.completable)))
      best.answer = std::move(answer);
  }
  return best;
}

PhotoAnswer PhotoSolver::solve(const vision::Photo& photo, const std::string& name,
                               infer::SolveTimes* times) {
  if (photo.straight && !photo.straight->lines && !has_long_numbers(board_.program()))
    return answered(photo, board_.solve({scene_of(*photo.straight)}, times).front());
  if (!reader_) reader_ = std::make_unique<CellReader>(open_cells_(), board_);
  until_ = Clock::now() + time_;
  timed_out_ = false;
  const std::vector<int> turns = reader_->likely_turns(photo, times);
  BoardCells board = reader_->read(photo, turns.front(), times);
  const auto saw = [&] {
    const int filled = board.printed + board.written;
    return photo.seen + ", " + std::to_string(filled) + " of " + std::to_string(board.cells.size()) +
           " cells filled: " + board.text();
  };
  if (board.printed + board.written == 0)
    throw InputError({name}, "unreadable: saw " + saw(), {"no cell has ink that could be a digit"});
  Judged best = judged(board, times);
  for (std::size_t k = 1; k < turns.size() && !is_settled(best.answer) && may_go_on(); ++k) {
    BoardCells turned = reader_->read(photo, turns[k], times);
    Judged other = judged(turned, times);
    if (!is_settled(other.answer) || other.answer.reread) continue;
    best = std::move(other);
    board = std::move(turned);
  }
  const std::size_t doubtful = doubtful_digits(board_, best.answer), read = best.answer.evidence.size();
  if (doubtful > kMostDoubtful && doubtful * kDoubtfulShare >= read) {
    throw InputError({name},
                     "unreadable: saw " + saw() + "; " + std::to_string(doubtful) + " of " +
                         std::to_string(read) + " digits were read with less than even confidence",
                     {"the whole board should be in the picture and its cells of one size; --debug-dir shows "
                      "where they were looked for"});
  }
  PhotoAnswer result = answered(photo, std::move(best.answer));
  result.saw = saw();
  result.timed_out = timed_out_;
  result.lattice = board.lattice.scaled(photo.shrunk);
  result.entries = std::move(best.entries);
  for (const Entry& entry : result.entries) result.blank[static_cast<std::size_t>(entry.position)] = false;
  return result;
}

}  // namespace as2::boards
