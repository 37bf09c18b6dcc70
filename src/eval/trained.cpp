#include "eval/trained.h"

#include "as2/error.h"
#include "files.h"
#include "text.h"

namespace as2::eval {

Trained load_trained(const std::filesystem::path& weights, const std::string& task,
                     const std::vector<std::string>& overrides, const task::TaskOptions& options) {
  Trained trained{infer::read_card(weights), nullptr, ""};
  infer::Card& card = trained.card;
  if (card.task != task) {
    throw InputError({weights.string()}, "is a model of the task '" + card.task + "', not of '" + task + "'");
  }
  const std::filesystem::path file = infer::settings_path(weights);
  std::error_code none;
  if (!std::filesystem::exists(file, none)) {
    throw InputError({weights.string()}, "the settings it was trained with are missing: " + file.string(),
                     {"copy the three files of a model together: .safetensors, .json and .toml"});
  }
  task::Settings settings;
  settings.add_file(file.string());
  for (const std::string& setting : overrides) settings.add_override(setting);
  task::TaskConfig config = task::read_task(settings, task::Purpose::kEvaluation);
  const bool same =
      config.program.file == card.program.file && config.program.constants == card.program.constants;
  if (same) config.program.beside = card.program.beside;
  card.network =
      infer::changed_options(card.network, settings.section("model", /*overrides=*/true),
                             [&](const std::string& field) { return settings.location("model." + field); });
  for (const char* section : {"train", "losses", "seed", "perception_from", "reasoner_from", "start_from"})
    settings.without_effect(section, "it is for training");
  settings.refuse_unused(/*overrides=*/true);
  trained.task = std::make_unique<task::Task>(config, options);
  if (same && !settings.is_override("program.compiled"))
    trained.warning = infer::changed_program(card, trained.task->program());
  if (!card.network.perception) return trained;
  // Without pictures the reasoner is measured alone, and symbols need not be classes of pictures.
  if (config.images.positions.empty() && card.network.kind == infer::ReasonerKind::kNone) {
    throw InputError({weights.string()},
                     "there is nothing to measure: no pictures, and the model has no reasoner",
                     {"images.positions names the positions with pictures"});
  }
  if (!config.images.positions.empty() && trained.task->classes() != card.pictures.classes) {
    throw InputError({weights.string()}, "the task's pictures have other classes than the model tells apart",
                     {"the model's are " + joined(card.pictures.classes),
                      "the task's are " + joined(trained.task->classes())});
  }
  card.pictures.positions = config.images.positions;
  return trained;
}

}  // namespace as2::eval
