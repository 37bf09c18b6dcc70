#include "train/shortcuts.h"

#include <algorithm>
#include <cmath>

#include "prob/observation.h"
#include "prob/relabellings.h"
#include "random.h"

namespace as2::train {
namespace {

using prob::Observable;
using Kind = Observable::Kind;

constexpr std::int64_t kMostCombinations = 4096;
constexpr std::int64_t kSample = 512;
constexpr std::int64_t kSampledExamples = 200;

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
    const bool free =
        source == "tuples" || source == "images" || config_.images.source == task::kNamedPictures;
    if (used_.pictures && labels_name_every_class()) return {};
    circuit_ = prob::compile_circuit(program_, nodes_, {seconds});
    question_.circuit = &circuit_;
    if (free) {
      take_combinations();
    } else {
      take_examples();
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

  // Then nothing has to be searched: the label of a picture tells its class.
  bool labels_name_every_class() const {
    if (config_.label_place == task::LabelPlace::kLatent) return false;
    std::vector<char> shown(static_cast<std::size_t>(map_.classes), 0), named = shown;
    for (const int position : map_.positions) {
      for (const int one : map_.class_of[static_cast<std::size_t>(position)]) {
        shown[static_cast<std::size_t>(one)] = 1;
        if (labelled(position)) named[static_cast<std::size_t>(one)] = 1;
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
      const bool pictured = std::binary_search(map_.positions.begin(), map_.positions.end(), i);
      const bool read = (used_.observed && supervision.observed[static_cast<std::size_t>(i)]) ||
                        (labelled(i) && (pictured ? used_.pictures : used_.latent));
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

  void take_examples() {
    found_.exact = false;
    const task::Instances rows =
        task_.instances(task::Part::kTrain, std::min(kSampledExamples, config_.data.train));
    for (std::int64_t n = 0; n < std::min(rows.size(), kSampledExamples); ++n) {
      prob::ObservedExample example;
      for (std::int64_t i = 0; i < rows.positions(); ++i) {
        const int position = static_cast<int>(i);
        const bool pictured = std::binary_search(map_.positions.begin(), map_.positions.end(), position);
        const bool seen = rows.evidence[n][i] != 0;
        const int shown = rows.shows[n][i], label = rows.labels[n][i];
        if (seen && shown >= 0 && pictured)
          example.shown.emplace_back(
              position, map_.class_of[static_cast<std::size_t>(i)][static_cast<std::size_t>(shown)]);
        else if (seen && shown >= 0)
          example.given.push_back({position, shown});
        const bool read = (used_.observed && rows.observed[n][i]) ||
                          (rows.known[n][i] && (seen ? used_.pictures : used_.latent));
        if (read && label >= 0) example.observed.push_back(symbol_at(position, label));
      }
      for (std::size_t a = 0; used_.atoms && a < task_.supervision().atoms.size(); ++a) {
        const int truth = rows.atoms[n][a];
        const Observable& about = task_.supervision().atoms[a].about;
        if (truth >= 0) example.observed.push_back(truth == 1 ? about : prob::negation(program_, about));
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
