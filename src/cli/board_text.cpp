#include "cli/board_text.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <sstream>

#include "boards/boards.h"
#include "cli/beliefs.h"
#include "cli/decode_document.h"
#include "text.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;
using infer::Answer;
using infer::Solver;

constexpr const char *kBold = "\033[1m", *kDim = "\033[36m", *kAlarm = "\033[31m", *kPlain = "\033[0m";

int side_of(const Solver& solver) {
  return static_cast<int>(std::lround(std::sqrt(static_cast<double>(solver.program().positions.size()))));
}

std::string place(const Solver& solver, int position) {
  const int side = side_of(solver);
  return "row " + std::to_string(position / side + 1) + ", column " + std::to_string(position % side + 1);
}

// `p = 0.81`, never rounded to certainty.
std::string probability(double p) {
  std::ostringstream out;
  out.precision(p < 0.1 ? 2 : 3);
  if (p > 0.9999) {
    out << "p > 0.9999";
  } else if (p < 0.0001) {
    out << "p < 0.0001";
  } else {
    out << "p = " << p;
  }
  return out.str();
}

const std::string& symbol(const Solver& solver, int position, int index) {
  return solver.program().positions[position].symbols[index];
}

// One row of a board: `cell(position)` gives text of the same width for all, not counting colour codes.
template <class Cell>
std::string row_text(int row, int side, const sudoku::Box& box, const Cell& cell) {
  std::string text;
  for (int column = 0; column < side; ++column) {
    if (column > 0 && column % box.columns == 0) text += "| ";
    text += cell(row * side + column);
  }
  return text;
}

void append_boards(const Solver& solver, const Answer& answer, const BoardTextOptions& options,
                   std::ostream& out) {
  const int side = side_of(solver);
  const sudoku::Box box = boards::shown_box(solver.program(), side);
  std::size_t width = 1;
  for (const compile::Position& position : solver.program().positions) {
    for (const std::string& own : position.symbols) width = std::max(width, own.size());
  }
  const std::set<int> clues(answer.evidence.begin(), answer.evidence.end());
  const auto cell = [&](const std::string& digit, char mark, const char* colour) {
    const std::string text = std::string(width - digit.size(), ' ') + digit + mark;
    return options.colour && *colour ? colour + text + kPlain : text;
  };
  const auto read = [&](int i) {
    if (clues.count(i) == 0) return cell(".", ' ', "");
    const int at = solver.read_at(answer, i);
    const bool sure = solver.belief(answer.beliefs, i, at) >= options.threshold;
    return cell(symbol(solver, i, at), sure ? ' ' : '?', sure ? kBold : kAlarm);
  };
  const auto solved = [&](int i) {
    const int at = answer.assignment()[i];
    if (clues.count(i) == 0) return cell(symbol(solver, i, at), ' ', kDim);
    const bool kept = at == solver.read_at(answer, i);
    return cell(symbol(solver, i, at), kept ? ' ' : '*', kept ? kBold : kAlarm);
  };
  std::string rule;
  for (int k = 0; k < side / box.columns; ++k)
    rule += std::string(k == 0 ? "" : "+-") +
            std::string((width + 1) * static_cast<std::size_t>(box.columns), '-');
  const std::string heading = "read";
  out << "  " << heading << std::string(rule.size() + 4 - heading.size(), ' ') << "answer\n";
  for (int row = 0; row < side; ++row) {
    if (row > 0 && row % box.rows == 0) out << "  " << rule << "    " << rule << '\n';
    out << "  " << row_text(row, side, box, read) << "    " << row_text(row, side, box, solved) << '\n';
  }
}

std::set<std::string> families_at(const Solver& solver, const std::vector<int>& groups, int position) {
  std::set<std::string> names;
  for (const int g : groups) {
    const compile::Group& group = solver.program().groups[g];
    if (std::find(group.positions.begin(), group.positions.end(), position) != group.positions.end())
      names.insert(solver.program().families[group.family].name);
  }
  return names;
}

}  // namespace

bool colour_wanted() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) && (refused == nullptr || *refused == '\0');
}

std::string board_text(const Solver& solver, const Answer& answer, const BoardTextOptions& options) {
  std::ostringstream out;
  append_boards(solver, answer, options, out);
  for (const int clue : answer.evidence) {
    const int read = solver.read_at(answer, clue);
    const double p = solver.belief(answer.beliefs, clue, read);
    if (p < options.threshold) {
      out << "  ? unsure: " << place(solver, clue) << " read " << symbol(solver, clue, read) << " ("
          << probability(p) << ")\n";
    }
  }
  const auto& broken = answer.explanation.broken_groups;
  for (const decode::Change& change : answer.explanation.changed) {
    const auto families = families_at(solver, broken, change.position);
    const std::string read = symbol(solver, change.position, change.read);
    out << "  * corrected: " << place(solver, change.position) << " read " << read << " ("
        << probability(change.p_read) << "), is " << symbol(solver, change.position, change.decoded) << " ("
        << probability(change.p_decoded) << "): "
        << (!families.empty() ? read + " breaks the rules for " + joined(families)
            : answer.reread   ? "the digits as read have several solutions"
                              : "with " + read + " there is no solution")
        << '\n';
  }
  if (options.explain) {
    for (const int g : solver.conflict(answer)) {
      const compile::Group& group = solver.program().groups[g];
      const compile::Family& family = solver.program().families[group.family];
      out << "    the reading conflicts with " << family.name << " (" << family.location.file << ":"
          << family.location.line << "):";
      for (const int i : group.positions) out << ' ' << solver.program().positions[i].name;
      out << '\n';
    }
  }
  const bool proved = !answer.reread || answer.reread->complete;
  if (answer.reread && answer.unique.value_or(false)) {
    out << "  NOT unique as read: the digits have several solutions; this is the most probable reading "
        << (proved ? "nearby that has only one\n" : "nearby found to have only one before time ran out\n");
  } else if (!answer.unique) {
    out << "  whether the answer is unique was not settled in time\n";
  } else if (!*answer.unique) {
    out << "  NOT unique: the clues allow other solutions as well"
        << (!answer.reread ? ""
            : proved       ? ", and no reading nearly as probable has only one"
                           : ", and no reading with only one was found in time")
        << '\n';
  } else if (!answer.margin) {
    out << "  the answer is unique, and no other reading has one\n";
  } else {
    out << "  the answer is unique; the next best reading is e^" << std::fixed;
    out.precision(1);
    out << *answer.margin << " times less likely\n";
  }
  if (answer.decoded.status == decode::Status::kSatisfied)
    out << "  a better answer was not ruled out in time\n";
  return out.str();
}

Json board_json(const Solver& solver, const Answer& answer, bool explain) {
  const compile::ConstraintProgram& program = solver.program();
  const bool solved = answer.completable;
  const bool refuted = !solved && !answer.decoded.models.empty();
  Json json{{"status", refuted ? "unsatisfiable" : decode::name_of(answer.decoded.status)},
            {"assignment", nullptr},
            {"confidence", nullptr},
            {"read", Json::object()}};
  for (const int clue : answer.evidence) {
    json["read"][program.positions[clue].name] = symbol(solver, clue, solver.read_at(answer, clue));
  }
  if (solved) {
    json["assignment"] = assignment_json(program, answer.assignment());
    json["confidence"] = Json::object();
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      const int position = static_cast<int>(i);
      json["confidence"][program.positions[i].name] =
          solver.confidence(answer, position, answer.assignment()[i]);
    }
  }
  json["changed"] = changes_json(program, answer.explanation.changed);
  json["unique"] = solved && answer.unique ? Json(*answer.unique) : Json(nullptr);
  json["margin"] = solved && answer.margin ? Json(*answer.margin) : Json(nullptr);
  json["reread"] = solved && answer.reread ? unique_json(*answer.reread) : Json(nullptr);
  if (explain) json["conflicts"] = groups_json(program, solver.conflict(answer));
  return json;
}

std::string entries_text(const Solver& solver, const Answer& answer,
                         const std::vector<boards::Entry>& entries) {
  if (entries.empty()) return "";
  std::ostringstream out;
  std::size_t right = 0;
  for (const boards::Entry& entry : entries) {
    const int is = answer.assignment()[static_cast<std::size_t>(entry.position)];
    if (is == entry.symbol) {
      ++right;
      continue;
    }
    out << "  ! wrong entry: " << place(solver, entry.position) << " has a handwritten "
        << symbol(solver, entry.position, entry.symbol) << " (" << probability(entry.belief) << "), is "
        << symbol(solver, entry.position, is) << '\n';
  }
  out << "  " << right << " of " << entries.size() << " handwritten entries are right\n";
  return out.str();
}

Json entries_json(const Solver& solver, const Answer& answer, const std::vector<boards::Entry>& entries) {
  Json list = Json::array();
  for (const boards::Entry& entry : entries) {
    const int is = answer.assignment()[static_cast<std::size_t>(entry.position)];
    list.push_back({{"position", solver.program().positions[static_cast<std::size_t>(entry.position)].name},
                    {"read", symbol(solver, entry.position, entry.symbol)},
                    {"p_read", entry.belief},
                    {"right", is == entry.symbol}});
  }
  return list;
}

std::string no_completion(const Solver& solver, const Answer& answer) {
  if (answer.decoded.status == decode::Status::kUnknown) return "no valid completion was found in time";
  std::string text = "no valid completion of what was read";
  if (answer.decoded.models.empty()) return text;
  std::set<std::string> families;
  for (const int g : answer.explanation.broken_groups)
    families.insert(solver.program().families[solver.program().groups[g].family].name);
  if (!families.empty()) text += ", which breaks the rules for " + joined(families);
  text += "; the nearest board that has one would need";
  std::string separator = " ";
  for (const decode::Change& change : answer.explanation.changed) {
    text += separator + symbol(solver, change.position, change.decoded) + " (" +
            probability(change.p_decoded) + ") in " + place(solver, change.position) + ", read " +
            symbol(solver, change.position, change.read) + " (" + probability(change.p_read) + ")";
    separator = "; ";
  }
  return text;
}

}  // namespace as2::cli
