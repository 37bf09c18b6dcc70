// stb's picture library, with a limit on the memory that one call may take.
#pragma once

#include <cstddef>

#include "stb_image.h"

namespace as2::formats {

// While one of these is alive, stb is refused any block of more than `bytes` on this thread. Nothing in a
// packed stream tells how much it unpacks to: a picture of 300×300 pixels once became 2 GB.
class StbLimit {
 public:
  explicit StbLimit(std::size_t bytes);
  ~StbLimit();
  StbLimit(const StbLimit&) = delete;
  StbLimit& operator=(const StbLimit&) = delete;

 private:
  std::size_t before_;
};

}  // namespace as2::formats
