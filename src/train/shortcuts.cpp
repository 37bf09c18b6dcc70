#include "train/shortcuts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <unordered_set>

#include "prob/observation.h"
#include "prob/relabellings.h"
#include "random.h"
#include "task/drawing.h"

namespace as2::train {
namespace {

using prob::Observable;
using Kind = Observable::Kind;

constexpr std::int64_t kMostCombinations = 4096;
constexpr std::int64_t kSample = 512;
constexpr std::int64_t kSampledExamples = 200;
constexpr std::int64_t kMostLines = 1024;  // that differ
constexpr std::int64_t kLeastDraws = 8;    // of the classes that a line leaves open

Observable symbol_at(int position, int symbol) {
  Observable observable;
  observable.kind = Kind::kSet;
  observable.set = {position, {symbol}};
  return observable;
}

// Which labels the losses read.
struct Used {
  bool pictures, latent, observed, atoms;

  explicit Used(const LossConfig& losses)
      : pictures(losses.weight("perception") > 0 || losses.weight("evidence") > 0),
        latent(losses.weight("latent") > 0),
        observed(losses.weight("constraint") > 0 || losses.weight("satisfaction") > 0 ||
                 losses.reads_atoms()),
        atoms(losses.reads_atoms()) {}
};

class Finder {
 public:
  Finder(const Config& config, const task::Task& task)
      : config_(config), task_(task), program_(task.program()), map_(task.pictures()), used_(config.losses) {
    for (const task::ObservedAtom& atom : task.supervision().atoms) prob::collect_nodes(atom.about, nodes_);
    question_.classes = map_.classes;
    for (std::size_t i = 0; i < program_.positions.size(); ++i) {
      question_.symbol_of.emplace_back(static_cast<std::size_t>(map_.classes), -1);
      for (std::size_t s = 0; s < map_.class_of[i].size(); ++s) {
        if (map_.class_of[i][s] >= 0)
          question_.symbol_of[i][static_cast<std::size_t>(map_.class_of[i][s])] = static_cast<int>(s);
      }
    }
  }

  Shortcuts find(double seconds) {
    const std::string& source = config_.data.source;
    const bool free = source == "tuples" || source == "images", listed = source == "instances";
    task::Instances lines;
    if (listed) lines = task_.instances(task::Part::kTrain, config_.data.train);
    if (used_.pictures && labels_name_every_class(listed ? &lines : nullptr)) return {};
    circuit_ = prob::compile_circuit(program_, nodes_, {seconds});
    question_.circuit = &circuit_;
    if (free) {
      take_combinations();
    } else if (listed) {
      take_lines(lines, seconds);
    } else {
      take_lines(task_.instances(task::Part::kTrain, std::min(kSampledExamples, config_.data.train)),
                 seconds);
      found_.exact = false;
    }
    found_.examples = static_cast<std::int64_t>(question_.examples.size());
    const prob::Relabellings relabellings = prob::find_relabellings(question_, seconds);
    found_.count = relabellings.count;
    found_.complete = relabellings.complete;
    for (const std::vector<int>& sigma : relabellings.some) found_.some.push_back(named(sigma));
    return found_;
  }

 private:
  bool labelled(int position) const {
    return task_.supervision().labelled[static_cast<std::size_t>(position)] != 0;
  }

  bool pictured(int position) const {
    return std::binary_search(map_.positions.begin(), map_.positions.end(), position);
  }

  // Then nothing has to be searched: the label of a picture tells its class. A line has the labels that it
  // has; generated examples have all that the settings name.
  bool labels_name_every_class(const task::Instances* lines) const {
    if (!lines && config_.label_place == task::LabelPlace::kLatent) return false;
    std::vector<char> shown(static_cast<std::size_t>(map_.classes), 0), named = shown;
    for (const int position : map_.positions) {
      const std::vector<int>& classes = map_.class_of[static_cast<std::size_t>(position)];
      for (const int one : classes) {
        shown[static_cast<std::size_t>(one)] = 1;
        if (!lines && labelled(position)) named[static_cast<std::size_t>(one)] = 1;
      }
      for (std::int64_t n = 0; lines && n < lines->size(); ++n) {
        const int label = lines->labels[n][position];
        if (label >= 0 && lines->known[n][position] && task::has_picture(*lines, map_, n, position))
          named[static_cast<std::size_t>(classes[static_cast<std::size_t>(label)])] = 1;
      }
    }
    return shown == named;
  }

  void take_combinations() {
    std::int64_t combinations = 1;
    for (const int position : map_.positions) {
      combinations *=
          static_cast<std::int64_t>(program_.positions[static_cast<std::size_t>(position)].symbols.size());
      if (combinations > kMostCombinations) break;
    }
    found_.exact = combinations <= kMostCombinations;
    Random random(1);
    for (std::int64_t n = 0; n < (found_.exact ? combinations : kSample); ++n) {
      std::int64_t rest = n;
      std::vector<decode::Pin> symbols;
      for (const int position : map_.positions) {
        const auto width =
            static_cast<std::int64_t>(program_.positions[static_cast<std::size_t>(position)].symbols.size());
        const auto symbol = found_.exact
                                ? rest % width
                                : static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(width)));
        rest /= width;
        symbols.push_back({position, static_cast<int>(symbol)});
      }
      take(symbols);
    }
  }

  // Pictures of these symbols, and what the program then says about the rest.
  void take(const std::vector<decode::Pin>& symbols) {
    prob::Weights weights(static_cast<std::size_t>(circuit_.inputs()), 1.0);
    prob::ObservedExample example;
    for (const auto& [position, symbol] : symbols) {
      for (int s = 0; s < circuit_.symbols; ++s) {
        if (s != symbol) weights[static_cast<std::size_t>(circuit_.input(position, s))] = 0;
      }
      example.shown.emplace_back(
          position, map_.class_of[static_cast<std::size_t>(position)][static_cast<std::size_t>(symbol)]);
    }
    const prob::Evaluated evaluated = prob::evaluate(circuit_, {weights});
    if (std::isinf(evaluated.log_value[0])) return;  // such pictures never stand together
    const std::vector<double> marginals = prob::marginals(circuit_, weights, evaluated, 0);
    constexpr double kCertain = 1e-9;
    const auto& supervision = task_.supervision();
    for (int i = 0; i < static_cast<int>(program_.positions.size()); ++i) {
      const bool read = (used_.observed && supervision.observed[static_cast<std::size_t>(i)]) ||
                        (labelled(i) && (pictured(i) ? used_.pictures : used_.latent));
      if (!read) continue;
      for (int s = 0; s < static_cast<int>(program_.positions[static_cast<std::size_t>(i)].symbols.size());
           ++s) {
        if (marginals[static_cast<std::size_t>(circuit_.input(i, s))] > 1 - kCertain)
          example.observed.push_back(symbol_at(i, s));
      }
    }
    for (const task::ObservedAtom& atom : supervision.atoms) {
      if (!used_.atoms) break;
      const double p = prob::probability_of(circuit_, atom.about, marginals);
      if (p > kCertain && p < 1 - kCertain) continue;  // the pictures do not decide it
      example.observed.push_back(p > 0.5 ? atom.about : prob::negation(program_, atom.about));
    }
    question_.examples.push_back(std::move(example));
  }

  // What a line says: an example whose pictures may be of any class at `open`, as long as `truth` holds.
  struct Line {
    prob::ObservedExample example;
    std::vector<int> open;  // positions
    prob::Observation truth;
  };

  // Every line that differs from those before it, completed in every way, or in some, if its pictures'
  // classes are not known.
  void take_lines(const task::Instances& rows, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::vector<Line> lines;
    std::unordered_set<std::string> seen;
    for (std::int64_t n = 0; n < rows.size() && found_.exact; ++n) {
      if (!seen.insert(text_of(rows, n)).second) continue;
      if (static_cast<std::int64_t>(lines.size()) == kMostLines)
        found_.exact = false;
      else
        lines.push_back(line_of(rows, n));
    }
    const auto share = std::max(
        kLeastDraws, kMostCombinations / std::max<std::int64_t>(1, static_cast<std::int64_t>(lines.size())));
    for (Line& line : lines) {
      if (std::chrono::steady_clock::now() > end) {
        found_.exact = false;
        return;
      }
      if (line.open.empty())
        question_.examples.push_back(std::move(line.example));
      else
        complete(line, share);
    }
  }

  // Two rows of which this is the same are the same to the relabellings.
  std::string text_of(const task::Instances& rows, std::int64_t n) const {
    std::string text;
    for (const int i : map_.positions) text += task::has_picture(rows, map_, n, i) ? '1' : '0';
    const auto add = [&](const auto& table) {
      if (!table.defined()) return;
      text.append(reinterpret_cast<const char*>(table[n]),
                  static_cast<std::size_t>(table.columns) * sizeof(*table[n]));
    };
    add(rows.shows);
    add(rows.labels);
    add(rows.evidence);
    add(rows.known);
    add(rows.observed);
    add(rows.atoms);
    return text;
  }

  Line line_of(const task::Instances& rows, std::int64_t n) const {
    Line line;
    for (int i = 0; i < static_cast<int>(rows.positions()); ++i) {
      const bool seen = rows.evidence[n][i] != 0;
      const int shown = rows.shows[n][i], label = rows.labels[n][i];
      if (task::has_picture(rows, map_, n, i)) {
        if (shown < 0)
          line.open.push_back(i);
        else
          line.example.shown.emplace_back(
              i, map_.class_of[static_cast<std::size_t>(i)][static_cast<std::size_t>(shown)]);
      } else if (seen && shown >= 0) {
        line.example.given.push_back({i, shown});
      }
      if (label < 0) continue;
      line.truth.push_back(symbol_at(i, label));
      if ((used_.observed && rows.observed[n][i]) ||
          (rows.known[n][i] && (seen ? used_.pictures : used_.latent)))
        line.example.observed.push_back(symbol_at(i, label));
    }
    for (std::size_t a = 0; rows.atoms.defined() && a < task_.supervision().atoms.size(); ++a) {
      const int truth = rows.atoms[n][a];
      if (truth < 0) continue;
      const Observable& about = task_.supervision().atoms[a].about;
      line.truth.push_back(truth == 1 ? about : prob::negation(program_, about));
      if (used_.atoms) line.example.observed.push_back(line.truth.back());
    }
    return line;
  }

  // At most `share` ways to fill what the line leaves open.
  void complete(const Line& line, std::int64_t share) {
    prob::Weights weights(static_cast<std::size_t>(circuit_.inputs()), 1.0);
    prob::Observation truth = line.truth;
    for (const decode::Pin& pin : line.example.given) truth.push_back(symbol_at(pin.position, pin.symbol));
    if (!prob::observe(circuit_, truth, weights) || std::isinf(prob::log_value(circuit_, weights))) return;
    std::int64_t combinations = 1;
    for (const int position : line.open) {
      combinations *=
          static_cast<std::int64_t>(program_.positions[static_cast<std::size_t>(position)].symbols.size());
      if (combinations > share) break;
    }
    std::set<std::vector<int>> filled;
    if (combinations > share) {
      found_.exact = false;
      for (const compile::Assignment& answer :
           prob::draw(circuit_, weights, static_cast<int>(share), question_.examples.size())) {
        std::vector<int> symbols;
        for (const int position : line.open) symbols.push_back(answer[static_cast<std::size_t>(position)]);
        filled.insert(std::move(symbols));
      }
    } else {
      for (std::int64_t n = 0; n < combinations; ++n) {
        std::vector<int> symbols;
        std::int64_t rest = n;
        prob::Weights filling = weights;
        for (const int position : line.open) {
          const auto width = static_cast<std::int64_t>(
              program_.positions[static_cast<std::size_t>(position)].symbols.size());
          symbols.push_back(static_cast<int>(rest % width));
          rest /= width;
          prob::observe(circuit_, {symbol_at(position, symbols.back())}, filling);
        }
        if (!std::isinf(prob::log_value(circuit_, filling))) filled.insert(std::move(symbols));
      }
    }
    for (const std::vector<int>& symbols : filled) {
      prob::ObservedExample example = line.example;
      for (std::size_t k = 0; k < symbols.size(); ++k) {
        const auto& classes = map_.class_of[static_cast<std::size_t>(line.open[k])];
        example.shown.emplace_back(line.open[k], classes[static_cast<std::size_t>(symbols[k])]);
      }
      question_.examples.push_back(std::move(example));
    }
  }

  std::string named(const std::vector<int>& sigma) const {
    std::string text;
    for (std::size_t c = 0; c < sigma.size(); ++c) {
      if (sigma[c] == static_cast<int>(c)) continue;
      text += (text.empty() ? "" : ", ") + task_.classes()[c] + "→" +
              task_.classes()[static_cast<std::size_t>(sigma[c])];
    }
    return text;
  }

  const Config& config_;
  const task::Task& task_;
  const compile::ConstraintProgram& program_;
  const infer::PictureMap& map_;
  const Used used_;
  std::vector<int> nodes_;
  prob::Circuit circuit_;
  prob::RelabellingQuestion question_;
  Shortcuts found_;
};

}  // namespace

std::string Shortcuts::text() const {
  if (count <= 1 && !complete)
    return "the time ran out before it was clear whether what is observed determines the classes";
  if (count <= 1) return "what is observed determines every class";
  std::string text = "what is observed does not determine the classes: ";
  text += (complete ? "" : "at least ") + std::to_string(count) + " ways to name them explain ";
  text += exact ? "every observation" : "a sample of " + std::to_string(examples) + " examples";
  text += " equally well";
  if (!some.empty()) text += ", for example " + some.front();
  return text;
}

std::optional<Shortcuts> find_shortcuts(const Config& config, const task::Task& task, double seconds) {
  if (task.pictures().positions.empty()) return std::nullopt;
  return Finder(config, task).find(seconds);
}

}  // namespace as2::train
