#include "train/inference_model.h"

#include <ATen/Parallel.h>

#include <limits>

#include "as2/error.h"

namespace as2::train {

using torch::Tensor;

namespace {

// The prior's concentration per symbol, at most: a-nesi's authors start from it, and their penalty on greater
// values holds it there.
constexpr double kConcentration = 0.1;

}  // namespace

InferenceModel::InferenceModel(const compile::ConstraintProgram& program, const std::vector<int>& pictured,
                               const std::vector<char>& observed, std::vector<task::ObservedAtom> atoms,
                               const InferenceConfig& config)
    : program_(program),
      atoms_(std::move(atoms)),
      config_(config),
      pictured_(pictured.begin(), pictured.end()) {
  for (std::size_t i = 0; i < observed.size(); ++i) {
    if (observed[i]) observed_.push_back(static_cast<std::int64_t>(i));
  }
  items_ = static_cast<std::int64_t>(observed_.size() + atoms_.size());
  AS2_REQUIRE(items_ > 0 && !pictured_.empty(), "something is seen and something is observed");
  const auto domain = [&](std::int64_t i) {
    return static_cast<std::int64_t>(program.positions[static_cast<std::size_t>(i)].symbols.size());
  };
  outcomes_ = atoms_.empty() ? 1 : 2;
  for (const std::int64_t i : observed_) outcomes_ = std::max(outcomes_, domain(i));
  possible_ = torch::zeros({items_, outcomes_}, torch::kBool);
  for (std::int64_t item = 0; item < items_; ++item) {
    const auto positions = static_cast<std::int64_t>(observed_.size());
    possible_[item]
        .narrow(0, 0, item < positions ? domain(observed_[static_cast<std::size_t>(item)]) : 2)
        .fill_(true);
  }
  register_buffer("possible", possible_);
  std::int64_t inputs =
      static_cast<std::int64_t>(pictured_.size()) * program.max_symbols() + items_ * outcomes_ + items_;
  for (std::int64_t layer = 0; layer <= config.layers; ++layer) {
    const std::int64_t outputs = layer == config.layers ? outcomes_ : config.width;
    layers_.push_back(register_module("layer_" + std::to_string(layer), torch::nn::Linear(inputs, outputs)));
    inputs = outputs;
  }
}

Tensor InferenceModel::outcomes(const infer::Batch& batch) const {
  std::vector<Tensor> columns;
  for (const std::int64_t i : observed_) {
    const Tensor label = batch.labels.select(1, i);
    columns.push_back(torch::where(batch.observed.select(1, i), label, torch::full_like(label, -1)));
  }
  for (std::size_t a = 0; a < atoms_.size(); ++a)
    columns.push_back(batch.atoms.select(1, static_cast<std::int64_t>(a)).to(torch::kInt64));
  return torch::stack(columns, 1);
}

Tensor InferenceModel::log_likelihood(const infer::Batch& batch, const Tensor& beliefs, bool learns) const {
  const Tensor found = outcomes(batch), known = found >= 0;
  const std::int64_t rows = found.size(0);
  const auto options = beliefs.options();
  const Tensor index = torch::tensor(pictured_, torch::TensorOptions(beliefs.device()).dtype(torch::kInt64));
  const Tensor seen = beliefs.index_select(1, index).flatten(1);
  const Tensor outcome =
      torch::one_hot(found.clamp_min(0), outcomes_).to(options) * known.unsqueeze(-1).to(options);
  // Row (example, item) sees the items before it, and which item it is about.
  const Tensor before = torch::ones({items_, items_}, options).tril(-1);
  const Tensor earlier = (outcome.unsqueeze(1) * before.unsqueeze(0).unsqueeze(-1)).flatten(2);
  const Tensor which = torch::eye(items_, options).unsqueeze(0).expand({rows, items_, items_});
  Tensor x = torch::cat({seen.unsqueeze(1).expand({rows, items_, seen.size(1)}), earlier, which}, 2);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    const torch::nn::Linear& weights = layers_[layer];
    x = learns ? at::linear(x, weights->weight, weights->bias)
               : at::linear(x, weights->weight.detach(), weights->bias.detach());
    if (layer + 1 < layers_.size()) x = torch::relu(x);
  }
  const Tensor log_q =
      torch::log_softmax(x.masked_fill(possible_.logical_not(), -std::numeric_limits<float>::infinity()), -1);
  const Tensor each = log_q.gather(2, found.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  return torch::where(known, each, torch::zeros_like(each)).sum(1);
}

InferenceModel::Drawn InferenceModel::draw(const QueryLoss& query, const infer::Batch& batch,
                                           const Tensor& beliefs) const {
  constexpr double kSmallest = 1e-6;
  torch::NoGradGuard no_grad;
  const std::int64_t rows = config_.draws, positions = beliefs.size(1), symbols = beliefs.size(2);
  // Σ m(1 − m)/Σ v − 1 is the Dirichlet's total concentration, m its mean and v its variance.
  // Perception's beliefs are all alike at first: a prior fitted to them alone would show the network one
  // point.
  const Tensor mean = beliefs.mean(0), variance = (beliefs - mean).square().mean(0);
  const Tensor most = kConcentration * (mean > 0).sum(1, true).to(mean.dtype()).clamp_min(1);
  const Tensor total = torch::minimum(
      ((mean * (1 - mean)).sum(1, true) / variance.sum(1, true).clamp_min(kSmallest) - 1).clamp_min(0.1),
      most);
  const Tensor parameter = (mean * total).clamp_min(1e-3).expand({rows, positions, symbols}).contiguous();
  const Tensor gamma = at::_standard_gamma(parameter.to(torch::kFloat64)) + 1e-30;
  Drawn drawn;
  drawn.beliefs = (gamma / gamma.sum(-1, true)).to(beliefs.dtype()).clamp_min(kSmallest);
  // Outside a domain nothing is believed.
  drawn.beliefs = torch::where((mean > 0).unsqueeze(0), drawn.beliefs, torch::zeros_like(drawn.beliefs));
  drawn.beliefs = drawn.beliefs / drawn.beliefs.sum(-1, true);
  const Tensor from = torch::arange(rows, batch.labels.options()).remainder(batch.labels.size(0));
  drawn.batch.evidence = batch.evidence.index_select(0, from);
  drawn.batch.observed = batch.observed.index_select(0, from);

  const Tensor seeds =
      torch::randint(std::numeric_limits<std::int64_t>::max(), {rows}, batch.labels.options()).cpu();
  const Tensor weights = query.evidence_weights(drawn.batch.evidence, drawn.beliefs)
                             .to(torch::kCPU, torch::kFloat64)
                             .contiguous();
  Tensor labels = torch::zeros({rows, positions}, torch::kInt64);
  Tensor holds = torch::full({rows, static_cast<std::int64_t>(atoms_.size())}, -1, torch::kInt8);
  at::parallel_for(0, rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const double* row = weights.data_ptr<double>() + n * weights.size(1);
      const auto answers = prob::draw(query.circuit(), prob::Weights(row, row + weights.size(1)), 1,
                                      static_cast<std::uint64_t>(seeds.data_ptr<std::int64_t>()[n]));
      std::copy(answers[0].begin(), answers[0].end(), labels.data_ptr<std::int64_t>() + n * positions);
      if (atoms_.empty()) continue;
      const std::vector<char> truth = compile::evaluate_nodes(program_, answers[0]);
      for (std::size_t a = 0; a < atoms_.size(); ++a) {
        const prob::Observable& about = atoms_[a].about;
        const bool true_now =
            about.kind == prob::Observable::Kind::kSet
                ? std::binary_search(about.set.symbols.begin(), about.set.symbols.end(),
                                     answers[0][static_cast<std::size_t>(about.set.position)])
                : (truth[static_cast<std::size_t>(about.node.node)] != 0) != about.node.negated;
        holds.data_ptr<std::int8_t>()[n * holds.size(1) + static_cast<std::int64_t>(a)] = true_now;
      }
    }
  });
  drawn.batch.labels = labels.to(beliefs.device());
  drawn.batch.atoms = holds.to(beliefs.device());
  return drawn;
}

Tensor InferenceModel::loss(const QueryLoss& query, const infer::Batch& batch, const Tensor& beliefs) const {
  const Drawn drawn = draw(query, batch, beliefs.detach());
  return -log_likelihood(drawn.batch, drawn.beliefs, true).mean() -
         log_likelihood(batch, beliefs, false).mean();
}

}  // namespace as2::train
