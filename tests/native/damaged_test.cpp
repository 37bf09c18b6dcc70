// Weights and cards that are truncated, damaged or meant for something else: an InputError each, whatever the
// bytes, and nothing read that is not there (AddressSanitizer and UBSan watch in the preset `asan`).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "as2/error.h"
#include "as2/resources.h"
#include "files.h"
#include "formats/sha256.h"
#include "infer/program.h"
#include "native/networks.h"
#include "native/weights.h"
#include "random.h"
#include "support/temporary_folder.h"

namespace as2::native {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A copy of shipped weights and their card that may be damaged.
class Damaged : public ::testing::Test {
 protected:
  void copy(const std::string& model) {
    const fs::path shipped = shipped_file("models/" + model + ".safetensors");
    card_ = json::parse(read_file(infer::card_path(shipped)));
    bytes_ = read_file(shipped);
  }

  // Opens what card_ and bytes_ say; the checksum is made to fit unless it is what was damaged.
  std::unique_ptr<Networks> opened(bool checksum_fits = true, const std::string& program = "") {
    if (checksum_fits) card_["weights"]["sha256"] = formats::sha256(bytes_);
    const std::string weights = folder_.put("copy.safetensors", bytes_);
    folder_.put("copy.json", card_.dump());
    const infer::Card card = infer::read_card(weights);
    infer::ProgramSource source = card.program;
    if (!program.empty()) source = {program, shipped_file("programs/" + program + ".as2c").string(), {}};
    EngineOptions options;
    options.threads = 1;
    return std::make_unique<Networks>(card, infer::load_program(source), options);
  }
  void open(bool checksum_fits = true, const std::string& program = "") { opened(checksum_fits, program); }

  std::string refusal(bool checksum_fits = true, const std::string& program = "") {
    try {
      open(checksum_fits, program);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was refused";
  }

  // Makes all numbers of a tensor this one.
  void fill(const std::string& name, float number) {
    formats::SafeTensorFile file = formats::parse_safetensors(bytes_, "copy.safetensors");
    for (formats::SafeTensor& tensor : file.tensors) {
      if (tensor.name != name) continue;
      const std::vector<float> numbers(tensor.data.size() / formats::size_of(tensor.dtype), number);
      tensor.dtype = formats::Dtype::kF32;
      tensor.data.resize(numbers.size() * sizeof(float));
      std::memcpy(tensor.data.data(), numbers.data(), tensor.data.size());
    }
    formats::write_safetensors(folder_ / "filled.safetensors", file);
    bytes_ = read_file(folder_ / "filled.safetensors");
  }

  test::TemporaryFolder folder_;
  json card_;
  std::string bytes_;
};

TEST_F(Damaged, NothingIsRefusedInWhatShips) {
  for (const char* model : {"sudoku-best", "sudoku-paper", "digits-best", "cells-best", "addition-n4-best"}) {
    copy(model);
    EXPECT_NO_THROW(open(false)) << model;
  }
}

TEST_F(Damaged, TruncatedWeightsAreRefused) {
  copy("sudoku-best");
  const std::string whole = bytes_;
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{300},
                                   whole.size() / 2, whole.size() - 1}) {
    bytes_ = whole.substr(0, length);
    EXPECT_THROW(open(), InputError) << length;
  }
}

TEST_F(Damaged, AnyByteThatChangedIsNoticed) {
  copy("sudoku-best");
  const std::string whole = bytes_;
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    bytes_ = whole;
    // Half of them in the header, which is where lengths and offsets stand.
    const std::size_t range = round % 2 == 0 ? 2000 : whole.size();
    bytes_[static_cast<std::size_t>(random.below(range))] ^= static_cast<char>(1 + random.below(255));
    EXPECT_THROW(open(false), InputError) << round;
  }
}

// With a checksum that fits, a damaged file may still be a valid one; it must not be read beyond its end.
TEST_F(Damaged, DamagedHeadersAreReadWithoutHarm) {
  copy("sudoku-best");
  const std::string whole = bytes_;
  Random random(2);
  int refused = 0;
  for (int round = 0; round < 60; ++round) {
    bytes_ = whole;
    for (int change = 0; change < 3; ++change)
      bytes_[static_cast<std::size_t>(random.below(3000))] = static_cast<char>(random.below(256));
    refused += refusal() != "nothing was refused";
  }
  EXPECT_GT(refused, 40);
}

TEST_F(Damaged, DamagedCardsAreReadWithoutHarm) {
  copy("addition-n4-best");
  const std::string whole = card_.dump();
  const std::string weights = folder_.put("copy.safetensors", bytes_);
  Random random(3);
  int refused = 0;
  for (int round = 0; round < 120; ++round) {
    std::string text = whole;
    for (int change = 0; change < 2; ++change)
      text[static_cast<std::size_t>(random.below(text.size()))] = static_cast<char>(32 + random.below(95));
    if (round % 3 == 0) text.resize(static_cast<std::size_t>(random.below(text.size())));
    folder_.put("copy.json", text);
    try {
      const infer::Card card = infer::read_card(weights);
      Networks(card, infer::load_program(card.program), {1});
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 40);
}

TEST_F(Damaged, SizesThatDoNotFitTheTensorsAreRefused) {
  const auto refuses = [&](const std::string& model, const std::string& field, const json& value,
                           const std::string& tensor) {
    copy(model);
    card_["model"][json::json_pointer(field)] = value;
    const std::string text = refusal();
    EXPECT_NE(text.find("the tensor '" + tensor), std::string::npos) << field << ": " << text;
  };
  refuses("sudoku-best", "/reasoner/width", 64, "reasoner.embed.weight' has shape");
  refuses("sudoku-best", "/reasoner/d_ff", 100, "reasoner.ff_in.weight' has shape");
  refuses("sudoku-best", "/reasoner/mixing", "both", "reasoner.qkv.weight' is missing");
  refuses("sudoku-best", "/reasoner/mixing", "attention", "reasoner.qkv.weight' is missing");
  refuses("sudoku-best", "/reasoner/tp_feedback", false, "reasoner.embed.weight' has shape");
  refuses("sudoku-best", "/perception/channels", {32, 64, 96}, "perception.conv_4.weight' has shape");
  refuses("sudoku-best", "/perception/convolutions", 1, "perception.conv_1.weight' has shape");
  refuses("sudoku-best", "/perception/width", 0.5, "perception.conv_0.weight' has shape");
  refuses("sudoku-paper", "/reasoner/layers", 7, "reasoner.layer_6.norm_attention.weight' is missing");
  refuses("sudoku-paper", "/reasoner/layers", 5, "reasoner.layer_5");
  refuses("sudoku-paper", "/reasoner/placement", "index", "reasoner.index' is missing");
}

TEST_F(Damaged, ModelsForAnotherProgramAreRefused) {
  copy("sudoku-best");
  EXPECT_NE(refusal(true, "latin_square").find("a model for another program"), std::string::npos);
  EXPECT_NO_THROW(open(true, "sudoku-b2"));  // other boards of the same families
  copy("sudoku-paper");
  EXPECT_NE(refusal(true, "sudoku-b2").find("only on the program it was trained on"), std::string::npos);
  copy("digits-best");
  EXPECT_NE(refusal(true, "reachability").find("and no picture shows it"), std::string::npos);
}

TEST(Weights, NumbersOf16BitsAreWidened) {
  const auto widened = [](formats::Dtype dtype, const std::vector<std::uint16_t>& bits) {
    formats::SafeTensor tensor{"t", dtype, {static_cast<std::int64_t>(bits.size())}, {}};
    for (const std::uint16_t own : bits) {
      tensor.data.push_back(static_cast<std::byte>(own & 0xff));
      tensor.data.push_back(static_cast<std::byte>(own >> 8));
    }
    return Weights({{tensor}, {}}, "t.safetensors").take("t", tensor.shape);
  };
  // One, the smallest number, the smallest with a leading 1, the largest, a third.
  EXPECT_EQ(widened(formats::Dtype::kF16, {0x3c00, 0x0001, 0x8400, 0x7bff, 0x3555, 0x8000}),
            (std::vector<float>{1, 0x1p-24f, -0x1p-14f, 65504, 0.333251953125f, 0}));
  EXPECT_EQ(widened(formats::Dtype::kBF16, {0x3f80, 0xc000}), (std::vector<float>{1, -2}));
  EXPECT_THROW(widened(formats::Dtype::kF16, {0xfc00}), InputError);
  EXPECT_THROW(widened(formats::Dtype::kF16, {0x7e00}), InputError);
}

TEST_F(Damaged, NumbersThatAreNoneAreRefused) {
  copy("sudoku-best");
  fill("reasoner.ff_out.bias", std::nanf(""));
  EXPECT_NE(refusal().find("'reasoner.ff_out.bias' holds something that is not a finite number"),
            std::string::npos);
}

// Each weight is a number, but what the network makes of them is none.
TEST_F(Damaged, WeightsThatGiveNoNumbersAreNamed) {
  const auto message = [&](const auto& run) -> std::string {
    const std::unique_ptr<Networks> networks = opened();
    try {
      run(*networks);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto perceive = [](Networks& networks) {
    const infer::Picture picture{0, std::vector<std::uint8_t>(PerceptionNet::kPixels, 100)};
    networks.perceive({&picture});
  };
  const auto guide = [](Networks& networks) {
    networks.guide({{infer::uniform_beliefs(networks.program()), {}}});
  };
  const std::string named = "copy.safetensors: error: with these weights the network gives something that is";
  copy("digits-best");
  EXPECT_EQ(message(perceive), "accepted");
  fill("perception.temperature", 0);
  EXPECT_NE(message(perceive).find(named), std::string::npos) << message(perceive);
  for (const auto& [model, tensor] : {std::pair("sudoku-best", "reasoner.embed.weight"),
                                      std::pair("sudoku-paper", "reasoner.project.weight")}) {
    copy(model);
    EXPECT_EQ(message(guide), "accepted") << model;
    fill(tensor, 3e38f);
    EXPECT_NE(message(guide).find(named), std::string::npos) << model << ": " << message(guide);
  }
}

}  // namespace
}  // namespace as2::native
