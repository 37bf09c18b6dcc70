#include "eval/evaluate.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>

#include "as2/decoder.h"
#include "as2/soft_tp.h"
#include "as2/verifier.h"
#include "eval/observed.h"
#include "infer/tensor/network.h"
#include "infer/tensor/step_graph.h"
#include "nn/restarts.h"
#include "task/batches.h"
#include "task/sources.h"

namespace as2::eval {
namespace {

using compile::Assignment;
using infer::Batch;
using nlohmann::json;

// What the networks say about every example, on the CPU.
struct Beliefs {
  torch::Tensor evidence;  // [examples, positions, symbols] float64: what the reasoner was given
  torch::Tensor answer;    // the same shape: what it made of it
  torch::Tensor refined;   // after K steps of Eq. 6
  // With restarts: beliefs of the best trajectory, whether its answer is valid, and how many were run.
  torch::Tensor restarted, valid, trajectories;
};

class Reader {
 public:
  Reader(nn::Model& model, const task::Task& task, const task::Instances& instances, torch::Device device,
         const EvaluateOptions& options)
      : model_(model), soft_tp_(task.program()), options_(options), graph_(device, /*capture=*/true) {
    model.to(device);
    model.eval();
    if (model.reasoner) model.reasoner->set_fixed_passes(device.is_cuda());
    mask_ = soft_tp_.mask(torch::empty({0}, device)).to(device);
    network_ = std::make_unique<infer::Network>(model, task.pictures(), mask_);
    task::BatchOptions batches;
    batches.batch = std::min(options.batch, std::max<std::int64_t>(1, instances.size()));
    batches.picture_rows = model.perception.is_empty() ? 0 : batches.batch;
    batches.shuffle = false;
    batches.seed = options.seed;
    batches_ =
        std::make_unique<task::Batches>(instances, task.pool(options.part), task.pictures(), batches, device);
  }

  // Calls `use` with every batch, its prediction, and how many of its rows count.
  void each(bool perceived,
            const std::function<void(const Batch&, const infer::Prediction&, std::int64_t)>& use) {
    torch::NoGradGuard no_grad;
    infer::ForwardOptions forward;
    forward.perceived_rows = perceived ? batches_->rows() : 0;
    graph_.forget();
    for (std::int64_t index = 0; index < batches_->batches(); ++index) {
      current_.copy_from(batches_->batch(0, index));
      graph_.run([&] { prediction_ = network_->forward(current_, forward); });
      use(current_, prediction_, std::min(batches_->rows(), batches_->size() - index * batches_->rows()));
    }
  }

  Beliefs beliefs(bool perceived) {
    std::vector<torch::Tensor> evidence, answer, refined;
    each(perceived, [&](const Batch&, const infer::Prediction& prediction, std::int64_t rows) {
      const torch::Tensor beliefs = torch::softmax(prediction.logits.back(), -1);
      const auto keep = [&](std::vector<torch::Tensor>& list, const torch::Tensor& tensor) {
        list.push_back(tensor.narrow(0, 0, rows).to(torch::kCPU, torch::kFloat64));
      };
      keep(evidence, prediction.evidence);
      keep(answer, beliefs);
      keep(refined, soft_tp_.refine(beliefs, options_.refine_steps));
    });
    Beliefs beliefs{torch::cat(evidence), torch::cat(answer), torch::cat(refined), {}, {}, {}};
    if (options_.restarts > 1) restart(beliefs);
    return beliefs;
  }

 private:
  // From all examples together, so that what few are left unsolved fill a batch.
  void restart(Beliefs& beliefs) {
    torch::NoGradGuard no_grad;
    nn::Reasoner& reasoner = *model_.reasoner;
    if (!reasoner.has_trajectories()) {
      throw InputError("restarts have no effect on this model: without noise every trajectory is the same",
                       {"train with model.reasoner.state_noise or path_noise above 0, as preset hard does"});
    }
    const torch::Device device = mask_.device();
    reasoner.set_fixed_passes(false);
    std::vector<torch::Tensor> restarted, valid, trajectories;
    const std::int64_t at_once = device.is_cuda() ? 1024 : options_.batch;
    const torch::Tensor flags = batches_->evidence();
    for (std::int64_t first = 0; first < flags.size(0); first += at_once) {
      const std::int64_t count = std::min(at_once, flags.size(0) - first);
      const auto rows = [&](const torch::Tensor& all) {
        return all.narrow(0, first, count).to(device, torch::kFloat32);
      };
      const nn::RestartedOutput output =
          nn::run_restarts(reasoner, soft_tp_, {rows(beliefs.evidence), flags.narrow(0, first, count)},
                           rows(beliefs.answer).log(), options_.restarts);
      restarted.push_back(torch::softmax(output.logits, -1).to(torch::kCPU, torch::kFloat64));
      valid.push_back(output.valid.cpu());
      trajectories.push_back(output.trajectories.cpu());
    }
    reasoner.set_fixed_passes(device.is_cuda());
    beliefs.restarted = torch::cat(restarted);
    beliefs.valid = torch::cat(valid);
    beliefs.trajectories = torch::cat(trajectories);
  }

  nn::Model& model_;
  tp::SoftTp soft_tp_;
  EvaluateOptions options_;
  torch::Tensor mask_;
  std::unique_ptr<infer::Network> network_;
  std::unique_ptr<task::Batches> batches_;
  infer::StepGraph graph_;        // on CUDA all passes of a batch are one launch
  Batch current_;                 // what it reads,
  infer::Prediction prediction_;  // and what it writes
};

Answers most_likely(const torch::Tensor& beliefs) {
  const torch::Tensor symbols = beliefs.argmax(-1).to(torch::kInt32).contiguous();
  Answers answers;
  const std::int64_t count = symbols.size(0), positions = symbols.size(1);
  const std::int32_t* data = symbols.data_ptr<std::int32_t>();
  for (std::int64_t n = 0; n < count; ++n) {
    answers.assignments.emplace_back(data + n * positions, data + (n + 1) * positions);
  }
  return answers;
}

decode::Beliefs row_of(const torch::Tensor& beliefs, std::int64_t n) {
  const torch::Tensor row = beliefs[n].contiguous();
  return {row.data_ptr<double>(), row.data_ptr<double>() + row.numel()};
}

// Decodes every example; `guide` may be undefined. `evidence` [examples, positions] bool: locked first by
// greedy, searched for a reading with one completion by `unique`.
std::vector<decode::Decoded> decode_all(const task::Task& task, decode::DecodeOptions options,
                                        const torch::Tensor& beliefs, const torch::Tensor& guide,
                                        const torch::Tensor& evidence) {
  std::vector<decode::Query> queries(static_cast<std::size_t>(beliefs.size(0)));
  for (std::int64_t n = 0; n < beliefs.size(0); ++n) {
    decode::Query& query = queries[static_cast<std::size_t>(n)];
    query.beliefs = row_of(beliefs, n);
    if (guide.defined()) query.guide = row_of(guide, n);
    if (options.method != decode::Method::kGreedy && !options.unique) continue;
    for (std::int64_t position = 0; position < evidence.size(1); ++position) {
      if (evidence[n][position].item<bool>()) query.evidence.push_back(static_cast<int>(position));
    }
  }
  options.minimal_conflict = false;
  return decode::Decoder(task.shared_program()).decode_batch(queries, options, at::get_num_threads());
}

Answers answers_of(const std::vector<decode::Decoded>& results) {
  Answers answers;
  for (const decode::Decoded& result : results) {
    answers.assignments.push_back(result.models.empty() ? compile::Assignment()
                                                        : result.models[0].assignment);
  }
  return answers;
}

Answers decoded(const task::Task& task, decode::Method method, const torch::Tensor& beliefs,
                const torch::Tensor& guide, const torch::Tensor& evidence) {
  decode::DecodeOptions options;
  options.method = method;
  return answers_of(decode_all(task, options, beliefs, guide, evidence));
}

// The pipeline: perception's argmax at the clues, and clingo for the rest.
Answers completed_by_clingo(const compile::ConstraintProgram& program, const infer::ProgramSource& source,
                            const torch::Tensor& beliefs, const torch::Tensor& evidence) {
  const Answers read = most_likely(beliefs);
  const auto given = evidence.accessor<bool, 2>();
  std::vector<std::vector<std::string>> clues;
  std::vector<std::string> atoms;
  for (const compile::Position& position : program.positions) {
    for (const std::string& atom : position.atoms) {
      if (!atom.empty()) atoms.push_back(atom);
    }
  }
  for (std::size_t n = 0; n < read.assignments.size(); ++n) {
    clues.emplace_back();
    for (std::size_t position = 0; position < program.positions.size(); ++position) {
      if (!given[static_cast<std::int64_t>(n)][static_cast<std::int64_t>(position)]) continue;
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

}  // namespace

json measure(const task::Task& task, const Answers& answers, const torch::Tensor& labels, bool certify) {
  const infer::ProgramSource& program = task.config().program;
  const compile::ConstraintProgram& compiled = task.program();
  const auto truth = labels.accessor<std::int16_t, 2>();
  const auto count = static_cast<std::int64_t>(answers.assignments.size());
  double cells = 0, boards = 0, satisfied = 0;
  std::vector<verify::ChosenAtoms> chosen;
  for (std::int64_t n = 0; n < count; ++n) {
    const Assignment& answer = answers.assignments[static_cast<std::size_t>(n)];
    if (answer.empty()) continue;
    std::int64_t right = 0, known = 0;
    for (std::size_t position = 0; position < answer.size(); ++position) {
      known += truth[n][static_cast<std::int64_t>(position)] >= 0;
      right += truth[n][static_cast<std::int64_t>(position)] == answer[position];
    }
    cells += static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(1, known));
    boards += right == known;
    satisfied += compile::violated_groups(compiled, answer).empty();
    if (certify) chosen.push_back(verify::chosen_atoms(compiled, answer));
  }
  const double n = static_cast<double>(std::max<std::int64_t>(1, count));
  json result = {{"cell", cells / n}, {"board", boards / n}, {"csr", satisfied / n}, {"vcsr", nullptr}};
  if (!(labels >= 0).any().item<bool>()) result["cell"] = result["board"] = nullptr;
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

json evaluate_boards(nn::Model& model, const task::Task& task, const task::Instances& instances,
                     torch::Device device, const EvaluateOptions& options) {
  Reader reader(model, task, instances, device, options);
  const compile::ConstraintProgram& program = task.program();
  const torch::Tensor evidence = instances.evidence.cpu(), labels = instances.labels.cpu();
  json result = {{"boards", instances.size()}, {"clue_accuracy", nullptr}};
  const auto table = [&](bool perceived) {
    const char* which = perceived ? "perceived" : "given";
    if (options.report) options.report(std::string("reading with ") + which + " clues");
    const Beliefs beliefs = reader.beliefs(perceived);
    const auto row = [&](const Answers& answers) { return measure(task, answers, labels, options.certify); };
    json rows;
    rows["raw"] = row(most_likely(beliefs.answer));
    rows["refined"] = row(most_likely(beliefs.refined));
    if (beliefs.restarted.defined()) {
      rows["restarts"] = row(most_likely(beliefs.restarted));
      rows["restarts"]["most"] = options.restarts;
      rows["restarts"]["trajectories"] = beliefs.trajectories.to(torch::kFloat64).mean().item<double>();
      rows["restarts"]["valid"] = beliefs.valid.to(torch::kFloat64).mean().item<double>();
    }
    // Greedy locks clues to what was read, whatever the reasoner thinks of them.
    const torch::Tensor locked = torch::where(evidence.unsqueeze(-1), beliefs.evidence, beliefs.answer);
    rows["greedy"] = row(decoded(task, decode::Method::kGreedy, locked, {}, evidence));
    rows["map"] = row(decoded(task, decode::Method::kMap, beliefs.evidence, beliefs.answer, evidence));
    if (perceived) {
      rows["perception_map"] = row(decoded(task, decode::Method::kMap, beliefs.evidence, {}, evidence));
      if (evidence.any(1).all().item<bool>()) {
        decode::DecodeOptions unique;
        unique.unique = true;
        const auto results = decode_all(task, unique, beliefs.evidence, beliefs.answer, evidence);
        rows["unique_map"] = row(answers_of(results));
        const auto found = std::count_if(results.begin(), results.end(),
                                         [](const decode::Decoded& one) { return one.unique->found; });
        rows["unique_map"]["unique"] = static_cast<double>(found) / static_cast<double>(results.size());
      }
      const torch::Tensor read = beliefs.evidence.argmax(-1) == labels, known = evidence & (labels >= 0);
      if (known.any().item<bool>())
        result["clue_accuracy"] = (read & known).sum().item<double>() / known.sum().item<double>();
      if (const json observed = observed_accuracy(
              task, instances, decoded(task, decode::Method::kMap, beliefs.evidence, {}, evidence));
          !observed.is_null() && !task.supervision().atoms.empty()) {
        result["observed_accuracy"] = observed;
      }
      if (options.pipeline)
        rows["pipeline"] =
            row(completed_by_clingo(program, task.config().program, beliefs.evidence, evidence));
    }
    return rows;
  };
  if (model.reasoner) result["given_clues"] = table(false);
  if (!model.perception.is_empty()) result["perceived_clues"] = table(true);
  return result;
}

json evaluate_tuples(nn::Model& model, const task::Task& task, const task::Instances& instances,
                     torch::Device device, const EvaluateOptions& options) {
  Reader reader(model, task, instances, device, options);
  const torch::Tensor evidence = instances.evidence.cpu(), labels = instances.labels.cpu().to(torch::kInt64);
  const Beliefs beliefs = reader.beliefs(true);
  const bool sum = has_sum(task);
  const auto accuracies = [&](const Answers& answers) {
    double digits = 0, sums = 0;
    const auto truth = labels.accessor<std::int64_t, 2>();
    const auto shown = evidence.accessor<bool, 2>();
    std::int64_t pictures = 0;
    for (std::size_t n = 0; n < answers.assignments.size(); ++n) {
      const auto row = static_cast<std::int64_t>(n);
      bool rest = true;
      for (std::size_t position = 0; position < answers.assignments[n].size(); ++position) {
        const auto column = static_cast<std::int64_t>(position);
        const bool right = truth[row][column] == answers.assignments[n][position];
        if (shown[row][column]) {
          digits += right;
          ++pictures;
        } else {
          rest = rest && right;
        }
      }
      sums += rest && !answers.assignments[n].empty();
    }
    json figures = {{"digit_accuracy", digits / static_cast<double>(std::max<std::int64_t>(1, pictures))}};
    if (sum) {
      figures["sum_accuracy"] =
          sums / static_cast<double>(std::max<std::size_t>(1, answers.assignments.size()));
    } else if (const json observed = observed_accuracy(task, instances, answers); !observed.is_null()) {
      figures["observed_accuracy"] = observed;
    }
    return figures;
  };
  const json map = accuracies(decoded(task, decode::Method::kMap, beliefs.evidence, {}, evidence));
  // Without a reasoner the sum is the program's: that of the most likely digits.
  json result = model.reasoner ? accuracies(most_likely(beliefs.answer)) : map;
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

json evaluate_pictures(nn::Model& model, const task::Task& task, const task::Instances& instances,
                       torch::Device device, const EvaluateOptions& options) {
  Reader reader(model, task, instances, device, options);
  const Beliefs beliefs = reader.beliefs(true);
  const torch::Tensor shown = instances.evidence.cpu(), labels = instances.labels.cpu().to(torch::kInt64);
  const torch::Tensor p = beliefs.evidence.index({shown}), truth = labels.index({shown});
  const auto [confidence, read] = p.max(-1);
  const torch::Tensor right = (read == truth).to(torch::kFloat64);
  const torch::Tensor likelihood = p.gather(1, truth.unsqueeze(1)).clamp_min(1e-30).log();
  // Expected calibration error over fifteen equal bins of confidence.
  const torch::Tensor bin = (confidence * 15).to(torch::kInt64).clamp_max(14);
  double error = 0;
  for (int b = 0; b < 15; ++b) {
    const torch::Tensor in = bin == b;
    const double share = in.to(torch::kFloat64).mean().item<double>();
    if (share > 0)
      error += share * std::abs((right.index({in}).mean() - confidence.index({in}).mean()).item<double>());
  }
  return {{"digit_accuracy", right.mean().item<double>()},
          {"examples", right.size(0)},
          {"negative_log_likelihood", -likelihood.mean().item<double>()},
          {"calibration_error", error}};
}

json evaluate(nn::Model& model, const task::Task& task, const task::Instances& instances,
              torch::Device device, const EvaluateOptions& options) {
  switch (task::source_of(task.config().data.source).figures) {
    case task::Figures::kBoards:
      return evaluate_boards(model, task, instances, device, options);
    case task::Figures::kTuples:
      return evaluate_tuples(model, task, instances, device, options);
    case task::Figures::kPictures:
      return evaluate_pictures(model, task, instances, device, options);
  }
  AS2_REQUIRE(false, "figures of the table");
}

}  // namespace as2::eval
