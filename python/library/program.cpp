#include "library/program.h"

#include <torch/custom_class.h>
#include <torch/library.h>

#include <cmath>
#include <sstream>

#include "compile/position_hints.h"
#include "compile/residual_terms.h"
#include "infer/pictures.h"
#include "library/json.h"
#include "text.h"
#include "torch_compat.h"

namespace as2::python {
namespace {

asp::GroundOptions ground_options(const Json& given) {
  asp::GroundOptions options;
  for (const auto& [name, value] : given.at("constants").items())
    options.constants.emplace_back(name, value.get<std::string>());
  options.strict_constants = true;
  options.assume = given.at("assume").get<std::vector<std::string>>();
  options.time_limit_seconds = given.at("grounding_seconds");
  options.size_limit = given.at("grounding_size");
  options.memory_limit_bytes = static_cast<std::int64_t>(given.at("grounding_mib").get<double>() * (1 << 20));
  return options;
}

Json messages(const std::vector<asp::Warning>& warnings) {
  Json list = Json::array();
  for (const asp::Warning& warning : warnings) {
    list.push_back(
        {{"file", warning.location.file}, {"line", warning.location.line}, {"message", warning.message}});
  }
  return list;
}

std::string describe(const ProgramParts& parts) {
  const compile::Compiled& compiled = parts.compiled();
  const ConstraintProgram& program = compiled.program;
  Json json{{"positions", Json::array()},
            {"families", Json::array()},
            {"objectives", Json::array()},
            {"objective_statements", program.objective_statements.size()},
            {"symbols", program.max_symbols()},
            {"atoms", program.atoms},
            {"groups", program.groups.size()},
            {"definitions", program.definitions},
            {"hash", program.hash},
            {"files", compiled.files},
            {"warnings", messages(compiled.warnings)},
            {"notes", messages(compiled.notes)}};
  for (const compile::Position& position : program.positions) {
    json["positions"].push_back({{"name", position.name},
                                 {"symbols", position.symbols},
                                 {"guess", position.guess},
                                 {"file", position.location.file},
                                 {"line", position.location.line}});
  }
  std::int64_t terms = 0;
  const std::vector<compile::FamilySummary> summaries = compile::summarise_families(program);
  for (std::size_t f = 0; f < program.families.size(); ++f) {
    const compile::Family& family = program.families[f];
    json["families"].push_back({{"name", family.name},
                                {"file", family.location.file},
                                {"line", family.location.line},
                                {"text", family.text},
                                {"kind", summaries[f].kind},
                                {"groups", summaries[f].groups},
                                {"terms", summaries[f].terms}});
    terms += summaries[f].terms;
  }
  for (const compile::ObjectiveLevel& level : program.objectives)
    json["objectives"].push_back(level.priority);
  json["residual_terms"] = terms;
  return text_of(json);
}

// `text` is used where there are no files; `name` then stands for the file in messages.
ProgramPtr compile_program(std::vector<std::string> files, const std::string& text, const std::string& name,
                           const std::string& options, const StopPtr& stop) {
  return reported([&] {
    asp::GroundOptions how = ground_options(Json::parse(options));
    how.stop = &stop->asked;
    const asp::GroundProgram ground =
        files.empty() ? asp::ground_text(text, name, how) : asp::ground(files, how);
    auto parts = std::make_shared<ProgramParts>(compile::compile(ground, {}, how.stop));
    std::string description = describe(*parts);
    return c10::make_intrusive<Program>(std::move(parts), std::move(description));
  });
}

// [{family, positions, kind}] of every group.
std::string groups(const ProgramPtr& self) {
  Json list = Json::array();
  for (const compile::Group& group : self->parts->program().groups)
    list.push_back({{"family", group.family}, {"kind", group.kind()}, {"positions", group.positions}});
  return text_of(list);
}

// InputError unless they are probabilities [batch, positions, symbols].
void check_beliefs(const ProgramPtr& self, const torch::Tensor& beliefs) {
  reported([&] {
    const ConstraintProgram& program = self->parts->program();
    check_shape(beliefs, static_cast<std::int64_t>(program.positions.size()), program.max_symbols());
    check_values(beliefs, program, kWeights);
  });
}

// Whoever traces a graph may have symbols in place of sizes; these two are numbers all the same.
std::int64_t fixed_size(const torch::Tensor& tensor, std::int64_t dimension) {
  return tensor.sym_size(dimension).guard_int(__FILE__, __LINE__);
}

std::string shape_text(const torch::Tensor& tensor) {
  std::ostringstream text;
  for (const c10::SymInt& size : tensor.sym_sizes()) text << (text.tellp() > 0 ? ", " : "[") << size;
  return tensor.dim() == 0 ? "a scalar" : text.str() + "]";
}

}  // namespace

Program::Program(std::shared_ptr<ProgramParts> given, std::string text)
    : parts(std::move(given)),
      description(std::move(text)),
      number(Numbered<ProgramParts>::add(description, parts)) {}
Program::~Program() {
  Numbered<ProgramParts>::remove(number, parts);
}

const tp::SoftTp& ProgramParts::soft_tp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!soft_tp_) soft_tp_ = std::make_unique<tp::SoftTp>(program());
  return *soft_tp_;
}

const decode::Decoder& ProgramParts::decoder() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!decoder_) decoder_ = std::make_unique<decode::Decoder>(shared());
  return *decoder_;
}

std::shared_ptr<const prob_tensor::CircuitOperator> ProgramParts::circuit(std::vector<int> nodes,
                                                                          const prob::Budget& budget) {
  constexpr std::size_t kMost = 32;  // circuits kept per program
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = circuits_.find(nodes); found != circuits_.end()) return found->second;
  }
  // Not under the lock: compiling may take a minute, and others need not wait for it.
  auto made = std::make_shared<const prob_tensor::CircuitOperator>(
      prob::compile_circuit(program(), nodes, budget), program());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (circuits_.size() >= kMost) circuits_.clear();
  return circuits_.emplace(std::move(nodes), std::move(made)).first->second;
}

void check_shape(const torch::Tensor& beliefs, std::int64_t positions, std::int64_t symbols) {
  if (beliefs.layout() != torch::kStrided)
    throw InputError("beliefs are a sparse tensor, expected a dense one", {".to_dense() makes one of it"});
  if (!at::isFloatingType(beliefs.scalar_type())) {
    throw InputError("beliefs are " + std::string(c10::toString(beliefs.scalar_type())) +
                         ", expected probabilities as floating-point numbers",
                     {"logits become probabilities with .softmax(-1), integers with .float()"});
  }
  if (beliefs.dim() == 3 && fixed_size(beliefs, 1) == positions && fixed_size(beliefs, 2) == symbols) return;
  throw InputError(
      "beliefs are " + shape_text(beliefs) + ", expected [batch, " + std::to_string(positions) + ", " +
          std::to_string(symbols) + "]",
      {beliefs.dim() == 2 ? "p.unsqueeze(0) is a batch of one; torch.stack([1 - p, p], -1) gives "
                            "probabilities of `true` their symbols, which are false and true"
                          : "one row per position, padded to the largest domain"});
}

void check_values(const torch::Tensor& beliefs, const ConstraintProgram& program, const Range& range,
                  const std::vector<std::int64_t>& positions) {
  if (!beliefs.device().is_cpu() || beliefs.numel() == 0) return;
  const torch::NoGradGuard no_gradient;
  const auto [low, high] = at::aminmax(beliefs.detach().to(torch::kFloat64));
  const auto fits = [&](double value) {
    return std::isfinite(value) && value >= range.least && value <= range.most;
  };
  if (fits(low.item<double>()) && fits(high.item<double>())) return;
  // Something is wrong, if only in the padding, where anything may stand.
  const torch::Tensor all = beliefs.detach().to(torch::kFloat64).contiguous();
  const auto entry = all.accessor<double, 3>();
  for (std::int64_t b = 0; b < all.size(0); ++b) {
    for (std::int64_t row = 0; row < all.size(1); ++row) {
      const std::int64_t i = positions.empty() ? row : positions[static_cast<std::size_t>(row)];
      const compile::Position& position = program.positions[static_cast<std::size_t>(i)];
      for (std::size_t s = 0; s < position.symbols.size(); ++s) {
        const double value = entry[b][row][static_cast<std::int64_t>(s)];
        if (fits(value)) continue;
        throw InputError("beliefs of '" + position.name + "' in row " + std::to_string(b) + ": '" +
                             position.symbols[s] + "' is " + std::to_string(value) +
                             ", expected a probability, from 0 to 1",
                         {std::isfinite(value)
                              ? "logits become probabilities with .softmax(-1)"
                              : "a loss that became infinite, or log(0), makes such numbers; look at what "
                                "gave the beliefs"});
      }
    }
  }
}

// One place for all: a class must be known before an operator that takes it.
TORCH_LIBRARY(as2, m) {
  m.class_<Stop>("Stop").def(torch::init<>()).def("ask", [](const StopPtr& self) { self->asked = true; });
  m.class_<Program>("Program")
      .def("number", [](const ProgramPtr& self) { return self->number; })
      .def("describe", [](const ProgramPtr& self) { return self->description; })
      .def("groups", groups)
      .def("position_hint",
           [](const ProgramPtr& self, const std::string& name) {
             return compile::position_hint(self->parts->program(), name);
           })
      .def("positions_named", [](const ProgramPtr& self, const std::string& name) {
        const std::vector<int> named = infer::positions_named(self->parts->program(), name);
        return std::vector<std::int64_t>(named.begin(), named.end());
      });
  m.def("compile", compile_program);
  m.def("check_beliefs", check_beliefs);
  m.def("as_printed", [](const std::string& term) { return as_printed(term); });
  m.def("leave", leave);
  register_soft_tp(m);
  register_decode(m);
  register_probability(m);
  register_model(m);
  register_solve(m);
}

}  // namespace as2::python
