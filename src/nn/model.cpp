#include "nn/model.h"

#include <cstring>
#include <set>
#include <sstream>

#include "files.h"

namespace as2::nn {
namespace {

using nlohmann::json;

constexpr int kCardVersion = 1;

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
  AS2_REQUIRE(false, "safetensors has no such dtype");
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

// The group says "all different" of its positions: one slot a symbol, every position that has it a member.
bool all_different(const compile::ConstraintProgram& program, const compile::Group& group) {
  const auto* slots = std::get_if<compile::Slots>(&group.content);
  if (slots == nullptr) return false;
  std::set<int> seen;
  for (const auto& slot : *slots) {
    if (slot.members.empty() || slot.members[0].symbols.size() != 1) return false;
    const int symbol = slot.members[0].symbols[0];
    std::size_t holders = 0;
    for (const int i : group.positions) {
      holders += static_cast<std::size_t>(symbol) < program.positions[i].symbols.size() ? 1 : 0;
    }
    if (slot.members.size() != holders || !seen.insert(symbol).second) return false;
    for (const auto& member : slot.members) {
      if (member.symbols.size() != 1 || member.symbols[0] != symbol) return false;
    }
  }
  return static_cast<int>(seen.size()) == program.max_symbols();
}

json program_json(const compile::ConstraintProgram& program) {
  json out{{"hash", program.hash}, {"symbols", program.max_symbols()}};
  for (const auto& family : program.families) out["families"].push_back(family.name);
  for (const auto& position : program.positions) {
    out["positions"].push_back(position.name);
    out["domains"].push_back(position.symbols.size());
  }
  for (const auto& group : program.groups) {
    out["groups"].push_back({{"family", group.family},
                             {"kind", group.kind()},
                             {"all_different", all_different(program, group)},
                             {"positions", group.positions}});
  }
  return out;
}

std::string joined(const json& names) {
  std::string text;
  if (!names.is_array()) return "none";
  for (const auto& name : names) {
    text += (text.empty() ? "" : ", ") + (name.is_string() ? name.get<std::string>() : name.dump());
  }
  return text.empty() ? "none" : text;
}

void check_program(const json& card, ReasonerKind kind, const compile::ConstraintProgram& program,
                   const std::filesystem::path& weights) {
  if (kind == ReasonerKind::kNone) return;
  const auto trained = card.value("program", json::object());
  const auto fail = [&](const std::string& what) {
    throw InputError({weights.string()}, "a model for another program: " + what,
                     {"give --model a file trained on this program, or train one with `as2 train`"});
  };
  json families = json::array();
  for (const auto& family : program.families) families.push_back(family.name);
  if (trained.value("families", json::array()) != families) {
    fail("its constraints are " + joined(trained.value("families", json::array())) + "; the program's are " +
         joined(families));
  }
  if (kind == ReasonerKind::kTransformer && trained.value("hash", "") != program.hash) {
    fail("its program's hash is " + trained.value("hash", "?") + ", this one's " + program.hash +
         " (a transformer runs only on the program it was trained on)");
  }
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
  }
  if (reasoner) register_module("reasoner", reasoner);
}

std::filesystem::path card_path(const std::filesystem::path& weights) {
  return std::filesystem::path(weights).replace_extension(".json");
}

json read_card(const std::filesystem::path& weights) {
  const auto path = card_path(weights);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    const bool alone = std::filesystem::exists(weights, ignored);
    throw InputError(
        {weights.string()}, alone ? "the card of these weights is missing: " + path.string() : "no such file",
        {"weights are a .safetensors file with its card, a .json file of the same name, beside it"});
  }
  const auto card = json::parse(read_file(path), nullptr, false);
  if (card.is_discarded() || !card.is_object() || !card.contains("model")) {
    throw InputError({path.string()}, "not a model card: expected a JSON object with the field 'model'");
  }
  if (card.value("version", json()) != json(kCardVersion)) {
    throw InputError({path.string()}, "a model card of version " + card.value("version", json()).dump() +
                                          ", expected " + std::to_string(kCardVersion));
  }
  return card;
}

void save_model(const std::filesystem::path& weights, const Model& model,
                const compile::ConstraintProgram& program, const SaveOptions& options) {
  formats::SafeTensorFile file;
  file.tensors = pack_module(model, "", options.bfloat16);
  file.metadata["format"] = "pt";

  json card = options.card;
  card["version"] = kCardVersion;
  card["model"] = to_json(model.options());
  card["program"] = program_json(program);
  formats::write_safetensors(weights, file);
  write_file(card_path(weights), card.dump(1) + "\n");
}

std::shared_ptr<Model> load_model(const std::filesystem::path& weights,
                                  const compile::ConstraintProgram& program) {
  const auto file = formats::read_safetensors(weights);
  const auto card = read_card(weights);
  const auto options = model_options(
      card["model"], [&](const std::string&) { return SourceLocation{card_path(weights).string()}; });
  check_program(card, options.kind, program, weights);
  auto model = std::make_shared<Model>(options, program);
  unpack_module(*model, file, weights);
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
