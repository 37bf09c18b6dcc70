// Natural numbers of any size: how many answers a program has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace as2::prob {

class Natural {
 public:
  explicit Natural(std::uint32_t value = 0) {
    if (value > 0) digits_.push_back(value);
  }

  Natural& operator+=(const Natural& other);
  Natural operator*(const Natural& other) const;
  std::string str() const;  // in decimal digits

 private:
  void trim();

  std::vector<std::uint32_t> digits_;  // to the base 2³², lowest first, the highest not 0
};

}  // namespace as2::prob
