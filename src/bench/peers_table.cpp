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
using Figure = std::function<json(const json& row)>;  // a number, words, or null

constexpr double kNoticeable = 0.01;  // a share that grew by less has not grown

const char* const kRising = "still learning";
const char* const kTooShort = "too few steps to tell";

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

Figure field(const std::string& path) {
  return [path](const json& row) { return at(row, path); };
}

// Of boards: cell, board, csr or vcsr.
Figure of_boards(const std::string& measure) {
  return [measure](const json& row) {
    const std::string method = row.value("method", "");
    return at(row,
              (method.empty() ? "/eval/given_clues/raw" : "/eval/perceived_clues/" + method) + "/" + measure);
  };
}

// Of a reasoner that reads the clues itself.
json read_clues(const json& row) {
  return row.contains("method") ? json() : at(row, "/eval/perceived_clues/raw/board");
}

// What published figures are compared with: the share of whole examples that are right.
json right_of(const json& row) {
  if (row["task"] == "sudoku") return of_boards("board")(row);
  const json sums = at(row, "/eval/sum_accuracy");
  return sums.is_null() ? at(row, "/eval/observed_accuracy") : sums;
}

// Seconds until the share that is right first came to `share`; null: it never did.
Figure reached(double share) {
  return [share](const json& row) -> json {
    if (!row.contains("curve")) return row["minutes"] == 0 ? json() : json("?");
    for (const json& point : row["curve"]) {
      if (point.value("right", 0.0) >= share) return point["seconds"];
    }
    return nullptr;
  };
}

// The greatest share of its validations up to then; −1: there was none.
double greatest(const json& row, const char* share, double seconds) {
  double most = -1;
  for (const json& point : row["curve"]) {
    if (point["seconds"] <= seconds) most = std::max(most, point.value(share, 0.0));
  }
  return most;
}

// How a run ended, by what its validations say.
json ending(const json& row) {
  if (!row.contains("curve")) return nullptr;
  if (row.value("ended", "") == "stop_at") return "goal reached";
  const double half = row["seconds"].get<double>() / 2;
  if (greatest(row, "right", half) < 0) return kTooShort;
  const auto grew = [&](const char* share) {
    return greatest(row, share, 4 * half) > greatest(row, share, half) + kNoticeable;
  };
  return grew("right") || grew("cell") ? kRising : "no longer learning";
}

// One figure per seed; empty where a seed has none.
std::vector<double> values_of(const Rows& rows, const Figure& figure) {
  std::vector<double> values;
  for (const json* row : rows) {
    const json value = figure(*row);
    if (!value.is_number()) return {};
    values.push_back(value.get<double>());
  }
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Mean over the seeds, ± their deviation; "–" where a seed has no figure.
std::string mean_of(const Rows& rows, const Figure& figure, double scale, const char* format) {
  std::set<std::string> words;
  for (const json* row : rows) {
    const json value = figure(*row);
    if (value.is_string()) words.insert(value.get<std::string>());
  }
  if (!words.empty()) return joined(words);
  const std::vector<double> values = values_of(rows, figure);
  if (values.empty()) return "–";
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  const auto n = static_cast<double>(values.size());
  return number(format, scale * middle) +
         (n > 1 ? " ± " + number(format, scale * std::sqrt(squares / (n - 1))) : "");
}

struct Column {
  const char* title;
  Figure figure;
  double scale;
  const char* format;
  bool always = false;  // even where no row of trained systems has a figure
};

const std::vector<Column>& columns() {
  static const std::vector<Column> all = {{"boards", field("/boards"), 1, "%.0f"},
                                          {"trained, s", field("/seconds"), 1, "%.0f"},
                                          {"digit %", field("/eval/digit_accuracy"), 100, "%.2f"},
                                          {"sum %", field("/eval/sum_accuracy"), 100, "%.2f"},
                                          {"observed %", field("/eval/observed_accuracy"), 100, "%.2f"},
                                          {"cell %", of_boards("cell"), 100, "%.2f"},
                                          {"board %", of_boards("board"), 100, "%.2f"},
                                          {"CSR %", of_boards("csr"), 100, "%.2f"},
                                          {"VCSR %", of_boards("vcsr"), 100, "%.2f"},
                                          {"board %, clues read", read_clues, 100, "%.2f"},
                                          {"s to 95 %", reached(0.95), 1, "%.0f", true},
                                          {"s to 99 %", reached(0.99), 1, "%.0f", true},
                                          {"at the end", ending, 1, "%.0f"},
                                          {"parameters", field("/parameters"), 1, "%.0f"},
                                          {"memory, MB", field("/memory"), 1e-6, "%.0f"},
                                          {"GPU memory, MB", field("/device_memory"), 1e-6, "%.0f"},
                                          {"steps", field("/steps"), 1, "%.0f"},
                                          {"processor s", field("/processor_seconds"), 1, "%.0f"}};
  return all;
}

// The runs of one system with the same settings in the same time, on the same device, tested on the same:
// they differ in their seed.
struct Line {
  const Peer* peer = nullptr;  // null: the list has no such system any more
  bool current = false;        // today's list would run it just so
  Rows rows;

  const json& operator[](const char* name) const { return rows[0]->at(name); }
  std::string system() const { return (*this)["system"].get<std::string>() + (current ? "" : " †"); }
  bool ours() const { return system().rfind("AS²", 0) == 0; }
  bool same(const json& row, const std::vector<const char*>& fields) const {
    return std::all_of(fields.begin(), fields.end(), [&](const char* name) {
      return rows[0]->value(name, json()) == row.value(name, json());
    });
  }
  Published published() const { return peer ? peer->published : Published{}; }
  // In percent; nothing where a seed has no figure.
  std::optional<double> right() const {
    const std::vector<double> values = values_of(rows, right_of);
    return values.empty() ? std::nullopt : std::optional<double>(100 * mean(values));
  }
};

// The rows of a file by the tables of the list, then by tables that it no longer has.
class Tables {
 public:
  explicit Tables(const std::vector<json>& rows) {
    for (const Peer& peer : peers()) add_title(peer.table);
    for (const json& row : rows) add_title(row["table"]);
    for (const json& row : rows) add(row);
    for (auto& [title, lines] : lines_)
      std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
        return std::make_pair(place(a), !a.current) < std::make_pair(place(b), !b.current);
      });
  }
  const std::vector<std::string>& titles() const { return titles_; }
  const std::vector<Line>& lines(const std::string& title) const {
    static const std::vector<Line> none;
    const auto found = lines_.find(title);
    return found == lines_.end() ? none : found->second;
  }

 private:
  static std::ptrdiff_t place(const Line& line) {
    return line.peer ? line.peer - peers().data() : static_cast<std::ptrdiff_t>(peers().size());
  }
  void add_title(const std::string& title) {
    if (std::find(titles_.begin(), titles_.end(), title) == titles_.end()) titles_.push_back(title);
  }
  void add(const json& row) {
    std::vector<Line>& lines = lines_[row["table"]];
    const auto like = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.same(row, {"system", "task", "preset", "boards", "settings", "configuration", "minutes",
                             "device", "count", "tested_on"});
    });
    if (like != lines.end()) {
      like->rows.push_back(&row);
      return;
    }
    Line line;
    line.rows = {&row};
    for (const Peer& peer : peers()) {
      // Compared as JSON: C++20 knows no `!=` of a string and a const json.
      if (row["table"] != json(peer.table) || row["system"] != json(peer.system) ||
          row["preset"] != json(peer.preset) || row["task"] != json(peer.task) ||
          row["boards"] != json(peer.boards))
        continue;
      line.peer = &peer;
      line.current =
          row["settings"] == json(peer.settings) && row.value("configuration", "") == configuration(peer);
    }
    lines.push_back(std::move(line));
  }
  const std::string& configuration(const Peer& peer) {
    std::string& known = configurations_[&peer];
    if (known.empty()) known = configuration_of(peer);
    return known;
  }

  std::vector<std::string> titles_;
  std::map<std::string, std::vector<Line>> lines_;
  std::map<const Peer*, std::string> configurations_;
};

std::string budget(const Line& line) {
  const double minutes = line["minutes"];
  if (minutes == 0) return "nothing trained";
  return number("%g", minutes) + (minutes == 1 ? " minute on " : " minutes on ") +
         line["device"].get<std::string>();
}

// " after 100 boards", where a table compares several numbers.
std::string with_boards(const Line& line, const char* before) {
  const std::int64_t boards = line["boards"];
  return boards > 0 ? before + std::to_string(boards) + " boards" : "";
}

void add_row(std::string& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) out += "| " + cell + " ";
  out += "|\n";
}

// The commands that made the lines which today's list still has.
void add_commands(std::string& out, const std::string& title, const std::vector<Line>& lines) {
  std::vector<std::string> commands;
  std::map<std::string, std::set<std::string>> seeds;
  for (const Line& line : lines) {
    if (!line.current) continue;
    std::string command = "as2 bench peers --only '" + title + "'";
    if (line["minutes"] != 0)
      command +=
          " --minutes " + number("%g", line["minutes"]) + " --device " + line["device"].get<std::string>();
    if (line["count"] != 1000) command += " --count " + json_text(line["count"]);
    const std::string tested = line["tested_on"];
    if (!tested.empty() && tested.find(' ') == std::string::npos) command += " --boards " + tested;
    if (seeds[command].empty()) commands.push_back(command);
    for (const json* row : line.rows) seeds[command].insert(json_text(row->at("seed")));
  }
  for (const std::string& command : commands) {
    std::string which;
    for (const std::string& seed : seeds[command]) which += (which.empty() ? "" : ",") + seed;
    out += "\n`" + command + (which == "0" ? "" : " --seeds " + which) + "`\n";
  }
}

// Where a peer is better than a system of ours that had the same boards, time and device.
void add_better(std::string& out, const std::vector<Line>& lines) {
  std::string found;
  for (const Line& ours : lines) {
    if (!ours.ours() || !ours.current || !ours.right()) continue;
    const double here = *ours.right();
    const auto variance = [](const Line& line) {
      const double share = *line.right() / 100;
      return share * (1 - share) / (line["count"].get<double>() * static_cast<double>(line.rows.size()));
    };
    std::string better;
    for (const Line& line : lines) {
      if (line.ours() || !line.current || line.right().value_or(0) <= here ||
          !ours.same(*line.rows[0], {"boards", "minutes", "device", "count", "tested_on"}))
        continue;
      better += (better.empty() ? "" : ", ") + line.system() + " " + number("%.2f", *line.right()) + " (± " +
                number("%.2f", 200 * std::sqrt(variance(ours) + variance(line))) + ")";
    }
    if (better.empty()) continue;
    found += "- **" + ours.system() + "**" + with_boards(ours, ", ") + ": " + number("%.2f", here) +
             ". Better: " + better + ".\n";
  }
  if (!found.empty())
    out +=
        "\nWhere a peer has more right than ours, with the same time and device (± two standard errors of "
        "the difference):\n\n" +
        found;
}

// Where a system is more than a point below what is published: how far it got, and whether it still rose.
void add_shortfalls(std::string& out, const std::vector<Line>& lines) {
  std::string found;
  for (const Line& line : lines) {
    const Published published = line.published();
    if (published.percent.empty() || !line.current || !line.right()) continue;
    const double here = *line.right();
    if (here >= std::stod(published.percent) - 1) continue;
    found += "- **" + line.system() + "**" + with_boards(line, ", ") + ": " + number("%.2f", here) +
             ", published is " + published.percent + ".";
    const std::vector<double> steps = values_of(line.rows, field("/steps")),
                              seconds = values_of(line.rows, field("/seconds"));
    if (!steps.empty() && !seconds.empty()) {
      found += " It took " + number("%.0f", mean(steps)) + " steps in " + number("%.0f", mean(seconds)) +
               " seconds: " + mean_of(line.rows, ending, 1, "") + ".";
      if (published.steps > 0 && mean(steps) > 0)
        found += " Published are " + number("%.0f", published.steps) + " steps (" + published.trained +
                 "), which at this speed take " +
                 number("%.3g", published.steps * mean(seconds) / mean(steps) / 3600) + " hours.";
      else if (!published.trained.empty())
        found += " Published is training on " + published.trained + ".";
    }
    found += "\n";
  }
  if (!found.empty()) out += "\nMore than a point below what is published:\n\n" + found;
}

void add_table(std::string& out, const std::string& title, const std::vector<Line>& lines) {
  out += "\n## " + title + "\n\n";
  if (const std::string about = about_table(title); !about.empty()) out += about + "\n\n";
  const auto some = [&](const auto& is) {
    return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
      return std::any_of(line.rows.begin(), line.rows.end(), [&](const json* row) { return is(*row); });
    });
  };
  const bool tested = some([](const json&row) { return row["tested_on"] != ""; }),
             trained = some([](const json&row) { return row["minutes"] != 0; });
  std::vector<const Column*> filled;
  for (const Column& column : columns()) {
    const bool any = some([&](const json& row) {
      const json value = column.figure(row);
      return !value.is_null() && value != json(0);
    });
    if (any || (trained && column.always)) filled.push_back(&column);
  }
  std::vector<std::string> titles = {"system", "preset", "time"};
  if (tested) titles.emplace_back("tested on");
  for (const Column* column : filled) titles.emplace_back(column->title);
  titles.insert(titles.end(), {"published %", "source"});
  add_row(out, titles);
  add_row(out, std::vector<std::string>(titles.size(), "---"));
  for (const Line& line : lines) {
    const Published published = line.published();
    std::vector<std::string> cells = {
        line.system(),
        "`" + line["task"].get<std::string>() + "` `" + line["preset"].get<std::string>() + "`",
        budget(line)};
    if (tested) cells.push_back(line["tested_on"]);
    for (const Column* column : filled)
      cells.push_back(mean_of(line.rows, column->figure, column->scale, column->format));
    cells.push_back(published.percent.empty() ? "–" : published.percent);
    cells.push_back(published.source.empty() ? "–" : published.source);
    add_row(out, cells);
  }
  add_commands(out, title, lines);
  std::string notes;
  for (const Line& line : lines) {
    for (const json* row : line.rows) {
      if (row->contains("note"))
        notes += "- **" + line.system() + "**" + with_boards(line, ", ") + ", seed " +
                 json_text((*row)["seed"]) + ": " + (*row)["note"].get<std::string>() + "\n";
    }
  }
  if (!notes.empty()) out += "\n" + notes;
  add_better(out, lines);
  add_shortfalls(out, lines);
}

// What the list has and the rows do not.
std::string missing_from(const std::string& title, const std::vector<Line>& lines) {
  std::string missing;
  bool gpu = true;
  for (const Peer& peer : peers()) {
    if (peer.table != title ||
        std::any_of(lines.begin(), lines.end(), [&](const Line& line) { return line.peer == &peer; }))
      continue;
    missing += (missing.empty() ? "" : "; ") + peer.system +
               (peer.boards > 0 ? ", " + std::to_string(peer.boards) + " boards" : "");
    gpu = gpu && peer.needs_gpu;
  }
  if (missing.empty()) return "";
  const bool all = std::none_of(lines.begin(), lines.end(), [](const Line& line) { return line.peer; });
  return "- " + title + (all ? "" : ": " + missing) + (gpu ? " (needs a GPU)" : "") + "\n";
}

}  // namespace

std::string peers_document(const std::vector<json>& rows) {
  std::string out =
      R"(# Every system of the paper's tables, run here

`as2 bench peers` trains and evaluates other systems' losses, reasoners and ways to decode beside ours, on the same digits, the same split and in the same time; each row is `as2 train` and `as2 eval` in processes of their own. This page and its picture are made from the rows it wrote, and not edited:

```
as2 bench peers --out docs/peers.jsonl                                # all that two CPU cores can measure
as2 bench peers --only '9 × 9' --device cuda --out docs/peers.jsonl   # the rest, on a GPU
as2 bench peers --table docs/peers.jsonl > docs/PEERS.md
as2 bench peers --picture docs/peers.jsonl > docs/peers.svg
```

The first two go on where they were stopped; `--minutes` and `--seeds` ask for more. Under each table stands the command that made it.

![What is right here, and what is published](peers.svg)

What the columns mean:

- *time*: what training was given, validation included; *trained, s*: what it took. It is less where the goal was reached, and more where a step is long. *processor s* is what the process got of it, loading included: on a machine with other work that is less than its cores would give.
- *digit*, *sum*, *observed*: pictures read right; sums, or what else is observed, that follow from the reading and are right. *cell*, *board*: cells, and whole boards, right with given clues, the reasoner's argmax. *CSR*: boards that satisfy every constraint; *VCSR*: those that clingo certifies.
- *s to 95 %*, *s to 99 %*: seconds of training until so many of the validation examples were right as a whole, by the same measure in every row of a table: what is read says what is observed, or the board is the solution. It is looked at every twentieth of the time; – if it never came to that.
- *at the end*: whether the shares of examples and cells that are right still grew by a point in the second half of the time. What was still learning is limited by its time, and a longer run will have more.
- *parameters* are those of the model that is kept. *memory* is the most that the training process took on the host, *GPU memory* the most that its tensors took there.
- *published* is reported of other networks, data, machines and hours than ours; *source* says by whom. "Quoted" is what another paper reports of the system. "Not confirmed" stands in the AS² paper's tables, and has not been found in the system's own paper.
- †: measured with other settings than `as2 bench peers` has now, or before a row said with which. "?" is a figure that such a row does not have.

With one seed a difference of a few tenths is chance. NeurASP and DeepProbLog train on the same number, the exact −log P(observed): here it comes from one circuit under two names, and so does the semantic loss wherever every reading has one answer set. Their rows differ by chance alone. LTN keeps p = 2, where its authors raise it in training; the figure beside it is the mean of runs of which some collapsed, and what its authors report themselves has not been checked. In Łukasiewicz's logic nothing is learnt from scratch: where every belief is uncertain every conjunction is 0, and its gradient is exactly 0 (`FuzzyTruth.LukasiewiczLearnsFromWhatIsNearlyCertain` in tests/train measures it); Gödel's teaches one pair of digits per sum. A-NeSI is its prediction model, without explanations or pruning; its network has to learn to add before perception can learn from it. SATNet has no kernel for GPUs here.
)";
  const Tables tables(rows);
  std::string missing;
  for (const std::string& title : tables.titles()) {
    const std::vector<Line>& lines = tables.lines(title);
    missing += missing_from(title, lines);
    if (!lines.empty()) add_table(out, title, lines);
  }
  if (!missing.empty())
    out += "\n## Not run yet\n\nSo nothing is known here of what these systems reach:\n\n" + missing;
  out += R"(
## Sources

- NeurASP: Yang, Ishay, Lee, IJCAI 2020. DeepProbLog: Manhaeve et al., NeurIPS 2018, and Artificial Intelligence 298, 2021. Scallop: Huang et al., NeurIPS 2021. SLASH: Skryagin et al., KR 2022.
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
  const Tables tables(rows);
  for (const std::string& title : tables.titles()) {
    const std::vector<Line>& lines = tables.lines(title);
    if (lines.empty()) continue;
    text(8, title + ": " + budget(lines[0]), " font-weight='bold'");
    y += kRow;
    for (const Line& line : lines) {
      const std::optional<double> here = line.right();
      if (!here) continue;
      const std::string ended = mean_of(line.rows, ending, 1, "");
      const bool limited =
          ended.find(kRising) != std::string::npos || ended.find(kTooShort) != std::string::npos;
      const std::string colour = line.ours() ? "#d1495b" : "#1b6ca8", at_y = number("%.0f", y);
      const std::string time = budget(line) == budget(lines[0]) ? "" : ", " + budget(line);
      text(20, line.system() + with_boards(line, ", ") + time, "");
      drawn += "<path d='M" + across(0) + " " + at_y + "H" + across(100) + "' stroke='#ddd'/>";
      if (const Published published = line.published(); !published.percent.empty())
        drawn += "<circle cx='" + across(std::stod(published.percent)) + "' cy='" + at_y +
                 "' r='5' fill='none' stroke='#444'/>";
      drawn += "<circle cx='" + across(*here) + "' cy='" + at_y + "' r='4' fill='" + colour + "'" +
               (limited ? " fill-opacity='0.4'" : "") + "/>";
      text(kWidth - kRight + 12, number("%.1f", *here), "");
      y += kRow;
    }
    y += kRow / 2;
  }
  const std::string height = number("%.0f", y + 8);
  return "<svg xmlns='http://www.w3.org/2000/svg' width='" + number("%.0f", kWidth) + "' height='" + height +
         "' font-family='sans-serif' font-size='12'>\n<rect width='100%' height='100%' fill='white'/>\n"
         "<text x='8' y='16'>Whole examples right, in percent, 0 to 100. Dot: trained and measured here, "
         "pale "
         "where it was still learning when its</text>\n<text x='8' y='32'>time was over; ring: published, of "
         "other networks and hours.</text>\n" +
         drawn + "</svg>\n";
}

}  // namespace as2::bench
