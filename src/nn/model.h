// A model: perception and reasoner in one bundle, saved as safetensors with its card (infer/card.h) beside
// it.
#pragma once

#include <filesystem>
#include <memory>

#include "formats/safetensors.h"
#include "infer/card.h"
#include "nn/perception.h"
#include "nn/relational.h"
#include "nn/satnet.h"
#include "nn/soft_tp_reasoner.h"
#include "nn/transformer.h"

namespace as2::nn {

using infer::ModelOptions;
using infer::ReasonerKind;

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

struct SaveOptions {
  bool bfloat16 = false;  // half the bytes; buffers stay as they are
};

// Writes the card's weights and the card, each under a temporary name and renamed. What model, program and
// weights say of themselves is filled in here; the rest of the card is the caller's.
void save_model(infer::Card card, const Model& model, const compile::ConstraintProgram& program,
                const SaveOptions& options = {});

// Rebuilds the model from its card for `program`, with its weights. InputError says what does not fit.
std::shared_ptr<Model> load_model(const infer::Card& card, const compile::ConstraintProgram& program);

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
