// Mutated program text: it is grounded, or there is an InputError that names a place in the user's file and
// shows nothing of our tags.

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "as2/compile.h"
#include "asp/statements.h"
#include "asp/tagging.h"
#include "child_process.h"

namespace as2::asp {
namespace {

const std::string kProgram = R"(#const n = 2. [default]  % size
{ c(I,V) : V=1..3 } = 1 :- I=1..n.
c(1,2).  #show c/2.  #show s(X,"a. b") : d(X), not c(X,1).
1 #sum { X,t : p(X) : q(X) } 3 :- c(X,1) : d(X).  q(1;2).
d(X) :- p(X), not c(2,X), |X-3| > 0.  -d(X) :- c(X,3), X&1 = 1.
%* block % *%
 comment *%
:- #sum { V,I : c(I,V) } > 4, not d(1..n).  % sum
:- d(1), p(2) : q(2).
:~ d(X). [X@2,t("a b",X)]
#maximize { V@1,I : c(I,V), not p(I) ; 3 }.
not p(2) :- d(2).  #false :- d(1).  1 < 2 :- d(X).
#defined e/1.
)";

std::string mutant(std::mt19937& random, unsigned edits) {
  static const std::string kAlphabet = ".,:;-~{}()[]|%*#\"\\@&<>=! \nXa1_'";
  std::string text = kProgram;
  for (; edits > 0; --edits) {
    const std::size_t at = random() % text.size();
    const std::size_t length = 1 + random() % 12;
    switch (random() % 4) {
      case 0:
        text[at] = kAlphabet[random() % kAlphabet.size()];
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, 1, kAlphabet[random() % kAlphabet.size()]);
        break;
      default:
        text.insert(random() % text.size(), text.substr(at, length));
    }
  }
  return text;
}

TEST(MutatedProgram, IsTaggedOrRefused) {
  std::mt19937 random(3);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = mutant(random, 1 + static_cast<unsigned>(i) % 3);
    try {
      tag(read_program_text(text, "p.lp"));
    } catch (const InputError& error) {
      EXPECT_EQ(error.location().file, "p.lp") << error.what();
      EXPECT_GT(error.location().line, 0) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 4000);
}

TEST(MutatedProgram, IsGroundedOrRefusedWhereClingoRefuses) {
  const std::string gringo = find_program("gringo");
  if (gringo.empty()) GTEST_SKIP() << "no gringo";
  std::mt19937 random(5);
  int grounded = 0;
  for (int i = 0; i < 250; ++i) {
    const std::string text = mutant(random, 1);
    const ChildResult alone = run_child(gringo, {"--output=intermediate", "-"}, text, {});
    const bool valid = alone.exit_code == 0;
    try {
      ground_text(text, "p.lp");
      EXPECT_TRUE(valid) << text;
      ++grounded;
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_GT(error.location().line, 0) << message << "\n" << text;
      EXPECT_EQ(message.find("__as2_"), std::string::npos) << message << "\n" << text;
      const bool ours = message.find("not supported") != std::string::npos;
      EXPECT_TRUE(ours || !valid) << message << "\n" << text;
    } catch (const EnvironmentError& error) {  // gringo 5.4 dies of `#const n=2. -n.`
      EXPECT_NE(alone.signal, 0) << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(grounded, 20);
}

}  // namespace
}  // namespace as2::asp
