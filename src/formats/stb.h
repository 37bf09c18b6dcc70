// stb's picture library, with a limit on the memory that one call may take.
#pragma once

#include <cstddef>

#include "stb_image.h"

namespace as2::formats {

// While it lives, stb gets no block of more than `bytes` on this thread. How much a packed stream unpacks to
// is told by nothing in it: a picture of 300×300 once became 2 GB.
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
