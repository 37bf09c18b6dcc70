// Cards: written, read back, and refused where a field is missing, of the wrong type or absurd.
#include "infer/card.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "as2/compile.h"
#include "as2/resources.h"
#include "files.h"
#include "support/temporary_folder.h"

namespace as2::infer {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

const char* const kProgram = "{ at(P,S) : S=1..2 } = 1 :- P=1..2.\n:- at(1,S), at(2,S). % different\n";

class CardFile : public ::testing::Test {
 protected:
  void SetUp() override {
    program_ = std::make_shared<compile::ConstraintProgram>(compile::compile_text(kProgram).program);
    weights_ = folder_ / "m.safetensors";
    write_file(weights_, "weights");
    Card card;
    card.weights = weights_;
    card.task = "pair";
    card.preset = "best";
    card.program = {folder_.put("pair.lp", kProgram), "", {{"n", "2"}}};
    card.shape = ProgramShape::of(*program_);
    card.pictures = {{"at(*"}, {"1", "2"}};
    card.network.perception = PerceptionOptions::paper(2);
    card.network.kind = ReasonerKind::kSoftTp;
    card.about["seed"] = 3;
    write_card(card);
    whole_ = json::parse(read_file(card_path(weights_)));
  }

  // What reading says once `change` has been made to the card.
  std::string refusal(const std::function<void(json&)>& change) const {
    json card = whole_;
    change(card);
    write_file(card_path(weights_), card.dump());
    try {
      read_card(weights_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }

  test::TemporaryFolder folder_;
  std::filesystem::path weights_;
  std::shared_ptr<const compile::ConstraintProgram> program_;
  json whole_;
};

TEST_F(CardFile, ComesBackAsItWasWritten) {
  const Card card = read_card(weights_);
  EXPECT_EQ(card.task, "pair");
  EXPECT_EQ(card.program.file, folder_ / "pair.lp");
  EXPECT_EQ(card.program.constants, (Constants{{"n", "2"}}));
  EXPECT_EQ(card.shape.positions, (std::vector<std::string>{"at(1,_)", "at(2,_)"}));
  EXPECT_EQ(card.shape.families, std::vector<std::string>{"different"});
  EXPECT_TRUE(card.shape.groups.at(0).all_different);
  EXPECT_EQ(card.pictures.classes, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(to_json(card.network), whole_["model"]);
  EXPECT_EQ(card.about, json({{"seed", 3}}));
  EXPECT_EQ(load_program(card.program)->hash, card.shape.hash);
  EXPECT_NO_THROW(check_weights(card, read_file(card.weights)));
  EXPECT_NO_THROW(check_program(card, *program_));
}

TEST_F(CardFile, MayNameOtherSizesThanItsProgramHas) {
  EXPECT_EQ(read_card(weights_).trained_sizes().list(), (std::vector<int>{2, 2}));
  EXPECT_EQ(refusal([](json& card) { card["model"]["reasoner"]["sizes"] = {9, 7}; }), "accepted");
  EXPECT_EQ(read_card(weights_).trained_sizes().list(), (std::vector<int>{9, 7}));
  EXPECT_THAT(
      refusal([](json& card) { card["model"]["reasoner"]["sizes"] = {9}; }),
      HasSubstr("m.json: error: the field 'model.reasoner.sizes' has 1 entries, expected the number of "
                "symbols and a group size for each of the program's 1 families"));
  EXPECT_THAT(refusal([](json& card) {
                card["model"]["reasoner"]["sizes"] = {9, -1};
              }),
              HasSubstr("'model.reasoner.sizes' is -1"));
}

TEST(ShippedCards, KnowTheSizesTheyWereTrainedOn) {
  const auto sizes = [](const char* model) {
    return read_card(shipped_file(std::string("models/") + model + ".safetensors")).trained_sizes();
  };
  EXPECT_EQ(sizes("sudoku-best").symbols, 9);
  EXPECT_EQ(sizes("sudoku-best").groups, (std::vector<int>{9, 9, 9}));
  EXPECT_EQ(sizes("addition-n2-best").symbols, 0) << "digits and sums";
  for (const int size : sizes("addition-n2-best").groups) EXPECT_EQ(size, 0);
}

// One of the atoms holds, and weighs what it weighed in training.
TEST(PoolWeights, OfASetOfAnotherSizeAreThoseOfTraining) {
  EXPECT_TRUE(pool_weights(9, 9).plain());
  EXPECT_TRUE(pool_weights(0, 16).plain());
  EXPECT_TRUE(pool_weights(9, 1).plain());
  for (const int size : {2, 4, 16}) {
    const PoolWeights weights = pool_weights(9, size);
    const float holds = weights.other + weights.own,
                all = holds + static_cast<float>(size - 1) * weights.other;
    EXPECT_NEAR(holds / all, 1. / 9, 1e-6);
    EXPECT_NEAR(all, 1, 1e-6);
  }
}

TEST_F(CardFile, EveryFieldIsChecked) {
  EXPECT_EQ(refusal([](json&) {}), "accepted");
  for (const char* field : {"version", "task", "preset", "weights", "program", "pictures", "model"}) {
    EXPECT_THAT(refusal([&](json& card) { card.erase(field); }),
                AllOf(HasSubstr("m.json: error: "), HasSubstr(std::string("'") + field + "' is missing")));
    EXPECT_NE(refusal([&](json& card) { card[field] = 7.5; }), "accepted") << field;
  }
  for (const char* field :
       {"file", "compiled", "constants", "hash", "symbols", "families", "positions", "domains", "groups"}) {
    const std::string name = std::string("'program.") + field + "'";
    EXPECT_THAT(refusal([&](json& card) { card["program"].erase(field); }), HasSubstr(name)) << field;
    EXPECT_THAT(refusal([&](json& card) { card["program"][field] = {{"x", 1}}; }), HasSubstr(name)) << field;
  }
  EXPECT_THAT(refusal([](json& card) {
                card["program"]["groups"][0]["positions"] = {0, 2};
              }),
              HasSubstr("'program.groups.positions' is 2, expected whole numbers from 0 to 1"));
  EXPECT_THAT(refusal([](json& card) { card["program"]["domains"] = {2}; }), HasSubstr("'program.domains'"));
  EXPECT_THAT(refusal([](json& card) { card["program"]["constants"] = {"n"}; }), HasSubstr("constant 'n'"));
  EXPECT_THAT(refusal([](json& card) { card["pictures"]["classes"] = {"1"}; }),
              HasSubstr("'pictures.classes'"));
  EXPECT_THAT(refusal([](json& card) { card["pictures"]["preprocessing"]["width"] = 32; }),
              HasSubstr("'pictures.preprocessing'"));
  EXPECT_THAT(refusal([](json& card) { card["weights"]["sha256"] = "f00"; }), HasSubstr("'weights.sha256'"));
  EXPECT_THAT(
      refusal([](json& card) { card["model"]["reasoner"]["d_ff"] = 1000000000; }),
      AllOf(HasSubstr("m.json: error: "), HasSubstr("'model.reasoner.d_ff' is 1000000000, expected")));
  EXPECT_THAT(refusal([](json& card) {
                card["model"]["perception"]["channels"] = {32, 64, -1};
              }),
              HasSubstr("'model.perception.channels' is -1"));
  EXPECT_THAT(refusal([](json& card) { card["model"]["reasoner"]["d_ff"] = 1.6e20; }),
              HasSubstr("'model.reasoner.d_ff' is 1.6e+20, expected a whole number"));
  EXPECT_THAT(refusal([](json& card) { card["model"]["perception"]["dropout"] = true; }),
              HasSubstr("'model.perception.dropout' is true, which has the wrong type"));
  EXPECT_THAT(refusal([](json& card) {
                card["model"]["perception"]["channels"] = {32, 64};
              }),
              HasSubstr("'model.perception.channels' is [32,64], which has the wrong type"));
  EXPECT_THAT(refusal([](json& card) { card["version"] = 1; }), HasSubstr("a model card of version 1"));
  EXPECT_THAT(refusal([](json& card) {
                card["data"] = {{"source", 7}};
              }),
              HasSubstr("the field 'data.source' is 7"));
}

TEST_F(CardFile, DeepJsonIsRefused) {
  std::string text = whole_.dump();
  constexpr std::size_t kDepth = 1'000'000;
  text.insert(1, "\"deep\": " + std::string(kDepth, '[') + std::string(kDepth, ']') + ",");
  write_file(card_path(weights_), text);
  try {
    read_card(weights_);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("m.json:1: error: JSON with more than 500 lists and objects"));
  }
}

// A process that ends between writing the weights and writing their card leaves such a pair.
TEST_F(CardFile, NoticesAHalfReplacedPairAndSaysWhichFileToTakeBack) {
  using namespace std::chrono_literals;
  const Card card = read_card(weights_);
  write_file(weights_, "Weights");
  const auto message = [&] {
    try {
      check_weights(card, read_file(card.weights));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto card_time = std::filesystem::last_write_time(card_path(weights_));
  std::filesystem::last_write_time(weights_, card_time + 1s);
  EXPECT_THAT(message(), AllOf(HasSubstr("m.safetensors: error: damaged, or exchanged"),
                               HasSubstr("m.json says " + card.sha256),
                               HasSubstr("take back the weights that the card was written for")));
  std::filesystem::last_write_time(weights_, card_time - 1s);
  EXPECT_THAT(message(), HasSubstr("take back the card and the weights together"));
}

TEST_F(CardFile, OnlyWhatWeightsDoNotDependOnChangesAfterTraining) {
  const auto nowhere = [](const std::string&) { return SourceLocation{}; };
  const Card card = read_card(weights_);
  const auto changed = [&](const json& changes) { return changed_options(card.network, changes, nowhere); };
  EXPECT_EQ(changed({{"reasoner", {{"eval_passes", 256}}}}).soft_tp.eval_passes, 256);
  EXPECT_EQ(changed(json::object()).soft_tp.eval_passes, card.network.soft_tp.eval_passes);
  EXPECT_THROW(changed({{"reasoner", {{"passes", 20}}}}), InputError);
  EXPECT_THROW(changed({{"perception", {{"width", 2}}}}), InputError);
  EXPECT_THROW(changed({{"reasoner", {{"eval_passes", -1}}}}), InputError);
}

TEST(ShippedCards, AreReadAndTheirWeightsAreTheirs) {
  std::set<std::string> models;
  for (const auto& file : std::filesystem::directory_iterator(data_dir() / "models")) {
    SCOPED_TRACE(file.path());
    models.insert(file.path().stem().string());
    const std::filesystem::path weights =
        std::filesystem::path(file.path()).replace_extension(".safetensors");
    const Card card = read_card(weights);
    EXPECT_NO_THROW(check_weights(card, read_file(card.weights)));
    EXPECT_EQ(load_program(card.program)->hash, card.shape.hash);
    EXPECT_TRUE(std::filesystem::exists(settings_path(weights)));
    const std::vector<std::filesystem::path> of_task = shipped_models(card.task);
    EXPECT_EQ(std::count(of_task.begin(), of_task.end(), weights), 1);
  }
  EXPECT_GE(models.size(), 9U);
  for (const char* task : {"sudoku", "addition", "digits"})
    EXPECT_EQ(default_model(task).extension(), ".safetensors");
}

}  // namespace
}  // namespace as2::infer
