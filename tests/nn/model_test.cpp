#include "nn/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "files.h"
#include "formats/sha256.h"
#include "nn/inputs.h"
#include "nn/twin.h"
#include "support/temporary_folder.h"

namespace as2::nn {
namespace {

using nlohmann::json;
using testing::addition;
using testing::difference;
using ::testing::HasSubstr;
using testing::random_input;
using testing::sudoku;

ModelOptions tiny(ReasonerKind kind) {
  ModelOptions options;
  options.perception = PerceptionOptions::paper(4);
  options.perception->width = 0.125;
  options.kind = kind;
  options.soft_tp.width = 16;
  options.soft_tp.heads = 2;
  options.soft_tp.d_ff = 32;
  options.soft_tp.passes = options.soft_tp.eval_passes = 3;
  options.transformer.layers = 1;
  options.transformer.heads = 2;
  options.transformer.d_model = 16;
  options.transformer.d_ff = 32;
  options.relational.width = 8;
  options.relational.passes = options.relational.eval_passes = 3;
  options.satnet.clauses = 20;
  options.satnet.auxiliary = 5;
  return options;
}

class ModelFile : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(1); }

  std::string message_of_loading(const compile::ConstraintProgram& program) const {
    try {
      load_model(infer::read_card(path_), program);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  void rewrite_card(const std::function<void(json&)>& change) const {
    auto card = json::parse(std::ifstream(infer::card_path(path_)));
    change(card);
    std::ofstream(infer::card_path(path_)) << card;
  }

  void save(const Model& model, const compile::ConstraintProgram& program,
            const SaveOptions& options = {}) const {
    infer::Card card;
    card.weights = path_;
    card.task = "tiny";
    card.pictures = {{"*"}, {"1", "2", "3", "4"}};
    card.about = {{"seed", 7}};
    save_model(card, model, program, options);
  }
  std::shared_ptr<Model> load(const compile::ConstraintProgram& program) const {
    return load_model(infer::read_card(path_), program);
  }

  const test::TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "model.safetensors";
};

TEST_F(ModelFile, RoundTripGivesTheSameOutputs) {
  const auto program = sudoku(2);
  const auto input = random_input(program, 2, 2);
  const auto images = torch::rand({3, 28, 28});
  for (const auto kind : {ReasonerKind::kNone, ReasonerKind::kTransformer, ReasonerKind::kSoftTp,
                          ReasonerKind::kRelational, ReasonerKind::kSatNet}) {
    Model model(tiny(kind), program);
    model.eval();
    model.perception->named_buffers()["temperature"].fill_(1.5);
    save(model, program);
    const auto loaded = load(program);
    EXPECT_FALSE(loaded->is_training());
    EXPECT_EQ(infer::to_json(loaded->options()), infer::to_json(model.options()));
    EXPECT_EQ(
        difference(loaded->perception->forward(images).logits, model.perception->forward(images).logits), 0);
    EXPECT_EQ(loaded->perception->named_buffers()["temperature"].item<float>(), 1.5f);
    if (kind != ReasonerKind::kNone) {
      EXPECT_EQ(
          difference(loaded->reasoner->forward(input).logits[0], model.reasoner->forward(input).logits[0]),
          0);
    }
    EXPECT_EQ(infer::read_card(path_).about["seed"], 7);
  }
}

// Reads the file by the format's specification, without our reader.
TEST_F(ModelFile, IsPlainSafetensors) {
  const auto program = sudoku(2);
  const Model model(tiny(ReasonerKind::kSoftTp), program);
  save(model, program);
  std::ifstream in(path_, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  const auto header = json::parse(bytes.substr(8, length));
  std::size_t seen = 0;
  for (const auto& item : model.named_parameters()) {
    const auto& entry = header.at(item.key());
    EXPECT_EQ(entry["dtype"], "F32");
    EXPECT_EQ(entry["shape"].get<std::vector<std::int64_t>>(), item.value().sizes().vec());
    const std::size_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    ASSERT_EQ(end - begin, item.value().numel() * sizeof(float));
    EXPECT_EQ(std::memcmp(bytes.data() + 8 + length + begin, item.value().data_ptr(), end - begin), 0);
    ++seen;
  }
  EXPECT_EQ(header.size(), seen + 2);  // and the temperature and __metadata__
}

TEST_F(ModelFile, BfloatHalvesTheFile) {
  const auto program = sudoku(2);
  Model model(tiny(ReasonerKind::kSoftTp), program);
  model.eval();
  save(model, program);
  const auto whole = std::filesystem::file_size(path_);
  save(model, program, {true});
  EXPECT_LT(static_cast<double>(std::filesystem::file_size(path_)), 0.6 * static_cast<double>(whole));
  const auto input = random_input(program, 2, 3);
  const auto loaded = load(program);
  EXPECT_EQ(loaded->parameters()[0].scalar_type(), torch::kFloat32);
  const auto change =
      difference(loaded->reasoner->forward(input).logits[0], model.reasoner->forward(input).logits[0]);
  EXPECT_GT(change, 0);
  EXPECT_LT(change, 0.1);
}

TEST_F(ModelFile, WeightsOfOneSizeLoadOnAnother) {
  save(Model(tiny(ReasonerKind::kSoftTp), sudoku(2)), sudoku(2));
  const auto program = sudoku(3);
  const auto logits = load(program)->reasoner->forward(random_input(program, 1, 4)).logits[0];
  EXPECT_EQ(logits.size(1), 81);
}

TEST_F(ModelFile, RefusesAModelForAnotherProgram) {
  save(Model(tiny(ReasonerKind::kSoftTp), sudoku(2)), sudoku(2));
  EXPECT_THAT(message_of_loading(addition(2)),
              ::testing::AllOf(HasSubstr("model.safetensors: error: a model for another program"),
                               HasSubstr("rows, columns, boxes"), HasSubstr("note: ")));
  save(Model(tiny(ReasonerKind::kTransformer), sudoku(2)), sudoku(2));
  EXPECT_THAT(message_of_loading(sudoku(3)), HasSubstr("a model for another program"));
}

TEST_F(ModelFile, RefusesDamagedFiles) {
  const auto program = sudoku(2);
  const Model model(tiny(ReasonerKind::kSoftTp), program);
  save(model, program);
  rewrite_card([](json& card) { card["model"]["reasoner"]["width"] = 32; });
  EXPECT_THAT(message_of_loading(program),
              ::testing::AllOf(HasSubstr("has shape [3, 16, 32]"), HasSubstr("expected [3, 32, 64]")));
  rewrite_card([](json& card) { card["model"]["reasoner"]["widht"] = 16; });
  EXPECT_THAT(message_of_loading(program), HasSubstr("'model.reasoner.widht' is no field"));
  rewrite_card([](json& card) {
    card["model"]["reasoner"].erase("widht");
    card["model"]["reasoner"]["width"] = "wide";
  });
  EXPECT_THAT(message_of_loading(program), HasSubstr("'model.reasoner.width' is \"wide\""));
  rewrite_card([](json& card) { card["model"]["reasoner"]["mixing"] = "stir"; });
  EXPECT_NE(message_of_loading(program), "");
  rewrite_card([](json& card) { card["version"] = 99; });
  EXPECT_THAT(message_of_loading(program), HasSubstr("version 99"));

  save(model, program);
  rewrite_card([](json& card) { card["model"]["reasoner"]["mixing"] = "pooling"; });
  EXPECT_THAT(message_of_loading(program), HasSubstr("has no place"));

  auto file = formats::read_safetensors(path_);
  const auto first = file.tensors.front().name;
  file.tensors.erase(file.tensors.begin());
  save(model, program);
  formats::write_safetensors(path_, file);
  EXPECT_THAT(message_of_loading(program),
              ::testing::AllOf(HasSubstr("model.safetensors: error: damaged, or exchanged for other weights"),
                               HasSubstr("its card " + infer::card_path(path_).string())));
  rewrite_card([&](json& card) { card["weights"]["sha256"] = formats::sha256(read_file(path_)); });
  EXPECT_THAT(message_of_loading(program), HasSubstr("the tensor '" + first + "' is missing"));

  save(model, program);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 5);
  EXPECT_THAT(message_of_loading(program), HasSubstr("model.safetensors"));
  std::filesystem::remove(infer::card_path(path_));
  EXPECT_NE(message_of_loading(program), "");
}

TEST_F(ModelFile, PyTorchTwinAgrees) {
  if (!testing::has_pytorch()) GTEST_SKIP() << "no PyTorch for python3";
  const auto program = sudoku(2);
  torch::NoGradGuard no_grad;
  const auto check = [&](const ModelOptions& options) {
    Model model(options, program);
    // Soft T_P's gives every pass's logits in training only, the Transformer restores evidence in evaluation.
    model.train(options.kind == ReasonerKind::kSoftTp);
    save(model, program);
    const auto input = random_input(program, 3, 5);
    const auto images = torch::rand({3, 28, 28});
    testing::expect_twin_agrees(
        path_, folder_.path(),
        {pack("beliefs", input.beliefs), pack("evidence", input.evidence), pack("images", images),
         pack("logits", torch::stack(model.reasoner->forward(input).logits)),
         pack("image_logits", model.perception->forward(images).logits)});
  };
  check(tiny(ReasonerKind::kTransformer));
  auto options = tiny(ReasonerKind::kSoftTp);
  for (const Mixing mixing : {Mixing::kAttention, Mixing::kPooling, Mixing::kBoth}) {
    options.soft_tp.mixing = mixing;
    check(options);
  }
}

TEST(ModelOptionsJson, RoundTripAndDefaults) {
  const auto nowhere = [](const std::string&) { return SourceLocation{}; };
  auto options = tiny(ReasonerKind::kTransformer);
  options.transformer.placement = Placement::kRelation;
  EXPECT_EQ(infer::to_json(infer::model_options(infer::to_json(options), nowhere)), infer::to_json(options));
  const auto defaults = infer::model_options(
      json::parse(R"({"reasoner": {"kind": "soft-tp", "mixing": "attention"}})"), nowhere);
  EXPECT_FALSE(defaults.perception);
  EXPECT_EQ(defaults.soft_tp.width, 96);
  EXPECT_EQ(defaults.soft_tp.mixing, Mixing::kAttention);
}

}  // namespace
}  // namespace as2::nn
