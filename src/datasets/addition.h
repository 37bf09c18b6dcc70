// Tuples of MNIST digits and their sums, for any number of addends. A list has one tuple per line: `i j sum`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/mnist.h"

namespace as2::datasets {

struct Addition {
  int addends = 2;
  std::vector<std::uint32_t> indices;  // size() × addends MNIST indices
  std::vector<int> sums;
  std::vector<int> lines;  // of the list each stood on; empty where they were generated

  std::size_t size() const { return sums.size(); }
};

// Tuples drawn as in the public lists: the split's indices are shuffled and used up in order, so that each
// occurs at most once per pass over the split; when too few are left for a tuple, a new pass begins.
Addition generate_addition(const Digits& digits, int addends, std::size_t count, std::uint64_t seed);

// Reads a list, plain or gzipped, of tuples of `pictures` pictures. `#` starts a comment. Throws InputError
// with the line's number for a broken line or an index that is not there. Whether a sum is right is the
// program's to say.
Addition parse_addition(const std::string& text, const std::string& name, int addends, std::size_t pictures);
Addition read_addition(const std::string& path, int addends, std::size_t pictures);
std::string format_addition(const Addition& addition);

}  // namespace as2::datasets
