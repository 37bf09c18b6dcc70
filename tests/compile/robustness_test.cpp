// Ground programs that no gringo would write: an InputError or a result, never a crash.
#include <gtest/gtest.h>

#include "as2/compile.h"
#include "support/random_program.h"

namespace as2::compile {
namespace {

using testing::Random;

// An InputError is a valid outcome; any other exception fails the test.
void compile_or_refuse(const asp::GroundProgram& ground) {
  try {
    const Compiled compiled = compile(ground);
    const Assignment first(compiled.program.positions.size(), 0);
    violated_groups(compiled.program, first);
    cost_of(compiled.program, first);
    shown_atoms(compiled.program, first);
  } catch (const InputError&) {
  }
}

asp::GroundProgram random_ground(Random& random) {
  asp::GroundProgram ground;
  ground.file = "random.lp";
  const int atoms = random.between(1, 12);
  ground.names.emplace_back();
  for (int atom = 1; atom <= atoms; ++atom) {
    ground.names.push_back(random.chance(60) ? "p(" + std::to_string(atom) + ")" : "");
  }
  for (const auto kind : {asp::StatementKind::kChoice, asp::StatementKind::kConstraint,
                          asp::StatementKind::kRule, asp::StatementKind::kWeak}) {
    asp::Statement statement;
    statement.kind = kind;
    statement.name = "s" + std::to_string(ground.statements.size());
    statement.location.line = 1;
    ground.statements.push_back(statement);
  }
  const auto literal = [&] { return random.between(1, atoms) * (random.chance(40) ? -1 : 1); };
  const int rules = random.between(1, 20);
  for (int k = 0; k < rules; ++k) {
    asp::Rule rule;
    rule.choice = random.chance(30);
    rule.sum = random.chance(30);
    rule.bound = random.between(-2, 4);
    rule.statement = random.between(-1, 2);
    const int heads = rule.choice ? random.between(0, 3) : random.below(random.chance(95) ? 2 : 3);
    for (int h = 0; h < heads; ++h) rule.head.push_back(static_cast<asp::Atom>(random.between(1, atoms)));
    const int body = random.below(5);
    for (int b = 0; b < body; ++b) rule.body.push_back({literal(), random.between(-2, 3)});
    ground.rules.push_back(std::move(rule));
  }
  if (random.chance(30))
    ground.minimize.push_back({random.between(-1, 1), {{literal(), 2}, {literal(), -1}}});
  if (random.chance(30)) ground.cost_tuples.push_back({3, 2, 0, literal()});
  if (random.chance(30)) ground.shown_terms.emplace_back("t", literal());
  return ground;
}

TEST(Robustness, RandomGroundPrograms) {
  Random random(20);
  for (int k = 0; k < 20000; ++k) compile_or_refuse(random_ground(random));
}

TEST(Robustness, DamagedCompiledPrograms) {
  const std::string text = asp::save_compiled({AS2_SOURCE_DIR "/programs/scheduling.lp"});
  Random random(21);
  const auto load = [](const std::string& damaged) {
    try {
      compile_or_refuse(asp::load_compiled(damaged, "damaged.as2c"));
    } catch (const InputError&) {
    }
  };
  for (int k = 0; k < 200; ++k) {
    load(text.substr(0, static_cast<std::size_t>(random.below(static_cast<int>(text.size())))));
    std::string damaged = text;
    const int places = random.between(1, 5);
    for (int place = 0; place < places; ++place) {
      damaged[static_cast<std::size_t>(random.below(static_cast<int>(text.size())))] =
          static_cast<char>("0123456789 \n-_(,x"[random.below(17)]);
    }
    load(damaged);
  }
}

TEST(Robustness, AWrongAssignmentIsAContractError) {
  const ConstraintProgram program = compile_text("{ a }.").program;
  EXPECT_THROW(violated_groups(program, {}), ContractError);
}

}  // namespace
}  // namespace as2::compile
