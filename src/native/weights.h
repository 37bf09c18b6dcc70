// The tensors of a weights file as float32, checked against the sizes that a network asks for.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "formats/safetensors.h"

namespace as2::native {

class Weights {
 public:
  // `path` names the file in messages; `file` has to outlive this.
  Weights(const formats::SafeTensorFile& file, std::string path) : file_(file), path_(std::move(path)) {}

  // The tensor's numbers, row by row. InputError where it is missing, has another shape, is stored in a type
  // other than float32, float16 and bfloat16, or holds something that is not a finite number.
  std::vector<float> take(const std::string& name, const std::vector<std::int64_t>& shape);
  float take_one(const std::string& name) { return take(name, {}).front(); }
  // InputError where the file has a tensor that nobody took.
  void refuse_unused() const;

 private:
  const formats::SafeTensorFile& file_;
  std::string path_;
  std::set<std::string> taken_;
};

}  // namespace as2::native
