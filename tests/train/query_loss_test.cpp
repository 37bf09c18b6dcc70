// The losses that are made of the program and what is observed (query, semantic, ltn, a-nesi): their values
// against sums written out by hand, and their gradients.
#include "train/query_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "as2/compile.h"
#include "support/finite_difference.h"
#include "task/tensor/instances.h"
#include "train/fuzzy_truth.h"
#include "train/inference_model.h"
#include "train/searched_query.h"

namespace as2::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kDigits = "{ digit(I,D) : D=0..9 } = 1 :- I=1..2.\n";

// A program, what is observed of it, and rows of beliefs about its pictures digit(1,_) and digit(2,_).
struct Case {
  compile::ConstraintProgram program;
  task::Supervision supervision;

  Case(const std::string& text, const std::vector<std::string>& observed)
      : program(compile::compile_text(text).program),
        supervision(task::read_supervision(program, {}, observed, task::LabelPlace::kEverywhere)) {}

  // Row n shows the digits n mod 10 and 3n mod 10, whatever is believed of them.
  infer::Batch batch(std::int64_t rows) const {
    const auto positions = static_cast<std::int64_t>(program.positions.size());
    task::Instances instances = task::Instances::blank(rows, positions);
    for (std::int64_t n = 0; n < rows; ++n) {
      const std::pair<const char*, std::int64_t> shown[] = {{"digit(1,_)", n % 10},
                                                            {"digit(2,_)", 3 * n % 10}};
      for (const auto& [position, digit] : shown) {
        instances.labels[n][program.find_position(position)] = static_cast<std::int16_t>(digit);
        instances.evidence[n][program.find_position(position)] = 1;
      }
    }
    // The program decides what else there is.
    for (std::int64_t n = 0; n < rows; ++n) {
      for (const compile::Assignment& answer : answers_with(n % 10, 3 * n % 10)) {
        std::copy(answer.begin(), answer.end(), instances.labels[n]);
      }
    }
    instances = task::supervised(std::make_shared<compile::ConstraintProgram>(program), supervision,
                                 instances, false);
    const task::InstanceTensors tensors = task::tensors_of(instances, torch::kCPU);
    infer::Batch batch;
    batch.labels = tensors.labels.to(torch::kInt64).clamp_min(0);
    batch.observed = tensors.observed;
    batch.evidence = tensors.evidence;
    batch.atoms = tensors.atoms;
    return batch;
  }

  // By trying every symbol of the other positions.
  std::vector<compile::Assignment> answers_with(int first, int second) const {
    std::vector<compile::Assignment> found;
    compile::Assignment answer(program.positions.size(), 0);
    const int a = program.find_position("digit(1,_)"), b = program.find_position("digit(2,_)");
    const auto search = [&](const auto& self, std::size_t i) -> void {
      if (i == answer.size()) {
        if (compile::violated_groups(program, answer).empty()) found.push_back(answer);
        return;
      }
      for (int s = 0; s < static_cast<int>(program.positions[i].symbols.size()); ++s) {
        if (static_cast<int>(i) == a && s != first) continue;
        if (static_cast<int>(i) == b && s != second) continue;
        answer[i] = s;
        self(self, i + 1);
      }
    };
    search(search, 0);
    return found;
  }

  // `digits` [rows, 2, 10] as beliefs of the program's positions.
  torch::Tensor beliefs(const torch::Tensor& digits) const {
    const auto positions = static_cast<std::int64_t>(program.positions.size());
    std::vector<torch::Tensor> each(static_cast<std::size_t>(positions));
    for (std::int64_t i = 0; i < positions; ++i)
      each[static_cast<std::size_t>(i)] =
          torch::zeros({digits.size(0), program.max_symbols()}, digits.options());
    for (int d = 0; d < 2; ++d) {
      const int position = program.find_position("digit(" + std::to_string(d + 1) + ",_)");
      each[static_cast<std::size_t>(position)] =
          torch::constant_pad_nd(digits.select(1, d), {0, program.max_symbols() - 10});
    }
    return torch::stack(each, 1);
  }

  QueryLoss loss(const QueryConfig& config = {}) const {
    return {program, supervision.atoms, config, torch::kCPU};
  }
};

torch::Tensor random_digits(std::int64_t rows) {
  torch::manual_seed(9);
  return torch::softmax(2 * torch::randn({rows, 2, 10}, torch::kFloat64), -1);
}

TEST(QueryLoss, DoesNotHangOnTheEncoding) {
  const Case comparisons[] = {{kDigits + "greater :- digit(1,X), digit(2,Y), X > Y.\n", {"greater"}},
                              {kDigits + "{ greater }.\n"
                                         ":- greater, #sum{ D,1 : digit(1,D); -D,2 : digit(2,D) } <= 0.\n"
                                         ":- not greater, #sum{ D,1 : digit(1,D); -D,2 : digit(2,D) } > 0.\n",
                               {"greater"}},
                              {kDigits + "{ greater }.\n"
                                         ":- greater, digit(1,X), digit(2,Y), X <= Y.\n"
                                         ":- not greater, digit(1,X), digit(2,Y), X > Y.\n",
                               {"greater"}}};
  const Case additions[] = {
      {kDigits + "sum(S) :- digit(1,X), digit(2,Y), S=X+Y.\n", {"sum(_)"}},
      {kDigits + "{ total(S) : S=0..18 } = 1.\n:- total(S), #sum{ D,I : digit(I,D) } != S.\n", {"total(_)"}},
      {kDigits + "sum(S) :- S = #sum{ D,I : digit(I,D) }.\n", {"sum(*"}}};
  const torch::Tensor digits = random_digits(20);
  const auto p = [&](std::int64_t n, const auto& holds) {
    double sum = 0;
    for (int x = 0; x < 10; ++x) {
      for (int y = 0; y < 10; ++y) {
        if (holds(x, y)) sum += (digits[n][0][x] * digits[n][1][y]).template item<double>();
      }
    }
    return std::log(sum);
  };
  for (const Case& each : comparisons) {
    const torch::Tensor found = each.loss().log_likelihood(each.batch(20), each.beliefs(digits));
    for (std::int64_t n = 0; n < 20; ++n) {
      const bool greater = n % 10 > 3 * n % 10;
      EXPECT_NEAR(found[n].item<double>(), p(n, [&](int x, int y) { return (x > y) == greater; }), 1e-9);
    }
  }
  for (const Case& each : additions) {
    const torch::Tensor found = each.loss().log_likelihood(each.batch(20), each.beliefs(digits));
    for (std::int64_t n = 0; n < 20; ++n) {
      const int sum = static_cast<int>(n % 10 + 3 * n % 10);
      EXPECT_NEAR(found[n].item<double>(), p(n, [&](int x, int y) { return x + y == sum; }), 1e-9);
    }
  }
}

TEST(QueryLoss, HasTheGradientOfFiniteDifferences) {
  const Case sum(kDigits + "sum(S) :- digit(1,X), digit(2,Y), S=X+Y.\nbig :- sum(S), S > 9.\n",
                 {"sum(_)", "big"});
  const infer::Batch batch = sum.batch(4);
  for (const char* approx : {"exact", "top-k", "same"}) {
    SCOPED_TRACE(approx);
    QueryConfig config;
    config.approx = approx;
    config.k = 3;
    config.share = 0.05;
    const QueryLoss loss = sum.loss(config);
    test::expect_gradient([&](const torch::Tensor& x) { return loss.log_likelihood(batch, sum.beliefs(x)); },
                          random_digits(4), {1e-6, 1e-6});
  }
}

TEST(QueryLoss, TheCircuitKeepsToItsBudget) {
  const Case queens(kDigits +
                        "greater :- digit(1,X), digit(2,Y), X > Y.\n"
                        "{ q(R,C) : C=1..12 } = 1 :- R=1..12.\n"
                        ":- q(R,C), q(S,C), R < S.\n:- q(R,C), q(S,D), R < S, |C-D| = S-R.\n",
                    {"greater"});
  QueryConfig config;
  config.circuit = {0, std::int64_t{1} << 20};
  EXPECT_THROW(queens.loss(config), prob::CircuitTooLarge);
}

TEST(QueryLoss, ApproximationsAreLowerBoundsThatBecomeExact) {
  const Case greater(kDigits + "greater :- digit(1,X), digit(2,Y), X > Y.\n", {"greater"});
  const infer::Batch batch = greater.batch(12);
  const torch::Tensor beliefs = greater.beliefs(random_digits(12));
  const torch::Tensor exact = greater.loss().log_likelihood(batch, beliefs);
  const auto with = [&](const char* approx, std::int64_t k, double share) {
    const QueryLoss loss = greater.loss({approx, k, share});
    EXPECT_TRUE(loss.exact_log_likelihood(batch, beliefs).allclose(exact, 0, 1e-12));
    return loss.log_likelihood(batch, beliefs);
  };
  EXPECT_TRUE(with("top-k", 100, 0).allclose(exact, 0, 1e-9));
  EXPECT_TRUE(with("same", 0, 0).allclose(exact, 0, 1e-9));
  torch::Tensor last = with("top-k", 1, 0);
  for (const std::int64_t k : {2, 5, 20}) {
    const torch::Tensor more = with("top-k", k, 0);
    EXPECT_TRUE((more > last).all().item<bool>()) << k;
    EXPECT_TRUE((more < exact + 1e-12).all().item<bool>()) << k;
    last = more;
  }
  last = exact;
  for (const double share : {0.01, 0.1, 0.3}) {
    const torch::Tensor less = with("same", 0, share);
    EXPECT_TRUE((less < exact + 1e-12).all().item<bool>()) << share;
    EXPECT_TRUE((less < exact - 1e-6).any().item<bool>()) << share;
  }
}

// One symbol of each picture is left, and the observation contradicts the pair: the exact sum is taken.
TEST(QueryLoss, WherePruningLeavesNothingTheSumIsExact) {
  const Case sum(kDigits + "sum(S) :- digit(1,X), digit(2,Y), S=X+Y.\n", {"sum(_)"});
  torch::Tensor digits = torch::full({1, 2, 10}, 0.01, torch::kFloat64);
  digits.select(2, 9).fill_(0.91);  // read as 9 + 9, observed is 0 + 0
  const torch::Tensor found = sum.loss({"same", 0, 0.2}).log_likelihood(sum.batch(1), sum.beliefs(digits));
  EXPECT_NEAR(found[0].item<double>(), 2 * std::log(0.01), 1e-9);
}

// No node of the circuit has an indicator then.
TEST(QueryLoss, AnAtomOfOnePositionIsASetOfItsSymbols) {
  const Case small(kDigits + "small :- digit(1,X), X < 5.\n", {"small"});
  ASSERT_EQ(small.supervision.atoms.size(), 1U);
  EXPECT_EQ(small.supervision.atoms[0].about.kind, prob::Observable::Kind::kSet);
  const torch::Tensor digits = random_digits(10);
  const torch::Tensor found = small.loss().log_likelihood(small.batch(10), small.beliefs(digits));
  for (std::int64_t n = 0; n < 10; ++n) {
    const double p = digits[n][0].narrow(0, n < 5 ? 0 : 5, 5).sum().item<double>();
    EXPECT_NEAR(found[n].item<double>(), std::log(p), 1e-9) << n;
  }
}

TEST(QueryLoss, WithoutEvidenceAPositionWeighsOne) {
  const Case greater(kDigits + "greater :- digit(1,X), digit(2,Y), X > Y.\n", {"greater"});
  infer::Batch batch = greater.batch(1);  // 0 and 0: not greater
  const torch::Tensor digits = random_digits(1);
  batch.evidence[0][greater.program.find_position("digit(2,_)")] = false;
  double sum = 0;
  for (int x = 0; x < 10; ++x) sum += digits[0][0][x].item<double>() * (10 - x);
  const torch::Tensor found = greater.loss().log_likelihood(batch, greater.beliefs(digits));
  EXPECT_NEAR(found[0].item<double>(), std::log(sum / 10), 1e-9);
}

const std::string kTotal =
    kDigits + "{ total(S) : S=0..18 } = 1.\n:- total(S), #sum{ D,I : digit(I,D) } != S.\n";

// Whether what is read says what is observed, of every pair of digits that may be read.
TEST(QueryLoss, AllowsAReadingThatSaysWhatIsObserved) {
  const Case total(kTotal, {"total(_)"}), distinct(kTotal + ":- digit(1,X), digit(2,X).\n", {"total(_)"}),
      greater(kDigits + "greater :- digit(1,X), digit(2,Y), X > Y.\n", {"greater"});
  for (const Case* each : {&total, &distinct, &greater}) {
    const infer::Batch batch = each->batch(10);
    const QueryLoss loss = each->loss();
    torch::Tensor symbols = torch::zeros_like(batch.labels);
    for (int x = 0; x < 10; ++x) {
      for (int y = 0; y < 10; ++y) {
        symbols.select(1, each->program.find_position("digit(1,_)")).fill_(x);
        symbols.select(1, each->program.find_position("digit(2,_)")).fill_(y);
        const torch::Tensor found = loss.allows(batch, symbols);
        for (int n = 1; n < 10; ++n) {  // the first row's digits are equal
          if (each == &distinct && n == 3 * n % 10) continue;
          const int a = n, b = 3 * n % 10;
          const bool expected =
              each == &greater ? (x > y) == (a > b) : x + y == a + b && (each != &distinct || x != y);
          EXPECT_EQ(found[n].item<bool>(), expected) << x << ' ' << y << ", row " << n;
        }
      }
    }
  }
}

// Labels of observed positions filled in, as the loss has them.
torch::Tensor with_labels(const infer::Batch& batch, const torch::Tensor& beliefs) {
  const torch::Tensor label = torch::zeros_like(beliefs).scatter(2, batch.labels.unsqueeze(-1), 1.0);
  return torch::where(batch.observed.unsqueeze(-1), label, beliefs);
}

TEST(SemanticLoss, IsTheProbabilityOfTheProgramWithWhatIsObserved) {
  const Case distinct(kTotal + ":- digit(1,X), digit(2,X).\n", {"total(_)"});
  const infer::Batch batch = distinct.batch(4);
  const torch::Tensor digits = random_digits(4);
  const QueryLoss loss = distinct.loss();
  const auto value = [&](const torch::Tensor& x) {
    return loss.log_satisfaction(batch, with_labels(batch, distinct.beliefs(x)));
  };
  const torch::Tensor found = value(digits);
  for (std::int64_t n = 1; n < 4; ++n) {  // row 0 shows 0 and 0, which the program forbids
    double sum = 0;
    for (int x = 0; x < 10; ++x) {
      for (int y = 0; y < 10; ++y) {
        if (x != y && x + y == n + 3 * n) sum += (digits[n][0][x] * digits[n][1][y]).item<double>();
      }
    }
    EXPECT_NEAR(found[n].item<double>(), std::log(sum), 1e-9) << n;
  }
  test::expect_gradient([&](const torch::Tensor& x) { return value(x).narrow(0, 1, 3); }, digits,
                        {1e-6, 1e-6});
}

SearchedQuery searched(const Case& of, std::int64_t k, std::int64_t nodes = 10000) {
  QueryConfig config;
  config.k = k;
  config.nodes = nodes;
  return {std::make_shared<compile::ConstraintProgram>(of.program), config};
}

// Where k covers all. Objectives say nothing about w(I), and a position without evidence weighs 1.
TEST(SearchedQuery, IsTheMassOfAllAnswersWithWhatIsObserved) {
  const std::string distinct = kTotal + ":- digit(1,X), digit(2,X).\n";
  const Case plain(distinct, {"total(_)"}),
      aimed(distinct + "#minimize{ 9*D,I : digit(I,D) }.\n", {"total(_)"});
  infer::Batch batch = plain.batch(5);
  const torch::Tensor digits = random_digits(5), beliefs = plain.beliefs(digits);
  batch.evidence[4][plain.program.find_position("digit(2,_)")] = false;
  const torch::Tensor found = searched(plain, 100).log_mass(batch, beliefs);
  EXPECT_TRUE(searched(aimed, 100).log_mass(batch, beliefs).equal(found));
  for (std::int64_t n = 1; n < 5; ++n) {  // row 0 shows 0 and 0, which the program forbids
    double sum = 0;
    for (int x = 0; x < 10; ++x) {
      const auto y = n % 10 + 3 * n % 10 - x;
      if (y < 0 || y > 9 || x == y) continue;
      sum += digits[n][0][x].item<double>() * (n == 4 ? 1 : digits[n][1][y].item<double>());
    }
    EXPECT_NEAR(found[n].item<double>(), std::log(sum), 1e-9) << n;
  }
}

// Every reading has one answer set here, so there is nothing to divide by.
TEST(SearchedQuery, FindsTheAnswersThatTheCircuitFinds) {
  const Case total(kTotal, {"total(_)"});
  const infer::Batch batch = total.batch(10);
  const torch::Tensor beliefs = total.beliefs(random_digits(10));
  for (const std::int64_t k : {1, 2, 5, 100}) {
    const torch::Tensor found = searched(total, k).log_mass(batch, beliefs);
    EXPECT_TRUE(found.allclose(total.loss({"top-k", k}).log_likelihood(batch, beliefs), 0, 1e-9)) << k;
  }
  EXPECT_TRUE(searched(total, 100)
                  .log_mass(batch, beliefs)
                  .allclose(total.loss().log_likelihood(batch, beliefs), 0, 1e-9));
}

TEST(SearchedQuery, HasTheGradientOfFiniteDifferences) {
  const Case total(kTotal, {"total(_)"});
  const infer::Batch batch = total.batch(4);
  const SearchedQuery search = searched(total, 3);
  test::expect_gradient([&](const torch::Tensor& x) { return search.log_mass(batch, total.beliefs(x)); },
                        random_digits(4), {1e-6, 1e-6});
}

TEST(SearchedQuery, IsTheSameForAnyNumberOfThreads) {
  const Case total(kTotal, {"total(_)"});
  const infer::Batch batch = total.batch(30);
  const SearchedQuery search = searched(total, 4);
  const auto with = [&](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const torch::Tensor digits = random_digits(30).set_requires_grad(true);
    const torch::Tensor found = search.log_mass(batch, total.beliefs(digits));
    found.sum().backward();
    at::set_num_threads(before);
    return torch::cat({found.detach(), digits.grad().flatten()});
  };
  EXPECT_TRUE(with(3).equal(with(1)));
}

// A contradiction, a belief of 0, and a network that has diverged.
TEST(SearchedQuery, SaysWhatCannotBe) {
  const Case distinct(kTotal + ":- digit(1,X), digit(2,X).\n", {"total(_)"});
  infer::Batch batch = distinct.batch(3);
  const int total = distinct.program.find_position("total(_)");
  batch.observed[0][total] = true;
  batch.labels[0][total] = 0;  // 0 and 0 alone
  torch::Tensor digits = random_digits(3);
  digits[1].fill_(0);
  digits[1].select(1, 9).fill_(1);  // read as 9 and 9, observed is 1 + 3
  digits[2].fill_(NAN);
  digits.set_requires_grad(true);
  const torch::Tensor found = searched(distinct, 10).log_mass(batch, distinct.beliefs(digits));
  EXPECT_EQ(found[0].item<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_NEAR(found[1].item<double>(), 2 * std::log(1e-30) + std::log(4), 1e-6);
  EXPECT_TRUE(std::isnan(found[2].item<double>()));
  found[1].backward();
  for (int x = 0; x < 10; ++x) EXPECT_EQ(digits.grad()[1][0][x].item<double>() > 0, x < 5 && x != 2) << x;
}

// What is chosen of numbers up to a million has to have a given sum: searched for in `nodes` steps, and in
// many more where these do not suffice.
double searched_sum(int numbers, std::int64_t nodes) {
  std::string sum;
  std::int64_t wanted = 0;
  for (std::int64_t n = 1; n <= numbers; ++n) {
    const std::int64_t number = (n * n * 7919 + n * 104729) % 1000003;
    sum += (n > 1 ? "; " : "") + std::to_string(number) + ",in(" + std::to_string(n) + ") : in(" +
           std::to_string(n) + ")";
    if (n % 3 == 1) wanted += number;
  }
  const Case chosen(kDigits + "{ in(1.." + std::to_string(numbers) + ") }.\n:- #sum{ " + sum +
                        " } != " + std::to_string(wanted) + ".\n",
                    {"digit(1,_)"});
  infer::Batch batch;
  const auto positions = static_cast<std::int64_t>(chosen.program.positions.size());
  batch.evidence = batch.observed = torch::zeros({1, positions}, torch::kBool);
  batch.labels = torch::zeros({1, positions}, torch::kInt64);
  const torch::Tensor beliefs = torch::ones({1, positions, chosen.program.max_symbols()}, torch::kFloat64);
  return searched(chosen, 1, nodes).log_mass(batch, beliefs).item<double>();
}

TEST(SearchedQuery, AnExampleWithoutAnAnswerInTimeIsGivenMoreAndThenRefused) {
  EXPECT_TRUE(std::isfinite(searched_sum(6, 1))) << "64 steps suffice where one does not";
  try {
    searched_sum(40, 1);
    ADD_FAILURE() << "the right ones of forty numbers in 128 steps";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("64 nodes of search found no answer set for an example"),
                                    HasSubstr("note: raise losses.query.nodes")));
  }
}

FuzzyConfig logic(const char* name) {
  FuzzyConfig config;
  config.logic = name;
  return config;
}

TEST(FuzzyTruth, OfASumIsThatOfItsBestDigitsOrTheirMean) {
  const Case sum(kTotal, {"total(_)"});
  const infer::Batch batch = sum.batch(6);
  const torch::Tensor digits = random_digits(6);
  for (const char* name : {"product", "goedel", "lukasiewicz"}) {
    SCOPED_TRACE(name);
    const FuzzyTruth fuzzy(sum.program, {}, logic(name));
    const torch::Tensor found = fuzzy.truths(with_labels(batch, sum.beliefs(digits)), {});
    ASSERT_EQ(found.size(1), 1);
    for (std::int64_t n = 0; n < 6; ++n) {
      double best_min = 0, best_bounded = 0, squares = 0, pairs = 0;
      for (int x = 0; x < 10; ++x) {
        const int y = static_cast<int>(n % 10 + 3 * n % 10) - x;
        if (y < 0 || y > 9) continue;
        const double a = digits[n][0][x].item<double>(), b = digits[n][1][y].item<double>();
        best_min = std::max(best_min, std::min(a, b));
        best_bounded = std::max(best_bounded, a + b - 1);
        squares += a * b * a * b;
        ++pairs;
      }
      const double expected = name[0] == 'p'   ? std::sqrt(squares / pairs)
                              : name[0] == 'g' ? best_min
                                               : best_bounded;
      EXPECT_NEAR(found[n][0].item<double>(), expected, 1e-5) << n;
    }
    const infer::Batch few = sum.batch(2);
    test::expect_gradient(
        [&](const torch::Tensor& x) { return fuzzy.loss(with_labels(few, sum.beliefs(x)), {}); },
        random_digits(2), {1e-6, 1e-5});
  }
}

// Where all is uncertain no conjunction is above 0 and nothing says where to go; from digits that are known
// the logic learns the others.
TEST(FuzzyTruth, LukasiewiczLearnsFromWhatIsNearlyCertain) {
  const Case sum(kTotal, {"total(_)"});
  const FuzzyTruth fuzzy(sum.program, {}, logic("lukasiewicz"));
  const torch::Tensor shown = torch::cartesian_prod({torch::arange(10), torch::arange(10)});
  infer::Batch batch = sum.batch(100);
  batch.labels.select(1, sum.program.find_position("total(_)")).copy_(shown.sum(1));
  const auto loss = [&](const torch::Tensor& table) {
    const torch::Tensor digits =
        torch::softmax(table, -1).index_select(0, shown.flatten()).view({100, 2, 10});
    return fuzzy.loss(with_labels(batch, sum.beliefs(digits)), {});
  };
  torch::manual_seed(8);
  torch::Tensor table = (0.1 * torch::randn({10, 10}, torch::kFloat64)).set_requires_grad(true);
  loss(table).backward();
  EXPECT_EQ(table.grad().abs().max().item<double>(), 0);

  torch::NoGradGuard no_grad;
  for (const int known : {0, 1, 2, 4, 5, 6, 7, 9}) table[known][known] += 5;
  const double before = loss(table).item<double>();
  ASSERT_LT(table.argmax(-1).eq(torch::arange(10)).sum().item<std::int64_t>(), 10);
  torch::optim::Adam optimizer({table}, torch::optim::AdamOptions(0.1));
  for (int step = 0; step < 100; ++step) {
    const torch::AutoGradMode grad(true);
    optimizer.zero_grad();
    loss(table).backward();
    optimizer.step();
  }
  EXPECT_EQ(table.argmax(-1).eq(torch::arange(10)).sum().item<std::int64_t>(), 10);
  EXPECT_LT(loss(table).item<double>(), 0.2 * before);
}

// Nogoods, exclusive groups, negation and recursion: at certain beliefs every logic is the classical one.
TEST(FuzzyTruth, AtCertainBeliefsIsTruth) {
  const Case path(kDigits +
                      "edge(1,2) :- digit(1,D), D > 4.\nedge(2,3) :- digit(2,D), D > 4.\nedge(3,1).\n"
                      "reach(1).\nreach(Y) :- reach(X), edge(X,Y).\ncut :- not reach(3).\n"
                      ":- digit(1,7), digit(2,2).\n:- D=1..3, #count{ I : digit(I,D) } > 1.\n",
                  {"reach(3)", "cut"});
  torch::Tensor digits = torch::zeros({100, 2, 10}, torch::kFloat64);
  torch::Tensor atoms = torch::zeros({100, 2}, torch::kInt8);
  for (int n = 0; n < 100; ++n) {
    digits[n][0][n / 10] = digits[n][1][n % 10] = 1;
    for (std::size_t a = 0; a < 2; ++a)
      atoms[n][static_cast<std::int64_t>(a)] =
          (n / 10 > 4 && n % 10 > 4) == (path.supervision.atoms[a].name != "cut");
  }
  for (const char* name : {"product", "goedel", "lukasiewicz"}) {
    SCOPED_TRACE(name);
    const FuzzyTruth fuzzy(path.program, path.supervision.atoms, logic(name));
    const torch::Tensor found = fuzzy.truths(path.beliefs(digits), atoms);
    for (int n = 0; n < 100; ++n) {
      const bool satisfied = !(n == 72 || (n % 11 == 0 && n > 0 && n < 34));
      EXPECT_EQ(found[n].min().item<double>(), satisfied ? 1 : 0) << n;
    }
    EXPECT_EQ(
        fuzzy.truths(path.beliefs(digits), 1 - atoms).narrow(1, found.size(1) - 2, 2).max().item<double>(),
        0);
    test::expect_gradient(
        [&](const torch::Tensor& x) { return fuzzy.loss(path.beliefs(x), atoms.narrow(0, 0, 3)); },
        random_digits(3), {1e-6, 1e-5});
  }
}

TEST(InferenceModel, LearnsWhatTheCircuitKnows) {
  const Case small(
      "{ digit(I,D) : D=0..2 } = 1 :- I=1..2.\n{ total(S) : S=0..4 } = 1.\n"
      ":- total(S), #sum{ D,I : digit(I,D) } != S.\nodd :- total(1).\nodd :- total(3).\n",
      {"total(_)", "odd"});
  const compile::ConstraintProgram& program = small.program;
  const std::vector<int> pictured = {program.find_position("digit(1,_)"),
                                     program.find_position("digit(2,_)")};
  torch::manual_seed(5);
  InferenceModel model(program, pictured, small.supervision.observed, small.supervision.atoms, {64, 32, 2});
  model.to(torch::kFloat64);
  const QueryLoss query = small.loss();
  // Digits of 0 … 2 in the ten columns of the other cases.
  const auto beliefs = [&](const torch::Tensor& digits) {
    torch::Tensor whole = torch::zeros({digits.size(0), 3, program.max_symbols()}, digits.options());
    whole = whole + 0.2;
    for (int d = 0; d < 2; ++d)
      whole.select(1, pictured[static_cast<std::size_t>(d)])
          .copy_(torch::constant_pad_nd(digits.select(1, d), {0, 2}));
    return whole;
  };
  torch::manual_seed(6);
  const torch::Tensor digits = torch::softmax(torch::randn({32, 2, 3}, torch::kFloat64), -1);
  infer::Batch batch;
  batch.evidence = torch::zeros({32, 3}, torch::kBool);
  batch.observed = torch::zeros({32, 3}, torch::kBool);
  batch.labels = torch::zeros({32, 3}, torch::kInt64);
  const int total = program.find_position("total(_)");
  for (const int position : pictured) batch.evidence.select(1, position).fill_(true);
  batch.observed.select(1, total).fill_(true);

  // Draws obey the program.
  const InferenceModel::Drawn drawn = model.draw(query, batch, beliefs(digits));
  const auto at = [&](int position) { return drawn.batch.labels.select(1, position); };
  EXPECT_TRUE(at(total).equal(at(pictured[0]) + at(pictured[1])));
  EXPECT_TRUE(drawn.batch.atoms.select(1, 0).to(torch::kInt64).equal(at(total).remainder(2)));
  EXPECT_TRUE(drawn.beliefs.select(1, 0).sum(-1).allclose(torch::ones({64}, torch::kFloat64)));

  batch.labels.select(1, total).copy_(torch::arange(32).remainder(5));
  batch.atoms = batch.labels.select(1, total).remainder(2).to(torch::kInt8).unsqueeze(1);
  test::expect_gradient(
      [&](const torch::Tensor& x) {
        torch::Tensor whole = beliefs(digits).detach();
        return model.log_likelihood(batch, torch::cat({x, whole.narrow(0, 2, 30)}), false).narrow(0, 0, 2);
      },
      beliefs(digits).narrow(0, 0, 2), {1e-6, 1e-6});
  const torch::Tensor exact = query.exact_log_likelihood(drawn.batch, drawn.beliefs);
  const auto error = [&] {
    torch::NoGradGuard no_grad;
    return (model.log_likelihood(drawn.batch, drawn.beliefs, false) - exact).abs().mean().item<double>();
  };
  const double before = error();
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(3e-3));
  for (int step = 0; step < 300; ++step) {
    optimizer.zero_grad();
    const InferenceModel::Drawn learnt = model.draw(query, batch, beliefs(digits));
    (-model.log_likelihood(learnt.batch, learnt.beliefs, true).mean()).backward();
    optimizer.step();
  }
  EXPECT_LT(error(), 0.5 * before);
}

// Perception is a table here: what is believed of each of ten pictures. The sums alone teach it, through a
// network that starts knowing nothing.
TEST(InferenceModel, TeachesPerceptionToAdd) {
  const Case sum(kTotal, {"total(_)"});
  const int total = sum.program.find_position("total(_)");
  torch::manual_seed(3);
  InferenceModel model(sum.program,
                       {sum.program.find_position("digit(1,_)"), sum.program.find_position("digit(2,_)")},
                       sum.supervision.observed, {}, {200, 200, 2});
  const QueryLoss query = sum.loss();
  torch::Tensor table = (0.1 * torch::randn({10, 10})).set_requires_grad(true);
  const auto right = [&] {
    return table.detach().argmax(-1).eq(torch::arange(10)).sum().item<std::int64_t>();
  };
  ASSERT_LT(right(), 5);
  torch::optim::Adam network(model.parameters(), torch::optim::AdamOptions(1e-3));
  torch::optim::Adam perception({table}, torch::optim::AdamOptions(2e-2));
  infer::Batch batch = sum.batch(64);
  double first = 0, last = 0;
  for (int step = 0; step < 300; ++step) {
    const torch::Tensor shown = torch::randint(10, {64, 2}, torch::kInt64);
    batch.labels.select(1, total).copy_(shown.sum(1));
    const torch::Tensor digits = torch::softmax(table, -1).index_select(0, shown.flatten()).view({64, 2, 10});
    network.zero_grad();
    perception.zero_grad();
    const torch::Tensor loss = model.loss(query, batch, sum.beliefs(digits));
    loss.backward();
    network.step();
    perception.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_EQ(right(), 10);
  EXPECT_LT(last, 0.5 * first);
}

}  // namespace
}  // namespace as2::train
