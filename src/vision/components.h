// Connected components of a thresholded image.
#pragma once

#include <vector>

#include "formats/image.h"

namespace as2::vision {

struct Component {
  int left = 0, top = 0, right = 0, bottom = 0;  // bounding box, inclusive
  int area = 0;                                  // pixels
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
};

struct Components {
  std::vector<Component> list;
  std::vector<int> label;  // per pixel: index into list, or −1
};

// Eight-connected components of the pixels above `threshold`.
Components find_components(const formats::Image& image, int threshold);

}  // namespace as2::vision
