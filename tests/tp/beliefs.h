// Beliefs for tests of soft T_P.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "as2/constraint_program.h"
#include "support/hand_programs.h"

namespace as2::test {

// One element's rows, each a distribution over its domain, flattened with stride max_symbols(). `zeros`: the
// chance in ten that an entry is exactly 0.
inline std::vector<double> random_rows(const compile::ConstraintProgram& program, Random& random,
                                       int zeros = 0) {
  const int stride = program.max_symbols();
  std::vector<double> rows(program.positions.size() * stride);
  for (std::size_t i = 0; i < program.positions.size(); ++i) {
    const std::size_t domain = program.positions[i].symbols.size();
    double total = 0;
    while (total == 0) {
      for (std::size_t s = 0; s < domain; ++s) {
        total += rows[i * stride + s] = random.below(10) < zeros ? 0 : 0.05 + uniform(random);
      }
    }
    for (std::size_t s = 0; s < domain; ++s) rows[i * stride + s] /= total;
  }
  return rows;
}

inline std::vector<double> one_hot(const compile::ConstraintProgram& program, const compile::Assignment& y) {
  std::vector<double> rows(program.positions.size() * program.max_symbols());
  for (std::size_t i = 0; i < y.size(); ++i) rows[i * program.max_symbols() + y[i]] = 1;
  return rows;
}

// [1, positions, symbols].
inline torch::Tensor beliefs_of(const compile::ConstraintProgram& program, const std::vector<double>& rows) {
  return torch::tensor(rows, torch::kFloat64)
      .view({1, static_cast<std::int64_t>(program.positions.size()), program.max_symbols()});
}

// [batch, positions, symbols] of random distributions.
inline torch::Tensor random_beliefs(const compile::ConstraintProgram& program, std::int64_t batch,
                                    Random& random, int zeros = 0) {
  std::vector<torch::Tensor> rows;
  for (std::int64_t b = 0; b < batch; ++b)
    rows.push_back(beliefs_of(program, random_rows(program, random, zeros)));
  if (rows.empty()) {
    return torch::zeros({0, static_cast<std::int64_t>(program.positions.size()), program.max_symbols()},
                        torch::kFloat64);
  }
  return torch::cat(rows);
}

}  // namespace as2::test
