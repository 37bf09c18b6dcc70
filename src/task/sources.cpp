#include "task/sources.h"

#include <algorithm>

#include "as2/error.h"
#include "task/answers.h"
#include "task/examples.h"

namespace as2::task {
namespace {

Instances answers(const Task& task, Part part, std::int64_t count) {
  const DataConfig& data = task.config().data;
  return sampled_answers(task.shared_program(), task.evidence_positions(), count,
                         static_cast<int>(data.min_clues), static_cast<int>(data.max_clues), part_seed(part));
}

// A file's last examples are for validation, and for testing.
Instances share_of(const Task& task, const Instances& all, Part part, std::int64_t count) {
  const DataConfig& data = task.config().data;
  const std::int64_t held = data.validation;
  if (all.size() < 2)
    throw InputError({data.path}, "has one example, which is too few",
                     {"the last data.validation examples pick the checkpoint, those before are trained on"});
  if (held >= all.size())
    throw InputError({data.path},
                     "has " + std::to_string(all.size()) + " examples, and data.validation = " +
                         std::to_string(held) + " leaves none to train on",
                     {"the last data.validation examples pick the checkpoint; set it to less, say " +
                      std::to_string(std::max<std::int64_t>(1, all.size() / 10))});
  if (part != Part::kTrain) return all.slice(all.size() - held, held);
  return all.slice(0, std::min(count, all.size() - held));
}

Instances tuples(const Task& task, Part part, std::int64_t count) {
  const std::string& path = task.config().data.path;
  if (path.empty() || part == Part::kTest) return generated_tuples(task, part, count);
  return share_of(task, read_tuples(task, path, {part}), part, count);  // a list names training pictures
}

Instances instances(const Task& task, Part part, std::int64_t count) {
  const std::string& path = task.config().data.path;
  if (path.empty()) {
    throw InputError("data.source is \"instances\", but there is no data.path",
                     {"give a file of JSON lines, {\"labels\": {position: symbol, …}}"});
  }
  return share_of(task, read_instances(task, path, {}), part, count);
}

}  // namespace

const std::vector<Source>& sources() {
  static const std::vector<Source> table = {
      {"boards",
       {"box", "min_clues", "max_clues", "symmetries", "path", "path_share", "path_hints", "path_validation"},
       false,
       Figures::kBoards,
       generated_boards,
       read_boards},
      {"tuples", {"path"}, true, Figures::kTuples, tuples, read_tuples},
      {"images", {}, true, Figures::kPictures, single_pictures, read_instances},
      {"answers", {"min_clues", "max_clues"}, false, Figures::kBoards, answers, read_instances},
      {"instances", {"path"}, false, Figures::kBoards, instances, read_instances}};
  return table;
}

bool Source::uses(const std::string& setting) const {
  return std::find(settings.begin(), settings.end(), setting) != settings.end();
}

std::vector<std::string> source_names() {
  std::vector<std::string> names;
  for (const Source& source : sources()) names.emplace_back(source.name);
  return names;
}

const Source& source_of(const std::string& name) {
  for (const Source& source : sources()) {
    if (name == source.name) return source;
  }
  AS2_REQUIRE(false, "a source of the table");
}

}  // namespace as2::task
