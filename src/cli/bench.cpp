// as2 bench: names what to measure and shows the figures; bench/ measures.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <iostream>

#include "bench/bench.h"
#include "cli/device.h"
#include "cli/verbs.h"

namespace as2::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_table(const Json& result, std::ostream& out) {
  if (result.contains("skipped")) out << "  skipped: " << result["skipped"].get<std::string>() << '\n';
  for (const auto& row : result["rows"]) {
    out << "  " << std::left << std::setw(58) << row["name"].get<std::string>() << std::right << std::setw(10)
        << std::setprecision(4) << row["value"].get<double>() << ' ' << std::left << std::setw(6)
        << row["unit"].get<std::string>();
    if (row.contains("target")) {
      out << (row["ok"].get<bool>() ? " ok, " : " NOT MET, ") << row["target"].get<std::string>();
    }
    out << '\n';
  }
}

}  // namespace

Action declare_bench(CLI::App& command) {
  struct Arguments {
    std::vector<std::string> subjects;
    std::string device = "cpu";
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  std::vector<std::string> names;
  std::string summary;
  for (const bench::Subject& subject : bench::subjects()) {
    names.emplace_back(subject.name);
    summary += std::string("  ") + subject.name + ": " + subject.summary + "\n";
  }
  command.add_option("subjects", arguments->subjects, "What to measure; all if none is named")
      ->check(CLI::IsMember(names))
      ->type_name("SUBJECT");
  command
      .add_option("--device", arguments->device, "Where soft T_P and training run: auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  command.add_flag("--json", arguments->json, "One JSON document");
  command.footer(summary);
  return [arguments] {
    const torch::Device device = parse_device(arguments->device);
    Json results = Json::object();
    for (const bench::Subject& subject : bench::subjects()) {
      const auto& wanted = arguments->subjects;
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), subject.name) == wanted.end()) continue;
      results[subject.name] = subject.measure(
          device, [&](const std::string& step) { std::cerr << subject.name << ": " << step << std::endl; });
      if (arguments->json) continue;
      std::cout << subject.name << '\n';
      print_table(results[subject.name], std::cout);
    }
    if (arguments->json) std::cout << results.dump() << '\n';
    return kDone;
  };
}

}  // namespace as2::cli
