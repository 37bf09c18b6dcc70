#include "nn/model.h"

#include <cstring>
#include <set>
#include <sstream>

namespace as2::nn {
namespace {

formats::Dtype dtype_of(torch::ScalarType type) {
  switch (type) {
    case torch::kBool:
      return formats::Dtype::kBool;
    case torch::kUInt8:
      return formats::Dtype::kU8;
    case torch::kInt64:
      return formats::Dtype::kI64;
    case torch::kFloat16:
      return formats::Dtype::kF16;
    case torch::kBFloat16:
      return formats::Dtype::kBF16;
    case torch::kFloat32:
      return formats::Dtype::kF32;
    case torch::kFloat64:
      return formats::Dtype::kF64;
    default:
      break;
  }
  AS2_REQUIRE(false, "safetensors has no dtype for this tensor");
}

torch::ScalarType dtype_of(formats::Dtype dtype) {
  switch (dtype) {
    case formats::Dtype::kBool:
      return torch::kBool;
    case formats::Dtype::kU8:
      return torch::kUInt8;
    case formats::Dtype::kI64:
      return torch::kInt64;
    case formats::Dtype::kF16:
      return torch::kFloat16;
    case formats::Dtype::kBF16:
      return torch::kBFloat16;
    case formats::Dtype::kF32:
      return torch::kFloat32;
    case formats::Dtype::kF64:
      return torch::kFloat64;
  }
  AS2_REQUIRE(false, "unknown dtype");
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::ostringstream out;
  out << torch::IntArrayRef(shape);
  return out.str();
}

}  // namespace

Model::Model(const ModelOptions& options, const compile::ConstraintProgram& program) : options_(options) {
  if (options.perception) {
    perception = register_module("perception", Perception(*options.perception));
  }
  switch (options.kind) {
    case ReasonerKind::kNone:
      break;
    case ReasonerKind::kTransformer:
      reasoner = std::make_shared<TransformerReasoner>(options.transformer, program);
      break;
    case ReasonerKind::kSoftTp:
      reasoner = std::make_shared<SoftTpReasoner>(options.soft_tp, program);
      break;
    case ReasonerKind::kRelational:
      reasoner = std::make_shared<RelationalReasoner>(options.relational, program);
      break;
    case ReasonerKind::kSatNet:
      reasoner = std::make_shared<SatNet>(options.satnet, program);
      break;
  }
  if (reasoner) register_module("reasoner", reasoner);
}

void save_model(infer::Card card, const Model& model, const compile::ConstraintProgram& program,
                const SaveOptions& options) {
  formats::SafeTensorFile file;
  file.tensors = pack_module(model, "", options.bfloat16);
  file.metadata["format"] = "pt";
  formats::write_safetensors(card.weights, file);
  card.network = model.options();
  card.shape = infer::ProgramShape::of(program);
  infer::write_card(card);
}

std::shared_ptr<Model> load_model(const infer::Card& card, const compile::ConstraintProgram& program) {
  const formats::SafeTensorFile file = infer::read_weights(card);
  infer::check_program(card, program);
  auto model = std::make_shared<Model>(card.network, program);
  if (model->reasoner) model->reasoner->set_trained_sizes(card.trained_sizes());
  unpack_module(*model, file, card.weights);
  model->eval();
  return model;
}

formats::SafeTensor pack(const std::string& name, const torch::Tensor& tensor) {
  const auto value = tensor.detach().to(torch::kCPU).contiguous();
  formats::SafeTensor packed{name, dtype_of(value.scalar_type()), value.sizes().vec(), {}};
  packed.data.resize(value.nbytes());
  if (value.nbytes() > 0) std::memcpy(packed.data.data(), value.data_ptr(), value.nbytes());
  return packed;
}

torch::Tensor unpack(const formats::SafeTensor& packed) {
  auto tensor = torch::empty(packed.shape, dtype_of(packed.dtype));
  AS2_REQUIRE(tensor.nbytes() == packed.data.size(), "a tensor's bytes must match its shape");
  if (!packed.data.empty()) std::memcpy(tensor.data_ptr(), packed.data.data(), packed.data.size());
  return tensor;
}

std::vector<formats::SafeTensor> pack_module(const torch::nn::Module& module, const std::string& prefix,
                                             bool bfloat16) {
  std::vector<formats::SafeTensor> tensors;
  for (const auto& item : module.named_parameters()) {
    const auto& value = item.value();
    tensors.push_back(pack(prefix + item.key(), bfloat16 ? value.to(torch::kBFloat16) : value));
  }
  for (const auto& item : module.named_buffers()) tensors.push_back(pack(prefix + item.key(), item.value()));
  return tensors;
}

void unpack_module(torch::nn::Module& module, const formats::SafeTensorFile& file,
                   const std::filesystem::path& path, const std::string& prefix) {
  torch::NoGradGuard no_grad;
  std::set<std::string> known;
  const auto fill = [&](const std::string& key, torch::Tensor& target) {
    const auto name = prefix + key;
    known.insert(name);
    const auto* packed = file.find(name);
    if (packed == nullptr) {
      throw InputError({path.string()}, "the tensor '" + name + "' is missing",
                       {"the card beside it describes another network, or the file is of another version"});
    }
    if (packed->shape != target.sizes().vec()) {
      throw InputError({path.string()}, "the tensor '" + name + "' has shape " + shape_text(packed->shape) +
                                            ", expected " + shape_text(target.sizes().vec()));
    }
    target.copy_(unpack(*packed));
    if (target.is_floating_point() && !target.isfinite().all().item<bool>()) {
      throw InputError({path.string()},
                       "the tensor '" + name + "' holds something that is not a finite number",
                       {"the file is damaged, or training diverged"});
    }
  };
  for (auto& item : module.named_parameters()) fill(item.key(), item.value());
  for (auto& item : module.named_buffers()) fill(item.key(), item.value());
  for (const auto& tensor : file.tensors) {
    if (tensor.name.rfind(prefix, 0) == 0 && known.count(tensor.name) == 0) {
      throw InputError({path.string()}, "the tensor '" + tensor.name + "' has no place in the network");
    }
  }
}

}  // namespace as2::nn
