#include "train/config.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace as2::train {
namespace {

constexpr double kMany = 1e9;

TermSchedule read_term(task::Settings& settings, const std::string& name) {
  const std::string prefix = "losses." + name;
  TermSchedule term;
  term.weight = settings.number(prefix + ".weight", 0, 0, kMany);
  term.decay_epochs = settings.number(prefix + ".decay_epochs", 0, 0, kMany);
  term.floor = settings.number(prefix + ".floor", 0.1, 0, 1);
  term.ramp_epochs = settings.number(prefix + ".ramp_epochs", 0, 0, kMany);
  return term;
}

TrainConfig read_train(task::Settings& s) {
  TrainConfig t;
  constexpr std::int64_t many = std::numeric_limits<std::int32_t>::max();
  t.epochs = s.integer("train.epochs", t.epochs, 1, many);
  t.batch = s.integer("train.batch", t.batch, 1, many);
  t.time_budget = s.number("train.time_budget", t.time_budget, 0, kMany);
  t.rate = s.number("train.rate", t.rate, 0, 1);
  t.warmup = s.number("train.warmup", t.warmup, 0, 1);
  t.last_rate = s.number("train.last_rate", t.last_rate, 0, 1);
  t.perception_rate = s.number("train.perception_rate", t.perception_rate, 0, 100);
  t.optimizer.beta1 = s.number("train.beta1", t.optimizer.beta1, 0, 1);
  t.optimizer.beta2 = s.number("train.beta2", t.optimizer.beta2, 0, 1);
  t.optimizer.weight_decay = s.number("train.weight_decay", t.optimizer.weight_decay, 0, 10);
  t.optimizer.clip_norm = s.number("train.clip_norm", t.optimizer.clip_norm, 0, kMany);
  t.optimizer.ema_decay = s.number("train.ema_decay", t.optimizer.ema_decay, 0, 1);
  t.freeze_epochs = s.integer("train.freeze_epochs", t.freeze_epochs, -1, many);
  t.perceived_share = s.number("train.perceived_share", t.perceived_share, 0, 1);
  t.evidence_gradient = s.boolean("train.evidence_gradient", t.evidence_gradient);
  t.segments = s.integer("train.segments", t.segments, 1, many);
  t.corrupted_share = s.number("train.corrupted_share", t.corrupted_share, 0, 1);
  t.corruption = s.number("train.corruption", t.corruption, 0, 1);
  if ((t.corrupted_share > 0) != (t.corruption > 0)) {
    throw InputError(s.location(t.corruption > 0 ? "train.corruption" : "train.corrupted_share"),
                     "'train.corrupted_share' and 'train.corruption' have no effect without one another",
                     {"set both above 0, or neither"});
  }
  t.precision = s.choice("train.precision", t.precision, {"auto", "float32", "bf16"});
  t.graph = s.boolean("train.graph", t.graph);
  t.log_steps = s.integer("train.log_steps", t.log_steps, 1, many);
  t.validate_every = s.number("train.validate_every", t.validate_every, 0, kMany);
  t.validate_seconds = s.number("train.validate_seconds", t.validate_seconds, 0.1, kMany);
  t.checkpoint_seconds = s.number("train.checkpoint_seconds", t.checkpoint_seconds, 0.1, kMany);
  t.score = s.choice("train.score", t.score, {"mean", "given", "perceived", "list"});
  t.stop_at = s.number("train.stop_at", t.stop_at, 0, 2);
  return t;
}

// Only what the chosen way has a use for is asked for.
QueryConfig read_query(task::Settings& s, bool weighs) {
  QueryConfig query;
  if (!weighs) {
    for (const char* setting : {"approx", "k", "share", "nodes"})
      s.without_effect(std::string("losses.query.") + setting, "losses.query.weight is 0");
    return query;
  }
  query.approx = s.choice("losses.query.approx", query.approx, {"exact", "top-k", "same", "search"});
  const std::string why = "losses.query.approx is \"" + query.approx + "\"";
  const bool searches = query.approx == "search";
  if (query.approx == "top-k" || searches)
    query.k = s.integer("losses.query.k", query.k, 1, 100000);
  else
    s.without_effect("losses.query.k", why);
  if (query.approx == "same")
    query.share = s.number("losses.query.share", query.share, 0, 1);
  else
    s.without_effect("losses.query.share", why);
  if (searches)
    query.nodes = s.integer("losses.query.nodes", query.nodes, 1, std::int64_t{1} << 40);
  else
    s.without_effect("losses.query.nodes", why);
  return query;
}

// What compiling the program's circuit may cost.
prob::Budget read_circuit(task::Settings& s, const LossConfig& losses) {
  prob::Budget budget;
  const auto weighs = [&](const char* term) { return losses.weight(term) > 0; };
  const bool query = weighs("query") && !losses.searches();
  if (!query && !weighs("semantic") && !weighs("ltn") && !weighs("a-nesi")) {
    s.without_effect("losses.circuit", losses.searches()
                                           ? "losses.query.approx is \"search\""
                                           : "losses.query, semantic, ltn and a-nesi have no weight");
    return budget;
  }
  budget.seconds = s.number("losses.circuit.seconds", budget.seconds, 0, kMany);
  budget.bytes = s.integer("losses.circuit.mib", budget.bytes >> 20, 0, std::int64_t{1} << 30) << 20;
  return budget;
}

FuzzyConfig read_ltn(task::Settings& s, bool weighs) {
  FuzzyConfig ltn;
  if (!weighs) {
    for (const char* setting : {"logic", "p"})
      s.without_effect(std::string("losses.ltn.") + setting, "losses.ltn.weight is 0");
    return ltn;
  }
  ltn.logic = s.choice("losses.ltn.logic", ltn.logic, {"product", "goedel", "lukasiewicz"});
  if (ltn.logic == "product")
    ltn.p = s.number("losses.ltn.p", ltn.p, 1, 100);
  else
    s.without_effect("losses.ltn.p", "losses.ltn.logic is \"" + ltn.logic + "\"");
  return ltn;
}

InferenceConfig read_a_nesi(task::Settings& s, bool weighs) {
  InferenceConfig config;
  if (!weighs) {
    for (const char* setting : {"draws", "width", "layers"})
      s.without_effect(std::string("losses.a-nesi.") + setting, "losses.a-nesi.weight is 0");
    return config;
  }
  config.draws = s.integer("losses.a-nesi.draws", config.draws, 1, 1000000);
  config.width = s.integer("losses.a-nesi.width", config.width, 1, 1 << 13);
  config.layers = s.integer("losses.a-nesi.layers", config.layers, 1, 64);
  return config;
}

}  // namespace

Config read_config(task::Settings& s) {
  Config c{task::read_task(s, task::Purpose::kTraining)};
  c.seed = static_cast<std::uint64_t>(s.integer("seed", 0, 0, std::numeric_limits<std::int64_t>::max()));
  for (const LossTerm& term : loss_terms()) c.losses.terms[term.name] = read_term(s, term.name);
  c.losses.sum_reduction = s.choice("losses.constraint.reduction", "mean", {"mean", "sum"}) == "sum";
  c.losses.query = read_query(s, c.losses.weight("query") > 0);
  c.losses.query.circuit = read_circuit(s, c.losses);
  c.losses.ltn = read_ltn(s, c.losses.weight("ltn") > 0);
  c.losses.a_nesi = read_a_nesi(s, c.losses.weight("a-nesi") > 0);
  c.losses.every_pass = s.boolean("losses.every_pass", c.losses.every_pass);
  c.train = read_train(s);
  c.perception_from = task::resolved_path(s, "perception_from");
  c.reasoner_from = task::resolved_path(s, "reasoner_from");
  c.start_from = task::resolved_path(s, "start_from");
  return c;
}

infer::ModelOptions read_model(task::Settings& settings, std::int64_t classes) {
  const std::string perception =
      settings.choice("model.perception.preset", classes > 0 ? "best" : "none", {"paper", "best", "none"});
  infer::ModelOptions defaults;
  if (perception != "none" && classes > 0) {
    defaults.perception = perception == "paper" ? infer::PerceptionOptions::paper(classes)
                                                : infer::PerceptionOptions::best(classes);
  }
  settings.choice("model.reasoner.kind", "soft-tp", infer::reasoner_kinds());
  nlohmann::json asked = settings.section("model");
  asked["perception"].erase("preset");
  if (asked["reasoner"]["kind"] == "none") asked["reasoner"] = {{"kind", "none"}};
  nlohmann::json whole = infer::to_json(defaults);
  whole["reasoner"] = asked["reasoner"];
  if (defaults.perception) whole["perception"].update(asked["perception"]);
  return infer::model_options(whole,
                              [&](const std::string& field) { return settings.location("model." + field); });
}

}  // namespace as2::train
