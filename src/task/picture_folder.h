// A user's own pictures: a folder with one sub-folder per symbol.
#pragma once

#include <string>
#include <vector>

#include "task/table.h"

namespace as2::task {

// Pictures by part (training, validation, test): of every ten in name order eight, one and one.
struct PictureFolder {
  Table<std::uint8_t> pixels[3];   // [images, 28 · 28], ink 255 on paper 0
  std::vector<int> classes[3];     // [images]
  std::vector<std::string> names;  // sub-folders, sorted
};

// Any format and size stb reads; colours become grey, dark ink on light paper is turned round, and a picture
// is scaled to 28 × 28 by averaging areas. A file named .idx3-ubyte holds many pictures of 28 × 28 as MNIST
// has them, ink 255 on paper 0, taken as they are.
PictureFolder read_picture_folder(const std::string& path);

}  // namespace as2::task
