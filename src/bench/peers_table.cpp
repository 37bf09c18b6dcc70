// The tables of docs/PEERS.md, from the rows of `as2 bench peers`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "bench/peers.h"
#include "text.h"

namespace as2::bench {
namespace {

using nlohmann::json;
using Rows = std::vector<const json*>;

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// The value at a path such as "/given_clues/raw/cell"; null where a row has none.
json at(const json& row, const std::string& path) {
  const json::json_pointer pointer(path);
  return row.contains(pointer) ? row.at(pointer) : json();
}

// Mean over the seeds, ± their deviation; "–" where a seed has no figure.
std::string mean_of(const Rows& rows, const std::string& path, double scale, const char* format) {
  std::vector<double> values;
  for (const json* row : rows) {
    const json value = at(*row, path);
    if (!value.is_number()) return "–";
    values.push_back(scale * value.get<double>());
  }
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return number(format, mean) + (n > 1 ? " ± " + number(format, std::sqrt(squares / (n - 1))) : "");
}

struct Column {
  const char *title, *path;
  double scale;
  const char* format;
};

const std::vector<Column> kTuples = {{"digit %", "/eval/digit_accuracy", 100, "%.2f"},
                                     {"sum %", "/eval/sum_accuracy", 100, "%.2f"},
                                     {"observed %", "/eval/observed_accuracy", 100, "%.2f"}};
const std::vector<Column> kBoardTasks = {
    {"boards", "/boards", 1, "%.0f"},
    {"cell %", "/eval/given_clues/raw/cell", 100, "%.2f"},
    {"board %", "/eval/given_clues/raw/board", 100, "%.2f"},
    {"CSR %", "/eval/given_clues/raw/csr", 100, "%.2f"},
    {"VCSR %", "/eval/given_clues/raw/vcsr", 100, "%.2f"},
    {"board %, clues read", "/eval/perceived_clues/raw/board", 100, "%.2f"}};
const std::vector<Column> kCost = {{"s to 95 %", "/seconds_95", 1, "%.0f"},
                                   {"s to 99 %", "/seconds_99", 1, "%.0f"},
                                   {"parameters", "/parameters", 1, "%.0f"},
                                   {"memory, MB", "/memory", 1e-6, "%.0f"},
                                   {"steps", "/steps", 1, "%.0f"}};

// Columns that some row has a figure for.
std::vector<Column> filled(std::vector<Column> columns, const Rows& rows) {
  columns.erase(std::remove_if(columns.begin(), columns.end(),
                               [&](const Column& column) {
                                 return std::all_of(rows.begin(), rows.end(), [&](const json* row) {
                                   return at(*row, column.path).is_null();
                                 });
                               }),
                columns.end());
  return columns;
}

void line(std::string& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) out += "| " + cell + " ";
  out += "|\n";
}

void head(std::string& out, const std::vector<std::string>& titles) {
  line(out, titles);
  line(out, std::vector<std::string>(titles.size(), "---"));
}

void add_table(std::string& out, const std::string& title, const Rows& rows) {
  const bool boards = rows[0]->at("task") == "sudoku";
  std::vector<Column> columns = filled(boards ? kBoardTasks : kTuples, rows);
  columns.insert(columns.end(), kCost.begin(), kCost.end());
  out += "\n## " + title + "\n\n";
  std::vector<std::string> titles = {"system", "preset"};
  for (const Column& column : columns) titles.emplace_back(column.title);
  titles.insert(titles.end(), {"published %", "source"});
  head(out, titles);
  for (const Peer& peer : peers()) {
    if (peer.table != title) continue;
    Rows own;
    for (const json* row : rows) {
      if (row->at("system") == peer.system && row->at("settings") == json(peer.settings)) own.push_back(row);
    }
    if (own.empty()) continue;
    std::vector<std::string> cells = {peer.system, "`" + peer.task + "` `" + peer.preset + "`"};
    for (const Column& column : columns)
      cells.push_back(mean_of(own, column.path, column.scale, column.format));
    cells.push_back(peer.published.empty() ? "–" : peer.published);
    cells.push_back(peer.source.empty() ? "–" : peer.source);
    line(out, cells);
  }
}

// Ways to decode what one and the same network reads: the rows of our reasoner on the most boards.
void add_decoding(std::string& out, const std::vector<json>& rows) {
  Rows ours;
  for (const json& row : rows) {
    if (row["preset"] != "best" || row["task"] != "sudoku" || !row["eval"].contains("perceived_clues"))
      continue;
    if (!ours.empty() && row["boards"] > (*ours[0])["boards"]) ours.clear();
    if (ours.empty() || row["boards"] == (*ours[0])["boards"]) ours.push_back(&row);
  }
  if (ours.empty()) return;
  out += "\n## Decoding, clues read from pictures\n\n";
  head(out, {"system", "row of `as2 eval`", "cell %", "board %", "CSR %", "VCSR %"});
  for (const auto& [name, row] :
       {std::pair<const char*, const char*>{"pipeline: argmax, then clingo", "pipeline"},
        {"PBCS: joint decoding over perception", "perception_map"},
        {"PBCS with uniqueness", "unique_map"},
        {"AS², the reasoner's argmax", "raw"},
        {"AS² (ours): joint decoding, the reasoner's order", "map"}}) {
    std::vector<std::string> cells = {name, std::string("`") + row + "`"};
    for (const char* measure : {"cell", "board", "csr", "vcsr"})
      cells.push_back(
          mean_of(ours, std::string("/eval/perceived_clues/") + row + "/" + measure, 100, "%.2f"));
    line(out, cells);
  }
}

}  // namespace

std::string peers_document(const std::vector<json>& rows) {
  std::set<std::string> budgets;
  std::set<std::int64_t> seeds;
  for (const json& row : rows) {
    budgets.insert(number("%g", row["minutes"]) + " minutes on " + row["device"].get<std::string>());
    seeds.insert(row["seed"].get<std::int64_t>());
  }
  std::string out =
      "# Every system of the paper's tables, run here\n\n"
      "Made by `as2 bench peers --table RESULTS.jsonl > docs/PEERS.md`; do not edit. Each row is `as2 train` "
      "and "
      "`as2 eval` in a process of its own, on the same digits, the same split and the same time";
  if (!budgets.empty())
    out += ": " + joined(budgets) + ", " + std::to_string(seeds.size()) +
           (seeds.size() == 1 ? " seed" : " seeds");
  out +=
      ". Published figures are others' own runs on their own data, machines and hours, and stand apart.\n\n"
      "Seconds are of training until the validation score reached 95 and 99 % (the likelihood of what is "
      "observed, or "
      "boards wholly right), – if it never did. Parameters are those of the model that is kept; memory is "
      "the most that "
      "the training process took on the host.\n\n"
      "NeurASP and DeepProbLog train on the same number, the exact −log P(observed): here it comes from one "
      "circuit "
      "under two names, and so does the semantic loss wherever every reading has one answer set. Their rows "
      "differ by "
      "chance alone.\n";
  std::vector<std::string> titles;
  for (const Peer& peer : peers()) {
    if (titles.empty() || titles.back() != peer.table) titles.push_back(peer.table);
  }
  for (const std::string& title : titles) {
    Rows own;
    for (const json& row : rows) {
      if (row["table"] == title) own.push_back(&row);
    }
    if (!own.empty()) add_table(out, title, own);
  }
  add_decoding(out, rows);
  return out;
}

}  // namespace as2::bench
