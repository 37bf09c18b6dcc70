#include "task/picture_folder.h"

#include <algorithm>
#include <filesystem>

#include "as2/error.h"
#include "datasets/mnist.h"
#include "infer/pictures.h"

namespace as2::task {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string()[0] != '.') entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// The pixels of a file's pictures: of one, or of those of an idx file as MNIST has them.
std::vector<std::uint8_t> read_pictures(const fs::path& path) {
  return path.extension() == ".idx3-ubyte" ? datasets::read_idx_images(path.string())
                                           : infer::read_picture(path.string());
}

}  // namespace

PictureFolder read_picture_folder(const std::string& path) {
  PictureFolder folder;
  if (!fs::is_directory(path))
    throw InputError({path}, "no such folder", {"it should hold one sub-folder of pictures per symbol"});
  for (Table<std::uint8_t>& pixels : folder.pixels) pixels.columns = datasets::kDigitPixels;
  std::vector<std::string> blank;
  for (const fs::path& sub : sorted_entries(path)) {
    if (!fs::is_directory(sub)) continue;
    std::size_t number = 0;
    bool any_ink = false;
    for (const fs::path& file : sorted_entries(sub)) {
      const std::vector<std::uint8_t> pixels = read_pictures(file);
      for (std::size_t first = 0; first < pixels.size(); first += datasets::kDigitPixels) {
        const std::size_t place = number++ % 10, part = place < 8 ? 0 : place - 7;
        folder.pixels[part].add_row(pixels.data() + first);
        const auto begin = pixels.begin() + static_cast<std::ptrdiff_t>(first);
        any_ink = any_ink || infer::has_ink({begin, begin + datasets::kDigitPixels});
        folder.classes[part].push_back(static_cast<int>(folder.names.size()));
      }
    }
    if (number < 10) {
      throw InputError({sub.string()}, "has " + std::to_string(number) + " pictures, expected at least 10",
                       {"of every ten, eight are for training, one for validation and one for the test"});
    }
    folder.names.push_back(sub.filename().string());
    if (!any_ink) blank.push_back(folder.names.back());
    if (blank.size() > 1) {
      throw InputError(
          {path},
          "no picture of " + blank[0] + " has ink, nor of " + blank[1] + ": they cannot be told apart",
          {"ink is what differs from the shade of a picture's margin; transparent parts are white, so "
           "put white ink on dark paper"});
    }
  }
  if (folder.names.empty())
    throw InputError({path}, "has no sub-folder", {"it should hold one sub-folder of pictures per symbol"});
  return folder;
}

}  // namespace as2::task
