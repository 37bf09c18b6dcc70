// `as2 predict` as a user runs it, on the weights that ship and on digits that training never saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "datasets/mnist.h"
#include "datasets/real_mnist.h"
#include "files.h"
#include "formats/image.h"
#include "support/run_as2.h"
#include "support/temporary_folder.h"

namespace as2::cli {
namespace {

using testing::Finished;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class PredictVerb : public ::testing::Test {
 protected:
  void SetUp() override { AS2_NEED_MNIST(); }

  Finished run(const std::string& arguments) const {
    return testing::run_as2(folder_.str(), "predict " + arguments);
  }
  // The only document.
  Json answer(const std::string& arguments) const {
    const Finished finished = run(arguments + " --json");
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return Json::parse(finished.out);
  }
  static std::vector<Json> documents(const std::string& text) {
    std::vector<Json> list;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) list.push_back(Json::parse(line));
    return list;
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  // Writes the n-th test digit of this label, light on dark as in MNIST, or `times` as large and dark on
  // light.
  std::string digit(int label, int nth = 0, int times = 0) {
    const datasets::Digits& digits = test::real_mnist().mnist->test;
    std::size_t index = 0;
    for (int seen = -1; seen < nth; ++index) seen += digits.labels[index] == label ? 1 : 0;
    const std::uint8_t* pixels = digits.image(index - 1);
    const int scale = std::max(times, 1);
    formats::Image image(28 * scale, 28 * scale);
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const std::uint8_t ink = pixels[y / scale * 28 + x / scale];
        image.at(x, y) = times > 0 ? static_cast<std::uint8_t>(255 - ink) : ink;
      }
    }
    const std::string name =
        std::to_string(label) + "-" + std::to_string(nth) + "-" + std::to_string(times) + ".png";
    formats::write_png(path(name), image);
    return name;
  }

  // Every other cell of a solved Sudoku has its picture.
  static std::string name(int row, int column) {
    return "cell(" + std::to_string(row + 1) + "," + std::to_string(column + 1) + ",_)";
  }
  static int solution(int row, int column) { return (3 * (row % 3) + row / 3 + column) % 9 + 1; }
  std::string every_other_cell() {
    std::string images;
    for (int cell = 0; cell < 81; cell += 2)
      images += " --image '" + name(cell / 9, cell % 9) + "=" + digit(solution(cell / 9, cell % 9), 1) + "'";
    return images;
  }

  test::TemporaryFolder folder_;
};

TEST_F(PredictVerb, ADigitOfAnySizeAndShade) {
  int right = 0;
  for (int label = 0; label < 10; ++label) {
    const Json small = answer("--model digits --image 'digit(_)=" + digit(label) + "'");
    const Json large = answer("--model digits --image 'digit(_)=" + digit(label, 0, 5) + "'");
    EXPECT_EQ(small["beliefs"], large["beliefs"]) << "the same picture, five times as large, dark on light";
    EXPECT_EQ(small["status"], "optimal");
    EXPECT_EQ(small["observed"], Json::object());
    double sum = 0;
    for (const auto& [symbol, p] : small["beliefs"]["digit(_)"].items()) sum += p.get<double>();
    EXPECT_NEAR(sum, 1, 1e-9);
    right += small["assignment"]["digit(_)"] == std::to_string(label) ? 1 : 0;
    EXPECT_EQ(small["atoms"],
              Json::array({"digit(" + small["assignment"]["digit(_)"].get<std::string>() + ")"}));
  }
  EXPECT_GE(right, 9);
}

TEST_F(PredictVerb, TheDistributionOfASumIsThatOfItsBeliefs) {
  const Json found =
      answer("--model addition --image 'digit(1,_)=" + digit(3) + "' --image 'digit(2,_)=" + digit(5, 1) +
             "' --distribution 'total(_)' --query 'digit(1,3), not total(8)'");
  ASSERT_EQ(found["observed"].size(), 20u);
  const Json &first = found["beliefs"]["digit(1,_)"], &second = found["beliefs"]["digit(2,_)"];
  EXPECT_FALSE(found["beliefs"].contains("total(_)")) << "nobody has beliefs about it";
  std::vector<double> sums(19, 0.0);
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b < 10; ++b) {
      sums[static_cast<std::size_t>(a + b)] +=
          first[std::to_string(a)].get<double>() * second[std::to_string(b)].get<double>();
    }
  }
  for (int s = 0; s < 19; ++s) {
    EXPECT_NEAR(found["observed"]["total(" + std::to_string(s) + ")"].get<double>(),
                sums[static_cast<std::size_t>(s)], 1e-9);
  }
  EXPECT_NEAR(found["observed"]["digit(1,3), not total(8)"].get<double>(),
              first["3"].get<double>() * (1 - second["5"].get<double>()), 1e-9);
  EXPECT_EQ(found["assignment"]["total(_)"], "8");

  // What it believes is what `as2 decode` takes.
  write_file(path("beliefs.json"), found["beliefs"].dump());
  const Finished decoded = testing::run_as2(
      folder_.str(), "decode '" AS2_SOURCE_DIR "/programs/addition.lp' --beliefs beliefs.json --json");
  ASSERT_EQ(decoded.exit_code, 0) << decoded.err;
  const Json again = Json::parse(decoded.out);
  EXPECT_EQ(again["assignment"], found["assignment"]);
  EXPECT_NEAR(again["log_probability"].get<double>(), found["log_probability"].get<double>(), 1e-9);
}

TEST_F(PredictVerb, LinesDifferInWhatIsGivenAndObserved) {
  const std::string three = digit(3), five = digit(5, 1);
  std::filesystem::create_directories(path("lists"));
  const std::string a = "digit(1,_)", b = "digit(2,_)", total = "total(_)";
  const std::vector<Json> given = {
      {{"images", {{a, "../" + three}, {b, "../" + five}}}, {"observed", {{total, "8"}}}},
      {{"images", {{a, "../" + three}}},
       {"labels", {{total, 9}}},
       {"evidence", Json::array({a, total})},
       {"observed", Json::array({"not digit(2,5)"})}},
      {{"images", {{a, "../none.png"}, {b, "../" + five}}}},
      {{"images", {{a, "../" + three}}}},
      {{"images", {{a, "../" + three}, {b, "../" + five}}}, {"observed", Json::array({"sum(8)"})}}};
  std::string text = "\n";
  for (const Json& line : given) text += line.dump() + "\n";
  write_file(path("lists/some.jsonl"), text);
  const Finished finished = run("--model addition --instances lists/some.jsonl --json");
  EXPECT_EQ(finished.exit_code, 1) << "some lines are at fault";
  const auto lines = documents(finished.out);
  ASSERT_EQ(lines.size(), 5u) << finished.err;
  EXPECT_GT(lines[0]["observed"]["total(_)=8"].get<double>(), 0.9);
  EXPECT_EQ(lines[0]["observed"].size(), 1u);
  // 3 + x = 9: the second digit has no picture, and the sum, which is given, decides it.
  EXPECT_EQ(lines[1]["assignment"]["digit(2,_)"], "6");
  EXPECT_GT(lines[1]["observed"]["not digit(2,5)"].get<double>(), 0.9);
  EXPECT_THAT(
      lines[2]["error"].get<std::string>(),
      ::testing::AllOf(HasSubstr("lists/some.jsonl:4"), HasSubstr("digit(1,_)"), HasSubstr("none.png")));
  EXPECT_THAT(lines[3]["error"].get<std::string>(), HasSubstr("no picture at digit(2,_)"));
  EXPECT_THAT(lines[4]["error"].get<std::string>(), HasSubstr("no atom 'sum(8)'"));
}

// A value that is given was not read, and a label that is not given is no evidence.
TEST_F(PredictVerb, WhatIsKnownIsGivenAndNotRead) {
  Json line = {{"images", {{"digit(1,_)", digit(3)}}},
               {"labels", {{"total(_)", "9"}}},
               {"evidence", {"digit(1,_)", "total(_)"}}};
  write_file(path("known.jsonl"), line.dump());
  const Finished known = run("--model addition --instances known.jsonl");
  EXPECT_THAT(known.out, ::testing::AllOf(HasSubstr("digit(1,_) read 3 (p = "),
                                          HasSubstr("total(_) given as 9\n"), HasSubstr("digit(2,6)")));
  EXPECT_EQ(known.err, "");

  write_file(path("clue.jsonl"), R"j({"labels": {"cell(1,1,_)": "3"}})j");
  EXPECT_EQ(run("--model sudoku-blanks --instances clue.jsonl").err, "")
      << "without pictures labels are evidence";

  line.erase("evidence");
  line["images"]["digit(2,_)"] = digit(5, 1);
  write_file(path("forgotten.jsonl"), line.dump() + "\n" + line.dump());
  const Finished forgotten = run("--model addition --instances forgotten.jsonl");
  EXPECT_THAT(forgotten.out, HasSubstr("total(8)"));
  EXPECT_THAT(forgotten.err, HasSubstr("forgotten.jsonl:1: note: the label of total(_) is not used"));
  EXPECT_THAT(forgotten.err, ::testing::Not(HasSubstr("forgotten.jsonl:2"))) << "once is enough";
}

// 0 + 5 is not 0, whatever the first digit: the positions at fault are named, with a circuit or without.
TEST_F(PredictVerb, WhatContradictsTheProgramIsNamed) {
  const Json line = {{"labels", {{"digit(1,_)", 0}, {"digit(2,_)", 5}, {"total(_)", 0}}},
                     {"evidence", {"digit(1,_)", "digit(2,_)", "total(_)"}},
                     {"observed", {"digit(1,0)"}}};
  write_file(path("clash.jsonl"), line.dump() + "\n");
  for (const std::string approx : {"", " --approx top-k"}) {
    const Finished finished = run("--model addition --instances clash.jsonl --json" + approx);
    EXPECT_EQ(finished.exit_code, 1);
    EXPECT_THAT(finished.err, HasSubstr("P(program) = 0: no answer set agrees with the zeros in the beliefs "
                                        "of total(_), digit(2,_)\nnote: this set is minimal: "))
        << approx;
  }
}

TEST_F(PredictVerb, ManyExamplesAsOneByOneOnAnyNumberOfThreads) {
  std::string list, ones;
  for (int n = 0; n < 40; ++n) {
    const std::string line =
        Json{{"images", {{"digit(1,_)", digit(n % 10, n / 10)}, {"digit(2,_)", digit(n * 7 % 10, n / 10)}}},
             {"observed", {{"total(_)", n % 10 + n * 7 % 10}}}}
            .dump() +
        "\n";
    list += line;
    if (n % 13 == 0) {
      write_file(path("one.jsonl"), line);
      ones += run("--model addition-n2-sum-only --instances one.jsonl --json").out;
    }
  }
  write_file(path("many.jsonl"), list);
  const Finished many = run("--model addition-n2-sum-only --instances many.jsonl --json");
  ASSERT_EQ(many.exit_code, 0) << many.err;
  const auto lines = documents(many.out), alone = documents(ones);
  ASSERT_EQ(lines.size(), 40u);
  int right = 0;
  for (int n = 0; n < 40; ++n) {
    const Json& line = lines[static_cast<std::size_t>(n)];
    if (n % 13 == 0) {
      EXPECT_EQ(line, alone[static_cast<std::size_t>(n / 13)]);
    }
    right += line["assignment"]["total(_)"] == std::to_string(n % 10 + n * 7 % 10) ? 1 : 0;
    EXPECT_EQ(line["observed"].size(), 1u);
  }
  EXPECT_GE(right, 38);
  EXPECT_EQ(run("--model addition-n2-sum-only --instances many.jsonl --json --threads 1 --memory 4").out,
            many.out);
  const std::string through = "< many.jsonl --model addition-n2-sum-only --instances - --json";
  EXPECT_EQ(run(through).out, many.out);
}

TEST_F(PredictVerb, ASudokuByItsCells) {
  const std::string images = every_other_cell();
  const Json board = answer("--model sudoku" + images);
  EXPECT_EQ(board["beliefs"].size(), 41u);
  EXPECT_EQ(board["reasoned"].size(), 40u) << "what the reasoner makes of the rest";
  for (int cell = 0; cell < 81; ++cell) {
    EXPECT_EQ(board["assignment"][name(cell / 9, cell % 9)], std::to_string(solution(cell / 9, cell % 9)));
  }
  const Json asked =
      answer("--model sudoku" + images + " --query 'cell(1,1,1)' --approx top-k --approx-size 5");
  EXPECT_GT(asked["observed"]["cell(1,1,1)"].get<double>(), 0.9);
  EXPECT_GT(asked["bound"].get<double>(), 0);
  const Finished large = run("--model sudoku" + images + " --query 'cell(1,1,1)' --time-budget 0.5");
  EXPECT_EQ(large.exit_code, 1);
  EXPECT_THAT(large.err, HasSubstr("--approx top-k"));
}

// Blank paper, and what a scanner makes of it. A picture without ink is no picture.
TEST_F(PredictVerb, APictureWithoutInkIsNoEvidence) {
  formats::write_png(path("white.png"), formats::Image(40, 40, 255));
  formats::Image grey(28, 28, 0);
  for (std::size_t k = 0; k < grey.pixels.size(); ++k) grey.pixels[k] = static_cast<std::uint8_t>(k % 30);
  formats::write_png(path("grey.png"), grey);
  const std::string one = digit(1), clues = every_other_cell();
  const Json without = answer("--model sudoku" + clues);
  EXPECT_EQ(without["blank"], Json::array());
  for (const std::string blank : {"white.png", "grey.png"}) {
    const std::string cell = " --image 'cell(1,2,_)=" + blank + "'";
    const Json board = answer("--model sudoku" + clues + cell);
    EXPECT_EQ(board["blank"], Json::array({"cell(1,2,_)"}));
    EXPECT_EQ(board["beliefs"], without["beliefs"]);
    EXPECT_EQ(board["assignment"], without["assignment"]);
    EXPECT_THAT(run("--model sudoku" + clues + cell).out, HasSubstr("cell(1,2,_) has no ink: no evidence"));
    const std::string pair =
        "--model addition --image 'digit(1,_)=" + one + "' --image 'digit(2,_)=" + blank + "'";
    const Finished refused = run(pair);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, ::testing::AllOf(HasSubstr("digit(2,_) has no ink"), HasSubstr("--partial")));
    EXPECT_EQ(answer(pair + " --partial")["blank"], Json::array({"digit(2,_)"}));
    const Finished nothing = run("--model sudoku" + cell);
    EXPECT_EQ(nothing.exit_code, 1);
    EXPECT_THAT(nothing.err, HasSubstr("no picture of the example has ink"));
    // What a line calls evidence is looked at, as it is with `given` in Python.
    write_file(path("one.jsonl"),
               Json{{"images", {{"digit(_)", blank}}}, {"evidence", {"digit(_)"}}}.dump() + "\n");
    EXPECT_EQ(answer("--model digits --instances one.jsonl")["beliefs"].size(), 1u);
  }
}

TEST_F(PredictVerb, TextNamesTheLine) {
  const Json line = {{"images", {{"digit(_)", digit(7)}}}};
  write_file(path("two.jsonl"), line.dump() + "\n\n" + line.dump() + "\n");
  const Finished finished = run("--model digits --instances two.jsonl");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out,
              ::testing::AllOf(HasSubstr("two.jsonl:1: optimal"), HasSubstr("two.jsonl:3: optimal")));
  const std::string asked =
      run("--model digits --image 'digit(_)=" + digit(7) + "' --query 'not digit(12)' --query 'digit(7)'")
          .out;
  EXPECT_THAT(asked, HasSubstr("P(not digit(12)) = 1\n"));
  EXPECT_THAT(asked, ::testing::Not(::testing::ContainsRegex("0\\.[0-9]{13}")))
      << "that many tell people nothing";
}

TEST_F(PredictVerb, ABudgetLeavesAnHonestGap) {
  // Any board with the one clue is as probable as can be, whatever the budget leaves undone.
  const Json one = answer("--model sudoku --node-budget 2000 --image 'cell(1,1,_)=" + digit(7) + "'");
  EXPECT_EQ(one["status"], "optimal");
  EXPECT_FALSE(one.contains("gap"));
  // The same digit twice in a row has to be put right.
  const std::string clues = every_other_cell() + " --image 'cell(1,2,_)=" + digit(solution(0, 0), 1) + "'";
  const double best = answer("--model sudoku" + clues)["log_probability"];
  for (const std::string budget : {"1", "10", "100"}) {
    const Json found = answer("--model sudoku --node-budget " + budget + clues);
    if (found["log_probability"].is_null()) continue;
    EXPECT_GE(found["log_probability"].get<double>() + found.value("gap", 0.0), best - 1e-9) << budget;
  }
}

// A card without a compiled program has its program ground.
TEST_F(PredictVerb, GroundingHasLimits) {
  const std::string shipped = AS2_SOURCE_DIR "/models/digits-best";
  Json card = Json::parse(read_file(shipped + ".json"));
  card["program"]["compiled"] = "";
  write_file(path("own.json"), card.dump());
  write_file(path("own.safetensors"), read_file(shipped + ".safetensors"));
  const std::string example = "--model own.safetensors --image 'digit(_)=" + digit(3) + "'";
  EXPECT_EQ(answer(example)["assignment"]["digit(_)"], "3");
  const Finished finished = run(example + " --grounding-size 5");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("together more than 5"));
}

// One circuit for all that the lines observe would be far larger than each line's own.
TEST_F(PredictVerb, ALineIsAnsweredWhateverTheOthersObserve) {
  const std::string shipped = AS2_SOURCE_DIR "/models/digits-best";
  Json card = Json::parse(read_file(shipped + ".json"));
  card["program"]["file"] = path("sums.lp");
  card["pictures"]["positions"] = Json::array({"digit(*"});
  card["program"]["compiled"] = "";
  write_file(path("mine.json"), card.dump());
  write_file(path("mine.safetensors"), read_file(shipped + ".safetensors"));
  write_file(path("sums.lp"),
             "{ digit(D) : D = 0..9 } = 1.\n{ b(1..16) }.\n"
             "half(K) :- K = 1..6, #sum { (I*I*K*7 + I*K*3 + 5) \\ 31, I : b(I) } >= 120.\n");
  const auto line = [&](const Json& observed) {
    return Json{{"images", {{"digit(_)", digit(3)}}}, {"observed", observed}}.dump() + "\n";
  };
  std::vector<std::string> lines;
  for (int k = 1; k <= 6; ++k) lines.push_back(line({"half(" + std::to_string(k) + ")"}));
  lines.insert(lines.begin() + 3, line({"half(1)", "half(2)", "half(3)", "half(4)", "half(5)", "half(6)"}));
  const std::string run_on = "--model mine.safetensors --memory-budget 1 --json --instances ";
  std::string forwards, backwards;
  for (const std::string& text : lines) forwards += text, backwards = text + backwards;
  write_file(path("forwards.jsonl"), forwards);
  write_file(path("backwards.jsonl"), backwards);
  const Finished first = run(run_on + "forwards.jsonl"), last = run(run_on + "backwards.jsonl");
  EXPECT_EQ(first.exit_code, 1);
  EXPECT_EQ(last.exit_code, 1);
  const auto there = documents(first.out), back = documents(last.out);
  ASSERT_EQ(there.size(), lines.size()) << first.err;
  ASSERT_EQ(back.size(), lines.size()) << last.err;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const Json& again = back[lines.size() - 1 - n];
    if (n == 3) {
      EXPECT_THAT(there[n]["error"].get<std::string>(), HasSubstr("the circuit does not fit its budget"));
      EXPECT_TRUE(again.contains("error"));
      continue;
    }
    ASSERT_TRUE(there[n].contains("observed")) << there[n];
    const auto [atom, p] = *there[n]["observed"].items().begin();
    EXPECT_GT(p.get<double>(), 0.01);
    EXPECT_NEAR(again["observed"][atom].get<double>(), p.get<double>(), 1e-12);
    write_file(path("alone.jsonl"), lines[n]);
    EXPECT_NEAR(answer(run_on + "alone.jsonl")["observed"][atom].get<double>(), p.get<double>(), 1e-12);
  }
}

// Of what #show hides nothing is known, also not that it cannot hold.
TEST_F(PredictVerb, AHiddenAtomIsRefused) {
  const std::string shipped = AS2_SOURCE_DIR "/models/digits-best";
  Json card = Json::parse(read_file(shipped + ".json"));
  card["program"]["file"] = path("odd.lp");
  card["program"]["compiled"] = "";
  write_file(path("mine.json"), card.dump());
  write_file(path("mine.safetensors"), read_file(shipped + ".safetensors"));
  const std::string text = "{ digit(D) : D = 0..9 } = 1.\nodd :- digit(D), D \\ 2 = 1.\n";
  const std::string asked = "--model mine.safetensors --image 'digit(_)=" + digit(3) + "' --query ";
  write_file(path("odd.lp"), text);
  EXPECT_GT(answer(asked + "odd")["observed"]["odd"].get<double>(), 0.9);
  write_file(path("odd.lp"), text + ":~ odd. [1]\n");
  EXPECT_THAT(run(asked + "odd").out, HasSubstr(", cost [1]\n"));
  write_file(path("odd.lp"), text + "#show digit/1.\n");
  const Finished hidden = run(asked + "'digit(3), not odd'");
  EXPECT_EQ(hidden.exit_code, 1) << hidden.out;
  EXPECT_THAT(hidden.err, HasSubstr("'odd' is hidden by #show"));
  EXPECT_EQ(answer(asked + "even")["observed"]["even"], 0.0);
}

TEST_F(PredictVerb, BothEnginesAgree) {
  const std::string pictures = " --image 'digit(1,_)=" + digit(4) + "' --image 'digit(2,_)=" + digit(9) + "'";
  const Json native = answer("--model addition" + pictures);
  const Finished torch = run("--model addition --engine torch --json" + pictures);
  if (torch.err.find("this build has no LibTorch") != std::string::npos) GTEST_SKIP() << torch.err;
  ASSERT_EQ(torch.exit_code, 0) << torch.err;
  const Json other = Json::parse(torch.out);
  EXPECT_EQ(other["assignment"], native["assignment"]);
  for (const auto& [position, row] : native["beliefs"].items()) {
    for (const auto& [symbol, p] : row.items())
      EXPECT_NEAR(other["beliefs"][position][symbol].get<double>(), p.get<double>(), 1e-4);
  }
}

TEST_F(PredictVerb, MistakesInUse) {
  const std::string three = digit(3);
  const auto refused = [&](const std::string& arguments, int code, const std::string& message) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, code) << arguments;
    EXPECT_THAT(finished.err, HasSubstr(message)) << arguments;
  };
  refused("--image 'digit(_)=" + three + "'", 2, "--model");
  refused("--model digits", 2, "give pictures");
  refused("--model digits --image " + three, 2, "expected POSITION=FILE");
  refused("--model digits --image 'digit(_)=none.png'", 1, "none.png");
  refused("--model digits --image 'digt(_)=" + three + "'", 1, "no position 'digt(_)'");
  refused("--model addition --image 'total(_)=" + three + "'", 1, "'total(_)' is not perceived");
  refused("--model addition --image 'digit(1,_)=" + three + "'", 1, "no picture at digit(2,_)");
  refused("--model digits --image 'digit(_)=" + three + "' --image 'digit(_)=" + three + "'", 1,
          "two pictures");
  refused("--model digits --image 'digit(_)=" + three + "' --query 'digit('", 1, "digit(");
  refused("--model digits --image 'digit(_)=" + three + "' --distribution 'dig(_)'", 1,
          "no atom of the program matches");
  refused("--model digits --image 'digit(_)=" + three + "' --query 'digit(_)'", 1, "--distribution");
  refused("--model digits --image 'digit(_)=" + three + "' --approx-size 3", 2,
          "--approx-size needs --approx");
  refused("--model nothing --image 'digit(_)=" + three + "'", 1,
          "there is no file or folder 'nothing', and no model of that name");
  refused("--model '" + folder_.str() + "' --image 'digit(_)=" + three + "'", 1, "model.safetensors");
  write_file(path("broken.png"), "no picture");
  refused("--model digits --image 'digit(_)=broken.png'", 1, "broken.png");
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"{", "not JSON"},
      {"[]", "expected an object"},
      {R"j({"image": {}})j", "an example has no 'image'"},
      {R"j({"images": []})j", "expected an object of positions"},
      {R"j({"images": {"digit(_)": 3}})j", "expected a file"},
      {R"j({"images": {"digit(_)": "a.png", "digit(_)": "b.png"}})j",
       "'digit(_)' of 'images' is given twice"},
      {R"j({"images": {}})j", "no picture"},
      {R"j({"labels": {"digit(_)": "x"}})j", "no symbol 'x'"},
      {R"j({"evidence": ["digit(_)"]})j", "neither a picture nor a label"},
      {R"j({"images": {"digit(_)": "a.png"}, "evidence": []})j", "has a picture but is not evidence"},
      {R"j({"images": {"digit(_)": "a.png"}, "observed": 7})j", "expected atoms"},
      {R"j({"images": {"digit(_)": "a.png"}, "observed": {"digit": "7"}})j", "expected true or false"}};
  for (const auto& [line, message] : bad) {
    write_file(path("bad.jsonl"), "\n" + line + "\n");
    refused("--model digits --instances bad.jsonl", 1, message);
    EXPECT_THAT(run("--model digits --instances bad.jsonl").err, HasSubstr("bad.jsonl:2")) << line;
  }
  const Finished unknown = run("--model digits --image 'digit(_)=" + three + "' --query 'digit(12)' --json");
  EXPECT_EQ(unknown.exit_code, 0);
  EXPECT_THAT(unknown.err, HasSubstr("'digit(12)' can never hold"));
  EXPECT_EQ(Json::parse(unknown.out)["observed"]["digit(12)"], 0.0);
}

}  // namespace
}  // namespace as2::cli
