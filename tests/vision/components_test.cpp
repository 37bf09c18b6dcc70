// Components by runs are those that a flood fill finds, in the same order.
#include "vision/components.h"

#include <gtest/gtest.h>

#include "random.h"

namespace as2::vision {
namespace {

Components by_flood_fill(const formats::Image& image, int threshold) {
  Components found;
  found.label.assign(image.pixels.size(), -1);
  for (int start = 0; start < static_cast<int>(image.pixels.size()); ++start) {
    if (image.pixels[start] <= threshold || found.label[start] >= 0) continue;
    Component component{image.width, image.height, 0, 0, 0};
    std::vector<int> open{start};
    while (!open.empty()) {
      const int pixel = open.back(), x = pixel % image.width, y = pixel / image.width;
      open.pop_back();
      if (found.label[pixel] >= 0) continue;
      found.label[pixel] = static_cast<int>(found.list.size());
      component = {std::min(component.left, x), std::min(component.top, y), std::max(component.right, x),
                   std::max(component.bottom, y), component.area + 1};
      for (int v = std::max(0, y - 1); v <= std::min(image.height - 1, y + 1); ++v) {
        for (int u = std::max(0, x - 1); u <= std::min(image.width - 1, x + 1); ++u) {
          if (image.at(u, v) > threshold) open.push_back(v * image.width + u);
        }
      }
    }
    found.list.push_back(component);
  }
  return found;
}

TEST(Components, AreThoseOfAFloodFill) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    formats::Image image(1 + static_cast<int>(random.below(23)), 1 + static_cast<int>(random.below(23)));
    const std::uint64_t share = 1 + random.below(9);  // tenths of ink
    for (std::uint8_t& pixel : image.pixels) pixel = random.below(10) < share ? 200 : 100;
    const Components expected = by_flood_fill(image, 100), found = find_components(image, 100);
    ASSERT_EQ(found.label, expected.label);
    ASSERT_EQ(found.list.size(), expected.list.size());
    for (std::size_t k = 0; k < found.list.size(); ++k) {
      const Component &a = found.list[k], &b = expected.list[k];
      EXPECT_TRUE(a.left == b.left && a.top == b.top && a.right == b.right && a.bottom == b.bottom &&
                  a.area == b.area);
    }
  }
}

}  // namespace
}  // namespace as2::vision
