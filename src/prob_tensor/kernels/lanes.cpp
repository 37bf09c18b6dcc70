// The CPU kernel, vectorised across the batch: W batch elements are transposed into lanes, so that every
// operation on an item is one operation on W neighbouring numbers, whatever pattern the circuit has. Compiled
// once per instruction set (AS2_ISA names the namespace); includes nothing that has inline code shared with
// other files, because the linker would keep only one copy of it.
//
// Upward: a product adds logarithms, a sum is m + log Σ exp(x − m) with m its greatest term. Downward the
// share of the value that passes an item: a product hands its own on to every factor, a sum hands each term
// its part exp(term − sum), with what rounding took from the sum put back: the parts add up to 1 however
// large the logarithms are. At an input the share is weight · ∂ log value/∂weight. Shares lie in [0, 1], so
// the way down needs no logarithms. exp and log are polynomials, exact to the last bits of T on the ranges
// that occur: exp of what is at most 0, log of a positive normal number.
#include "prob_tensor/kernels/lanes.h"

namespace as2::prob_tensor::kernels::AS2_ISA {
namespace {

template <class T>
struct Bits;
template <>
struct Bits<float> {
  using Integer = std::int32_t;
  static constexpr int kMantissa = 23, kBias = 127, kExpTerms = 7, kLogTerms = 5;
  static constexpr float kLeastExponent = -87.0f, kLeastNormal = 1.17549435e-38f;
};
template <>
struct Bits<double> {
  using Integer = std::int64_t;
  static constexpr int kMantissa = 52, kBias = 1023, kExpTerms = 13, kLogTerms = 11;
  static constexpr double kLeastExponent = -700.0, kLeastNormal = 2.2250738585072014e-308;
};

// W numbers, one per batch element, with element-wise arithmetic (the compilers' vector extension).
template <class T, int W>
struct LaneOf {
  typedef T Type __attribute__((vector_size(W * sizeof(T)), may_alias));
  typedef typename Bits<T>::Integer Integer __attribute__((vector_size(W * sizeof(T)), may_alias));
};
template <class T>
struct LaneOf<T, 1> {
  using Type = T;
  using Integer = typename Bits<T>::Integer;
};
template <class T, int W>
using Lane = typename LaneOf<T, W>::Type;

// Lanes are passed by reference and never returned: as values, their place would depend on the instruction
// set.
template <class From, class To>
inline void copy_bits(const From& from, To& to) {
  static_assert(sizeof(To) == sizeof(From), "lanes of one width");
  __builtin_memcpy(&to, &from, sizeof(to));
}

// Truncates, or makes a number of an integer.
template <int W, class From, class To>
inline void convert(const From& from, To& to) {
  if constexpr (W == 1) {
    to = static_cast<To>(from);
  } else {
    to = __builtin_convertvector(from, To);
  }
}

// exp(x) for x ≤ 0, or a rounding error above.
template <class T, int W>
inline void exponential(const Lane<T, W>& given, Lane<T, W>& result) {
  using L = Lane<T, W>;
  const L least = L{} + Bits<T>::kLeastExponent;
  const L x = given < least ? least : given;
  typename LaneOf<T, W>::Integer power;
  L n, scale;
  convert<W>(L(x * T(1.4426950408889634) - T(0.5)), power);
  convert<W>(power, n);
  // ln 2 in two parts, so that n · ln 2 loses nothing.
  const L r = (x - n * T(0.693145751953125)) - n * T(1.42860682030941723212e-6);
  L sum = L{} + 1;
  for (int k = Bits<T>::kExpTerms; k > 0; --k) sum = 1 + r * (T(1) / T(k)) * sum;
  power = (power + Bits<T>::kBias) << Bits<T>::kMantissa;
  copy_bits(power, scale);
  result = given < least ? L{} : sum * scale;
}

// log(x) for positive normal x: x = 2^e · m with m around 1, log m = 2 artanh((m − 1)/(m + 1)).
template <class T, int W>
inline void logarithm(const Lane<T, W>& x, Lane<T, W>& result) {
  using L = Lane<T, W>;
  using Integer = typename Bits<T>::Integer;
  using I = typename LaneOf<T, W>::Integer;
  I bits;
  L m, e;
  copy_bits(x, bits);
  const Integer one = Integer{Bits<T>::kBias} << Bits<T>::kMantissa;
  const Integer mantissa = (Integer{1} << Bits<T>::kMantissa) - 1;
  copy_bits(I((bits & mantissa) | one), m);
  convert<W>(I((bits >> Bits<T>::kMantissa) - Bits<T>::kBias), e);
  const L middle = L{} + T(1.4142135623730951);
  e = m > middle ? e + 1 : e;
  m = m > middle ? m * T(0.5) : m;
  const L t = (m - 1) / (m + 1);
  const L square = t * t;
  L sum = L{};
  for (int k = Bits<T>::kLogTerms; k >= 0; --k) sum = sum * square + T(1) / T(2 * k + 1);
  result = e * T(0.6931471805599453) + 2 * t * sum;
}

template <class T, int W>
void run(const CircuitArrays& arrays, const Block<T>& block) {
  using L = Lane<T, W>;
  const std::int64_t items = std::int64_t{arrays.inputs} + arrays.nodes;
  L* value = reinterpret_cast<L*>(block.scratch);
  L* share = value + items;
  L* lost = share + items;  // per node: what rounding took from a sum's logarithm
  const L nothing = L{} + T(kNothing);
  const L almost_nothing = L{} + T(kAlmostNothing);

  T* flat = reinterpret_cast<T*>(value);
  for (std::int64_t i = 0; i < arrays.inputs; ++i) {
    for (std::int64_t w = 0; w < W; ++w) {
      flat[i * W + w] = w < block.lanes ? block.weights[w * arrays.inputs + i] : T(0);
    }
    // A number with fewer bits than others counts as the least one that has all: neither its logarithm nor
    // what is divided by it is infinite.
    const L weight = value[i];
    const L least = L{} + Bits<T>::kLeastNormal;
    const L safe = weight < least ? least : weight;
    L log;
    logarithm<T, W>(safe, log);
    value[i] = weight <= L{} ? nothing : log;
  }
  for (std::int32_t layer = 0; layer < arrays.layers; ++layer) {
    const bool sum = arrays.layer_sum[layer] != 0;
    for (std::int32_t n = arrays.layer_begin[layer]; n < arrays.layer_begin[layer + 1]; ++n) {
      const std::int32_t* first = arrays.children + arrays.child_begin[n];
      const std::int32_t* last = arrays.children + arrays.child_begin[n + 1];
      L result = L{};
      if (sum) {
        L greatest = value[*first];
        for (const std::int32_t* c = first + 1; c != last; ++c) {
          greatest = value[*c] > greatest ? value[*c] : greatest;
        }
        for (const std::int32_t* c = first; c != last; ++c) {
          L term;
          exponential<T, W>(L(value[*c] - greatest), term);
          result += term;
        }
        L log;
        logarithm<T, W>(result, log);
        result = greatest + log;
        lost[n] = (greatest - result) + log;
      } else {
        for (const std::int32_t* c = first; c != last; ++c) result += value[*c];
      }
      value[arrays.inputs + n] = result;
    }
  }
  const T* root = arrays.root < 0 ? nullptr : flat + std::int64_t{arrays.root} * W;
  for (std::int64_t w = 0; w < block.lanes; ++w) {
    block.values[w] = root && root[w] > T(kAlmostNothing) ? root[w] : -T(__builtin_inf());
  }
  if (!block.gradient) return;

  for (std::int64_t i = 0; i < items; ++i) share[i] = L{};
  if (arrays.root >= 0) share[arrays.root] = value[arrays.root] < almost_nothing ? L{} : L{} + 1;
  for (std::int32_t layer = arrays.layers - 1; layer >= 0; --layer) {
    const bool sum = arrays.layer_sum[layer] != 0;
    for (std::int32_t n = arrays.layer_begin[layer]; n < arrays.layer_begin[layer + 1]; ++n) {
      const L own = share[arrays.inputs + n];
      const L total = value[arrays.inputs + n];
      for (std::int32_t e = arrays.child_begin[n]; e < arrays.child_begin[n + 1]; ++e) {
        const std::int32_t c = arrays.children[e];
        if (sum) {
          L part;
          exponential<T, W>(L(value[c] - total - lost[n]), part);
          share[c] += own * part;
        } else {
          share[c] += own;
        }
      }
    }
  }
  const T* shares = reinterpret_cast<const T*>(share);
  for (std::int64_t w = 0; w < block.lanes; ++w) {
    for (std::int64_t i = 0; i < arrays.inputs; ++i) {
      const T weight = block.weights[w * arrays.inputs + i];
      block.gradient[w * arrays.inputs + i] =
          weight <= 0 ? T(0)
                      : shares[i * W + w] / (weight < Bits<T>::kLeastNormal ? Bits<T>::kLeastNormal : weight);
    }
  }
}

}  // namespace

template <class T>
Version<T> version() {
  return {run<T, static_cast<int>(block_width<T>())>, run<T, 1>};
}

template Version<float> version<float>();
template Version<double> version<double>();

}  // namespace as2::prob_tensor::kernels::AS2_ISA
