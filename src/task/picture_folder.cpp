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

// The pictures of a file: one, or those of an idx file as MNIST has them.
std::vector<torch::Tensor> read_pictures(const fs::path& path) {
  const bool many = path.extension() == ".idx3-ubyte";
  const std::vector<std::uint8_t> bytes =
      many ? datasets::read_idx_images(path.string()) : infer::read_picture(path.string());
  torch::Tensor grey = torch::empty({static_cast<std::int64_t>(bytes.size()) / datasets::kDigitPixels,
                                     datasets::kDigitSide, datasets::kDigitSide},
                                    torch::kUInt8);
  std::copy(bytes.begin(), bytes.end(), grey.data_ptr<std::uint8_t>());
  return grey.unbind(0);
}

}  // namespace

PictureFolder read_picture_folder(const std::string& path) {
  PictureFolder folder;
  if (!fs::is_directory(path))
    throw InputError({path}, "no such folder", {"it should hold one sub-folder of pictures per symbol"});
  std::vector<torch::Tensor> pixels[3];
  std::vector<std::int64_t> classes[3];
  for (const fs::path& sub : sorted_entries(path)) {
    if (!fs::is_directory(sub)) continue;
    std::size_t number = 0;
    for (const fs::path& file : sorted_entries(sub)) {
      for (torch::Tensor& picture : read_pictures(file)) {
        const std::size_t place = number++ % 10, part = place < 8 ? 0 : place - 7;
        pixels[part].push_back(std::move(picture));
        classes[part].push_back(static_cast<std::int64_t>(folder.names.size()));
      }
    }
    if (number < 10) {
      throw InputError({sub.string()}, "has " + std::to_string(number) + " pictures, expected at least 10",
                       {"of every ten, eight are for training, one for validation and one for the test"});
    }
    folder.names.push_back(sub.filename().string());
  }
  if (folder.names.empty())
    throw InputError({path}, "has no sub-folder", {"it should hold one sub-folder of pictures per symbol"});
  for (int part = 0; part < 3; ++part) {
    folder.pixels[part] = torch::stack(pixels[part]);
    folder.classes[part] = torch::tensor(classes[part]);
  }
  return folder;
}

}  // namespace as2::task
