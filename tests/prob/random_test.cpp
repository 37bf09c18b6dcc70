// Circuits against enumeration: random program texts through the whole pipeline, clingo's answer sets as the
// truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "as2/compile.h"
#include "as2/probability.h"
#include "decode/random_constraints.h"
#include "support/projection.h"
#include "support/random_program.h"

namespace as2::prob {
namespace {

using compile::Assignment;
using compile::ConstraintProgram;
using decode_test::below;
using decode_test::random_beliefs;
using RandomSource = decode_test::Random;

constexpr double kTolerance = 1e-9;

// One answer set: its atoms, its assignment and its weight.
struct Answer {
  std::set<std::string> atoms;
  Assignment assignment;
  double weight = 1;
};

std::vector<Answer> answers_of(const std::string& text, const ConstraintProgram& program,
                               const decode::Beliefs& beliefs, const std::vector<char>& believed) {
  std::vector<Answer> answers;
  const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
  for (const testing::AnswerSet& set : testing::answer_sets(text)) {
    Answer answer;
    answer.atoms = {set.atoms.begin(), set.atoms.end()};
    answer.assignment = testing::project(program, set);
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      if (believed[i]) answer.weight *= beliefs[i * stride + static_cast<std::size_t>(answer.assignment[i])];
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

struct Question {
  std::string text;
  std::vector<std::pair<std::string, bool>> literals;  // atom, negated

  bool holds(const Answer& answer) const {
    return std::all_of(literals.begin(), literals.end(), [&](const auto& literal) {
      return (answer.atoms.count(literal.first) > 0) != literal.second;
    });
  }
};

Question random_question(RandomSource& random, const std::vector<std::string>& atoms) {
  Question question;
  for (int k = below(random, 3); k >= 0; --k) {
    const std::string atom =
        below(random, 20) == 0 ? "nowhere(1)" : atoms[below(random, static_cast<int>(atoms.size()))];
    const bool negated = below(random, 3) == 0;
    question.literals.emplace_back(atom, negated);
    question.text += (question.text.empty() ? "" : ", ") + std::string(negated ? "not " : "") + atom;
  }
  return question;
}

std::string pattern_of(const std::string& atom) {
  const std::size_t open = atom.find('(');
  if (open == std::string::npos) return atom;
  std::string pattern = atom.substr(0, open) + "(_";
  int depth = 0;
  for (std::size_t k = open; k < atom.size(); ++k) {
    depth += atom[k] == '(' ? 1 : atom[k] == ')' ? -1 : 0;
    if (depth == 1 && atom[k] == ',') pattern += ",_";
  }
  return pattern + ")";
}

class Checked {
 public:
  Checked(const std::string& text, ConstraintProgram program, RandomSource& random)
      : program_(std::move(program)), beliefs_(random_beliefs(random, program_)) {
    for (std::size_t i = 0; i < program_.positions.size(); ++i) believed_.push_back(below(random, 5) > 0);
    answers_ = answers_of(text, program_, beliefs_, believed_);
    std::set<std::string> atoms;
    for (const Answer& answer : answers_) atoms.insert(answer.atoms.begin(), answer.atoms.end());
    for (const compile::Position& position : program_.positions) {
      for (const std::string& atom : position.atoms) {
        if (!atom.empty()) atoms.insert(atom);
      }
    }
    atoms.insert("nothing");
    const std::vector<std::string> list(atoms.begin(), atoms.end());
    for (int q = 0; q < 10; ++q) questions_.push_back(random_question(random, list));
    pattern_ = pattern_of(list[below(random, static_cast<int>(list.size()))]);
    std::vector<int> nodes;
    for (const Question& question : questions_) {
      observations_.push_back(parse_observation(program_, question.text));
      for (const Observable& observable : observations_.back()) collect_nodes(observable, nodes);
    }
    family_ = matching_atoms(program_, pattern_);
    for (const auto& [atom, observable] : family_) collect_nodes(observable, nodes);
    circuit_ = compile_circuit(program_, nodes);
    weights_ = weights_of(circuit_, program_, beliefs_, believed_);
    evaluated_ = evaluate(circuit_, {weights_});
  }

  double total() const {
    return sum([](const Answer&) { return true; });
  }

  void check_value() const {
    EXPECT_EQ(count_answers(circuit_), std::to_string(answers_.size()));
    EXPECT_EQ(log_value(circuit_, weights_), evaluated_.log_value[0]);
    if (total() == 0) {
      EXPECT_EQ(evaluated_.log_value[0], -INFINITY);
      EXPECT_TRUE(most_probable(circuit_, weights_).empty());
    } else {
      EXPECT_NEAR(evaluated_.log_value[0], std::log(total()), kTolerance);
    }
  }

  void check_queries() const {
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      Weights weights = weights_;
      const bool possible = observe(circuit_, observations_[q], weights);
      const double p = possible ? std::exp(log_value(circuit_, weights) - evaluated_.log_value[0]) : 0.0;
      EXPECT_NEAR(p, sum([&](const Answer& answer) { return questions_[q].holds(answer); }) / total(),
                  kTolerance)
          << questions_[q].text;
    }
  }

  void check_marginals() const {
    const std::vector<double> shares = marginals(circuit_, weights_, evaluated_, 0);
    for (std::size_t i = 0; i < program_.positions.size(); ++i) {
      for (std::size_t s = 0; s < program_.positions[i].symbols.size(); ++s) {
        const double truth =
            sum([&](const Answer& answer) { return answer.assignment[i] == static_cast<int>(s); }) / total();
        EXPECT_NEAR(shares[circuit_.input(static_cast<int>(i), static_cast<int>(s))], truth, kTolerance)
            << program_.positions[i].name << "=" << program_.positions[i].symbols[s];
      }
    }
    for (const auto& [atom, observable] : family_) {
      const std::string& name = atom;
      EXPECT_NEAR(probability_of(circuit_, observable, shares),
                  sum([&](const Answer& answer) { return answer.atoms.count(name) > 0; }) / total(),
                  kTolerance)
          << name << " of " << pattern_;
    }
  }

  // The value is linear in each weight, so a step of any length gives the derivative itself.
  void check_gradient() const {
    const std::vector<double> derivative = gradient(circuit_, evaluated_, 0);
    const double value = std::exp(evaluated_.log_value[0]);
    for (int input = 0; input < circuit_.inputs(); ++input) {
      Weights moved = weights_;
      moved[input] += 1;
      const double slope = (std::exp(log_value(circuit_, moved)) - value) / value;
      EXPECT_NEAR(derivative[input], slope, 1e-7 * std::max(1.0, slope)) << "input " << input;
    }
  }

  void check_most_probable() const {
    const Assignment found = most_probable(circuit_, weights_);
    double best = 0;
    double own = -1;
    for (const Answer& answer : answers_) {
      best = std::max(best, answer.weight);
      if (answer.assignment == found) own = answer.weight;
    }
    EXPECT_NEAR(own, best, kTolerance * best);
  }

  void check_drawn() const {
    for (const Assignment& drawn : draw(circuit_, weights_, 3, 7)) {
      EXPECT_TRUE(std::any_of(answers_.begin(), answers_.end(), [&](const Answer& answer) {
        return answer.assignment == drawn && answer.weight > 0;
      }));
    }
  }

  // The best answers bound the true probability; all answers together give it exactly.
  void check_best(int most) const {
    const Approximation found = sum_best(program_, beliefs_, believed_, observations_, most);
    const std::size_t weighty = static_cast<std::size_t>(std::count_if(
        answers_.begin(), answers_.end(), [](const Answer& answer) { return answer.weight > 0; }));
    EXPECT_LE(found.log_p_program, std::log(total()) + kTolerance);
    if (weighty < static_cast<std::size_t>(most)) {
      EXPECT_EQ(found.bound, 0);
      EXPECT_NEAR(found.log_p_program, std::log(total()), kTolerance);
    }
    for (std::size_t q = 0; q < questions_.size(); ++q) {
      const double truth = sum([&](const Answer& answer) { return questions_[q].holds(answer); }) / total();
      EXPECT_LE(std::abs(found.queries[q] - truth), found.bound + kTolerance);
    }
  }

 private:
  template <class Wanted>
  double sum(const Wanted& wanted) const {
    double total = 0;
    for (const Answer& answer : answers_) total += wanted(answer) ? answer.weight : 0;
    return total;
  }

  ConstraintProgram program_;
  decode::Beliefs beliefs_;
  std::vector<char> believed_;
  std::vector<Answer> answers_;
  std::vector<Question> questions_;
  std::vector<Observation> observations_;
  std::string pattern_;
  std::vector<std::pair<std::string, Observable>> family_;
  Circuit circuit_;
  Weights weights_;
  Evaluated evaluated_;
};

TEST(RandomTexts, SameProbabilitiesAsEnumeration) {
  if (!testing::have_clingo()) GTEST_SKIP() << "no clingo";
  constexpr int kPrograms = 2000;  // that have answer sets
  RandomSource random(21);
  int compared = 0;
  int impossible = 0;
  int refused = 0;
  for (std::uint64_t seed = 100000; compared < kPrograms && !HasFailure(); ++seed) {
    // Every fourth is of the second kind: guesses, loops with choices in them, edges.
    const std::string text =
        (seed % 4 == 3 ? testing::random_cyclic_program(seed, false) : testing::random_program(seed)).text();
    SCOPED_TRACE(text);
    ConstraintProgram program;
    try {
      program = compile::compile_text(text).program;
    } catch (const InputError&) {
      ASSERT_LT(++refused, kPrograms);
      continue;
    }
    const Checked checked(text, std::move(program), random);
    checked.check_value();
    if (checked.total() == 0) {
      ++impossible;
      continue;
    }
    ++compared;
    checked.check_queries();
    checked.check_marginals();
    checked.check_gradient();
    checked.check_most_probable();
    checked.check_drawn();
    checked.check_best(below(random, 2) == 0 ? 5 : 5000);
  }
  EXPECT_GT(impossible, 50);
}

// Programs made directly, with parts that texts rarely give: wide slots, guarded sums, recursive components.
TEST(RandomPrograms, SameSumAndBestAnswerAsEnumeration) {
  RandomSource random(22);
  int satisfied = 0;
  for (std::uint64_t seed = 0; seed < 12000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ConstraintProgram program = decode_test::RandomConstraints(seed).make();
    program.objectives.clear();
    const decode::Beliefs beliefs = random_beliefs(random, program);
    std::vector<int> nodes;  // observed or not: nodes that nothing reads are cached differently
    for (std::size_t n = 0; n < program.nodes.size(); ++n) {
      if (seed % 2 == 0) nodes.push_back(static_cast<int>(n));
    }
    const Circuit circuit = compile_circuit(program, nodes);
    const Weights weights = weights_of(circuit, program, beliefs);
    const Evaluated evaluated = evaluate(circuit, {weights, weights});
    EXPECT_EQ(evaluated.log_value[0], evaluated.log_value[1]);
    const auto answers = decode_test::enumerate(program, beliefs, {});
    double total = 0;
    std::vector<double> truth(program.nodes.size(), 0);
    for (const auto& answer : answers) {
      double weight = 1;
      for (std::size_t i = 0; i < answer.assignment.size(); ++i) {
        weight *= beliefs[i * static_cast<std::size_t>(circuit.symbols) +
                          static_cast<std::size_t>(answer.assignment[i])];
      }
      total += weight;
      const std::vector<char> holds = compile::evaluate_nodes(program, answer.assignment);
      for (std::size_t n = 0; n < truth.size(); ++n) truth[n] += holds[n] ? weight : 0;
    }
    EXPECT_EQ(count_answers(circuit), std::to_string(answers.size()));
    if (total == 0) {
      EXPECT_EQ(evaluated.log_value[0], -INFINITY);
      continue;
    }
    ++satisfied;
    EXPECT_NEAR(evaluated.log_value[0], std::log(total), kTolerance);
    const std::vector<double> shares = marginals(circuit, weights, evaluated, 1);
    for (std::size_t k = 0; k < circuit.observed.size(); ++k) {
      EXPECT_NEAR(shares[circuit.indicator(static_cast<int>(k), true)], truth[circuit.observed[k]] / total,
                  kTolerance);
    }
    // The decoder's best answer, which floors a belief of 0; where the circuit has one, they agree.
    const Assignment best = most_probable(circuit, weights);
    const decode::Decoded decoded = decode::Decoder(program).decode({beliefs, {}, {}, {}});
    ASSERT_EQ(decoded.status, decode::Status::kOptimal);
    EXPECT_NEAR(decode_test::log_of(beliefs, static_cast<std::size_t>(circuit.symbols), best),
                decoded.models.front().log_probability, kTolerance);
  }
  EXPECT_GT(satisfied, 500);
}

// Beliefs on both sides of the decoder's floor of 1e-30, and zeros: what is missing stays within its bound.
TEST(RandomPrograms, TheBestAnswersBoundWhatTinyBeliefsLeaveOut) {
  RandomSource random(23);
  int satisfied = 0, exact = 0;
  for (std::uint64_t seed = 0; seed < 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const ConstraintProgram program = decode_test::RandomConstraints(seed).make();
    const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
    decode::Beliefs beliefs(program.positions.size() * stride);
    for (double& belief : beliefs) {
      const double some[] = {0, 1e-45, 3e-31, 1e-12, 0.25, 0.5};
      belief = some[below(random, 6)];
    }
    std::vector<Observation> questions;
    for (std::size_t i = 0; i < program.positions.size(); ++i) {
      Observable symbol;
      symbol.kind =
          program.positions[i].symbols.size() > 1 ? Observable::Kind::kSet : Observable::Kind::kAlways;
      symbol.set = {static_cast<int>(i), {0}};
      questions.push_back({symbol});
    }
    const auto answers = decode_test::enumerate(program, beliefs, {});
    double total = 0;
    std::vector<double> truth(questions.size(), 0);
    for (const auto& answer : answers) {
      double weight = 1;
      for (std::size_t i = 0; i < answer.assignment.size(); ++i)
        weight *= beliefs[i * stride + static_cast<std::size_t>(answer.assignment[i])];
      total += weight;
      for (std::size_t i = 0; i < truth.size(); ++i) truth[i] += answer.assignment[i] == 0 ? weight : 0;
    }
    for (const int most : {1, 2, 1000}) {
      const Approximation found =
          sum_best(program, beliefs, std::vector<char>(truth.size(), 1), questions, most);
      if (total == 0) {
        EXPECT_EQ(found.log_p_program, -INFINITY);
        EXPECT_EQ(found.bound, 0);
        continue;
      }
      satisfied += most == 1;
      exact += most == 2 && found.bound == 0;
      EXPECT_LE(found.log_p_program, std::log(total) + kTolerance);
      if (most == 1000) {
        EXPECT_NEAR(found.log_p_program, std::log(total), kTolerance);
      }
      for (std::size_t i = 0; i < truth.size(); ++i)
        EXPECT_LE(std::abs(found.queries[i] - truth[i] / total), found.bound + kTolerance);
    }
  }
  EXPECT_GT(satisfied, 500);
  EXPECT_GT(exact, 50);
}

}  // namespace
}  // namespace as2::prob
