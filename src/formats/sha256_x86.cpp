// Compiled for processors with the SHA extensions; sha256.cpp asks the processor first.
#include <immintrin.h>

#include "formats/sha256_blocks.h"

namespace as2::formats {

void sha256_blocks_x86(std::uint32_t* state, const char* data, std::size_t blocks) {
  const auto load = [](const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want the eight numbers a to h as (f, e, b, a) and (h, g, d, c), the last one highest.
  const __m128i badc = _mm_shuffle_epi32(load(state), 0xb1), hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
  __m128i feba = _mm_alignr_epi8(badc, hgfe, 8), hgdc = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (; blocks > 0; --blocks, data += 64) {
    const __m128i feba_before = feba, hgdc_before = hgdc;
    __m128i words[4];  // the last sixteen, four to a vector
#pragma GCC unroll 16
    for (int four = 0; four < 16; ++four) {
      __m128i& now = words[four % 4];
      const __m128i &next = words[(four + 1) % 4], &second = words[(four + 2) % 4],
                    &last = words[(four + 3) % 4];
      now = four < 4
                ? _mm_shuffle_epi8(load(data + 16 * four), big_endian)
                : _mm_sha256msg2_epu32(
                      _mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8(last, second, 4)), last);
      const __m128i sum = _mm_add_epi32(now, load(kSha256Rounds + 4 * four));
      hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sum);
      feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sum, 0x0e));
    }
    feba = _mm_add_epi32(feba, feba_before);
    hgdc = _mm_add_epi32(hgdc, hgdc_before);
  }
  const __m128i abef = _mm_shuffle_epi32(feba, 0x1b), ghcd = _mm_shuffle_epi32(hgdc, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(abef, ghcd, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(ghcd, abef, 8));
}

}  // namespace as2::formats
