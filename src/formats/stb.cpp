// The one place where stb's single-file libraries are compiled, with the formats that are promised and no
// others.
#include "formats/stb.h"

#include <cstdlib>
#include <limits>

namespace as2::formats {
namespace {

thread_local std::size_t largest_block = std::numeric_limits<std::size_t>::max();

// Zeros: where a damaged JPEG does not define a table, stb decodes with what malloc left there, and reads far
// beyond its tables if that was no zeros.
void* allocate(std::size_t bytes) {
  return bytes <= largest_block ? std::calloc(1, bytes) : nullptr;
}

void* grow(void* old, std::size_t bytes) {
  return bytes <= largest_block ? std::realloc(old, bytes) : nullptr;
}

}  // namespace

StbLimit::StbLimit(std::size_t bytes) : before_(largest_block) {
  largest_block = bytes;
}

StbLimit::~StbLimit() {
  largest_block = before_;
}

}  // namespace as2::formats

#define STBI_MALLOC(size) as2::formats::allocate(size)
#define STBI_REALLOC(old, size) as2::formats::grow(old, size)
#define STBI_FREE(old) std::free(old)
#define STB_IMAGE_IMPLEMENTATION
#define STBI_FAILURE_USERMSG
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#include "stb_image.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"
#define STB_TRUETYPE_IMPLEMENTATION
#include "stb_truetype.h"
