// A training step's figures: boards per second as `as2 train` runs it (on CUDA: captured), what each stage
// takes when the host waits for it, and how a reasoner's step grows with the batch, the passes and the
// program.
#include <torch/torch.h>

#include <chrono>
#include <map>

#include "bench/bench.h"
#include "nn/soft_tp_reasoner.h"
#include "train/trainer.h"

namespace as2::bench {
namespace {

using Json = nlohmann::ordered_json;

void wait_for(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Case {
  std::string name, preset;
  std::vector<std::string> settings;
  double asked;  // boards per second required on CUDA; 0: none
};

const std::vector<Case> kCases = {
    {"best, 12 passes, clues given", "best", {"model.reasoner.passes=12", "train.perceived_share=0"}, 5000},
    {"best, as trained (a quarter perceived)", "best", {}, 0},
    {"paper, CNN frozen, clues given",
     "paper",
     {"train.freeze_epochs=-1", "losses.perception.weight=0"},
     30000},
    {"paper, CNN learning", "paper", {"train.freeze_epochs=0"}, 0}};

void measure(const Case& subject, torch::Device device, std::int64_t batch, Json& rows) {
  std::vector<std::string> overrides = subject.settings;
  overrides.push_back("train.batch=" + std::to_string(batch));
  overrides.emplace_back("data.train=4096");
  overrides.emplace_back("data.validation=1");
  train::Settings settings = train::layered_settings("sudoku", subject.preset, overrides);
  const train::Config config = train::read_config(settings);
  const train::Task task(config, {});
  const nn::ModelOptions model =
      train::read_model(settings, static_cast<std::int64_t>(task.classes().size()));
  train::Workers alone;
  const std::int64_t steps = device.is_cuda() ? 40 : 1;
  {
    train::Trainer trainer(config, model, task, "", device, alone, {});
    const double seconds = best_seconds(
        [&] {
          trainer.run_steps(steps);
          wait_for(device);
        },
        device.is_cuda() ? 2 : 0);
    const double rate = static_cast<double>(steps * batch) / seconds;
    const bool asked = device.is_cuda() && subject.asked > 0;
    rows.push_back(row(subject.name + ": boards per second", rate, "/s",
                       asked ? "at least " + std::to_string(static_cast<int>(subject.asked)) : "",
                       rate >= subject.asked));
  }
  // Stage by stage, with the host waiting after each: together longer than a captured step, which has no gaps
  // between its stages.
  std::map<std::string, double> least;
  double mark = 0;
  train::TrainHooks hooks;
  hooks.on_stage = [&](const std::string& stage) {
    wait_for(device);
    const double at = now();
    const auto [entry, first] = least.emplace(stage, at - mark);
    if (!first) entry->second = std::min(entry->second, at - mark);
    mark = at;
  };
  train::Config plain = config;
  plain.train.graph = false;
  train::Trainer staged(plain, model, task, "", device, alone, hooks);
  mark = now();
  staged.run_steps(device.is_cuda() ? 8 : 6);
  for (const char* stage : {"batch", "forward", "loss", "backward", "update"}) {
    rows.push_back(row(subject.name + ": " + stage, 1e3 * least[stage], "ms"));
  }
}

enum class Work { kTraining, kInference };

// Seconds that the reasoner of `best` takes: forward and backward, or the answer alone, which takes all
// passes here however early a board is finished.
double reasoner_seconds(torch::Device device, std::int64_t batch, int passes,
                        const compile::ConstraintProgram& program, Work work = Work::kTraining) {
  nn::SoftTpReasonerOptions options;
  options.mixing = nn::Mixing::kPooling;
  nn::SoftTpReasoner reasoner(options, program);
  reasoner.to(device);
  reasoner.train(work == Work::kTraining);
  reasoner.set_fixed_passes(true);
  const torch::AutoGradMode gradients(work == Work::kTraining);
  const auto positions = static_cast<std::int64_t>(program.positions.size());
  const torch::Tensor beliefs =
      torch::full({batch, positions, program.max_symbols()}, 1.0 / program.max_symbols(), device);
  const torch::Tensor evidence = torch::zeros({batch, positions}, beliefs.options().dtype(torch::kBool));
  for (auto& parameter : reasoner.parameters()) parameter.mutable_grad() = torch::zeros_like(parameter);
  train::StepGraph graph(device, /*capture=*/true);
  const auto call = [&] {
    graph.run([&] {
      const compat::AutocastScope autocast(device.type(), device.is_cuda());
      const auto logits = reasoner.forward({beliefs, evidence}, passes).logits;
      if (work == Work::kTraining) torch::stack(logits).square().mean().backward();
    });
    wait_for(device);
  };
  for (int warm = 0; warm < (device.is_cuda() ? 4 : 0); ++warm) call();
  return best_seconds(call, 0.5);
}

// The rate this machine's matrix products reach at their best, against which everything else is judged.
double product_flops(torch::Device device) {
  const std::int64_t n = device.is_cuda() ? 8192 : 1024;
  const torch::Tensor a =
      torch::ones({n, n}, device).to(device.is_cuda() ? torch::kBFloat16 : torch::kFloat32);
  const double seconds = best_seconds([&] {
    torch::matmul(a, a);
    wait_for(device);
  });
  return 2.0 * static_cast<double>(n * n * n) / seconds;
}

// Bytes per second of a large copy, reads and writes together.
double copy_bytes(torch::Device device) {
  const torch::Tensor from = torch::ones({std::int64_t{1} << (device.is_cuda() ? 28 : 26)}, device),
                      to = torch::empty_like(from);
  const double seconds = best_seconds([&] {
    to.copy_(from);
    wait_for(device);
  });
  return 2.0 * static_cast<double>(from.nbytes()) / seconds;
}

}  // namespace

Json measure_train(const Options& options, const ReportStep&) {
  const torch::Device device = options.device;
  const bool cuda = device.is_cuda();
  Json rows = Json::array();
  rows.push_back(row("a large matrix product", product_flops(device) / 1e9, "GF/s"));
  rows.push_back(row("a large copy, read and written", copy_bytes(device) / 1e9, "GB/s"));
  for (const Case& subject : kCases) measure(subject, device, cuda ? 256 : 16, rows);

  const std::int64_t batch = cuda ? 256 : 8;
  const int passes = cuda ? 12 : 2;
  const auto base = [&] { return reasoner_seconds(device, batch, passes, board_program(3, 3)); };
  rows.push_back(row(
      "reasoner of best alone, batch " + std::to_string(batch) + ", " + std::to_string(passes) + " passes",
      1e3 * base(), "ms"));
  const int answering = cuda ? 16 : 2;
  const double answered = reasoner_seconds(device, batch, answering, board_program(3, 3), Work::kInference);
  rows.push_back(row("  answers alone, " + std::to_string(answering) + " passes: boards per second",
                     static_cast<double>(batch) / answered, "/s"));
  // The base case is measured again beside each variant, because a machine's speed drifts.
  const auto against = [&](const std::string& what, std::int64_t b, int p,
                           const compile::ConstraintProgram& program) {
    const double before = base(), seconds = reasoner_seconds(device, b, p, program);
    rows.push_back(row("  with " + what, seconds / std::min(before, base()), "x"));
  };
  against("half the batch", batch / 2, passes, board_program(3, 3));
  against("twice the batch", 2 * batch, passes, board_program(3, 3));
  against("twice the passes", batch, 2 * passes, board_program(3, 3));
  against("twice the positions: two boards in a program", batch, passes, board_program(3, 3, 2));
  against("twice the symbols", batch, passes, board_program(3, 3, 1, 9));
  against("4x4 boards: 1/11 of the atoms", batch, passes, board_program(2, 3));
  against("16x16 boards: 5.6 times the atoms", batch, passes, board_program(4, 3));
  against("two families", batch, passes, board_program(3, 2));
  against("one family", batch, passes, board_program(3, 1));
  return {{"device", device.str()}, {"threads", at::get_num_threads()}, {"rows", rows}};
}

}  // namespace as2::bench
