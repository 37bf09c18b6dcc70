#include "prob/natural.h"

#include <algorithm>

namespace as2::prob {

Natural& Natural::operator+=(const Natural& other) {
  digits_.resize(std::max(digits_.size(), other.digits_.size()) + 1, 0);
  std::uint64_t carry = 0;
  for (std::size_t k = 0; k < digits_.size(); ++k) {
    carry += digits_[k];
    if (k < other.digits_.size()) carry += other.digits_[k];
    digits_[k] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  trim();
  return *this;
}

Natural Natural::operator*(const Natural& other) const {
  Natural product;
  product.digits_.assign(digits_.size() + other.digits_.size(), 0);
  for (std::size_t i = 0; i < digits_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < other.digits_.size() || carry > 0; ++j) {
      carry += product.digits_[i + j];
      if (j < other.digits_.size()) carry += std::uint64_t{digits_[i]} * other.digits_[j];
      product.digits_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  product.trim();
  return product;
}

std::string Natural::str() const {
  constexpr std::uint64_t kChunk = 1000000000;
  std::string text;
  std::vector<std::uint32_t> rest = digits_;
  while (!rest.empty()) {
    std::uint64_t remainder = 0;
    for (std::size_t k = rest.size(); k-- > 0;) {
      remainder = (remainder << 32) | rest[k];
      rest[k] = static_cast<std::uint32_t>(remainder / kChunk);
      remainder %= kChunk;
    }
    while (!rest.empty() && rest.back() == 0) rest.pop_back();
    for (int digit = 0; digit < 9 && (!rest.empty() || remainder > 0); ++digit, remainder /= 10) {
      text.push_back(static_cast<char>('0' + remainder % 10));
    }
  }
  std::reverse(text.begin(), text.end());
  return text.empty() ? "0" : text;
}

void Natural::trim() {
  while (!digits_.empty() && digits_.back() == 0) digits_.pop_back();
}

}  // namespace as2::prob
