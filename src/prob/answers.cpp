// A circuit evaluated with other operations: its greatest term, its number of terms, and weighted draws.
#include <algorithm>
#include <cmath>
#include <limits>

#include "as2/probability.h"
#include "prob/log_space.h"
#include "prob/natural.h"
#include "random.h"
#include "stop.h"

namespace as2::prob {
namespace {

// Values of all inputs and nodes in logarithms; `join` says what a sum does with its terms.
template <class Join>
std::vector<double> values_of(const Circuit& circuit, const Weights& weights, const Join& join) {
  std::vector<double> values;
  for (const double weight : weights) values.push_back(std::log(weight));
  for (const Layer& layer : circuit.layers) {
    for (int n = layer.begin; n < layer.end; ++n) {
      const int* first = circuit.children.data() + circuit.begin[n];
      const int* last = circuit.children.data() + circuit.begin[n + 1];
      if (layer.sum) {
        values.push_back(join(first, last, values));
      } else {
        double product = 0;
        for (const int* child = first; child != last; ++child) product += values[*child];
        values.push_back(product);
      }
    }
  }
  return values;
}

// Walks down from the root, every factor of a product and the term of a sum that `choose` names.
template <class Choose>
compile::Assignment descend(const Circuit& circuit, const std::vector<char>& is_sum, const Choose& choose) {
  compile::Assignment assignment(static_cast<std::size_t>(circuit.positions), -1);
  std::vector<int> stack{circuit.root};
  while (!stack.empty()) {
    const int item = stack.back();
    stack.pop_back();
    if (item < circuit.inputs()) {
      if (item < circuit.positions * circuit.symbols) {
        assignment[item / circuit.symbols] = item % circuit.symbols;
      }
      continue;
    }
    const int n = item - circuit.inputs();
    const int* first = circuit.children.data() + circuit.begin[n];
    const int* last = circuit.children.data() + circuit.begin[n + 1];
    if (is_sum[n]) {
      stack.push_back(*choose(item, first, last));
    } else {
      stack.insert(stack.end(), first, last);
    }
  }
  return assignment;
}

// The k best terms of every item, best first. A term of a sum is a term of one of its children; a term of a
// product takes one of each.
class BestTerms {
 public:
  BestTerms(const Circuit& circuit, const Weights& weights, int most) : circuit_(circuit), most_(most) {
    terms_.resize(static_cast<std::size_t>(circuit.inputs() + circuit.nodes()));
    for (int i = 0; i < circuit.inputs(); ++i) {
      if (weights[i] > 0) terms_[i].push_back({std::log(weights[i]), {}});
    }
    for (const Layer& layer : circuit.layers) {
      for (int n = layer.begin; n < layer.end; ++n) {
        const int* first = circuit.children.data() + circuit.begin[n];
        const int* last = circuit.children.data() + circuit.begin[n + 1];
        terms_[circuit.inputs() + n] = layer.sum ? joined(first, last) : combined(first, last);
      }
    }
  }

  std::vector<compile::Assignment> answers() const {
    std::vector<compile::Assignment> found;
    if (circuit_.root < 0) return found;
    for (std::size_t rank = 0; rank < terms_[circuit_.root].size(); ++rank) {
      found.emplace_back(static_cast<std::size_t>(circuit_.positions), -1);
      std::vector<std::pair<int, int>> stack{{circuit_.root, static_cast<int>(rank)}};
      while (!stack.empty()) {
        const auto [item, place] = stack.back();
        stack.pop_back();
        if (item < circuit_.positions * circuit_.symbols)
          found.back()[item / circuit_.symbols] = item % circuit_.symbols;
        const Parts& parts = terms_[item][place].parts;
        stack.insert(stack.end(), parts.begin(), parts.end());
      }
    }
    return found;
  }

 private:
  using Parts = std::vector<std::pair<int, int>>;  // a child, and which of its terms
  struct Term {
    double value;
    Parts parts;
  };
  using Terms = std::vector<Term>;

  void keep_best(Terms& terms) const {
    const std::size_t count = std::min(terms.size(), static_cast<std::size_t>(most_));
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& a, const Term& b) { return a.value > b.value; });
    terms.resize(count, Term{});
  }

  Terms joined(const int* first, const int* last) const {
    Terms terms;
    for (; first != last; ++first) {
      const Terms& child = terms_[*first];
      for (std::size_t k = 0; k < child.size(); ++k)
        terms.push_back({child[k].value, {{*first, static_cast<int>(k)}}});
    }
    keep_best(terms);
    return terms;
  }

  Terms combined(const int* first, const int* last) const {
    Terms terms{{0, {}}};
    for (; first != last; ++first) {
      Terms next;
      const Terms& child = terms_[*first];
      for (std::size_t i = 0; i < terms.size(); ++i) {
        // A pair with as many better ones cannot be among the best.
        for (std::size_t j = 0; j < child.size() && (i + 1) * (j + 1) <= static_cast<std::size_t>(most_);
             ++j) {
          next.push_back({terms[i].value + child[j].value, terms[i].parts});
          next.back().parts.emplace_back(*first, static_cast<int>(j));
        }
      }
      if (child.size() > 1) keep_best(next);
      terms = std::move(next);
    }
    return terms;
  }

  const Circuit& circuit_;
  int most_;
  std::vector<Terms> terms_;
};

std::vector<char> sums_of(const Circuit& circuit) {
  std::vector<char> sums;
  for (const Layer& layer : circuit.layers) sums.insert(sums.end(), layer.end - layer.begin, layer.sum);
  return sums;
}

}  // namespace

compile::Assignment most_probable(const Circuit& circuit, const Weights& weights) {
  if (circuit.root < 0) return {};
  const auto values =
      values_of(circuit, weights, [](const int* first, const int* last, const std::vector<double>& known) {
        double greatest = kNothing;
        for (; first != last; ++first) greatest = std::max(greatest, known[*first]);
        return greatest;
      });
  if (values[circuit.root] == kNothing) return {};
  return descend(circuit, sums_of(circuit), [&](int item, const int* first, const int* last) {
    return std::find_if(first, last, [&](int child) { return values[child] == values[item]; });
  });
}

std::vector<compile::Assignment> most_probable(const Circuit& circuit, const Weights& weights, int most) {
  return BestTerms(circuit, weights, most).answers();
}

std::vector<compile::Assignment> draw(const Circuit& circuit, const Weights& weights, int count,
                                      std::uint64_t seed, const std::atomic<bool>* stop) {
  const auto values =
      values_of(circuit, weights, [](const int* first, const int* last, const std::vector<double>& known) {
        double greatest = kNothing;
        for (const int* child = first; child != last; ++child) greatest = std::max(greatest, known[*child]);
        if (greatest == kNothing) return kNothing;
        double total = 0;
        for (; first != last; ++first) total += std::exp(known[*first] - greatest);
        return greatest + std::log(total);
      });
  AS2_REQUIRE(circuit.root >= 0 && values[circuit.root] != kNothing, "there must be an answer to draw");
  const std::vector<char> sums = sums_of(circuit);
  std::vector<compile::Assignment> drawn;
  for (int k = 0; k < count; ++k) {
    throw_if_stopped(stop, "drawing answers");
    Random random(seed, static_cast<std::uint64_t>(k));
    drawn.push_back(descend(circuit, sums, [&](int item, const int* first, const int* last) {
      double left = random.unit();
      const int* chosen = nullptr;
      for (const int* child = first; child != last; ++child) {
        if (values[*child] == kNothing) continue;
        chosen = child;  // rounding may leave a little after the last
        left -= std::exp(values[*child] - values[item]);
        if (left < 0) break;
      }
      return chosen;
    }));
  }
  return drawn;
}

std::vector<int> contradicting_positions(const Circuit& circuit, const compile::ConstraintProgram& program,
                                         Weights weights) {
  std::vector<int> guilty;
  if (circuit.root < 0) return guilty;
  for (int i = 0; i < circuit.positions; ++i) {
    const auto first = weights.begin() + circuit.input(i, 0);
    const auto last = first + static_cast<std::ptrdiff_t>(program.positions[i].symbols.size());
    if (std::find(first, last, 0.0) == last) continue;
    const Weights before(first, last);
    std::replace(first, last, 0.0, 1.0);
    if (log_value(circuit, weights) == kNothing) continue;  // not needed for the contradiction
    std::copy(before.begin(), before.end(), first);
    guilty.push_back(i);
  }
  return guilty;
}

std::string count_answers(const Circuit& circuit, const std::atomic<bool>* stop) {
  if (circuit.root < 0) return "0";
  if (circuit.root < circuit.inputs()) return "1";
  const int inputs = circuit.inputs();
  std::vector<Natural> values(static_cast<std::size_t>(circuit.nodes()));
  const Natural one(1);
  const auto value_of = [&](int child) -> const Natural& {
    return child < inputs ? one : values[child - inputs];
  };
  for (const Layer& layer : circuit.layers) {
    for (int n = layer.begin; n < layer.end; ++n) {
      throw_if_stopped(stop, "counting answers");
      Natural value(layer.sum ? 0 : 1);
      for (std::int64_t e = circuit.begin[n]; e < circuit.begin[n + 1]; ++e) {
        const Natural& child = value_of(circuit.children[e]);
        if (layer.sum) {
          value += child;
        } else {
          value = value * child;
        }
      }
      values[n] = std::move(value);
    }
  }
  return values[circuit.root - inputs].str();
}

}  // namespace as2::prob
