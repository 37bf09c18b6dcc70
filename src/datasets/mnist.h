// MNIST: the four idx files, found or fetched, checked and held in memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace as2::datasets {

inline constexpr int kDigitSide = 28;
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;

enum class Split { kTrain, kTest };

// Handwritten digits, white (255) on black (0), row by row, with their labels 0 … 9.
struct Digits {
  std::vector<std::uint8_t> pixels;  // size() × 28 × 28
  std::vector<std::uint8_t> labels;

  std::size_t size() const { return labels.size(); }
  const std::uint8_t* image(std::size_t index) const { return pixels.data() + index * kDigitPixels; }
};

struct Mnist {
  Digits train;  // 60,000
  Digits test;   // 10,000

  const Digits& of(Split split) const { return split == Split::kTrain ? train : test; }
};

struct MnistOptions {
  std::string dir;    // looked into first, and fetched into; empty: $AS2_DATA, then the cache
  bool fetch = true;  // fetch the files from the network if they are found nowhere; false: never fetch
  std::function<void(const std::string&)> report;  // told what is being done, one sentence per call
  const std::atomic<bool>* stop = nullptr;         // once true, fetching ends and leaves nothing behind
};

// The four files of one folder, in the order train images, train labels, test images, test labels.
struct MnistFiles {
  std::vector<std::string> paths;
  std::string folder;
};

// $XDG_CACHE_HOME/as2, else ~/.cache/as2.
std::string cache_folder();

// Looks in options.dir, $AS2_DATA and the cache, in this order, and fetches the files if none has them.
// Without fetching, a given options.dir is the only place searched. Does not read the files found.
MnistFiles find_mnist(const MnistOptions& options = {});
// Reads and checks the files; a broken or foreign one is named with what was expected.
Mnist read_mnist(const MnistFiles& files);
inline Mnist load_mnist(const MnistOptions& options = {}) {
  return read_mnist(find_mnist(options));
}

// The unpacked bytes of two idx files, of any length; errors name the files they came from.
Digits parse_digits(const std::string& images, const std::string& images_path, const std::string& labels,
                    const std::string& labels_path);
// The pictures alone, 28 × 28 bytes each, and such a file's bytes.
std::vector<std::uint8_t> read_idx_images(const std::string& path);
std::string format_idx_images(const std::vector<std::uint8_t>& pixels);
// For each label 0 … 9 the indices of its digits, in order.
std::vector<std::vector<std::uint32_t>> indices_by_label(const Digits& digits);

}  // namespace as2::datasets
