#include "datasets/mnist.h"

#include <cstdlib>
#include <filesystem>

#include "as2/error.h"
#include "datasets/mnist_fetch.h"
#include "formats/gzip.h"
#include "formats/sha256.h"

namespace as2::datasets {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The path of the file under whichever of its public spellings exists in the folder; empty if none does.
std::string spelled_in(const fs::path& folder, const std::string& name) {
  std::string dotted = name;
  dotted[dotted.find("-idx")] = '.';
  std::error_code ignored;
  for (const std::string& spelling : {name, dotted}) {
    for (const char* ending : {"", ".gz"}) {
      const fs::path path = folder / (spelling + ending);
      if (fs::is_regular_file(path, ignored)) return path.string();
    }
  }
  return "";
}

// The MNIST files in a folder, or in its MNIST/raw, where torchvision puts them; `paths` is empty if none is
// there. Finding only some of them is an error, unless the folder is ours to fill or a fetch ended there
// halfway.
MnistFiles files_in(const std::string& folder, bool ours) {
  for (const fs::path& place : {fs::path(folder), fs::path(folder) / "MNIST/raw"}) {
    MnistFiles files{{}, place.string()};
    std::string missing;
    for (const MnistFile& file : kMnist) {
      const std::string path = spelled_in(place, file.name);
      if (path.empty()) {
        missing = file.name;
      } else {
        files.paths.push_back(path);
      }
    }
    if (missing.empty()) return files;
    if (!files.paths.empty() && !ours && !has_unfinished_fetch(folder)) {
      throw InputError({(place / missing).string()}, "missing, while other MNIST files are there",
                       {"the name may have `.` for `-` and may end in .gz"});
    }
  }
  return {};
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k) value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw InputError(
      {path}, message,
      {"MNIST's own files are expected; delete this one and run `as2 data mnist` to fetch them"});
}

// Checks an idx file of unsigned bytes against its own header and returns the number of items.
std::uint32_t check_idx(const std::string& bytes, int dimensions, const std::string& path) {
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
  if (bytes.size() < header) {
    fail(path, "cut off: " + std::to_string(bytes.size()) + " bytes, an idx header alone has " +
                   std::to_string(header));
  }
  const std::uint32_t magic = big_endian(bytes, 0), expected = 0x800 + static_cast<std::uint32_t>(dimensions);
  if (magic != expected) {
    fail(path, "begins with the number " + std::to_string(magic) + ", expected " + std::to_string(expected) +
                   (dimensions == 3 ? " (an idx file of images)" : " (an idx file of labels)"));
  }
  const std::uint32_t count = big_endian(bytes, 4);
  std::uint64_t length = header + count;
  if (dimensions == 3) {
    const std::uint32_t rows = big_endian(bytes, 8), columns = big_endian(bytes, 12);
    if (rows != kDigitSide || columns != kDigitSide) {
      fail(path, "images of " + std::to_string(rows) + "x" + std::to_string(columns) + ", expected 28x28");
    }
    length = header + std::uint64_t{count} * kDigitPixels;
  }
  if (bytes.size() != length) {
    fail(path, std::string(bytes.size() < length ? "cut off: " : "too long: ") +
                   std::to_string(bytes.size()) + " bytes, its header says " + std::to_string(length));
  }
  return count;
}

void check_sum(const std::string& bytes, const MnistFile& file, const std::string& path) {
  const std::string sum = formats::sha256(bytes);
  if (sum != file.sha256) fail(path, "SHA-256 is " + sum + ", expected " + file.sha256);
}

}  // namespace

std::string cache_folder() {
  const std::string xdg = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!xdg.empty()) return (fs::path(xdg) / "as2").string();
  if (home.empty())
    throw EnvironmentError("neither XDG_CACHE_HOME nor HOME says where the cache is",
                           {"set XDG_CACHE_HOME to a folder"});
  return (fs::path(home) / ".cache/as2").string();
}

MnistFiles find_mnist(const MnistOptions& options) {
  std::string searched;
  const std::string cache = cache_folder();
  const bool only = !options.dir.empty() && !options.fetch;
  for (const std::string& folder : {options.dir, environment("AS2_DATA"), cache}) {
    if (folder.empty() || (only && folder != options.dir)) continue;
    MnistFiles files = files_in(folder, folder == cache);
    if (!files.paths.empty()) return files;
    searched += (searched.empty() ? "" : ", ") + folder;
  }
  if (!options.fetch) {
    throw InputError("no MNIST files in " + searched, {"`as2 data mnist` fetches them into the cache"});
  }
  const std::string folder = options.dir.empty() ? cache : options.dir;
  fetch_mnist(folder, options.report, options.stop);
  return files_in(folder, false);
}

std::vector<std::uint8_t> read_idx_images(const std::string& path) {
  const std::string bytes = formats::read_unpacked(path);
  check_idx(bytes, 3, path);
  return {bytes.begin() + 16, bytes.end()};
}

std::string format_idx_images(const std::vector<std::uint8_t>& pixels) {
  std::string bytes;
  const auto add = [&](std::size_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  };
  for (const std::size_t number :
       {std::size_t{0x803}, pixels.size() / kDigitPixels, std::size_t{kDigitSide}, std::size_t{kDigitSide}})
    add(number);
  bytes.append(pixels.begin(), pixels.end());
  return bytes;
}

Digits parse_digits(const std::string& images, const std::string& images_path, const std::string& labels,
                    const std::string& labels_path) {
  const std::uint32_t image_count = check_idx(images, 3, images_path);
  const std::uint32_t label_count = check_idx(labels, 1, labels_path);
  if (image_count != label_count) {
    fail(labels_path, std::to_string(label_count) + " labels, but " + images_path + " has " +
                          std::to_string(image_count) + " images");
  }
  Digits digits{{images.begin() + 16, images.end()}, {labels.begin() + 8, labels.end()}};
  for (std::size_t k = 0; k < digits.size(); ++k) {
    if (digits.labels[k] > 9) {
      fail(labels_path, "label " + std::to_string(digits.labels[k]) + " at index " + std::to_string(k) +
                            ", expected 0 to 9");
    }
  }
  return digits;
}

Mnist read_mnist(const MnistFiles& files) {
  AS2_REQUIRE(files.paths.size() == kMnistFiles, "four files, as find_mnist() returns them");
  const auto read = [&](int first) {
    const std::string& images_path = files.paths[first];
    const std::string& labels_path = files.paths[first + 1];
    const std::string images = formats::read_unpacked(images_path),
                      labels = formats::read_unpacked(labels_path);
    Digits digits = parse_digits(images, images_path, labels, labels_path);
    check_sum(images, kMnist[first], images_path);
    check_sum(labels, kMnist[first + 1], labels_path);
    return digits;
  };
  return {read(0), read(2)};
}

std::vector<std::vector<std::uint32_t>> indices_by_label(const Digits& digits) {
  std::vector<std::vector<std::uint32_t>> indices(10);
  for (std::size_t k = 0; k < digits.size(); ++k)
    indices[digits.labels[k]].push_back(static_cast<std::uint32_t>(k));
  return indices;
}

}  // namespace as2::datasets
