// Tight problems with unhelpful beliefs: what plain search does not finish and learning from conflicts does.
// Limits are in nodes, so that the tests mean the same on every machine.
#include <gtest/gtest.h>

#include "as2/compile.h"
#include "bench/noise.h"
#include "decode/random_constraints.h"

namespace as2::decode_test {
namespace {

using bench::noise;
using decode::Decoded;
using decode::DecodeOptions;
using decode::Decoder;
using decode::Status;

compile::ConstraintProgram compiled(const std::string& name) {
  return compile::compile_files({std::string(AS2_SOURCE_DIR) + "/bench/decode/" + name + ".lp"}).program;
}

decode::Beliefs uniform(const compile::ConstraintProgram& program) {
  return decode::Beliefs(program.positions.size() * static_cast<std::size_t>(program.max_symbols()), 1.0);
}

struct Case {
  const char* program;
  bool noisy;
  std::int64_t nodes;
};

class Hard : public ::testing::TestWithParam<Case> {};

TEST_P(Hard, IsProvedWithinTheNodes) {
  const compile::ConstraintProgram program = compiled(GetParam().program);
  const Decoder decoder(program);
  DecodeOptions options;
  options.node_budget = GetParam().nodes;
  const decode::Query query{GetParam().noisy ? noise(program, 1) : uniform(program)};
  const Decoded decoded = decoder.decode(query, options);
  ASSERT_EQ(decoded.status, Status::kOptimal) << decoded.nodes << " nodes";
  EXPECT_TRUE(compile::violated_groups(program, decoded.models[0].assignment).empty());
  options.node_budget = decoded.nodes;  // what was settled in n nodes is settled within a budget of n
  const Decoded again = decoder.decode(query, options);
  EXPECT_EQ(again.status, Status::kOptimal);
  EXPECT_EQ(again.nodes, decoded.nodes);
  EXPECT_EQ(again.models[0].assignment, decoded.models[0].assignment);
}

INSTANTIATE_TEST_SUITE_P(Problems, Hard,
                         ::testing::Values(Case{"killer_nogoods", false, 20000},
                                           Case{"killer_nogoods", true, 20000}, Case{"langford", true, 20000},
                                           Case{"steiner", false, 50000}, Case{"clevr", false, 50000},
                                           Case{"coins", true, 50000}, Case{"golfers", true, 20000},
                                           Case{"hamiltonian", true, 20000}, Case{"queens", true, 20000},
                                           Case{"jobs", true, 20000}),
                         [](const auto& given) {
                           return std::string(given.param.program) +
                                  (given.param.noisy ? "_noisy" : "_uniform");
                         });

// An answer is given even where the proof does not finish.
TEST(HardProblems, ABudgetLeavesAnAnswer) {
  for (const char* name : {"steiner", "colouring", "latin_completion", "magic_square"}) {
    SCOPED_TRACE(name);
    const compile::ConstraintProgram program = compiled(name);
    DecodeOptions options;
    options.node_budget = 6000;
    const Decoded decoded = Decoder(program).decode({noise(program, 2)}, options);
    ASSERT_FALSE(decoded.models.empty());
    EXPECT_EQ(decoded.status == Status::kSatisfied, decoded.gap > 0);
    EXPECT_LE(decoded.nodes, options.node_budget + 1);
    EXPECT_TRUE(compile::violated_groups(program, decoded.models[0].assignment).empty());
  }
}

}  // namespace
}  // namespace as2::decode_test
