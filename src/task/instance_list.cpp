#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "files.h"
#include "task/examples.h"

namespace as2::task {

using nlohmann::json;

Instances read_instances(const Task& task, const std::string& path, const ListOptions&) {
  const compile::ConstraintProgram& program = task.program();
  const std::vector<int>& may_have_picture = task.pictures().positions;
  std::vector<json> examples;
  std::istringstream lines(read_file(path));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty()) continue;
    json example = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!example.is_object() || !example.contains("labels") || !example["labels"].is_object()) {
      throw InputError({path, number}, "expected {\"labels\": {position: symbol, …}}");
    }
    const json evidence = example.value("evidence", json::array());
    if (!evidence.is_array() ||
        !std::all_of(evidence.begin(), evidence.end(), [](const json& name) { return name.is_string(); })) {
      throw InputError({path, number},
                       "\"evidence\" is " + evidence.dump() + ", expected a list of positions");
    }
    example["line"] = number;
    examples.push_back(std::move(example));
  }
  if (examples.empty())
    throw InputError({path}, "has no example", {"a line is {\"labels\": {position: symbol, …}}"});
  Instances instances = Instances::blank(static_cast<std::int64_t>(examples.size()),
                                         static_cast<std::int64_t>(program.positions.size()));
  for (std::size_t n = 0; n < examples.size(); ++n) {
    const json& example = examples[n];
    const SourceLocation where{path, example["line"]};
    const auto position_of = [&](const std::string& name) {
      const int position = program.find_position(name);
      if (position < 0) {
        throw InputError(where, "the program has no position '" + name + "'",
                         {"positions are named like " + program.positions.at(0).name});
      }
      return position;
    };
    for (const auto& [name, symbol] : example["labels"].items()) {
      const int position = position_of(name);
      const std::string text = symbol.is_string() ? symbol.get<std::string>() : symbol.dump();
      const int index = program.find_symbol(position, text);
      if (index < 0) throw InputError(where, name + " has no symbol '" + text + "'");
      instances.labels[static_cast<std::int64_t>(n)][position] = index;
      const bool pictured = std::binary_search(may_have_picture.begin(), may_have_picture.end(), position);
      if (!example.contains("evidence") && pictured)
        instances.evidence[static_cast<std::int64_t>(n)][position] = true;
    }
    if (!example.contains("evidence")) continue;
    for (const json& name : example["evidence"]) {
      const int position = position_of(name.get<std::string>());
      if (instances.labels[static_cast<std::int64_t>(n)][position].item<std::int16_t>() < 0) {
        throw InputError(where, name.get<std::string>() + " is evidence but has no label");
      }
      instances.evidence[static_cast<std::int64_t>(n)][position] = true;
    }
  }
  return instances;
}

}  // namespace as2::task
