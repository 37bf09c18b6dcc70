#include "eval/evaluate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "as2/decoder.h"
#include "as2/error.h"
#include "as2/verifier.h"
#include "eval/matching.h"
#include "eval/observed.h"
#include "infer/grounding.h"
#include "native/soft_tp.h"
#include "native/threads.h"
#include "task/drawing.h"
#include "task/sources.h"
#include "verify/clingo.h"

namespace as2::eval {
namespace {

using compile::Assignment;
using nlohmann::json;

// What the networks say about every example.
struct NetworkBeliefs {
  std::vector<decode::Beliefs> evidence;   // what the reasoner was given
  std::vector<decode::Beliefs> answer;     // what it made of it
  std::vector<decode::Beliefs> refined;    // after K steps of Eq. 6
  std::vector<infer::Guidance> restarted;  // of the best trajectory; empty: without restarts
};

class Reader {
 public:
  Reader(infer::PerceiverAndGuide& networks, const task::Task& task, const task::Instances& instances,
         const EvaluateOptions& options)
      : networks_(networks),
        task_(task),
        instances_(instances.completed()),
        options_(options),
        threads_(options.threads) {
    for (std::int64_t n = 0; n < instances_.size(); ++n) {
      evidence_positions_.emplace_back();
      for (std::int64_t i = 0; i < instances_.positions(); ++i) {
        if (instances_.evidence[n][i]) evidence_positions_.back().push_back(static_cast<int>(i));
      }
    }
  }

  const std::vector<std::vector<int>>& evidence_positions() const { return evidence_positions_; }

  NetworkBeliefs beliefs(bool perceived) {
    NetworkBeliefs beliefs;
    const std::vector<infer::Evidence> evidence = look(perceived);
    for (const infer::Evidence& seen : evidence) beliefs.evidence.push_back(seen.beliefs);
    if (networks_.guide) {
      for (infer::Guidance& guided : networks_.guide->guide(evidence, {}))
        beliefs.answer.push_back(std::move(guided.beliefs));
    } else {
      beliefs.answer = beliefs.evidence;
    }
    beliefs.refined = refined(beliefs.answer);
    if (options_.restarts > 1) beliefs.restarted = networks_.guide->guide(evidence, {0, options_.restarts});
    return beliefs;
  }

 private:
  // What stands at the evidence of every example: pictures, as the perceiver sees them, or known symbols.
  std::vector<infer::Evidence> look(bool perceived) {
    infer::Perceiver* const perceiver = perceived ? networks_.perceiver.get() : nullptr;
    std::vector<infer::Evidence> seen;
    const auto add = [&](std::vector<infer::Scene> scenes) {
      for (std::size_t n = 0; n < scenes.size(); ++n) give(seen.size() + n, scenes[n]);
      for (infer::Evidence& own : infer::look(perceiver, task_.program(), scenes))
        seen.push_back(std::move(own));
    };
    if (perceiver) {
      const task::DrawnPictures drawn(instances_, task_.pool(options_.part), task_.pictures(), options_.batch,
                                      options_.seed);
      for (std::int64_t index = 0; index < drawn.batches(); ++index) add(drawn.batch(index));
    } else {
      add(std::vector<infer::Scene>(evidence_positions_.size()));
    }
    // Where neither is known something stands all the same, of which every symbol is as likely.
    for (std::size_t n = 0; n < seen.size(); ++n) seen[n].positions = evidence_positions_[n];
    return seen;
  }

  // Adds to a scene the symbols that are known where it has no picture.
  void give(std::size_t n, infer::Scene& scene) const {
    const auto row = static_cast<std::int64_t>(n);
    for (const int position : evidence_positions_[n]) {
      const int symbol = instances_.shows[row][position];
      const bool may =
          instances_.known[row][position] || !task::has_picture(instances_, task_.pictures(), row, position);
      const auto place =
          std::lower_bound(scene.begin(), scene.end(), position,
                           [](const infer::Picture& picture, int at) { return picture.position < at; });
      if (symbol < 0 || !may || (place != scene.end() && place->position == position)) continue;
      scene.insert(place, {position, {}, symbol});
    }
  }

  std::vector<decode::Beliefs> refined(const std::vector<decode::Beliefs>& rows) {
    const native::SoftTp soft_tp(task_.program());
    std::vector<decode::Beliefs> refined(rows.size());
    threads_.run(static_cast<std::int64_t>(rows.size()), [&](std::int64_t n, int) {
      const decode::Beliefs& row = rows[static_cast<std::size_t>(n)];
      std::vector<float> beliefs(row.begin(), row.end());
      native::SoftTp::Scratch scratch = soft_tp.scratch();
      soft_tp.refine(beliefs.data(), options_.refine_steps, scratch);
      refined[static_cast<std::size_t>(n)].assign(beliefs.begin(), beliefs.end());
    });
    return refined;
  }

  infer::PerceiverAndGuide& networks_;
  const task::Task& task_;
  const task::Instances instances_;
  const EvaluateOptions& options_;
  native::Threads threads_;
  std::vector<std::vector<int>> evidence_positions_;  // of each example, ascending
};

int most_likely(const decode::Beliefs& beliefs, std::size_t symbols, std::size_t position) {
  const double* const row = beliefs.data() + position * symbols;
  return static_cast<int>(std::max_element(row, row + symbols) - row);
}

Answers most_likely(const compile::ConstraintProgram& program, const std::vector<decode::Beliefs>& rows) {
  Answers answers;
  for (const decode::Beliefs& beliefs : rows) {
    answers.assignments.emplace_back();
    for (std::size_t i = 0; i < program.positions.size(); ++i)
      answers.assignments.back().push_back(
          most_likely(beliefs, static_cast<std::size_t>(program.max_symbols()), i));
  }
  return answers;
}

// Decodes every example; `guide` may be empty. `evidence` is locked first by greedy, searched for a reading
// with one completion by `unique`.
std::vector<decode::Decoded> decode_all(const task::Task& task, decode::DecodeOptions options,
                                        const std::vector<decode::Beliefs>& beliefs,
                                        const std::vector<decode::Beliefs>& guide,
                                        const std::vector<std::vector<int>>& evidence, int threads) {
  std::vector<decode::Query> queries(beliefs.size());
  for (std::size_t n = 0; n < beliefs.size(); ++n) {
    queries[n].beliefs = beliefs[n];
    if (!guide.empty()) queries[n].guide = guide[n];
    if (options.method == decode::Method::kGreedy || options.unique) queries[n].evidence = evidence[n];
  }
  options.minimal_conflict = false;
  return decode::Decoder(task.shared_program()).decode_batch(queries, options, threads);
}

Answers answers_of(const std::vector<decode::Decoded>& results) {
  Answers answers;
  for (const decode::Decoded& result : results) {
    answers.assignments.push_back(result.models.empty() ? compile::Assignment()
                                                        : result.models[0].assignment);
  }
  return answers;
}

// The pipeline: perception's argmax at the clues, and clingo for the rest.
Answers completed_by_clingo(const compile::ConstraintProgram& program, const infer::ProgramSource& source,
                            const std::vector<decode::Beliefs>& beliefs,
                            const std::vector<std::vector<int>>& evidence) {
  const Answers read = most_likely(program, beliefs);
  std::vector<std::vector<std::string>> clues;
  std::vector<std::string> atoms;
  for (const compile::Position& position : program.positions) {
    for (const std::string& atom : position.atoms) {
      if (!atom.empty()) atoms.push_back(atom);
    }
  }
  for (std::size_t n = 0; n < read.assignments.size(); ++n) {
    clues.emplace_back();
    for (const int given : evidence[n]) {
      const auto position = static_cast<std::size_t>(given);
      clues.back().push_back(
          program.positions[position].atoms[static_cast<std::size_t>(read.assignments[n][position])]);
    }
  }
  verify::VerifyOptions options;
  options.constants = source.constants;
  Answers completed;
  for (const auto& model : verify::complete({source.file}, clues, atoms, options)) {
    completed.assignments.emplace_back();
    if (!model) continue;
    const std::set<std::string> holds(model->begin(), model->end());
    for (const compile::Position& position : program.positions) {
      const auto atom = std::find_if(position.atoms.begin(), position.atoms.end(),
                                     [&](const std::string& a) { return holds.count(a) != 0; });
      completed.assignments.back().push_back(
          atom == position.atoms.end() ? 0 : static_cast<int>(atom - position.atoms.begin()));
    }
  }
  return completed;
}

// The share of the reader's answers that are answer sets to which the evidence gives any probability.
double valid_share(const compile::ConstraintProgram& program, const Answers& answers,
                   const std::vector<decode::Beliefs>& beliefs,
                   const std::vector<std::vector<int>>& evidence) {
  constexpr double kImpossible = 1e-6;  // the reasoner's floor for evidence: less is none
  const auto symbols = static_cast<std::size_t>(program.max_symbols());
  std::size_t valid = 0;
  for (std::size_t n = 0; n < answers.assignments.size(); ++n) {
    const Assignment& answer = answers.assignments[n];
    const bool allowed = std::all_of(evidence[n].begin(), evidence[n].end(), [&](int given) {
      const auto position = static_cast<std::size_t>(given);
      return beliefs[n][position * symbols + static_cast<std::size_t>(answer[position])] >= kImpossible;
    });
    valid += allowed && compile::violated_groups(program, answer).empty();
  }
  return static_cast<double>(valid) /
         static_cast<double>(std::max<std::size_t>(1, answers.assignments.size()));
}

// Null where there is nothing to judge.
json share(double part, double whole) {
  return whole > 0 ? json(part / whole) : json();
}

// clingo answers by the program's text and constants: they have to say what the compiled program does.
void require_same_program(const task::Task& task) {
  infer::ProgramSource text = task.config().program;
  const std::string compiled = std::exchange(text.compiled, "");
  std::error_code none;
  if (compiled.empty() || !std::filesystem::exists(compiled, none) || verify::find_clingo({}).empty()) return;
  std::string constants;
  for (const auto& [name, value] : text.constants) constants += " -c " + name + "=" + value;
  if (infer::load_program(text, task.options().grounding)->hash == task.program().hash) return;
  throw InputError({compiled},
                   "is not what " + text.file + (constants.empty() ? "" : " with" + constants) +
                       " compiles to, and clingo certifies answers by that",
                   {"give the constants that it was compiled with, as in --set "
                    "'program.constants=[\"h=3\", \"w=4\"]'; or give --no-clingo"});
}

// Training is told nothing of an example, so that it cannot know what a class is called.
bool says_nothing(const task::Supervision& supervision) {
  const auto is_set = [](char flag) { return flag != 0; };
  return supervision.atoms.empty() &&
         std::none_of(supervision.labelled.begin(), supervision.labelled.end(), is_set) &&
         std::none_of(supervision.observed.begin(), supervision.observed.end(), is_set);
}

}  // namespace

json measure(const task::Task& task, const Answers& answers, const task::Table<std::int16_t>& labels,
             bool certify) {
  const infer::ProgramSource& program = task.config().program;
  const compile::ConstraintProgram& compiled = task.program();
  const auto count = static_cast<std::int64_t>(answers.assignments.size());
  double satisfied = 0;
  std::int64_t known = 0, right = 0, labelled_boards = 0, right_boards = 0;
  std::vector<verify::ChosenAtoms> chosen;
  for (std::int64_t n = 0; n < count; ++n) {
    const Assignment& answer = answers.assignments[static_cast<std::size_t>(n)];
    std::int64_t known_here = 0, right_here = 0;
    for (std::size_t position = 0; position < compiled.positions.size(); ++position) {
      if (labels[n][position] < 0) continue;
      ++known_here;
      right_here += !answer.empty() && labels[n][position] == answer[position];
    }
    known += known_here;
    right += right_here;
    labelled_boards += known_here > 0;
    right_boards += known_here > 0 && right_here == known_here;
    if (answer.empty()) continue;
    satisfied += compile::violated_groups(compiled, answer).empty();
    if (certify) chosen.push_back(verify::chosen_atoms(compiled, answer));
  }
  const double n = static_cast<double>(std::max<std::int64_t>(1, count));
  json result = {{"cell", share(static_cast<double>(right), static_cast<double>(known))},
                 {"board", share(static_cast<double>(right_boards), static_cast<double>(labelled_boards))},
                 {"csr", satisfied / n},
                 {"vcsr", nullptr}};
  if (!certify) return result;
  double valid = 0;
  if (!chosen.empty()) {
    verify::VerifyOptions options;
    options.constants = program.constants;
    options.name_violated = false;
    for (const verify::Verdict& verdict : verify::verify({program.file}, chosen, options)) {
      if (!verdict.valid) return result;
      valid += *verdict.valid;
    }
  }
  result["vcsr"] = valid / n;
  return result;
}

json evaluate_boards(infer::PerceiverAndGuide& networks, const task::Task& task,
                     const task::Instances& instances, const EvaluateOptions& options) {
  if (options.certify || options.pipeline) require_same_program(task);
  Reader reader(networks, task, instances, options);
  const compile::ConstraintProgram& program = task.program();
  const std::vector<std::vector<int>>& evidence = reader.evidence_positions();
  const auto symbols = static_cast<std::size_t>(program.max_symbols()),
             classes = static_cast<std::size_t>(task.pictures().classes);
  json result = {{"boards", instances.size()}, {"clue_accuracy", nullptr}};
  const auto table = [&](bool perceived) {
    const char* which = perceived ? "perceived" : "given";
    if (options.report) options.report(std::string("reading with ") + which + " clues");
    const NetworkBeliefs beliefs = reader.beliefs(perceived);
    const auto row = [&](const Answers& answers) {
      return measure(task, answers, instances.labels, options.certify);
    };
    const auto decoded = [&](const decode::DecodeOptions& how, const std::vector<decode::Beliefs>& from,
                             const std::vector<decode::Beliefs>& guide) {
      return decode_all(task, how, from, guide, evidence, options.threads);
    };
    json rows;
    rows["raw"] = row(most_likely(program, beliefs.answer));
    rows["refined"] = row(most_likely(program, beliefs.refined));
    if (!beliefs.restarted.empty()) {
      std::vector<decode::Beliefs> restarted;
      double trajectories = 0;
      for (const infer::Guidance& guided : beliefs.restarted) {
        restarted.push_back(guided.beliefs);
        trajectories += guided.trajectories;
      }
      const Answers answers = most_likely(program, restarted);
      rows["restarts"] = row(answers);
      rows["restarts"]["most"] = options.restarts;
      rows["restarts"]["trajectories"] = trajectories / static_cast<double>(restarted.size());
      rows["restarts"]["valid"] = valid_share(program, answers, beliefs.evidence, evidence);
    }
    // Greedy locks clues to what was read, whatever the reasoner thinks of them.
    std::vector<decode::Beliefs> locked = beliefs.answer;
    for (std::size_t n = 0; n < locked.size(); ++n) {
      for (const int position : evidence[n]) {
        const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(position) * symbols);
        std::copy_n(beliefs.evidence[n].begin() + first, symbols, locked[n].begin() + first);
      }
    }
    decode::DecodeOptions greedy, unique;
    greedy.method = decode::Method::kGreedy;
    unique.unique = true;
    rows["greedy"] = row(answers_of(decoded(greedy, locked, {})));
    rows["map"] = row(answers_of(decoded({}, beliefs.evidence, beliefs.answer)));
    if (!perceived) return rows;
    const Answers alone = answers_of(decoded({}, beliefs.evidence, {}));
    rows["perception_map"] = row(alone);
    if (std::none_of(evidence.begin(), evidence.end(), [](const auto& own) { return own.empty(); })) {
      const auto results = decoded(unique, beliefs.evidence, beliefs.answer);
      rows["unique_map"] = row(answers_of(results));
      const auto found = std::count_if(results.begin(), results.end(),
                                       [](const decode::Decoded& one) { return one.unique->found; });
      rows["unique_map"]["unique"] = static_cast<double>(found) / static_cast<double>(results.size());
    }
    double read = 0, known = 0;
    std::vector<std::vector<std::int64_t>> read_as(classes, std::vector<std::int64_t>(classes));
    for (std::size_t n = 0; n < evidence.size(); ++n) {
      for (const int position : evidence[n]) {
        const auto at = static_cast<std::size_t>(position);
        const auto example = static_cast<std::int64_t>(n);
        const std::int16_t label = instances.labels[example][position];
        if (label < 0 || !task::has_picture(instances, task.pictures(), example, position)) continue;
        const int symbol = most_likely(beliefs.evidence[n], symbols, at);
        known += 1;
        read += label == symbol;
        const auto class_of = [&](int of) {
          return task.pictures().class_of[at][static_cast<std::size_t>(of)];
        };
        if (class_of(label) >= 0 && class_of(symbol) >= 0)
          ++read_as[static_cast<std::size_t>(class_of(label))][static_cast<std::size_t>(class_of(symbol))];
      }
    }
    if (known > 0) result["clue_accuracy"] = read / known;
    if (known > 0 && says_nothing(task.supervision()))
      result["clue_accuracy_matched"] = static_cast<double>(best_matching(read_as)) / known;
    if (!task.supervision().atoms.empty()) {
      if (const json observed = observed_accuracy(task, instances, alone); !observed.is_null())
        result["observed_accuracy"] = observed;
    }
    if (options.pipeline)
      rows["pipeline"] = row(completed_by_clingo(program, task.config().program, beliefs.evidence, evidence));
    return rows;
  };
  if (networks.guide) result["given_clues"] = table(false);
  if (networks.perceiver && !task.pictures().positions.empty()) result["perceived_clues"] = table(true);
  return result;
}

json evaluate_tuples(infer::PerceiverAndGuide& networks, const task::Task& task,
                     const task::Instances& instances, const EvaluateOptions& options) {
  Reader reader(networks, task, instances, options);
  const NetworkBeliefs beliefs = reader.beliefs(true);
  const bool sum = has_sum(task);
  const auto accuracies = [&](const Answers& answers) {
    double digits = 0, pictures = 0, sums = 0, examples = 0;
    for (std::int64_t n = 0; n < instances.size(); ++n) {
      const Assignment& answer = answers.assignments[static_cast<std::size_t>(n)];
      bool labelled = false, rest = true;
      for (std::size_t position = 0; position < task.program().positions.size(); ++position) {
        const std::int16_t label = instances.labels[n][position];
        if (label < 0) continue;
        const bool right = !answer.empty() && label == answer[position];
        if (instances.evidence[n][position]) {
          digits += right;
          ++pictures;
        } else {
          rest = rest && right;
          labelled = true;
        }
      }
      sums += labelled && rest;
      examples += labelled;
    }
    json figures = {{"digit_accuracy", share(digits, pictures)}};
    if (sum) {
      figures["sum_accuracy"] = share(sums, examples);
    } else if (const json observed = observed_accuracy(task, instances, answers); !observed.is_null()) {
      figures["observed_accuracy"] = observed;
    }
    return figures;
  };
  const json map = accuracies(
      answers_of(decode_all(task, {}, beliefs.evidence, {}, reader.evidence_positions(), options.threads)));
  // Without a reasoner the sum is the program's: that of the most likely digits.
  json result = networks.guide ? accuracies(most_likely(task.program(), beliefs.answer)) : map;
  result["map"] = map;
  result["n"] = task.pictures().positions.size();
  result["examples"] = instances.size();
  bool digits_labelled = false;
  for (const int position : task.pictures().positions) {
    digits_labelled |= infer::matches_any(task.config().labelled,
                                          task.program().positions[static_cast<std::size_t>(position)].name);
  }
  const char* const observed = sum ? "sum" : "observed";
  result["supervision"] = digits_labelled ? std::string("digit+") + observed : observed;
  return result;
}

json evaluate_pictures(infer::PerceiverAndGuide& networks, const task::Task& task,
                       const task::Instances& instances, const EvaluateOptions& options) {
  Reader reader(networks, task, instances, options);
  const NetworkBeliefs beliefs = reader.beliefs(true);
  const auto symbols = static_cast<std::size_t>(task.program().max_symbols());
  constexpr int kBins = 15;  // of confidence, equally wide
  struct Bin {
    double count = 0, right = 0, confidence = 0;
  };
  Bin all, bins[kBins];
  double likelihood = 0;
  std::int64_t pictures = 0;
  for (std::size_t n = 0; n < beliefs.evidence.size(); ++n) {
    for (const int given : reader.evidence_positions()[n]) {
      const auto row = static_cast<std::int64_t>(n);
      if (!task::has_picture(instances, task.pictures(), row, given)) continue;
      ++pictures;
      const auto position = static_cast<std::size_t>(given);
      const double* const p = beliefs.evidence[n].data() + position * symbols;
      const int read = most_likely(beliefs.evidence[n], symbols, position),
                label = instances.labels[row][position];
      if (label < 0) continue;
      Bin& bin = bins[std::min(kBins - 1, static_cast<int>(p[read] * kBins))];
      for (Bin* counted : {&all, &bin}) {
        counted->count += 1;
        counted->right += read == label;
        counted->confidence += p[read];
      }
      likelihood += std::log(std::max(1e-30, p[label]));
    }
  }
  // Expected calibration error.
  double error = 0;
  for (const Bin& bin : bins) error += std::abs(bin.right - bin.confidence);
  return {{"digit_accuracy", share(all.right, all.count)},
          {"examples", pictures},
          {"negative_log_likelihood", share(-likelihood, all.count)},
          {"calibration_error", share(error, all.count)}};
}

json evaluate(infer::PerceiverAndGuide& networks, const task::Task& task, const task::Instances& instances,
              const EvaluateOptions& options) {
  switch (task::source_of(task.config().data.source).figures) {
    case task::Figures::kBoards:
      return evaluate_boards(networks, task, instances, options);
    case task::Figures::kTuples:
      return evaluate_tuples(networks, task, instances, options);
    case task::Figures::kPictures:
      return evaluate_pictures(networks, task, instances, options);
  }
  AS2_REQUIRE(false, "figures of the table");
}

}  // namespace as2::eval
