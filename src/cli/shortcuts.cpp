// as2 check TASK.toml --shortcuts: what the supervision of a task can determine, before it is trained.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "as2/probability.h"
#include "cli/print_document.h"
#include "cli/program_options.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "json_text.h"
#include "train/shortcuts.h"

namespace as2::cli {
namespace {

struct ShortcutArguments {
  std::string task, preset;
  std::vector<std::string> settings;
  double seconds = 60;
  GroundingLimits grounding;
  bool shortcuts = false, json = false;
};

int check_shortcuts(const ShortcutArguments& a) {
  train::Settings settings = train::layered_settings(a.task, a.preset, a.settings);
  const train::Config config = train::read_config(settings);
  task::TaskOptions options;
  options.with_pictures = false;
  options.grounding = a.grounding.options();
  options.warn = [](const asp::Warning& warning) { print_warnings({warning}); };
  const task::Task task(config, options);
  train::read_model(settings, static_cast<std::int64_t>(task.classes().size()));
  settings.refuse_unused();  // a misspelt label would change the count without a word
  const auto found = [&] {
    try {
      return train::find_shortcuts(config, task, a.seconds);
    } catch (const prob::CircuitTooLarge&) {
      throw InputError(
          {a.task},
          "the program is too large to count relabellings within " + json_text(nlohmann::json(a.seconds)) +
              " s",
          {"--seconds allows more; a smaller instance needs less: --set 'program.constants=[\"n=2\"]'"});
    }
  }();
  if (!found) {
    throw InputError({a.task}, "no position of the task has pictures, so there are no classes to tell apart",
                     {"say which have: images.positions = [\"digit(*\"]"});
  }
  if (!a.json) {
    std::cout << found->text() << '\n';
    return kDone;
  }
  const nlohmann::ordered_json document = {{"shortcuts", found->count},
                                           {"complete", found->complete},
                                           {"exact", found->exact},
                                           {"examples", found->examples},
                                           {"some", found->some}};
  print_document(document);
  return kDone;
}

}  // namespace

Action declare_check_shortcuts(CLI::App& command) {
  auto a = std::make_shared<ShortcutArguments>();
  command.add_option("task", a->task)->required();
  command.add_flag("--shortcuts", a->shortcuts)->required();
  command.add_option("--preset", a->preset);
  command.add_option("--set", a->settings);
  command.add_option("--seconds", a->seconds)->check(number_between(0.001, 1e9));
  declare_grounding(command, a->grounding);
  command.add_flag("--json", a->json);
  return [a] { return check_shortcuts(*a); };
}

}  // namespace as2::cli
