#include "eval/trained.h"

#include <algorithm>

#include "as2/error.h"
#include "as2/resources.h"

namespace as2::eval {

namespace fs = std::filesystem;

train::Config trained_config(const fs::path& weights, const std::vector<std::string>& overrides) {
  const nlohmann::json card = nn::read_card(weights);
  const std::string file = nn::card_path(weights).string();
  if (!card.contains("config") || !card["config"].is_string())
    throw InputError({file}, "has no 'config'", {"give a model that `as2 train` wrote"});
  train::Settings settings;
  settings.add_text(card["config"].get<std::string>(), file);
  for (const std::string& setting : overrides) settings.add_override(setting);
  settings.section("model");  // the network is built from the card
  train::Config config = train::read_config(settings);
  settings.refuse_unused();
  return config;
}

Trained load_trained(const fs::path& weights, const std::string& task,
                     const std::vector<std::string>& overrides, const train::TaskOptions& options) {
  Trained trained{trained_config(weights, overrides), nullptr, nullptr};
  if (trained.config.task != task) {
    throw InputError({weights.string()},
                     "is a model of the task '" + trained.config.task + "', not of '" + task + "'");
  }
  trained.task = std::make_unique<train::Task>(trained.config, options);
  trained.model = nn::load_model(weights, trained.task->program());
  return trained;
}

fs::path default_model(const std::string& task) {
  const std::string best = "models/" + task + "-best.safetensors";
  std::error_code none;
  if (fs::exists(data_dir() / best, none)) return data_dir() / best;
  const std::vector<fs::path> others = shipped_models(task);
  return others.empty() ? shipped_file(best) : others.front();
}

std::vector<fs::path> shipped_models(const std::string& task) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(data_dir() / "models", none)) {
    if (entry.path().extension() == ".safetensors" && nn::read_card(entry.path()).value("task", "") == task)
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace as2::eval
