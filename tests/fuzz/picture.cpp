// Pictures: decoded, and searched for a board.
#include "formats/image.h"

#include "fuzz/fuzz.h"
#include "vision/photo.h"

AS2_FUZZ(bytes) {
  as2::fuzz::refused_or_read([&] {
    const as2::formats::Image image = as2::formats::decode_image(bytes, "fuzz.png");
    as2::formats::resize(image, 28, 28);
    as2::vision::read_photo(image, "fuzz.png", 4);
  });
}
