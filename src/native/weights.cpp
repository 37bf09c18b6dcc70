#include "native/weights.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "as2/error.h"

namespace as2::native {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// IEEE's numbers of 16 bits: sign, 5 bits of exponent, 10 of mantissa. Scaling by a power of two moves the
// exponent to where float32 has it and brings the small numbers without a leading 1 along.
float of_half(std::uint16_t half) {
  const std::uint32_t bits = std::uint32_t{half & 0x7fffu} << 13;
  float magnitude;
  std::memcpy(&magnitude, &bits, 4);
  magnitude = (half & 0x7c00) == 0x7c00 ? std::numeric_limits<float>::infinity() : magnitude * 0x1p112f;
  return half & 0x8000 ? -magnitude : magnitude;
}

// The upper half of a float32.
float of_brain(std::uint16_t half) {
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float number;
  std::memcpy(&number, &bits, 4);
  return number;
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
  } else if (tensor->dtype == formats::Dtype::kBF16 || tensor->dtype == formats::Dtype::kF16) {
    const auto widened = tensor->dtype == formats::Dtype::kF16 ? of_half : of_brain;
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::uint16_t half;
      std::memcpy(&half, tensor->data.data() + 2 * k, 2);
      numbers[k] = widened(half);
    }
  } else {
    throw InputError({path_},
                     "the tensor '" + name + "' is stored as " + formats::name_of(tensor->dtype) +
                         ", expected F32, F16 or BF16",
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
