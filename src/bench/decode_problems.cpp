// Beliefs as clingo's objective: a symbol of probability p costs round(−1000·log p), at a priority below the
// program's own objectives, so the decoder is asked for `objective_first`. The two optima may differ by the
// rounding of each position, not by more.
#include "bench/decode_problems.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "as2/compile.h"
#include "as2/decoder.h"
#include "as2/resources.h"
#include "bench/beside_clingo.h"
#include "bench/noise.h"
#include "files.h"

namespace as2::bench {
namespace {

using Constants = std::vector<std::pair<std::string, std::string>>;

struct Problem {
  const char* name;  // bench/decode/NAME.lp
  Constants uniform;
  Constants noisy;  // smaller where clingo would take minutes
};

const std::vector<Problem>& problems() {
  static const std::vector<Problem> all = {
      {"queens", {{"n", "24"}}, {{"n", "12"}}},
      {"langford", {{"n", "9"}}, {{"n", "10"}}},  // n = 9 has no answer
      {"steiner", {}, {{"n", "7"}}},
      {"killer_nogoods", {}, {}},
      {"colouring", {}, {{"n", "20"}, {"colours", "4"}}},
      {"hamiltonian", {{"n", "40"}}, {{"n", "16"}}},
      {"magic_square", {}, {{"n", "3"}}},
      {"coins", {}, {}},
      {"jobs", {}, {}},
      {"latin_completion", {}, {{"n", "6"}}},
      {"golfers", {}, {{"weeks", "2"}}},
      {"vertex_cover", {}, {}},
      {"clevr", {}, {{"n", "6"}}},
  };
  return all;
}

std::int64_t cost_of_symbol(double p) {
  return std::llround(-1000 * std::log(p));
}

// The beliefs as weak constraints; a symbol without an atom holds where none of the others does.
std::string objective(const compile::ConstraintProgram& program, const decode::Beliefs& beliefs) {
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  std::ostringstream text;
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const std::vector<std::string>& atoms = program.positions[i].atoms;
    for (std::size_t s = 0; s < atoms.size(); ++s) {
      std::string body = atoms[s];
      for (const std::string& other : atoms) {
        if (atoms[s].empty() && !other.empty()) body += (body.empty() ? "not " : ", not ") + other;
      }
      text << ":~ " << body << ". [" << cost_of_symbol(beliefs[i * stride + s]) << "@-1000," << i << ',' << s
           << "]\n";
    }
  }
  return text.str();
}

// clingo's document; its last cost is that of the beliefs.
nlohmann::json ask(const std::string& clingo, const std::string& input, const Constants& constants,
                   double seconds) {
  std::vector<std::string> arguments{"--time-limit=" + std::to_string(std::lround(seconds))};
  for (const auto& [name, value] : constants) {
    arguments.push_back("-c");
    arguments.push_back(name + "=" + value);
  }
  return ask_clingo(clingo, input, std::move(arguments), 2 * seconds + 60);
}

ProblemFigures measure(const Problem& problem, bool noisy, const std::string& clingo, double seconds,
                       const std::function<void(const std::string&)>& progress) {
  const std::string file = shipped_file(std::string("bench/decode/") + problem.name + ".lp").string();
  const Constants& constants = noisy ? problem.noisy : problem.uniform;
  ProblemFigures figures;
  figures.name = problem.name;
  for (const auto& [name, value] : constants) figures.name += " " + name + "=" + value;
  figures.name += noisy ? ", noise" : ", uniform";
  progress(figures.name);

  const double start = processor_seconds();
  asp::GroundOptions grounding;
  grounding.constants = constants;
  const compile::ConstraintProgram program = compile::compile_files({file}, grounding).program;
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  const decode::Decoder decoder(program);
  decode::Query query{noisy ? noise(program, 1) : decode::Beliefs(program.positions.size() * stride, 1.0)};
  decode::DecodeOptions options;
  options.objective_first = true;
  options.time_budget_seconds = seconds;
  options.minimal_conflict = false;
  const double compiled = processor_seconds();
  const decode::Decoded decoded = decoder.decode(query, options);
  const double end = processor_seconds();
  figures.decoding = end - compiled;
  figures.whole = end - start;
  figures.proved =
      decoded.status == decode::Status::kOptimal || decoded.status == decode::Status::kUnsatisfiable;
  const auto require = [&](bool right, const char* what) {
    if (!right) throw std::runtime_error("bench decode: " + figures.name + ": " + what);
  };
  const bool answered = !decoded.models.empty();
  require(!answered || compile::violated_groups(program, decoded.models[0].assignment).empty(),
          "the answer breaks the program");
  if (clingo.empty()) return figures;

  const std::string text = read_file(file) + (noisy ? objective(program, query.beliefs) : "");
  const nlohmann::json answer = ask(clingo, text, constants, seconds);
  const std::string result = answer["Result"];
  figures.clingo = answer["Time"]["CPU"].get<double>();
  const bool minimises = noisy || !program.objectives.empty();
  figures.clingo_proved =
      result == "UNSATISFIABLE" || result == (minimises ? "OPTIMUM FOUND" : "SATISFIABLE");
  if (!figures.proved || !figures.clingo_proved) return figures;
  require(answered == (result != "UNSATISFIABLE"), "clingo disagrees on whether there is an answer");
  if (!answered || !minimises) return figures;
  const std::vector<std::int64_t> costs = answer["Models"]["Costs"];
  require(std::equal(decoded.models[0].cost.begin(), decoded.models[0].cost.end(), costs.begin()),
          "clingo's objectives are better");
  if (!noisy) return figures;
  std::int64_t paid = 0;
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    paid +=
        cost_of_symbol(query.beliefs[i * stride + static_cast<std::size_t>(decoded.models[0].assignment[i])]);
  }
  const auto rounding = static_cast<std::int64_t>(program.positions.size());
  require(paid - costs.back() <= rounding && costs.back() - paid <= rounding, "clingo's loss is another");
  return figures;
}

}  // namespace

std::vector<ProblemFigures> measure_problems(const std::string& clingo, double seconds,
                                             const std::function<void(const std::string&)>& progress) {
  std::vector<ProblemFigures> all;
  for (const bool noisy : {false, true}) {
    for (const Problem& problem : problems())
      all.push_back(measure(problem, noisy, clingo, seconds, progress));
  }
  return all;
}

}  // namespace as2::bench
