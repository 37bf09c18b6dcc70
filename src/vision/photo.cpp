#include "vision/photo.h"

#include <algorithm>
#include <cmath>

#include "as2/error.h"
#include "vision/cells.h"

namespace as2::vision {
namespace {

constexpr int kMostPixels = 2000;   // a side: enough for cells of 50 pixels in a board a quarter as wide
constexpr double kStraight = 0.05;  // of a cell: how far a scan's lines may run off

// Averages blocks of pixels until neither side has more than kMostPixels.
formats::Image shrunk(formats::Image picture, double& factor) {
  const int block = (std::max(picture.width, picture.height) + kMostPixels - 1) / kMostPixels;
  factor = block;
  if (block == 1) return picture;
  formats::Image small(picture.width / block, picture.height / block);
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(small.width));
  for (int y = 0; y < small.height; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int v = 0; v < block; ++v) {
      const std::uint8_t* from = &picture.pixels[static_cast<std::size_t>(y * block + v) * picture.width];
      for (int x = 0; x < small.width; ++x) {
        for (int u = 0; u < block; ++u) sums[static_cast<std::size_t>(x)] += *from++;
      }
    }
    for (int x = 0; x < small.width; ++x)
      small.at(x, y) = static_cast<std::uint8_t>(sums[static_cast<std::size_t>(x)] / (block * block));
  }
  return small;
}

bool is_straight(const Lattice& lattice) {
  const double most = kStraight * lattice.pitch();
  for (int k = 0; k <= lattice.side; ++k) {
    for (int j = 0; j <= lattice.side; ++j) {
      if (std::abs(lattice.node(j, k).y - lattice.node(0, k).y) > most ||
          std::abs(lattice.node(k, j).x - lattice.node(k, 0).x) > most)
        return false;
    }
  }
  return true;
}

std::string size_text(const formats::Image& image) {
  return std::to_string(image.width) + "x" + std::to_string(image.height);
}

}  // namespace

Photo read_photo(formats::Image picture, const std::string& name, int side, DebugPictures* debug) {
  Photo photo;
  const std::string size = size_text(picture);
  photo.picture = shrunk(std::move(picture), photo.shrunk);
  const bool paper_size = photo.picture.width == photo.picture.height && photo.picture.width == 28 * side;
  formats::Image ink;
  std::optional<FoundBoard> found;
  if (!paper_size && std::min(photo.picture.width, photo.picture.height) >= 100)
    found = find_board(photo.picture, side, debug ? &ink : nullptr);
  const bool enough = found && found->support.score() >= kEnoughSupport;
  if (debug && enough) {
    debug->emplace_back("picture", photo.picture);
    debug->emplace_back("ink", ink);
    debug->emplace_back("grid", with_lattice(photo.picture, found->lattice));
  }
  if (enough && found->others > 0) {
    throw InputError({name},
                     "more than one board: saw a picture of " + size + ", " +
                         std::to_string(found->others + 1) + " separate grids",
                     {"crop it to one board"});
  }
  // A straight scan is read between its lines, unless a slanting lattice fits it better.
  if (!enough || is_straight(found->lattice)) {
    try {
      photo.straight = read_board(photo.picture, name, side, enough ? nullptr : debug, size);
    } catch (const InputError&) {
      if (!enough) throw;
    }
  }
  if (photo.straight && (!enough || !photo.straight->lines ||
                         std::abs(photo.straight->lattice.pitch() / found->lattice.pitch() - 1) < 0.03)) {
    photo.lattice = photo.straight->lattice;
    photo.dark_ink = photo.straight->dark_ink;
  } else {
    photo.straight.reset();
    photo.lattice = found->lattice;
    photo.dark_ink = found->dark_ink;
  }
  photo.seen = (photo.straight ? "a grid with lines in a picture of " : "a grid in a photo of ") + size +
               (photo.dark_ink ? ", dark ink on light paper" : ", light ink on dark paper");
  photo.saw = photo.straight ? photo.straight->saw : photo.seen;
  // Cells without lines are as they should be.
  photo.cells = photo.straight && !photo.straight->lines
                    ? photo.straight->cells
                    : cut_cells(photo.picture, photo.lattice, photo.dark_ink);
  if (debug && enough) {
    debug->back().second = with_lattice(photo.picture, photo.lattice);
    debug->emplace_back("cells", montage(photo.cells, side));
  }
  return photo;
}

Photo turned(Photo photo, int turns) {
  const int side = photo.lattice.side;
  for (int turn = 0; turn < turns; ++turn) {
    photo.lattice = photo.lattice.turned();
    photo.straight.reset();
    const std::vector<formats::Image> before = std::move(photo.cells);
    photo.cells.clear();
    for (int row = 0; row < side; ++row) {
      for (int column = 0; column < side; ++column)
        photo.cells.push_back(turned(before[static_cast<std::size_t>(column * side + side - 1 - row)]));
    }
  }
  return photo;
}

std::vector<formats::Image> normalised_cells(const Photo& photo) {
  constexpr int kSize = 80, kThreshold = 90;
  std::vector<formats::Image> result;
  for (const formats::Image& cell : cut_cells(photo.picture, photo.lattice, photo.dark_ink, kSize))
    result.push_back(normalised_digit(cell, kThreshold));
  return result;
}

}  // namespace as2::vision
