#include "native/weights.h"

#include <cmath>
#include <cstring>

#include "as2/error.h"

namespace as2::native {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

}  // namespace

std::vector<float> Weights::take(const std::string& name, const std::vector<std::int64_t>& shape) {
  taken_.insert(name);
  const formats::SafeTensor* tensor = file_.find(name);
  if (!tensor) {
    throw InputError({path_}, "the tensor '" + name + "' is missing",
                     {"the card beside it describes another network, or the file is of another version"});
  }
  if (tensor->shape != shape) {
    throw InputError({path_}, "the tensor '" + name + "' has shape " + shape_text(tensor->shape) +
                                  ", expected " + shape_text(shape));
  }
  std::vector<float> numbers(tensor->data.size() / formats::size_of(tensor->dtype));
  if (tensor->dtype == formats::Dtype::kF32) {
    if (!numbers.empty()) std::memcpy(numbers.data(), tensor->data.data(), tensor->data.size());
  } else if (tensor->dtype == formats::Dtype::kBF16) {
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::uint16_t half;
      std::memcpy(&half, tensor->data.data() + 2 * k, 2);
      const std::uint32_t bits = std::uint32_t{half} << 16;
      std::memcpy(&numbers[k], &bits, 4);
    }
  } else {
    throw InputError({path_},
                     "the tensor '" + name + "' is stored as " + formats::name_of(tensor->dtype) +
                         ", expected F32 or BF16",
                     {"run it with --engine torch, or store it in one of these"});
  }
  for (const float number : numbers) {
    if (!std::isfinite(number))
      throw InputError({path_}, "the tensor '" + name + "' holds something that is not a finite number",
                       {"the file is damaged, or training diverged"});
  }
  return numbers;
}

void Weights::refuse_unused() const {
  for (const formats::SafeTensor& tensor : file_.tensors) {
    if (!taken_.count(tensor.name))
      throw InputError({path_}, "the tensor '" + tensor.name + "' has no place in the network");
  }
}

}  // namespace as2::native
