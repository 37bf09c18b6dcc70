#include "boards/cell_reader.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "as2/error.h"
#include "vision/cells.h"

namespace as2::boards {
namespace {

constexpr double kClearlyBetter = 3;  // nats by which a turn has to win over the photo as it was taken
constexpr double kFarWorse = 10;      // nats from which a turn is not worth asking the rules about
constexpr double kHardlyBlank = 0.98;
constexpr double kHardlyWritten = 0.05;  // with less the digit hardly hangs on who reads handwriting
constexpr int kLookedAtOnce = 16;        // cells of a turned board
// Of the pictures that the network was trained on 2 in 7 are blank (vision/cell_set.h), of a board's cells
// about 2 in 3: by Bayes's rule the odds of a blank are five times what the network says.
constexpr double kBlankOdds = (2.0 / 1) / (2.0 / 5);

// On a printed sheet a digit is a player's if that is clearly more likely than print: some typefaces look
// written.
constexpr double kClearlyWritten = 4;

double total(const std::vector<double>& beliefs) {
  double sum = 0;
  for (const double belief : beliefs) sum += belief;
  return sum;
}

// Some dark pixels away from the border.
bool has_ink(const formats::Image& cell) {
  constexpr int kDark = 110, kFew = 10;
  int dark = 0;
  for (int y = cell.height / 7; y < cell.height - cell.height / 7; ++y) {
    for (int x = cell.width / 7; x < cell.width - cell.width / 7; ++x) dark += cell.at(x, y) > kDark;
  }
  return dark >= kFew;
}

double likeliest_digit(const CellBeliefs& cell) {
  double best = 0;
  for (std::size_t s = 0; s < cell.printed.size(); ++s)
    best = std::max(best, cell.printed[s] + cell.written[s]);
  return best;
}

bool is_filled(const CellBeliefs& cell) {
  return likeliest_digit(cell) > cell.blank;
}

bool is_entry(const CellBeliefs& cell) {
  return is_filled(cell) && total(cell.written) > kClearlyWritten * total(cell.printed);
}

}  // namespace

std::string BoardCells::text() const {
  std::string result = std::to_string(printed) + " printed";
  if (written > 0) result += " and " + std::to_string(written) + " handwritten";
  result += printed + written == 1 ? " digit" : " digits";
  if (turns > 0) result += ", turned by " + std::to_string(90 * turns) + " degrees";
  return result;
}

CellReader::CellReader(infer::Solver cells, infer::Solver& board) : cells_(std::move(cells)), board_(board) {
  AS2_REQUIRE(cells_.program().positions.size() == 1, "a program of one cell");
  const std::vector<std::string>& symbols = cells_.program().positions[0].symbols;
  const auto refuse = [](const std::string& shown) {
    throw InputError("no picture of a cell shows " + shown,
                     {"cells are read as blank, printed(0) to printed(9) and written(0) to written(9)"});
  };
  const auto place = [&](const std::string& name) {
    const auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end()) refuse(name);
    return static_cast<std::size_t>(found - symbols.begin());
  };
  blank_ = place("blank");
  for (std::size_t k = 0; k < symbols.size(); ++k) {
    if (symbols[k].rfind("written(", 0) == 0) all_written_.push_back(k);
  }
  for (const compile::Position& position : board_.program().positions) {
    digits_.emplace_back();
    for (const std::string& symbol : position.symbols) {
      if (symbol.find_first_not_of("0123456789") != std::string::npos) refuse(symbol);
      digits_.back().emplace_back();
      for (const char letter : symbol) {
        const auto digit = static_cast<std::size_t>(letter - '0');
        printed_[digit] = place("printed(" + std::string(1, letter) + ")");
        written_[digit] = place("written(" + std::string(1, letter) + ")");
        digits_.back().back().push_back(digit);
        used_.insert(digit);
      }
      longest_ = std::max(longest_, symbol.size());
    }
  }
}

std::vector<CellReader::Row> CellReader::perceive(const std::vector<formats::Image>& pictures,
                                                  infer::SolveTimes* times) {
  // The blank cells of a clean scan are all alike, and an upright board is looked at again.
  std::vector<infer::Scene> scenes;
  for (const formats::Image& picture : pictures) {
    if (known_.emplace(picture.pixels, Row()).second) scenes.push_back({{0, picture.pixels}});
  }
  const std::vector<infer::Evidence> seen = cells_.look(scenes, times);
  for (std::size_t n = 0; n < seen.size(); ++n) known_[scenes[n][0].pixels] = seen[n].beliefs;
  std::vector<Row> beliefs;
  for (const formats::Image& picture : pictures) beliefs.push_back(known_[picture.pixels]);
  return beliefs;
}

std::vector<CellReader::Seen> CellReader::see(const std::vector<formats::Image>& cells,
                                              infer::SolveTimes* times) {
  std::vector<Seen> list(cells.size());
  std::vector<formats::Image> pictures;
  std::vector<std::size_t> cell_of;  // the cell of each picture
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const bool fits = cells[k].width == vision::kCellSide;
    pictures.push_back(fits ? cells[k] : formats::resize(cells[k], vision::kCellSide, vision::kCellSide));
    cell_of.push_back(k);
    if (longest_ == 1) continue;
    vision::Pieces pieces = vision::pieces_of(cells[k], longest_);
    list[k].several = pieces.belief;
    for (formats::Image& piece : pieces.pictures) {
      pictures.push_back(std::move(piece));
      cell_of.push_back(k);
    }
  }
  std::vector<Row> rows = perceive(pictures, times);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    Seen& seen = list[cell_of[n]];
    if (!seen.whole.empty()) {
      seen.pieces.push_back(std::move(rows[n]));
      continue;
    }
    seen.whole = std::move(rows[n]);
    const double sum = 1 + (kBlankOdds - 1) * seen.whole[blank_];
    seen.whole[blank_] *= kBlankOdds;
    for (double& belief : seen.whole) belief /= sum;
  }
  return list;
}

double CellReader::written_belief(const Row& row) const {
  double sum = 0;
  for (const std::size_t symbol : all_written_) sum += row[symbol];
  return sum;
}

CellBeliefs CellReader::beliefs_of(const Seen& seen, int position) const {
  CellBeliefs cell;
  double blank = seen.several, printed = 1, written = 1;  // of the pieces
  for (const Row& piece : seen.pieces) {
    blank *= piece[blank_];
    double as_print = 0, as_writing = 0;
    for (const std::size_t digit : used_) {
      as_print += piece[printed_[digit]];
      as_writing += piece[written_[digit]];
    }
    printed *= as_print;
    written *= as_writing;
  }
  cell.blank = (1 - seen.several) * seen.whole[blank_] + blank;
  for (const std::vector<std::size_t>& digits : digits_[static_cast<std::size_t>(position)]) {
    cell.printed.push_back(0);
    cell.written.push_back(0);
    if (digits.size() == 1) {
      cell.printed.back() = (1 - seen.several) * seen.whole[printed_[digits[0]]];
      cell.written.back() = (1 - seen.several) * seen.whole[written_[digits[0]]];
    } else if (digits.size() == seen.pieces.size()) {
      double belief = seen.several;
      for (std::size_t k = 0; k < digits.size(); ++k)
        belief *= seen.pieces[k][printed_[digits[k]]] + seen.pieces[k][written_[digits[k]]];
      cell.printed.back() = belief * printed / (printed + written);
      cell.written.back() = belief * written / (printed + written);
    }
  }
  return cell;
}

double CellReader::certainty(const Seen& seen) const {
  const auto most = [&](const Row& row) {
    double best = 1e-6;
    for (std::size_t k = 0; k < row.size(); ++k) {
      if (k != blank_) best = std::max(best, row[k]);
    }
    return best;
  };
  double pieces = seen.several;
  for (const Row& piece : seen.pieces) pieces *= most(piece);
  return std::log((1 - seen.several) * most(seen.whole) + pieces);
}

std::vector<formats::Image> CellReader::pictures_of(const vision::Photo& photo) const {
  if (longest_ == 1 || (photo.straight && !photo.straight->lines)) return photo.cells;
  return vision::cut_cells(photo.picture, photo.lattice, photo.dark_ink, 2 * vision::kCellSide);
}

std::vector<CellBeliefs> CellReader::look(const std::vector<Cell>& cells,
                                          const std::function<std::vector<formats::Image>()>& digits,
                                          infer::SolveTimes* times) {
  std::vector<formats::Image> pictures;
  for (const Cell& cell : cells) pictures.push_back(cell.picture);
  const std::vector<Seen> seen = see(pictures, times);
  std::vector<CellBeliefs> beliefs;
  std::vector<std::size_t> written;  // cells
  for (std::size_t k = 0; k < cells.size(); ++k) {
    beliefs.push_back(beliefs_of(seen[k], cells[k].position));
    if (longest_ == 1 && written_belief(seen[k].whole) >= kHardlyWritten) written.push_back(k);
  }
  if (written.empty()) return beliefs;
  const std::vector<formats::Image> inks = digits();
  const auto is_black = [&](std::size_t k) {
    return std::none_of(inks[k].pixels.begin(), inks[k].pixels.end(), [](int pixel) { return pixel > 0; });
  };
  written.erase(std::remove_if(written.begin(), written.end(), is_black), written.end());
  std::vector<infer::Scene> scenes;
  for (const std::size_t k : written) scenes.push_back({{cells[k].position, inks[k].pixels}});
  const std::vector<infer::Evidence> read = board_.look(scenes, times);
  for (std::size_t n = 0; n < read.size(); ++n) {
    CellBeliefs& cell = beliefs[written[n]];
    const double share = written_belief(seen[written[n]].whole);
    for (std::size_t s = 0; s < cell.written.size(); ++s)
      cell.written[s] =
          share * board_.belief(read[n].beliefs, cells[written[n]].position, static_cast<int>(s));
  }
  return beliefs;
}

std::vector<int> CellReader::likely_turns(const vision::Photo& photo, infer::SolveTimes* times) {
  known_.clear();
  // Which way up is asked of cells with ink, whatever the network makes of a digit on its side.
  std::vector<formats::Image> pictures = pictures_of(photo);
  pictures.erase(std::remove_if(pictures.begin(), pictures.end(),
                                [](const formats::Image& picture) { return !has_ink(picture); }),
                 pictures.end());
  // Under a turn the score only falls, from 0, with every cell that is looked at: as soon as it is far worse
  // than the best one, that turn is out. A board that is read surely as it lies is looked at once.
  std::vector<std::pair<double, int>> turns;
  double best = -1e300;
  for (int turn = 0; turn < 4; ++turn) {
    double score = turn == 0 ? kClearlyBetter : 0;
    for (auto next = pictures.begin(); next != pictures.end() && score > best - kFarWorse;) {
      const auto last =
          turn == 0 ? pictures.end() : next + std::min<std::ptrdiff_t>(kLookedAtOnce, pictures.end() - next);
      for (const Seen& seen : see({next, last}, times)) score += certainty(seen);
      next = last;
    }
    turns.emplace_back(score, turn);
    best = std::max(best, score);
    for (formats::Image& picture : pictures) picture = vision::turned(picture);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<int> likely;
  for (const auto& [score, turn] : turns) {
    if (likely.empty() || score > best - kFarWorse) likely.push_back(turn);
  }
  return likely;
}

BoardCells CellReader::read(const vision::Photo& photo, int turns, infer::SolveTimes* times) {
  AS2_REQUIRE(digits_.size() == photo.cells.size(), "one position per cell");
  BoardCells board;
  board.turns = turns;
  const vision::Photo upright = vision::turned(photo, board.turns);
  board.lattice = upright.lattice;
  std::vector<formats::Image> pictures = pictures_of(upright);
  std::vector<Cell> cells;
  for (std::size_t k = 0; k < pictures.size(); ++k)
    cells.push_back({static_cast<int>(k), std::move(pictures[k])});
  const auto digits = [&] {
    return upright.straight ? upright.straight->cells : vision::normalised_cells(upright);
  };
  board.cells = look(cells, digits, times);
  for (const CellBeliefs& cell : board.cells) {
    if (is_filled(cell)) ++(total(cell.printed) >= total(cell.written) ? board.printed : board.written);
  }
  if (!board.is_handwritten()) {
    const int filled = board.printed + board.written;
    board.written = static_cast<int>(std::count_if(board.cells.begin(), board.cells.end(), is_entry));
    board.printed = filled - board.written;
  }
  return board;
}

std::vector<infer::Evidence> CellReader::evidence(const BoardCells& board) const {
  std::size_t stride = 0;
  for (const CellBeliefs& cell : board.cells) stride = std::max(stride, cell.printed.size());
  const auto made = [&](bool written_too, double most_blank) {
    infer::Evidence evidence;
    for (std::size_t k = 0; k < board.cells.size(); ++k) {
      const CellBeliefs& cell = board.cells[k];
      const std::size_t symbols = cell.printed.size();
      std::vector<double> own(symbols);
      for (std::size_t s = 0; s < symbols; ++s)
        own[s] = cell.printed[s] + (written_too || !is_entry(cell) ? cell.written[s] : 0);
      const double said = total(own), nothing = std::max(0.0, 1 - said) / static_cast<double>(symbols);
      const double likeliest = *std::max_element(own.begin(), own.end());
      const bool used = likeliest > std::max(0.0, 1 - said) * (1 - most_blank) / most_blank;
      if (used) evidence.positions.push_back(static_cast<int>(k));
      for (std::size_t s = 0; s < stride; ++s) {
        evidence.beliefs.push_back(s >= symbols ? 0
                                   : used       ? own[s] + nothing
                                                : 1.0 / static_cast<double>(symbols));
      }
    }
    return evidence;
  };
  std::vector<infer::Evidence> list;
  if (!board.is_handwritten() && board.written > 0 &&
      static_cast<std::size_t>(board.printed) * 9 >= board.cells.size())
    list.push_back(made(false, 0.5));
  for (const double most_blank : {0.5, kHardlyBlank}) {
    infer::Evidence next = made(true, most_blank);
    if (list.empty() || next.positions != list.back().positions) list.push_back(std::move(next));
  }
  return list;
}

std::optional<infer::Evidence> CellReader::without_blanks(const BoardCells& board,
                                                          const infer::Evidence& evidence,
                                                          const infer::Answer& answer) const {
  infer::Evidence kept = evidence;
  const std::size_t stride = evidence.beliefs.size() / board.cells.size();
  for (const decode::Change& change : answer.explanation.changed) {
    const auto k = static_cast<std::size_t>(change.position), to = static_cast<std::size_t>(change.decoded);
    const CellBeliefs& cell = board.cells[k];
    const auto symbols = static_cast<double>(cell.printed.size());
    if (cell.printed[to] + cell.written[to] >= cell.blank / symbols) continue;
    kept.positions.erase(std::remove(kept.positions.begin(), kept.positions.end(), change.position),
                         kept.positions.end());
    std::fill_n(kept.beliefs.begin() + static_cast<std::ptrdiff_t>(k * stride), cell.printed.size(),
                1 / symbols);
  }
  if (kept.positions.size() == evidence.positions.size()) return std::nullopt;
  return kept;
}

std::optional<infer::Evidence> CellReader::with_pale(const BoardCells& board,
                                                     const infer::Answer& answer) const {
  if (!board.is_handwritten()) return std::nullopt;
  infer::Evidence more{answer.beliefs, {}};
  const std::size_t stride = answer.beliefs.size() / board.cells.size();
  for (std::size_t k = 0; k < board.cells.size(); ++k) {
    const CellBeliefs& cell = board.cells[k];
    const auto symbols = static_cast<double>(cell.printed.size());
    const auto named = static_cast<std::size_t>(answer.assignment()[k]);
    const bool known =
        std::binary_search(answer.evidence.begin(), answer.evidence.end(), static_cast<int>(k));
    const bool is_pale = !known && symbols * (cell.printed[named] + cell.written[named]) > cell.blank;
    if (known || is_pale) more.positions.push_back(static_cast<int>(k));
    if (!is_pale) continue;
    const double nothing = std::max(0.0, 1 - total(cell.printed) - total(cell.written)) / symbols;
    for (std::size_t s = 0; s < cell.printed.size(); ++s)
      more.beliefs[k * stride + s] = cell.printed[s] + cell.written[s] + nothing;
  }
  if (more.positions.size() == answer.evidence.size()) return std::nullopt;
  return more;
}

std::vector<Entry> CellReader::entries(const BoardCells& board) const {
  std::vector<Entry> list;
  for (std::size_t k = 0; k < board.cells.size(); ++k) {
    const CellBeliefs& cell = board.cells[k];
    if (!is_entry(cell)) continue;
    const auto best = std::max_element(cell.written.begin(), cell.written.end());
    list.push_back({static_cast<int>(k), static_cast<int>(best - cell.written.begin()), *best});
  }
  return list;
}

}  // namespace as2::boards
