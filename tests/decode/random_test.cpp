// Decoding against full enumeration: thousands of random programs with random beliefs, pins and objectives.
#include <gtest/gtest.h>

#include "decode/random_constraints.h"

namespace as2::decode_test {
namespace {

using decode::Decoded;
using decode::DecodeOptions;
using decode::Decoder;
using decode::Status;

std::vector<decode::Pin> random_pins(Random& random, const compile::ConstraintProgram& program) {
  std::vector<decode::Pin> pins;
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    if (below(random, 5) == 0) {
      pins.push_back(
          {static_cast<int>(i), below(random, static_cast<int>(program.positions[i].symbols.size()))});
    }
  }
  return pins;
}

double weighted(const DecodeOptions& options, double log_probability, const std::vector<std::int64_t>& cost) {
  double score = log_probability;
  for (std::size_t level = 0; level < cost.size(); ++level) {
    const double weight = level < options.objective_weights.size() ? options.objective_weights[level] : 1.0;
    score -= weight * static_cast<double>(cost[level]);
  }
  return score;
}

// Whether the given groups and pins alone can be satisfied.
bool satisfiable(compile::ConstraintProgram program, const std::vector<int>& groups,
                 const std::vector<decode::Pin>& pins) {
  std::vector<compile::Group> kept;
  for (const int g : groups) kept.push_back(program.groups[g]);
  program.groups = kept;
  const decode::Beliefs none(program.positions.size() * static_cast<std::size_t>(program.max_symbols()), 1.0);
  return !enumerate(program, none, pins).empty();
}

void expect_minimal(const compile::ConstraintProgram& program, const decode::Conflict& conflict) {
  EXPECT_FALSE(satisfiable(program, conflict.groups, conflict.pins));
  for (std::size_t k = 0; k < conflict.groups.size(); ++k) {
    auto groups = conflict.groups;
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_TRUE(satisfiable(program, groups, conflict.pins))
        << "group " << conflict.groups[k] << " is not needed";
  }
  for (std::size_t k = 0; k < conflict.pins.size(); ++k) {
    auto pins = conflict.pins;
    pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_TRUE(satisfiable(program, conflict.groups, pins)) << "a pin is not needed";
  }
}

TEST(RandomPrograms, SameAnswersAsEnumeration) {
  Random random(5);
  int satisfied = 0;
  int refuted = 0;
  for (std::uint64_t seed = 0; seed < 8000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const auto program = RandomConstraints(seed).make();
    const Decoder decoder(program);
    const std::size_t stride = static_cast<std::size_t>(program.max_symbols());
    const auto beliefs = random_beliefs(random, program);
    DecodeOptions options;
    decode::Query query{beliefs, random_pins(random, program)};
    options.models = 1 + below(random, 4);
    options.objective_first = below(random, 2) == 0;
    if (below(random, 2)) options.objective_weights = {0.25 * below(random, 8)};
    const auto guide = random_beliefs(random, program);
    if (below(random, 3) == 0) query.guide = guide;

    auto answers = enumerate(program, beliefs, query.pins);
    for (Enumerated& answer : answers) {
      if (!query.guide.empty()) answer.guide = log_of(guide, stride, answer.assignment);
    }
    constexpr double kTie = 1e-8;
    const auto better = [&](const Enumerated& a, const Enumerated& b) {
      if (options.objective_first && a.cost != b.cost) return a.cost < b.cost;
      const double x =
          options.objective_first ? a.log_probability : weighted(options, a.log_probability, a.cost);
      const double y =
          options.objective_first ? b.log_probability : weighted(options, b.log_probability, b.cost);
      return std::abs(x - y) > kTie ? x > y : a.guide > b.guide + kTie;
    };
    std::stable_sort(answers.begin(), answers.end(), better);

    // Half of them learn from the first conflict on.
    if (seed % 2 == 1) options.learn_after = 0;
    const Decoded decoded = decoder.decode(query, options);
    if (answers.empty()) {
      ++refuted;
      ASSERT_EQ(decoded.status, Status::kUnsatisfiable);
      EXPECT_TRUE(decoded.models.empty());
      expect_minimal(program, decoded.conflict);
      continue;
    }
    ++satisfied;
    ASSERT_EQ(decoded.status, Status::kOptimal);
    ASSERT_EQ(decoded.models.size(),
              std::min<std::size_t>(answers.size(), static_cast<std::size_t>(options.models)));
    std::set<compile::Assignment> distinct;
    for (std::size_t k = 0; k < decoded.models.size(); ++k) {
      const auto& model = decoded.models[k];
      EXPECT_TRUE(compile::violated_groups(program, model.assignment).empty());
      EXPECT_NEAR(model.log_probability, log_of(beliefs, stride, model.assignment), 1e-9);
      EXPECT_EQ(model.cost, compile::cost_of(program, model.assignment));
      distinct.insert(model.assignment);
      Enumerated found{model.assignment, model.log_probability, model.cost, 0};
      if (!query.guide.empty()) found.guide = log_of(guide, stride, model.assignment);
      EXPECT_FALSE(better(answers[k], found)) << "rank " << k;
      EXPECT_FALSE(better(found, answers[k])) << "rank " << k;
    }
    EXPECT_EQ(distinct.size(), decoded.models.size());
  }
  EXPECT_GT(satisfied, 1000);
  EXPECT_GT(refuted, 500);
}

TEST(RandomPrograms, GreedyIsRightOrSaysWhereItStuck) {
  Random random(6);
  int stuck = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = RandomConstraints(seed).make();
    const Decoder decoder(program);
    const auto beliefs = random_beliefs(random, program);
    DecodeOptions options;
    options.method = decode::Method::kGreedy;
    const decode::Query query{beliefs, random_pins(random, program)};
    const Decoded decoded = decoder.decode(query, options);
    if (decoded.status == Status::kDeadEnd) {
      ++stuck;
      EXPECT_TRUE(decoded.models.empty());
      EXPECT_GE(decoded.dead_end_position, 0);
      continue;
    }
    ASSERT_EQ(decoded.status, Status::kSatisfied);
    EXPECT_TRUE(compile::violated_groups(program, decoded.models[0].assignment).empty());
    for (const auto& pin : query.pins) EXPECT_EQ(decoded.models[0].assignment[pin.position], pin.symbol);
  }
  EXPECT_GT(stuck, 200);
  EXPECT_LT(stuck, 1300);
}

TEST(RandomPrograms, BudgetsGiveHonestGaps) {
  Random random(7);
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = RandomConstraints(seed).make();
    const Decoder decoder(program);
    const auto beliefs = random_beliefs(random, program);
    DecodeOptions options;
    options.node_budget = 1 + below(random, 4);
    options.models = 1 + static_cast<int>(seed % 3);
    if (seed % 2 == 1) options.learn_after = 0;
    const Decoded limited = decoder.decode({beliefs}, options);
    EXPECT_LE(limited.nodes, 2 * options.node_budget + 1);  // twice as many while nothing is found
    options.node_budget = 0;
    const Decoded full = decoder.decode({beliefs}, options);
    if (full.nodes > 0) {
      // What was settled in n nodes is settled within a budget of n.
      options.node_budget = full.nodes;
      EXPECT_EQ(decoder.decode({beliefs}, options).status, full.status);
      options.node_budget = 0;
    }
    if (limited.status == Status::kUnknown) continue;
    if (limited.status == Status::kUnsatisfiable) {
      EXPECT_EQ(full.status, Status::kUnsatisfiable);
      continue;
    }
    ASSERT_EQ(full.status, Status::kOptimal);
    const auto score = [&](const Decoded& d) {
      return weighted(options, d.models[0].log_probability, d.models[0].cost);
    };
    EXPECT_TRUE(compile::violated_groups(program, limited.models[0].assignment).empty());
    EXPECT_LE(score(limited), score(full) + 1e-9);
    EXPECT_GE(score(limited) + limited.gap, score(full) - 1e-9);
    if (limited.status == Status::kOptimal) {
      EXPECT_NEAR(score(limited), score(full), 1e-9);
    }
  }
}

TEST(RandomPrograms, BatchesEqualSingleCalls) {
  Random random(8);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto program = RandomConstraints(seed).make();
    const Decoder decoder(program);
    // Each instance has pins and a guide of its own.
    std::vector<decode::Query> many;
    for (int k = 0; k < 50; ++k) {
      many.push_back({random_beliefs(random, program), random_pins(random, program)});
      if (k % 2 == 0) many.back().guide = random_beliefs(random, program);
    }
    DecodeOptions options;
    options.models = 2;
    options.minimal_conflict = false;
    const auto batch = decoder.decode_batch(many, options, 2);
    ASSERT_EQ(batch.size(), many.size());
    for (std::size_t k = 0; k < many.size(); ++k) {
      const Decoded single = decoder.decode(many[k], options);
      ASSERT_EQ(batch[k].status, single.status);
      EXPECT_EQ(batch[k].nodes, single.nodes);
      ASSERT_EQ(batch[k].models.size(), single.models.size());
      for (std::size_t m = 0; m < single.models.size(); ++m) {
        EXPECT_EQ(batch[k].models[m].assignment, single.models[m].assignment);
      }
    }
  }
}

}  // namespace
}  // namespace as2::decode_test
