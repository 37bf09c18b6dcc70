// docs/PEERS.md and its picture, from the rows of `as2 bench peers`.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "bench/peers.h"
#include "json_text.h"
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

// One figure per seed; empty where a seed has none.
std::vector<double> values_of(const Rows& rows, const std::string& path) {
  std::vector<double> values;
  for (const json* row : rows) {
    const json value = at(*row, path);
    if (!value.is_number()) return {};
    values.push_back(value.get<double>());
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean over the seeds, ± their deviation; "–" where a seed has no figure.
std::string mean_of(const Rows& rows, const std::string& path, double scale, const char* format) {
  const std::vector<double> values = values_of(rows, path);
  if (values.empty()) return "–";
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const auto n = static_cast<double>(values.size());
  return number(format, scale * middle) +
         (n > 1 ? " ± " + number(format, scale * std::sqrt(squares / (n - 1))) : "");
}

struct Column {
  const char *title, *path;
  double scale;
  const char* format;
  bool always = false;  // even where no row has a figure
};

const std::vector<Column> kColumns = {{"boards", "/boards", 1, "%.0f"},
                                      {"digit %", "/eval/digit_accuracy", 100, "%.2f"},
                                      {"sum %", "/eval/sum_accuracy", 100, "%.2f"},
                                      {"observed %", "/eval/observed_accuracy", 100, "%.2f"},
                                      {"cell %", "/eval/given_clues/raw/cell", 100, "%.2f"},
                                      {"board %", "/eval/given_clues/raw/board", 100, "%.2f"},
                                      {"CSR %", "/eval/given_clues/raw/csr", 100, "%.2f"},
                                      {"VCSR %", "/eval/given_clues/raw/vcsr", 100, "%.2f"},
                                      {"board %, clues read", "/eval/perceived_clues/raw/board", 100, "%.2f"},
                                      {"s to 95 %", "/seconds_95", 1, "%.0f", true},
                                      {"s to 99 %", "/seconds_99", 1, "%.0f", true},
                                      {"parameters", "/parameters", 1, "%.0f"},
                                      {"memory, MB", "/memory", 1e-6, "%.0f"},
                                      {"GPU memory, MB", "/device_memory", 1e-6, "%.0f"},
                                      {"steps", "/steps", 1, "%.0f"},
                                      {"processor s", "/processor_seconds", 1, "%.0f"}};

// The runs of one system in the same time, on the same device, tested on the same: they differ in their seed.
struct Line {
  const Peer* peer;
  Rows rows;
  const json& operator[](const char* field) const { return rows[0]->at(field); }
};

// In the order of peers().
std::vector<Line> lines_of(const std::vector<json>& rows, const std::string& table) {
  std::vector<Line> lines;
  for (const Peer& peer : peers()) {
    if (peer.table != table) continue;
    const std::size_t first = lines.size();
    for (const json& row : rows) {
      if (row["table"] != table || row["system"] != peer.system || row["settings"] != json(peer.settings))
        continue;
      const auto same = std::find_if(
          lines.begin() + static_cast<std::ptrdiff_t>(first), lines.end(), [&](const Line& line) {
            return line["minutes"] == row["minutes"] && line["device"] == row["device"] &&
                   line["count"] == row["count"] && line["tested_on"] == row["tested_on"];
          });
      if (same == lines.end())
        lines.push_back({&peer, {&row}});
      else
        same->rows.push_back(&row);
    }
  }
  return lines;
}

std::vector<std::string> tables() {
  std::vector<std::string> titles;
  for (const Peer& peer : peers()) {
    if (titles.empty() || titles.back() != peer.table) titles.push_back(peer.table);
  }
  return titles;
}

// What published figures are compared with: whole examples right, in percent. Nothing where a seed has no
// figure.
std::vector<double> right(const Line& line) {
  const char* path = line.peer->task == "sudoku"                         ? "/eval/given_clues/raw/board"
                     : at(*line.rows[0], "/eval/sum_accuracy").is_null() ? "/eval/observed_accuracy"
                                                                         : "/eval/sum_accuracy";
  std::vector<double> values = values_of(line.rows, path);
  for (double& value : values) value *= 100;
  return values;
}

std::string budget(const Line& line) {
  const double minutes = line["minutes"];
  return number("%g", minutes) + (minutes == 1 ? " minute on " : " minutes on ") +
         line["device"].get<std::string>();
}

void line(std::string& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) out += "| " + cell + " ";
  out += "|\n";
}

void head(std::string& out, const std::vector<std::string>& titles) {
  line(out, titles);
  line(out, std::vector<std::string>(titles.size(), "---"));
}

// Where a system is more than a point below what is published: how far it got, and whether it still rose.
void add_shortfalls(std::string& out, const std::vector<Line>& lines) {
  std::string found;
  for (const Line& each : lines) {
    const std::vector<double> values = right(each), halves = values_of(each.rows, "/score_half"),
                              ends = values_of(each.rows, "/score");
    if (each.peer->published.empty() || values.empty()) continue;
    const double here = mean(values);
    if (here >= std::stod(each.peer->published) - 1) continue;
    found += "- **" + each.peer->system + "** has " + number("%.2f", here) + " after " + budget(each) +
             ", published is " + each.peer->published + ". It took " +
             mean_of(each.rows, "/steps", 1, "%.0f") + " steps";
    if (!halves.empty() && !ends.empty()) {
      const double half = 100 * mean(halves), end = 100 * mean(ends);
      found += "; its validation score was " + number("%.1f", half) + " after half of the time and " +
               number("%.1f", end) + " at best: " +
               (end > half + 1 ? "it was still learning, and what it lacks is time"
                               : "it had stopped learning, so time is not what it lacks");
    }
    found += ".";
    if (!each.peer->trained.empty()) found += " Its authors train on " + each.peer->trained + ".";
    found += "\n";
  }
  if (!found.empty()) out += "\nMore than a point below what is published:\n\n" + found;
}

void add_table(std::string& out, const std::string& title, const std::vector<Line>& lines) {
  out += "\n## " + title + "\n\n";
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    const bool filled = std::any_of(lines.begin(), lines.end(), [&](const Line& each) {
      return std::any_of(each.rows.begin(), each.rows.end(), [&](const json* row) {
        const json value = at(*row, column.path);
        return !value.is_null() && value != json(0);
      });
    });
    if (filled || column.always) columns.push_back(column);
  }
  const bool tested = lines[0].peer->fewest_clues;
  std::vector<std::string> titles = {"system", "preset", "trained for"};
  if (tested) titles.emplace_back("tested on");
  for (const Column& column : columns) titles.emplace_back(column.title);
  titles.insert(titles.end(), {"published %", "source"});
  head(out, titles);
  for (const Line& each : lines) {
    const Peer& peer = *each.peer;
    std::vector<std::string> cells = {peer.system, "`" + peer.task + "` `" + peer.preset + "`", budget(each)};
    if (tested) cells.push_back(each["tested_on"]);
    for (const Column& column : columns)
      cells.push_back(mean_of(each.rows, column.path, column.scale, column.format));
    cells.push_back(peer.published.empty() ? "–" : peer.published);
    cells.push_back(peer.source.empty() ? "–" : peer.source);
    line(out, cells);
  }
  std::string notes;
  for (const Line& each : lines) {
    for (const json* row : each.rows) {
      if (row->contains("note"))
        notes += "- **" + each.peer->system + "**, seed " + json_text((*row)["seed"]) + ": " +
                 (*row)["note"].get<std::string>() + "\n";
    }
  }
  if (!notes.empty()) out += "\n" + notes;
  add_shortfalls(out, lines);
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
  std::set<std::string> seeds, counts;
  for (const json& row : rows) {
    seeds.insert(json_text(row["seed"]));
    counts.insert(json_text(row["count"]));
  }
  std::string out =
      R"(# Every system of the paper's tables, run here

`as2 bench peers` trains and evaluates other systems' losses, reasoners and ways to decode beside ours, on the same digits, the same split and in the same time; each row is `as2 train` and `as2 eval` in processes of their own. This page and its picture are made from the rows it wrote, and not edited:

```
as2 bench peers --minutes M --seeds 0..2 --device cuda --out docs/peers.jsonl   # goes on where it was stopped
as2 bench peers --table docs/peers.jsonl > docs/PEERS.md
as2 bench peers --picture docs/peers.jsonl > docs/peers.svg
```

![What is right here, and what is published](peers.svg)

)";
  if (!rows.empty())
    out += (seeds.size() == 1 ? "Seed " : "Seeds ") + joined(seeds) + ", " + joined(counts) +
           " test examples. What has not been run is listed below the tables.\n\n";
  out +=
      R"(What the columns mean:

- *trained for*: the time of training, validation included. *processor s* is what the process got of it, loading and validation included: on a machine with other work that is less than its cores would give, and a row may have had more of them than its neighbour.
- *digit*, *sum*, *observed*: pictures read right; sums, or what else is observed, that follow from the reading and are right. *cell*, *board*: cells, and whole boards, right with given clues, the reasoner's argmax. *CSR*: boards that satisfy every constraint; *VCSR*: those that clingo certifies.
- *s to 95 %*, *s to 99 %*: seconds of training until the validation score got there (the likelihood of what is observed, or boards wholly right); – if it never did.
- *parameters* are those of the model that is kept. *memory* is the most that the training process took on the host, *GPU memory* the most that its tensors took there.
- *published* is what the authors report of their own networks, data, machines and hours; *source* says where.

NeurASP and DeepProbLog train on the same number, the exact −log P(observed): here it comes from one circuit under two names, and so does the semantic loss wherever every reading has one answer set. Their rows differ by chance alone. SATNet runs on the host whatever the device: it has no kernel. LTN keeps p = 2, where its authors raise it in training, and is left out where carries would have to be summed over. In Łukasiewicz's logic nothing is learnt from scratch: where every belief is uncertain every conjunction is 0, and its gradient is exactly 0 (`FuzzyTruth.LukasiewiczLearnsFromWhatIsNearlyCertain` in tests/train measures it); Gödel's teaches one pair of digits per sum. A-NeSI is its prediction model, without explanations or pruning; its network has to learn to add before perception can learn from it.
)";
  std::string missing;
  for (const std::string& title : tables()) {
    const std::vector<Line> lines = lines_of(rows, title);
    if (lines.empty())
      missing += "- " + title + "\n";
    else
      add_table(out, title, lines);
  }
  add_decoding(out, rows);
  if (!missing.empty())
    out += "\n## Not run yet\n\nSo nothing is known here of what these systems reach on them:\n\n" + missing;
  out += R"(
## Sources

- NeurASP: Yang, Ishay, Lee, IJCAI 2020. DeepProbLog: Manhaeve et al., NeurIPS 2018. Scallop: Huang et al., NeurIPS 2021. SLASH: Skryagin et al., KR 2022.
- Semantic loss: Xu et al., ICML 2018. Logic Tensor Networks: Badreddine et al., Artificial Intelligence 303, 2022. A-NeSI: van Krieken et al., NeurIPS 2023.
- RRN: Palm, Paquet, Winther, NeurIPS 2018. SATNet: Wang, Donti, Wilder, Kolter, ICML 2019. Recurrent Transformer: Yang, Ishay, Lee, ICLR 2023. PBCS: Mulamba, Mandi, Mahmutoğulları, Guns, Constraints 29, 2024.
)";
  return out;
}

// One line per system: a dot for what is right here, a ring for what is published.
std::string peers_picture(const std::vector<json>& rows) {
  constexpr double kWidth = 830, kLeft = 370, kRight = 60, kRow = 20, kTop = 52;
  const auto across = [&](double percent) {
    return number("%.1f", kLeft + (kWidth - kLeft - kRight) * percent / 100);
  };
  std::string drawn;
  double y = kTop;
  const auto text = [&](double x, const std::string& words, const char* style) {
    drawn += "<text x='" + number("%.0f", x) + "' y='" + number("%.0f", y + 4) + "'" + style + ">" + words +
             "</text>\n";
  };
  for (const std::string& title : tables()) {
    const std::vector<Line> lines = lines_of(rows, title);
    if (lines.empty()) continue;
    text(8, title + ": " + budget(lines[0]), " font-weight='bold'");
    y += kRow;
    for (const Line& each : lines) {
      const std::vector<double> values = right(each);
      if (values.empty()) continue;
      const double here = mean(values);
      const std::string boards =
          each.peer->boards > 0 ? ", " + std::to_string(each.peer->boards) + " boards" : "";
      const char* colour = each.peer->system.rfind("AS²", 0) == 0 ? "#d1495b" : "#1b6ca8";
      const std::string at_y = number("%.0f", y);
      const std::string time = budget(each) == budget(lines[0]) ? "" : ", " + budget(each);
      text(20, each.peer->system + boards + time, "");
      drawn += "<path d='M" + across(0) + " " + at_y + "H" + across(100) + "' stroke='#ddd'/>";
      if (!each.peer->published.empty())
        drawn += "<circle cx='" + across(std::stod(each.peer->published)) + "' cy='" + at_y +
                 "' r='5' fill='none' stroke='#444'/>";
      drawn += "<circle cx='" + across(here) + "' cy='" + at_y + "' r='4' fill='" + colour + "'/>";
      text(kWidth - kRight + 12, number("%.1f", here), "");
      y += kRow;
    }
    y += kRow / 2;
  }
  const std::string height = number("%.0f", y + 8);
  return "<svg xmlns='http://www.w3.org/2000/svg' width='" + number("%.0f", kWidth) + "' height='" + height +
         "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n"
         "<text x='8' y='22'>Whole examples right, in percent, 0 to 100. Dot: trained and measured here; "
         "ring: "
         "published by its authors.</text>\n" +
         drawn + "</svg>\n";
}

}  // namespace as2::bench
