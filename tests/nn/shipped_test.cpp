// The weights that ship give, on every LibTorch and device, what shipped.json says they gave on
// LibTorch 1.13. AS2_UPDATE_GOLDEN=1 rewrites it: look at the difference before you commit it.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "as2/compile.h"
#include "as2/resources.h"
#include "files.h"
#include "nn/model.h"
#include "nn/twin.h"
#include "support/temporary_folder.h"

namespace as2::nn {
namespace {

using Json = nlohmann::json;

// Relative to the number, or to 1 if that is larger. float32 has 1e-7, and each processor adds up in the
// order that suits its instructions: layers and passes make 7e-6 of that with AVX2 or AVX-512, and 4e-5
// without either. Other releases of LibTorch, and CUDA, have other kernels.
constexpr double kTolerance = 1e-4, kToleranceElsewhere = 1e-3;
constexpr int kPasses = 6;  // rounding grows with the passes of a board not yet solved

const std::filesystem::path kGolden = std::filesystem::path(AS2_SOURCE_DIR) / "tests/nn/shipped.json";

struct Shipped {
  std::string model, program;
  friend void PrintTo(const Shipped& shipped, std::ostream* out) { *out << shipped.model; }
};

const std::vector<Shipped> kShipped = {{"sudoku-best", "sudoku"},
                                       {"sudoku-hard", "sudoku"},
                                       {"sudoku-paper", "sudoku"},
                                       {"sudoku-grounded", "sudoku"},
                                       {"digits-best", "digit"},
                                       {"cells-best", "cell"},
                                       {"addition-n2-best", "addition"},
                                       {"addition-n2-sum-only", "addition"},
                                       {"addition-n4-best", "addition-n4"},
                                       {"addition-n4-sum-only", "addition-n4"},
                                       {"addition-n8-best", "addition-n8"},
                                       {"addition-n8-sum-only", "addition-n8"},
                                       {"multi_digit_addition-n1", "multi_digit_addition-n1"},
                                       {"multi_digit_addition-n2", "multi_digit_addition"},
                                       {"multi_digit_addition-n4", "multi_digit_addition-n4"},
                                       {"multi_digit_addition-n15", "multi_digit_addition-n15"},
                                       {"formula-best", "formula"},
                                       {"grid_path-best", "grid_path"},
                                       {"sudoku-blanks", "sudoku-b2"}};

// Two pictures of no digit in particular, the same everywhere.
torch::Tensor pictures() {
  const auto across = torch::arange(28.).view({1, 1, 28}), down = torch::arange(28.).view({1, 28, 1}),
             which = torch::arange(2.).view({2, 1, 1});
  return (torch::sin(across * 0.3 + which) * torch::cos(down * 0.2 - which) + 1) / 2;
}

// A puzzle of 36 clues, and one of 17, of which six passes decide nothing.
const std::string kEasy = "6.58..24.2.8..679....34...64.926.3.5....93.......85...8.4........1.348...5.9..46.",
                  kHard = ".......1.4.........2...........5.4.7..8...3....1.9....3..4..2...5.1........8.6...";

ReasonerInput board(const std::string& cells) {
  ReasonerInput input{torch::full({1, 81, 9}, 1. / 9), torch::zeros({1, 81}, torch::kBool)};
  for (int i = 0; i < 81; ++i) {
    if (cells[i] == '.') continue;
    input.beliefs[0][i].zero_();
    input.beliefs[0][i][cells[i] - '1'] = 1;
    input.evidence[0][i] = true;
  }
  return input;
}

struct Outputs {
  torch::Tensor image_logits, logits;  // [2, symbols]; [1, positions, symbols], undefined without a reasoner
};

class ShippedModel : public ::testing::TestWithParam<Shipped> {
 protected:
  void SetUp() override {
    torch::set_num_threads(1);
    model_ = load_model(
        infer::read_card(weights()),
        compile::compile_files({shipped_file("programs/" + GetParam().program + ".as2c").string()}).program);
    model_->eval();
  }
  std::filesystem::path weights() const {
    return shipped_file("models/" + GetParam().model + ".safetensors");
  }

  Outputs run(torch::Device device) {
    torch::NoGradGuard no_grad;
    model_->to(device);
    Outputs outputs;
    outputs.image_logits = model_->perception->forward(pictures().to(device)).logits.cpu();
    if (model_->reasoner) {
      const ReasonerInput input{board(kEasy).beliefs.to(device), board(kEasy).evidence.to(device)};
      outputs.logits = model_->reasoner->forward(input, kPasses).logits.back().cpu();
    }
    return outputs;
  }

  std::shared_ptr<Model> model_;
};

// Every 13th number: enough to see a change.
std::vector<double> sample(const torch::Tensor& tensor) {
  std::vector<double> values;
  const auto flat = tensor.flatten().to(torch::kFloat64);
  for (std::int64_t i = 0; i < flat.numel(); i += tensor.dim() == 3 ? 13 : 1) {
    values.push_back(flat[i].item<double>());
  }
  return values;
}

void expect_near(const Json& expected, const torch::Tensor& tensor, double tolerance,
                 const std::string& what) {
  const auto values = sample(tensor);
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double wanted = expected[i];
    EXPECT_NEAR(values[i], wanted, tolerance * std::max(1., std::abs(wanted))) << what << ' ' << i;
  }
}

void expect_golden(const std::string& model, const Outputs& outputs, torch::DeviceType device) {
  const double tolerance =
      device == torch::kCPU && TORCH_VERSION_MAJOR == 1 ? kTolerance : kToleranceElsewhere;
  const Json golden = Json::parse(read_file(kGolden)).at(model);
  expect_near(golden.at("image_logits"), outputs.image_logits, tolerance, "image logit");
  if (outputs.logits.defined()) expect_near(golden.at("logits"), outputs.logits, tolerance, "logit");
}

TEST_P(ShippedModel, GivesWhatItGave) {
  const Outputs outputs = run(torch::kCPU);
  if (std::getenv("AS2_UPDATE_GOLDEN") != nullptr) {
    Json golden = Json::object();
    if (std::filesystem::exists(kGolden)) golden = Json::parse(read_file(kGolden));
    Json& entry = golden[GetParam().model] = {{"image_logits", sample(outputs.image_logits)}};
    if (outputs.logits.defined()) entry["logits"] = sample(outputs.logits);
    std::ofstream(kGolden) << golden.dump(1) << '\n';
  }
  expect_golden(GetParam().model, outputs, torch::kCPU);
}

TEST_P(ShippedModel, GivesItOnCuda) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  expect_golden(GetParam().model, run(torch::kCUDA), torch::kCUDA);
}

TEST_P(ShippedModel, GivesItInPyTorch) {
  if (!testing::has_pytorch()) GTEST_SKIP() << "no PyTorch for python3";
  const Outputs outputs = run(torch::kCPU);
  const test::TemporaryFolder folder;
  std::vector<formats::SafeTensor> tensors = {pack("images", pictures()),
                                              pack("image_logits", outputs.image_logits)};
  if (outputs.logits.defined()) {
    torch::NoGradGuard no_grad;
    // Of each number of passes, since evaluation gives the last logits alone.
    std::vector<torch::Tensor> logits;
    const int most = model_->options().kind == ReasonerKind::kSoftTp ? kPasses : 1;
    for (int passes = 1; passes <= most; ++passes) {
      const ReasonerOutput output = model_->reasoner->forward(board(kHard), passes);
      EXPECT_EQ(output.passes[0].item<std::int64_t>(), passes);
      logits.push_back(output.logits.back());
    }
    tensors.push_back(pack("logits", torch::stack(logits)));
    tensors.push_back(pack("beliefs", board(kHard).beliefs));
    tensors.push_back(pack("evidence", board(kHard).evidence));
  }
  testing::expect_twin_agrees(weights(), folder.path(), tensors);
}

TEST(ShippedModels, AreAllListed) {
  std::set<std::string> listed, there;
  for (const Shipped& shipped : kShipped) listed.insert(shipped.model);
  for (const auto& entry : std::filesystem::directory_iterator(AS2_SOURCE_DIR "/models")) {
    if (entry.path().extension() == ".safetensors") there.insert(entry.path().stem().string());
  }
  EXPECT_EQ(listed, there);
}

INSTANTIATE_TEST_SUITE_P(Models, ShippedModel, ::testing::ValuesIn(kShipped), [](const auto& shipped) {
  std::string name = shipped.param.model;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace as2::nn
