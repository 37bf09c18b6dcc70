#include "vision/components.h"

#include <algorithm>

namespace as2::vision {

Components find_components(const formats::Image& image, int threshold) {
  Components found;
  found.label.assign(image.pixels.size(), -1);
  std::vector<int> open;
  for (int start = 0; start < static_cast<int>(image.pixels.size()); ++start) {
    if (image.pixels[start] <= threshold || found.label[start] >= 0) continue;
    const int index = static_cast<int>(found.list.size());
    Component component{image.width, image.height, 0, 0, 0};
    found.label[start] = index;
    open.assign(1, start);
    while (!open.empty()) {
      const int pixel = open.back();
      open.pop_back();
      const int x = pixel % image.width, y = pixel / image.width;
      component.left = std::min(component.left, x);
      component.right = std::max(component.right, x);
      component.top = std::min(component.top, y);
      component.bottom = std::max(component.bottom, y);
      ++component.area;
      for (int v = std::max(0, y - 1); v <= std::min(image.height - 1, y + 1); ++v) {
        for (int u = std::max(0, x - 1); u <= std::min(image.width - 1, x + 1); ++u) {
          const int next = v * image.width + u;
          if (image.pixels[next] <= threshold || found.label[next] >= 0) continue;
          found.label[next] = index;
          open.push_back(next);
        }
      }
    }
    found.list.push_back(component);
  }
  return found;
}

}  // namespace as2::vision
