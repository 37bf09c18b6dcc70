// MNIST's idx files, plain or gzipped.
#include "datasets/mnist.h"
#include "fuzz/fuzz.h"

AS2_FUZZ(bytes) {
  using as2::fuzz::refused_or_read;
  const std::string path = as2::fuzz::as_file("fuzz-idx", bytes);
  static const std::string images = as2::datasets::format_idx_images(std::vector<std::uint8_t>(2 * 28 * 28));
  refused_or_read([&] { as2::datasets::read_idx_images(path); });
  refused_or_read([&] { as2::datasets::parse_digits(images, "images", bytes, "labels"); });
}
