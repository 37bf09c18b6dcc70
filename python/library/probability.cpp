// Exact probabilities: torch.ops.as2.log_weights(beliefs, questions), and torch.classes.as2.Questions.
#include "as2/probability.h"

#include <torch/custom_class.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <unordered_map>

#include "library/distribution.h"
#include "library/json.h"
#include "library/operators.h"
#include "library/program.h"
#include "prob/contradiction.h"

namespace as2::python {
namespace {

using prob::Observation;
using torch::Tensor;

std::vector<Observation> parsed(const ConstraintProgram& program, const std::vector<std::string>& queries) {
  std::vector<Observation> observations;
  for (const std::string& text : queries) observations.push_back(prob::parse_observation(program, text));
  return observations;
}

// The atoms in them that the program does not have, and that never hold.
std::vector<std::string> unknown_atoms(const ConstraintProgram& program,
                                       const std::vector<Observation>& observations) {
  std::vector<std::string> unknown;
  for (const Observation& observation : observations) {
    for (std::string& atom : prob::unknown_atoms(program, observation)) unknown.push_back(std::move(atom));
  }
  return unknown;
}

// Questions asked together about one program, with the circuit that answers them. Beliefs are given about
// `inputs`, positions in this order; all others weigh 1.
class QuestionList {
 public:
  QuestionList(std::shared_ptr<ProgramParts> parts, const std::vector<std::string>& queries,
               const std::vector<std::string>& patterns, std::vector<std::int64_t> inputs, double floor,
               const prob::Budget& budget)
      : parts_(std::move(parts)),
        inputs_(std::move(inputs)),
        floor_(floor),
        names_(queries),
        observations_(parsed(program(), queries)) {
    unknown_ = unknown_atoms(program(), observations_);
    for (const std::string& pattern : patterns) {
      const auto matching = prob::matching_atoms(program(), pattern);
      if (matching.empty()) {
        throw InputError("no atom of the program matches '" + pattern + "'",
                         {"`_` stands for any argument: total(_); atoms hidden by #show are not found"});
      }
      for (const auto& [atom, observable] : matching) {
        names_.push_back(atom);
        observations_.push_back({observable});
      }
    }
    std::vector<int> nodes;
    for (const Observation& observation : observations_) {
      for (const prob::Observable& observable : observation) prob::collect_nodes(observable, nodes);
    }
    circuit_ = parts_->circuit(std::move(nodes), budget);
    leave_out_limits(queries.size());
    if (names_.empty() && !patterns.empty())
      throw InputError("no atom that matches '" + patterns[0] + "' can hold", {"it is in no answer set"});
    for (const std::int64_t i : inputs_)
      width_ = std::max(width_, static_cast<std::int64_t>(program().positions[i].symbols.size()));
    make_tables();
    find_symbols();
    const Tensor nothing = torch::ones({1, circuit().inputs()}, torch::kFloat64);
    if (floor_ > 0 && std::isinf(circuit_->log_value(nothing).item<double>()))
      refuse(nothing, 0, budget.stop);
  }

  const ConstraintProgram& program() const { return parts_->program(); }
  const prob::Circuit& circuit() const { return circuit_->circuit(); }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::string>& unknown() const { return unknown_; }
  std::int64_t inputs() const { return static_cast<std::int64_t>(inputs_.size()); }
  std::int64_t width() const { return width_; }
  std::int64_t rows() const { return static_cast<std::int64_t>(observations_.size()) + 1; }

  void check_form(const Tensor& beliefs) const {
    check_shape(beliefs, static_cast<std::int64_t>(inputs_.size()), width_);
    if (has_values(beliefs)) check_values(beliefs, program(), kProbabilities, inputs_);
  }

  void check(const Tensor& beliefs) const {
    check_form(beliefs);
    check_agreement(beliefs);
  }

  // On the CPU, InputError where no answer set agrees with the zeros of a row.
  void check_agreement(const Tensor& beliefs) const {
    if (floor_ == 0 || !has_values(beliefs) || !beliefs.device().is_cpu() || beliefs.numel() == 0) return;
    // Only zeros can contradict the program, which has answer sets.
    if (least(beliefs) <= 0) refuse_contradicted(beliefs, circuit_->log_value(weights(beliefs.detach(), 0)));
  }

  // Says why row `row`, whose weights these are, has no answer set: the positions whose zeros are at fault,
  // or the families that are in conflict whatever the beliefs.
  [[noreturn]] void refuse(const Tensor& given, std::int64_t row,
                           const std::atomic<bool>* stop = nullptr) const {
    const Tensor plain = given.detach().to(torch::kCPU, torch::kFloat64).contiguous();
    const double* const begin = plain.data_ptr<double>();
    const prob::Weights weights(begin, begin + plain.size(1));
    const std::vector<int> positions = prob::contradicting_positions(circuit(), program(), weights);
    const std::string where = " in row " + std::to_string(row);
    for (const int i : positions) {
      const compile::Position& position = program().positions[static_cast<std::size_t>(i)];
      const auto first = weights.begin() + circuit().input(i, 0);
      if (std::all_of(first, first + static_cast<std::ptrdiff_t>(position.symbols.size()),
                      [](double weight) { return weight == 0; })) {
        throw InputError("beliefs of '" + position.name + "'" + where + ": all zero",
                         {"give at least one of its symbols a belief above 0"});
      }
    }
    prob::refuse_contradiction(program(), positions, "decode() says which constraints are in conflict", where,
                               stop);
  }

  // [batch, inputs of the circuit]
  Tensor weights(const Tensor& beliefs) const { return weights(beliefs, floor_); }

  Tensor weights(const Tensor& beliefs, double floor) const {
    Tensor given = beliefs.to(result_options(beliefs).dtype());
    // Whatever stands in the padding, not a number say, is in nobody's gradient.
    if (tables_.padding.defined()) given = given.masked_fill(tables_on(given.device()).padding, 0);
    const std::int64_t batch = given.size(0);
    const Tensor values = (floor > 0 ? given + floor : given)
                              .reshape({batch, static_cast<std::int64_t>(inputs_.size()) * width_});
    return torch::ones({batch, circuit().inputs()}, given.options())
        .index_copy(1, tables_on(given.device()).columns, values);
  }

  // [batch, 1 + questions]: log Σ w(I) over all answer sets, then over those in which each question holds.
  Tensor log_weights(const Tensor& beliefs) const {
    check_agreement(beliefs);
    const Tensor all = weights(beliefs);
    return log_values(beliefs, all.unsqueeze(1) * tables_on(all.device()).observed.to(all.scalar_type()));
  }

  // [batch, questions]: the probability of each, 0 where the zeros in the beliefs forbid it; its gradient is
  // the one with the floor, which can raise them.
  Tensor distribution(const Tensor& beliefs) const {
    const Tables& tables = tables_on(beliefs.device());
    return tables.symbols.defined() ? distribution_of_symbols(beliefs, tables)
                                    : distribution_of_questions(beliefs, tables);
  }

  // [batch, inputs, symbols]: the probability of every symbol of what beliefs are given about, 0 in the
  // padding.
  Tensor marginals(const Tensor& beliefs) const {
    check_agreement(beliefs);
    const Tensor all = weights(beliefs);
    return symbol_probabilities(circuit_, all, tables_on(all.device()).columns.view({inputs(), width_}),
                                evaluate(*circuit_, all));
  }

  // [batch]: log P(what is observed in that row), one text like "total(7), not carry(1)" per row.
  Tensor log_observed(const Tensor& beliefs, const std::vector<std::string>& texts) {
    check(beliefs);
    if (!has_values(beliefs))
      throw InputError("observations need beliefs with values", {"move them from 'meta' to 'cpu' or 'cuda'"});
    const Tensor all = weights(beliefs);
    if (static_cast<std::int64_t>(texts.size()) != all.size(0)) {
      throw InputError("there are " + std::to_string(texts.size()) + " observations for " +
                           std::to_string(all.size(0)) + " rows",
                       {"give one label or text per row of the beliefs"});
    }
    std::vector<Tensor> masks;
    for (std::size_t b = 0; b < texts.size(); ++b) masks.push_back(mask_of(texts[b], b));
    if (masks.empty()) return all.sum(1);
    const Tensor logs =
        log_values(beliefs, torch::stack({all, all * torch::stack(masks).to(all.options())}, 1));
    return logs.select(1, 1) - logs.select(1, 0);
  }

  // As prob:: wants them, one row per instance.
  std::vector<prob::Weights> plain_weights(const Tensor& beliefs) const {
    const Tensor all = weights(beliefs.detach().to(torch::kCPU, torch::kFloat64)).contiguous();
    std::vector<prob::Weights> result;
    const double* row = all.data_ptr<double>();
    for (std::int64_t b = 0; b < all.size(0); ++b, row += all.size(1))
      result.emplace_back(row, row + all.size(1));
    return result;
  }

 private:
  struct Tables {
    Tensor columns;   // [inputs × width] int64: where the circuit reads each belief
    Tensor symbols;   // [1, symbols] int64: the same of the one position asked about; else undefined
    Tensor asked;     // [questions] int64: the symbol each question is for; else undefined
    Tensor observed;  // [1 + questions, inputs of the circuit]: 0 where it contradicts the question
    Tensor padding;   // [inputs, width] bool
  };

  // Copied to a CUDA device at first use: a copy makes the host wait.
  const Tables& tables_on(const torch::Device& device) const {
    if (!device.is_cuda()) return tables_;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, absent] = moved_.emplace(device.index(), Tables{});
    if (absent) {
      const auto there = [&](const Tensor& table) { return table.defined() ? table.to(device) : table; };
      found->second = {there(tables_.columns), there(tables_.symbols), there(tables_.asked),
                       there(tables_.observed), there(tables_.padding)};
    }
    return found->second;
  }

  Tensor distribution_of_symbols(const Tensor& beliefs, const Tables& tables) const {
    Tensor result;
    if (is_floored(beliefs)) {
      const Tensor plain = weights(beliefs.detach(), 0);
      const Evaluated evaluated = evaluate(*circuit_, plain);
      refuse_contradicted(beliefs, evaluated.value);
      result = shares_of_symbols(plain, tables.symbols, evaluated);
      if (marks_contradictions(beliefs))
        result.masked_fill_(evaluated.value.isinf().view({-1, 1, 1}),
                            std::numeric_limits<double>::quiet_NaN());
    }
    if (!result.defined() || has_graph(beliefs)) {
      const Tensor all = weights(beliefs);
      result = symbol_probabilities(circuit_, all, tables.symbols, evaluate(*circuit_, all), result);
    }
    return result.squeeze(1).index_select(1, tables.asked);
  }

  Tensor distribution_of_questions(const Tensor& beliefs, const Tables& tables) const {
    const auto logs = [&](const Tensor& all) {
      const Tensor each = all.unsqueeze(1) * tables.observed.to(all.scalar_type());
      return circuit_->log_value(each.flatten(0, 1)).view({each.size(0), each.size(1)});
    };
    const auto probabilities = [&](const Tensor& found) {
      return (found.narrow(1, 1, rows() - 1) - found.narrow(1, 0, 1)).exp();
    };
    if (!is_floored(beliefs)) return probabilities(logs(weights(beliefs)));
    const Tensor exact = logs(weights(beliefs.detach(), 0));
    refuse_contradicted(beliefs, exact.select(1, 0));
    const Tensor result = probabilities(exact);
    if (!has_graph(beliefs)) return result;
    const Tensor floored = probabilities(logs(weights(beliefs)));
    return result + (floored - floored.detach());
  }

  static bool has_graph(const Tensor& beliefs) {
    return torch::GradMode::is_enabled() && beliefs.requires_grad();
  }

  // The least belief, on the CPU; padding is none.
  double least(const Tensor& beliefs) const {
    const Tensor given = beliefs.detach();
    const double found = given.amin().item<double>();
    if (found > 0 || !tables_.padding.defined()) return found;
    return given.masked_fill(tables_.padding, 1).amin().item<double>();
  }

  // Whether the floor makes a difference; so it may on a device that would have to be waited for.
  bool is_floored(const Tensor& beliefs) const {
    if (floor_ == 0 || beliefs.numel() == 0) return false;
    const double epsilon = beliefs.scalar_type() == torch::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                                    : std::numeric_limits<float>::epsilon();
    return !beliefs.device().is_cpu() || least(beliefs) < floor_ / epsilon;
  }

  // InputError on the CPU where `log_value` [batch], without the floor, says that no answer set agrees with
  // the zeros of a row.
  void refuse_contradicted(const Tensor& beliefs, const Tensor& log_value) const {
    if (!beliefs.device().is_cpu()) return;
    const Tensor lost = log_value.detach().isinf().nonzero();
    if (lost.size(0) == 0) return;
    const std::int64_t row = lost[0][0].item<std::int64_t>();
    refuse(weights(beliefs.detach().narrow(0, row, 1), 0), row);
  }

  // Where the floor would hide a contradiction and check() cannot wait for the device to see it, the row of
  // the result is not a number.
  bool marks_contradictions(const Tensor& beliefs) const { return floor_ > 0 && !beliefs.device().is_cpu(); }

  // [batch, rows]: log Σ w(I) at `given` [batch, rows, inputs of the circuit].
  Tensor log_values(const Tensor& beliefs, const Tensor& given) const {
    const std::int64_t count = given.size(1);
    const bool marks = marks_contradictions(beliefs);
    const Tensor all = marks ? torch::cat({given, weights(beliefs.detach(), 0).unsqueeze(1)}, 1)
                             : given;  // one call for all
    const Tensor logs = circuit_->log_value(all.flatten(0, 1)).view({all.size(0), all.size(1)});
    if (!marks) return logs;
    return logs.narrow(1, 0, count)
        .masked_fill(logs.detach().narrow(1, count, 1).isinf(), std::numeric_limits<double>::quiet_NaN());
  }

  // gringo writes atoms such as top(#inf), for #max of nothing, whether there can be nothing or not. Those
  // that hold in no answer set have no place in a distribution. `first`: where the atoms of patterns begin.
  void leave_out_limits(std::size_t first) {
    for (std::size_t q = names_.size(); q-- > first;) {
      const bool limit =
          names_[q].find("#inf") != std::string::npos || names_[q].find("#sup") != std::string::npos;
      prob::Weights weights(static_cast<std::size_t>(circuit().inputs()), 1.0);
      if (!limit || (prob::observe(circuit(), observations_[q], weights) &&
                     std::isfinite(prob::log_value(circuit(), weights))))
        continue;
      names_.erase(names_.begin() + static_cast<std::ptrdiff_t>(q));
      observations_.erase(observations_.begin() + static_cast<std::ptrdiff_t>(q));
    }
  }

  // [inputs of the circuit]: 0 where it contradicts what is observed in this row.
  Tensor mask_of(const std::string& text, std::size_t row) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (const auto found = masks_.find(text); found != masks_.end()) return found->second;
    const auto refuse = [&](const std::string& what, const std::string& remedy) {
      throw InputError("'" + text + "', observed in row " + std::to_string(row) + ", " + what, {remedy});
    };
    const Observation observation = prob::parse_observation(program(), text);
    std::vector<int> nodes;
    for (const prob::Observable& observable : observation) {
      if (!observable.known)
        refuse("can never hold: the program has no atom '" + observable.text + "', or #show hides it",
               "look for a misspelling");
      prob::collect_nodes(observable, nodes);
    }
    for (const int node : nodes) {
      if (circuit().find_observed(node) < 0)
        refuse("is about atoms that are no outputs", "name them in `output` of the module, too");
    }
    prob::Weights ones(static_cast<std::size_t>(circuit().inputs()), 1.0);
    if (!prob::observe(circuit(), observation, ones) || std::isinf(prob::log_value(circuit(), ones)))
      refuse("holds in no answer set", "its probability is 0 whatever the beliefs");
    constexpr std::size_t kMost = 10000;
    if (masks_.size() >= kMost) masks_.clear();
    return masks_.emplace(text, torch::tensor(ones, torch::kFloat32)).first->second;
  }

  void make_tables() {
    Tensor columns = torch::empty({static_cast<std::int64_t>(inputs_.size()), width_}, torch::kInt64);
    auto column = columns.accessor<std::int64_t, 2>();
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      for (std::int64_t s = 0; s < width_; ++s)
        column[static_cast<std::int64_t>(k)][s] =
            circuit().input(static_cast<int>(inputs_[k]), static_cast<int>(s));
    }
    tables_.columns = columns.flatten();
    Tensor padding = torch::zeros(columns.sizes(), torch::kBool);
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      padding[static_cast<std::int64_t>(k)]
          .slice(0, static_cast<std::int64_t>(program().positions[inputs_[k]].symbols.size()))
          .fill_(true);
    if (padding.any().item<bool>()) tables_.padding = padding;
    tables_.observed = torch::ones({rows(), circuit().inputs()}, torch::kFloat32);
    for (std::size_t q = 0; q < observations_.size(); ++q) {
      prob::Weights ones(static_cast<std::size_t>(circuit().inputs()), 1.0);
      const bool possible = prob::observe(circuit(), observations_[q], ones);
      Tensor row = tables_.observed[static_cast<std::int64_t>(q) + 1];
      if (possible) {
        row.copy_(torch::tensor(ones, torch::kFloat64));
      } else {
        row.zero_();
      }
    }
  }

  // Where every question is for a symbol of one and the same position.
  void find_symbols() {
    std::vector<std::int64_t> asked;
    int position = -1;
    for (const Observation& observation : observations_) {
      if (observation.size() != 1 || observation[0].kind != prob::Observable::Kind::kSet) return;
      const compile::SetLiteral& set = observation[0].set;
      if (set.symbols.size() != 1 || (position >= 0 && position != set.position)) return;
      position = set.position;
      asked.push_back(set.symbols[0]);
    }
    if (position < 0) return;
    std::vector<std::int64_t> columns;
    for (std::size_t s = 0; s < program().positions[position].symbols.size(); ++s)
      columns.push_back(circuit().input(position, static_cast<int>(s)));
    tables_.symbols = torch::tensor(columns, torch::kInt64).unsqueeze(0);
    tables_.asked = torch::tensor(asked, torch::kInt64);
  }

  std::shared_ptr<ProgramParts> parts_;
  std::vector<std::int64_t> inputs_;
  double floor_;
  std::vector<std::string> names_, unknown_;
  std::vector<Observation> observations_;
  std::shared_ptr<const prob_tensor::CircuitOperator> circuit_;
  std::int64_t width_ = 1;
  Tables tables_;  // on the CPU
  mutable std::mutex mutex_;
  mutable std::map<int, Tables> moved_;            // by CUDA device
  std::unordered_map<std::string, Tensor> masks_;  // of what was observed lately
};

struct Questions : torch::CustomClassHolder {
  Questions(std::shared_ptr<QuestionList> given, const std::string& meaning)
      : list(std::move(given)), number(Numbered<QuestionList>::add(meaning, list)) {}
  ~Questions() override { Numbered<QuestionList>::remove(number, list); }

  const std::shared_ptr<QuestionList> list;
  const std::int64_t number;
};
using QuestionsPtr = c10::intrusive_ptr<Questions>;

std::shared_ptr<QuestionList> checked(const Tensor& beliefs, std::int64_t number) {
  auto list = Numbered<QuestionList>::find(number);
  list->check_form(beliefs);
  return list;
}

// What a method of the list gives per question; `extra`: columns in front of the questions.
template <const char* kName, Tensor (QuestionList::*method)(const Tensor&) const, int extra>
struct PerQuestion {
  static constexpr const char* name = kName;
  static constexpr bool differentiable = true;
  static Tensor compute(const Tensor& beliefs, std::int64_t number, std::int64_t) {
    return ((*checked(beliefs, number)).*method)(beliefs);
  }
  static Tensor shape(const Tensor& beliefs, std::int64_t number, std::int64_t) {
    return empty_result(beliefs, {checked(beliefs, number)->rows() - 1 + extra});
  }
};

constexpr char kLogWeights[] = "log_weights", kDistribution[] = "distribution";
using LogWeights = PerQuestion<kLogWeights, &QuestionList::log_weights, 1>;
using Distribution = PerQuestion<kDistribution, &QuestionList::distribution, 0>;

struct Marginals {
  static constexpr const char* name = "marginals";
  static constexpr bool differentiable = true;
  static Tensor compute(const Tensor& beliefs, std::int64_t number, std::int64_t) {
    return checked(beliefs, number)->marginals(beliefs);
  }
  static Tensor shape(const Tensor& beliefs, std::int64_t number, std::int64_t) {
    const auto list = checked(beliefs, number);
    return empty_result(beliefs, {list->inputs(), list->width()});
  }
};

QuestionsPtr ask(const ProgramPtr& program, const std::vector<std::string>& queries,
                 const std::vector<std::string>& patterns, std::vector<std::int64_t> inputs, double floor,
                 double seconds, double mebibytes, const StopPtr& stop) {
  return reported([&] {
    const prob::Budget budget{seconds, static_cast<std::int64_t>(mebibytes * (1 << 20)), &stop->asked};
    const std::string meaning = text_of({program->description, queries, patterns, inputs, floor});
    return c10::make_intrusive<Questions>(
        std::make_shared<QuestionList>(program->parts, queries, patterns, std::move(inputs), floor, budget),
        meaning);
  });
}

Tensor log_observed(const QuestionsPtr& self, const Tensor& beliefs, const std::vector<std::string>& texts) {
  return reported([&] { return self->list->log_observed(beliefs, texts); });
}

// [batch, count, positions] int64: symbols of answer sets drawn by their probability.
Tensor sample(const QuestionsPtr& self, const Tensor& beliefs, std::int64_t count, std::int64_t seed,
              const StopPtr& stop) {
  return reported([&] {
    const QuestionList& list = *self->list;
    list.check(beliefs);
    const std::vector<prob::Weights> weights = list.plain_weights(beliefs);
    Tensor result = torch::empty({static_cast<std::int64_t>(weights.size()), count, list.circuit().positions},
                                 torch::kInt64);
    std::int64_t* to = result.data_ptr<std::int64_t>();
    for (std::size_t b = 0; b < weights.size(); ++b) {
      // Every row has draws of its own; the first row's are those of `as2 prob`.
      for (const auto& answer : prob::draw(list.circuit(), weights[b], static_cast<int>(count),
                                           static_cast<std::uint64_t>(seed) + b, &stop->asked))
        to = std::copy(answer.begin(), answer.end(), to);
    }
    return result;
  });
}

// Without a circuit: [batch, 2 + queries], log P(program), the bound on what the probabilities are off by,
// and they. `weights` [batch, positions, symbols] and `believed` [batch, positions] bool, both on the CPU.
Tensor approximate(const ProgramPtr& self, const Tensor& beliefs, const Tensor& believed,
                   const std::vector<std::string>& queries, bool best, std::int64_t size, double seconds,
                   std::int64_t seed, const StopPtr& stop) {
  return reported([&] {
    const ConstraintProgram& program = self->parts->program();
    const std::vector<Observation> observations = parsed(program, queries);
    const Tensor all = beliefs.detach().to(torch::kFloat64).contiguous(), flags = believed.contiguous();
    const std::int64_t width = all.size(1) * all.size(2), positions = all.size(1);
    Tensor result =
        torch::empty({all.size(0), 2 + static_cast<std::int64_t>(queries.size())}, torch::kFloat64);
    double* to = result.data_ptr<double>();
    for (std::int64_t b = 0; b < all.size(0); ++b) {
      const double* row = all.data_ptr<double>() + b * width;
      const bool* flag = flags.data_ptr<bool>() + b * positions;
      const decode::Beliefs given(row, row + width);
      const std::vector<char> trusted(flag, flag + positions);
      const prob::Approximation found =
          best ? prob::sum_best(program, given, trusted, observations, static_cast<int>(size), seconds,
                                &stop->asked)
               : prob::sum_drawn(program, given, trusted, observations, static_cast<int>(size),
                                 static_cast<std::uint64_t>(seed), &stop->asked);
      *to++ = found.log_p_program;
      *to++ = found.bound;
      to = std::copy(found.queries.begin(), found.queries.end(), to);
    }
    return result;
  });
}

// Throws: why this instance, row `row` of what the user gave, has no answer set.
void refuse(const QuestionsPtr& self, const Tensor& beliefs, std::int64_t row) {
  reported([&] { self->list->refuse(self->list->weights(beliefs), row); });
}

}  // namespace

void register_probability(torch::Library& m) {
  m.class_<Questions>("Questions")
      .def("number", [](const QuestionsPtr& self) { return self->number; })
      .def("names", [](const QuestionsPtr& self) { return self->list->names(); })
      .def("unknown", [](const QuestionsPtr& self) { return self->list->unknown(); })
      .def("width", [](const QuestionsPtr& self) { return self->list->width(); })
      .def("count",
           [](const QuestionsPtr& self, const StopPtr& stop) {
             return reported([&] { return prob::count_answers(self->list->circuit(), &stop->asked); });
           })
      .def("log_observed", log_observed)
      .def("sample", sample)
      .def("refuse", refuse);
  m.def("ask", ask);
  m.def("approximate", approximate);
  m.def("unknown_atoms", [](const ProgramPtr& self, const std::vector<std::string>& queries) {
    return reported([&] {
      const ConstraintProgram& program = self->parts->program();
      return unknown_atoms(program, parsed(program, queries));
    });
  });
  define<LogWeights>(m);
  define<Distribution>(m);
  define<Marginals>(m);
}

}  // namespace as2::python
