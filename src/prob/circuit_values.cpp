// A circuit under real weights, layer by layer, the batch innermost: the plain version that defines the
// result.
//
// Upward, in logarithms: a product adds, a sum adds exponentials relative to its greatest term. Downward:
// with D(n) = ∂value/∂n, a sum hands D on as it is, a product hands each factor D times the other factors.
// The other factors are the whole minus the factor, except where a factor is 0: then only one that is the
// only 0 gets anything. So derivatives are exact at beliefs of 0 too.
#include <algorithm>
#include <cmath>
#include <limits>

#include "as2/probability.h"
#include "prob/log_space.h"

namespace as2::prob {
namespace {

// log(exp a + exp b).
double add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNothing ? a : a + std::log1p(std::exp(b - a));
}

// Values and derivatives of every input and node, [item, batch].
class Pass {
 public:
  Pass(const Circuit& circuit, const std::vector<Weights>& batch)
      : circuit_(circuit), inputs_(static_cast<std::size_t>(circuit.inputs())), batch_(batch.size()) {
    value_.resize((inputs_ + static_cast<std::size_t>(circuit.nodes())) * batch_, kNothing);
    for (std::size_t b = 0; b < batch_; ++b) {
      AS2_REQUIRE(batch[b].size() == inputs_, "one weight per input");
      for (std::size_t i = 0; i < inputs_; ++i) value_[i * batch_ + b] = std::log(batch[b][i]);
    }
  }

  void upward() {
    for (const Layer& layer : circuit_.layers) {
      for (int n = layer.begin; n < layer.end; ++n) {
        double* node = value_.data() + (inputs_ + static_cast<std::size_t>(n)) * batch_;
        for (std::size_t b = 0; b < batch_; ++b) node[b] = layer.sum ? sum(n, b) : product(n, b).first;
      }
    }
  }

  void downward() {
    derivative_.assign(value_.size(), kNothing);
    if (circuit_.root < 0) return;
    std::fill_n(derivative_.begin() + static_cast<std::ptrdiff_t>(root() * batch_), batch_, 0.0);
    for (auto layer = circuit_.layers.rbegin(); layer != circuit_.layers.rend(); ++layer) {
      for (int n = layer->begin; n < layer->end; ++n) {
        for (std::size_t b = 0; b < batch_; ++b) hand_down(n, layer->sum, b);
      }
    }
  }

  double value(std::size_t b) const { return circuit_.root < 0 ? kNothing : value_[root() * batch_ + b]; }
  double derivative(std::size_t input, std::size_t b) const { return derivative_[input * batch_ + b]; }

 private:
  std::size_t root() const { return static_cast<std::size_t>(circuit_.root); }
  double& at(std::vector<double>& rows, std::int64_t edge, std::size_t b) const {
    return rows[static_cast<std::size_t>(circuit_.children[edge]) * batch_ + b];
  }

  double sum(int n, std::size_t b) {
    double greatest = kNothing;
    for (std::int64_t e = circuit_.begin[n]; e < circuit_.begin[n + 1]; ++e) {
      greatest = std::max(greatest, at(value_, e, b));
    }
    if (greatest == kNothing) return kNothing;
    double total = 0;
    for (std::int64_t e = circuit_.begin[n]; e < circuit_.begin[n + 1]; ++e) {
      total += std::exp(at(value_, e, b) - greatest);
    }
    return greatest + std::log(total);
  }

  // The product, and the product of the factors that are not 0.
  std::pair<double, double> product(int n, std::size_t b) {
    double rest = 0;
    bool zero = false;
    for (std::int64_t e = circuit_.begin[n]; e < circuit_.begin[n + 1]; ++e) {
      const double factor = at(value_, e, b);
      zero |= factor == kNothing;
      if (factor != kNothing) rest += factor;
    }
    return {zero ? kNothing : rest, rest};
  }

  void hand_down(int n, bool is_sum, std::size_t b) {
    const double own = derivative_[(inputs_ + static_cast<std::size_t>(n)) * batch_ + b];
    if (own == kNothing) return;
    if (is_sum) {
      for (std::int64_t e = circuit_.begin[n]; e < circuit_.begin[n + 1]; ++e) {
        at(derivative_, e, b) = add(at(derivative_, e, b), own);
      }
      return;
    }
    const double rest = product(n, b).second;
    int zeros = 0;
    for (std::int64_t e = circuit_.begin[n]; e < circuit_.begin[n + 1]; ++e) {
      zeros += at(value_, e, b) == kNothing ? 1 : 0;
    }
    if (zeros > 1) return;
    for (std::int64_t e = circuit_.begin[n]; e < circuit_.begin[n + 1]; ++e) {
      const double factor = at(value_, e, b);
      if (zeros == 1 && factor != kNothing) continue;
      at(derivative_, e, b) = add(at(derivative_, e, b), own + rest - (zeros == 0 ? factor : 0));
    }
  }

  const Circuit& circuit_;
  std::size_t inputs_;
  std::size_t batch_;
  std::vector<double> value_;
  std::vector<double> derivative_;
};

}  // namespace

Weights weights_of(const Circuit& circuit, const compile::ConstraintProgram& program,
                   const decode::Beliefs& beliefs, const std::vector<char>& believed) {
  AS2_REQUIRE(beliefs.size() == static_cast<std::size_t>(circuit.positions * circuit.symbols),
              "beliefs must be [positions, max_symbols]");
  AS2_REQUIRE(believed.empty() || believed.size() == program.positions.size(), "one flag per position");
  Weights weights(static_cast<std::size_t>(circuit.inputs()), 1.0);
  for (int i = 0; i < circuit.positions; ++i) {
    if (believed.empty() ? program.positions[i].guess : !believed[i]) continue;
    for (std::size_t s = 0; s < program.positions[i].symbols.size(); ++s) {
      const int input = circuit.input(i, static_cast<int>(s));
      weights[input] = beliefs[input];
    }
  }
  return weights;
}

Evaluated evaluate(const Circuit& circuit, const std::vector<Weights>& batch) {
  Pass pass(circuit, batch);
  pass.upward();
  pass.downward();
  Evaluated evaluated;
  const std::size_t inputs = static_cast<std::size_t>(circuit.inputs());
  for (std::size_t b = 0; b < batch.size(); ++b) {
    evaluated.log_value.push_back(pass.value(b));
    for (std::size_t i = 0; i < inputs; ++i) evaluated.log_derivative.push_back(pass.derivative(i, b));
  }
  return evaluated;
}

double log_value(const Circuit& circuit, const Weights& weights) {
  Pass pass(circuit, {weights});
  pass.upward();
  return pass.value(0);
}

std::vector<double> gradient(const Circuit& circuit, const Evaluated& evaluated, int row) {
  const std::size_t inputs = static_cast<std::size_t>(circuit.inputs());
  std::vector<double> result(inputs, 0);
  for (std::size_t i = 0; i < inputs; ++i) {
    result[i] = std::exp(evaluated.log_derivative[static_cast<std::size_t>(row) * inputs + i] -
                         evaluated.log_value[row]);
  }
  return result;
}

std::vector<double> marginals(const Circuit& circuit, const Weights& weights, const Evaluated& evaluated,
                              int row) {
  std::vector<double> result = gradient(circuit, evaluated, row);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = weights[i] > 0 ? result[i] * weights[i] : 0;
  return result;
}

}  // namespace as2::prob
