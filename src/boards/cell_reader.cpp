#include "boards/cell_reader.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "as2/error.h"
#include "vision/cells.h"

namespace as2::boards {
namespace {

constexpr double kClearlyBetter = 3;  // nats by which a turn has to win over the photo as it was taken
constexpr double kHardlyBlank = 0.98;
constexpr int kLookedAtOnce = 16;  // cells of a turned board
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

bool is_entry(const CellBeliefs& cell) {
  return likeliest_digit(cell) > cell.blank && total(cell.written) > kClearlyWritten * total(cell.printed);
}

}  // namespace

std::string BoardCells::text() const {
  std::string result = std::to_string(printed) + " printed";
  if (written > 0) result += " and " + std::to_string(written) + " handwritten";
  result += printed + written == 1 ? " digit" : " digits";
  if (turns > 0) result += ", turned by " + std::to_string(90 * turns) + " degrees";
  return result;
}

CellReader::CellReader(infer::Solver cells, const compile::ConstraintProgram& board)
    : solver_(std::move(cells)) {
  AS2_REQUIRE(solver_.program().positions.size() == 1, "a program of one cell");
  const std::vector<std::string>& symbols = solver_.program().positions[0].symbols;
  stride_ = static_cast<int>(symbols.size());
  const auto place = [&](const std::string& name) {
    const auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end()) {
      throw InputError("no picture of a cell shows " + name,
                       {"cells are read as blank, printed(0) to printed(9) and written(0) to written(9)"});
    }
    return static_cast<int>(found - symbols.begin());
  };
  blank_ = place("blank");
  for (const compile::Position& position : board.positions) {
    places_.emplace_back();
    for (const std::string& symbol : position.symbols) {
      places_.back().printed.push_back(place("printed(" + symbol + ")"));
      places_.back().written.push_back(place("written(" + symbol + ")"));
    }
  }
}

std::vector<std::vector<double>> CellReader::look(const std::vector<formats::Image>& cells,
                                                  infer::SolveTimes* times) {
  // The blank cells of a clean scan are all alike: of equal pictures one is looked at.
  std::map<std::vector<std::uint8_t>, std::size_t> known;
  std::vector<infer::Scene> scenes;
  for (const formats::Image& cell : cells) {
    if (known.emplace(cell.pixels, scenes.size()).second) scenes.push_back({{0, cell.pixels}});
  }
  const std::vector<infer::Evidence> seen = solver_.look(scenes, times);
  std::vector<std::vector<double>> beliefs;
  for (const formats::Image& cell : cells) {
    std::vector<double> own = seen[known.at(cell.pixels)].beliefs;
    double& blank = own[static_cast<std::size_t>(blank_)];
    const double sum = 1 + (kBlankOdds - 1) * blank;
    blank *= kBlankOdds;
    for (double& belief : own) belief /= sum;
    beliefs.push_back(std::move(own));
  }
  return beliefs;
}

BoardCells CellReader::read(const vision::Photo& photo, infer::SolveTimes* times) {
  const int side = photo.lattice.side;
  AS2_REQUIRE(places_.size() == photo.cells.size(), "one position per cell");
  BoardCells board;
  const auto most = [&](const std::vector<double>& beliefs) {
    double best = 0;
    for (int k = 0; k < stride_; ++k) {
      if (k != blank_) best = std::max(best, beliefs[static_cast<std::size_t>(k)]);
    }
    return best;
  };
  std::vector<formats::Image> pictures = photo.cells;
  std::vector<std::vector<double>> best = look(pictures, times);
  // Which way up is asked of cells with ink, whatever the network makes of a digit on its side.
  std::vector<std::size_t> inked;
  double best_score = kClearlyBetter;
  for (std::size_t k = 0; k < pictures.size(); ++k) {
    if (!has_ink(pictures[k])) continue;
    inked.push_back(k);
    best_score += std::log(std::max(1e-6, most(best[k])));
  }
  // Under another turn a score only falls, from 0, with every cell that is looked at: as soon as it is no
  // better than the best one, that turn is out. A board that is read surely as it lies is looked at once.
  std::vector<formats::Image> turning;
  for (const std::size_t k : inked) turning.push_back(pictures[k]);
  for (int turn = 1; turn < 4; ++turn) {
    for (formats::Image& picture : turning) picture = vision::turned(picture);
    double score = 0;
    for (auto next = turning.begin(); next != turning.end() && score > best_score;) {
      const auto last = next + std::min<std::ptrdiff_t>(kLookedAtOnce, turning.end() - next);
      for (const auto& beliefs : look({next, last}, times)) score += std::log(std::max(1e-6, most(beliefs)));
      next = last;
    }
    if (score <= best_score) continue;
    best_score = score;
    board.turns = turn;
  }
  if (board.turns > 0) {  // a one on its side may have looked like a blank
    for (formats::Image& picture : pictures) {
      for (int turn = 0; turn < board.turns; ++turn) picture = vision::turned(picture);
    }
    best = look(pictures, times);
  }
  board.lattice = photo.lattice;
  std::vector<int> origin(best.size());
  for (std::size_t k = 0; k < origin.size(); ++k) origin[k] = static_cast<int>(k);
  for (int turn = 0; turn < board.turns; ++turn) {
    board.lattice = board.lattice.turned();
    std::vector<int> before = origin;
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column)
        origin[static_cast<std::size_t>(row * side + column)] =
            before[static_cast<std::size_t>(column * side + side - 1 - row)];
    }
  }
  for (std::size_t k = 0; k < best.size(); ++k) {
    const std::vector<double>& beliefs = best[static_cast<std::size_t>(origin[k])];
    CellBeliefs cell;
    cell.blank = beliefs[static_cast<std::size_t>(blank_)];
    for (const int at : places_[k].printed) cell.printed.push_back(beliefs[static_cast<std::size_t>(at)]);
    for (const int at : places_[k].written) cell.written.push_back(beliefs[static_cast<std::size_t>(at)]);
    const double printed = total(cell.printed), written = total(cell.written);
    if (likeliest_digit(cell) > cell.blank) ++(printed >= written ? board.printed : board.written);
    board.cells.push_back(std::move(cell));
  }
  if (!board.is_handwritten()) {
    const int digits = board.printed + board.written;
    board.written = static_cast<int>(std::count_if(board.cells.begin(), board.cells.end(), is_entry));
    board.printed = digits - board.written;
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
  if (board.written > 0 && static_cast<std::size_t>(board.printed) * 9 >= board.cells.size())
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
