// A model: perception and reasoner in one bundle, saved as safetensors with a JSON card beside it.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "formats/safetensors.h"
#include "nn/options.h"

namespace as2::nn {

// Parameters are named `perception.…` and `reasoner.…`.
class Model : public torch::nn::Module {
 public:
  Model(const ModelOptions& options, const compile::ConstraintProgram& program);

  Perception perception{nullptr};      // empty: the task brings beliefs of its own
  std::shared_ptr<Reasoner> reasoner;  // null: perception alone
  const ModelOptions& options() const { return options_; }

 private:
  ModelOptions options_;
};

// The card beside a weights file: the same name with `.json`.
std::filesystem::path card_path(const std::filesystem::path& weights);
// The card's JSON; InputError when it is missing or malformed.
nlohmann::json read_card(const std::filesystem::path& weights);

struct SaveOptions {
  bool bfloat16 = false;                           // half the bytes; buffers stay as they are
  nlohmann::json card = nlohmann::json::object();  // merged into the card: preset, seed, data split, metrics
};

// Writes weights and card, each under a temporary name and renamed. The card names the program and holds its
// positions, domains and groups, so that the weights can be used without our compiler.
void save_model(const std::filesystem::path& weights, const Model& model,
                const compile::ConstraintProgram& program, const SaveOptions& options = {});

// Rebuilds the model from its card for `program`. A soft-tp reasoner runs on every program with the same
// families; a transformer only on the program it was trained on. InputError says what does not fit.
std::shared_ptr<Model> load_model(const std::filesystem::path& weights,
                                  const compile::ConstraintProgram& program);

// A tensor as safetensors carries it, and back (CPU, own memory).
formats::SafeTensor pack(const std::string& name, const torch::Tensor& tensor);
torch::Tensor unpack(const formats::SafeTensor& packed);

// All parameters and buffers under their names, `prefix` before each; parameters in bfloat16 if asked.
std::vector<formats::SafeTensor> pack_module(const torch::nn::Module& module, const std::string& prefix = "",
                                             bool bfloat16 = false);
// Fills the module from the file; a missing or unknown tensor under `prefix`, or a wrong shape, is an
// InputError that names `path`.
void unpack_module(torch::nn::Module& module, const formats::SafeTensorFile& file,
                   const std::filesystem::path& path, const std::string& prefix = "");

}  // namespace as2::nn
