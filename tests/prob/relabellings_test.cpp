// Relabellings of classes that observations cannot tell apart, against all permutations tried one by one.
#include "prob/relabellings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "as2/compile.h"
#include "files.h"
#include "support/temporary_folder.h"

namespace as2::prob {
namespace {

// Two pictures of numbers below `classes`, and what is observed of them.
struct Pairs {
  compile::ConstraintProgram program;
  Circuit circuit;
  RelabellingQuestion question;

  Pairs(int classes, const std::string& rules, const std::function<std::string(int, int)>& observed) {
    const test::TemporaryFolder folder;
    write_file(folder / "pair.lp", "#const k = " + std::to_string(classes) + ".\n" +
                                       "{ d(I,D) : D=0..k-1 } = 1 :- I=1..2.\n" + rules);
    program = compile::compile_files({folder / "pair.lp"}).program;
    std::vector<int> nodes;
    for (int a = 0; a < classes; ++a) {
      for (int b = 0; b < classes; ++b) {
        ObservedExample example;
        example.shown = {{0, a}, {1, b}};
        example.observed = parse_observation(program, observed(a, b));
        for (const Observable& observable : example.observed) collect_nodes(observable, nodes);
        question.examples.push_back(example);
      }
    }
    circuit = compile_circuit(program, nodes);
    question.circuit = &circuit;
    question.classes = classes;
    std::vector<int> same(static_cast<std::size_t>(classes));
    std::iota(same.begin(), same.end(), 0);
    question.symbol_of.assign(program.positions.size(), same);
  }
};

// Ways to give each shown class a name of its own, one of `classes`, under which what is observed of every
// pair stays as it is.
int namings(int classes, const std::vector<int>& shown,
            const std::function<std::string(int, int)>& observed) {
  std::vector<int> sigma(static_cast<std::size_t>(classes));
  std::iota(sigma.begin(), sigma.end(), 0);
  std::set<std::vector<int>> found;
  do {
    bool same = true;
    std::vector<int> names;
    for (const int a : shown) {
      names.push_back(sigma[static_cast<std::size_t>(a)]);
      for (const int b : shown)
        same = same && observed(a, b) == observed(names.back(), sigma[static_cast<std::size_t>(b)]);
    }
    if (same) found.insert(names);
  } while (std::next_permutation(sigma.begin(), sigma.end()));
  return static_cast<int>(found.size());
}

constexpr const char* kSum = "total(S) :- d(1,A), d(2,B), S = A+B.\n";
constexpr const char* kOdd = "odd :- d(1,A), d(2,B), (A+B) \\ 2 = 1.\n";
constexpr const char* kGreater = "greater :- d(1,A), d(2,B), A > B.\n";
constexpr const char* kFar = "far :- d(1,A), d(2,B), |A-B| > 2.\n";

std::string sum(int a, int b) {
  return "total(" + std::to_string(a + b) + ")";
}
std::string odd(int a, int b) {
  return (a + b) % 2 == 1 ? "odd" : "not odd";
}
std::string greater(int a, int b) {
  return a > b ? "greater" : "not greater";
}
std::string far(int a, int b) {
  return std::abs(a - b) > 2 ? "far" : "not far";
}

TEST(Relabellings, AsManyAsTryingThemAllFinds) {
  struct Case {
    const char* rules;
    std::string (*observed)(int, int);
    int expected;
  };
  for (const int classes : {3, 5, 6}) {
    for (const Case& c :
         {Case{kSum, sum, 1}, Case{kOdd, odd, 0}, Case{kGreater, greater, 1}, Case{kFar, far, 0}}) {
      const Pairs pairs(classes, c.rules, c.observed);
      const Relabellings found = find_relabellings(pairs.question);
      EXPECT_TRUE(found.complete);
      EXPECT_EQ(found.count, namings(classes, pairs.question.symbol_of[0], c.observed)) << c.rules << classes;
      if (c.expected > 0) {
        EXPECT_EQ(found.count, c.expected) << c.rules << classes;
      }
      for (const auto& sigma : found.some) {
        EXPECT_FALSE(std::is_sorted(sigma.begin(), sigma.end())) << "the identity is no shortcut";
        EXPECT_TRUE(std::is_permutation(sigma.begin(), sigma.end(), pairs.question.symbol_of[0].begin()));
      }
    }
  }
}

TEST(Relabellings, TenDigits) {
  const Pairs addition(10, kSum, sum);
  EXPECT_EQ(find_relabellings(addition.question).count, 1);
  const Pairs parity(10, kOdd, odd);
  const Relabellings found = find_relabellings(parity.question, 120);
  EXPECT_EQ(found.count, 2 * 120 * 120)
      << "even digits among themselves, odd ones too, and the two kinds swapped";
  EXPECT_EQ(found.some.size(), 3u);
}

TEST(Relabellings, ValuesThatAreGivenHelp) {
  // The parity of one picture and a given number tells even from odd, and nothing more.
  Pairs half(4, kOdd, odd);
  for (ObservedExample& example : half.question.examples) {
    example.given = {{1, example.shown[1].second}};
    example.shown.pop_back();
  }
  EXPECT_EQ(find_relabellings(half.question).count, 4);
}

// Pictures of a few numbers in a task that could tell more classes: what no example shows has no name to be
// mistaken for, but its own may be given to what is shown.
TEST(Relabellings, ClassesThatAreNeverShownAreLeftOut) {
  struct Case {
    const char* rules;
    std::string (*observed)(int, int);
  };
  const std::vector<std::vector<int>> some = {{0, 1}, {0, 2, 3}, {1, 2, 3, 4}, {5}};
  for (const std::vector<int>& shown : some) {
    for (const Case& c : {Case{kSum, sum}, Case{kOdd, odd}, Case{kGreater, greater}, Case{kFar, far}}) {
      Pairs few(6, c.rules, c.observed);
      auto& examples = few.question.examples;
      const auto hidden = [&](const ObservedExample& example) {
        return std::any_of(example.shown.begin(), example.shown.end(), [&](const auto& picture) {
          return std::count(shown.begin(), shown.end(), picture.second) == 0;
        });
      };
      examples.erase(std::remove_if(examples.begin(), examples.end(), hidden), examples.end());
      ASSERT_EQ(examples.size(), shown.size() * shown.size());
      EXPECT_EQ(find_relabellings(few.question).count, namings(6, shown, c.observed))
          << c.rules << shown.size();
    }
  }
}

TEST(Relabellings, TimeThatRunsOutIsSaid) {
  Pairs nothing(10, "", [](int, int) { return "not d(1,99)"; });
  const Relabellings found = find_relabellings(nothing.question, 0.01);
  EXPECT_FALSE(found.complete);
  EXPECT_LT(found.count, 3628800);
}

}  // namespace
}  // namespace as2::prob
