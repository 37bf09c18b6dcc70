// Every atom i of the program, some auxiliary variables and "true" have a unit vector v_i, and S has a column
// s_i for each. The layer solves
//
//   minimise Σ_{i,j} (s_i·s_j) (v_i·v_j)   over the vectors of the atoms that are not given,
//
// by coordinate descent (the mixing method): with g_o = Σ_{j≠o} (s_o·s_j) v_j, the best v_o is −g_o/|g_o|. W
// = Σ_i s_i v_iᵀ makes one update O(clauses · rank). A given atom of value z has v = −cos(πz) e + sin(πz) r,
// where e is the vector of "true" and r a fixed direction orthogonal to it; the value of the others is z =
// arccos(−v·e)/π.
//
// Backward, with ℓ_o = ∂L/∂v_o and P_o = 1 − v_o v_oᵀ: differentiating the fixed point gives the linear
// system
//
//   u_o = P_o (ℓ_o − Σ_{j≠o} (s_o·s_j) u_j) / |g_o|,
//
// which the same coordinate descent solves with Φ = Σ_o s_o u_oᵀ in the place of W; then
//
//   ∂L/∂s_i = −(W u_i + Φ v_i),   ∂L/∂v_i = −Φᵀ s_i at a given atom.
//
// Rank √(2·variables) + 1 suffices for the relaxation's optimum. The starts are the same in every call, so
// that an answer depends neither on a generator nor on the rest of the batch. The authors' kernel draws them
// anew; theirs runs on a GPU, this one on the host.
#include "nn/satnet.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <limits>

#include "as2/error.h"
#include "once_differentiable.h"
#include "random.h"

namespace as2::nn {
namespace {

using torch::Tensor;

constexpr double kSmallestNorm = 1e-10, kLargestCosine = 1 - 1e-6;

// One example's vectors and the sum over them that both directions keep up to date.
template <class T>
struct Vectors {
  std::int64_t variables, clauses, rank;
  const T* s;  // [variables, clauses]

  // out = Mᵀ s_i, M [clauses, rank]
  void project(const T* m, std::int64_t i, T* out) const {
    std::fill_n(out, rank, T(0));
    for (std::int64_t c = 0; c < clauses; ++c) {
      const T weight = s[i * clauses + c];
      for (std::int64_t k = 0; k < rank; ++k) out[k] += weight * m[c * rank + k];
    }
  }
  // M += s_i deltaᵀ
  void add(T* m, std::int64_t i, const T* delta) const {
    for (std::int64_t c = 0; c < clauses; ++c) {
      const T weight = s[i * clauses + c];
      for (std::int64_t k = 0; k < rank; ++k) m[c * rank + k] += weight * delta[k];
    }
  }
  T square(std::int64_t i) const {
    T sum = 0;
    for (std::int64_t c = 0; c < clauses; ++c) sum += s[i * clauses + c] * s[i * clauses + c];
    return sum;
  }
};

template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
  T sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += a[k] * b[k];
  return sum;
}

// Coordinate descent over the free variables: `next` writes the new vector of variable o into its last
// argument, given Mᵀ s_o; until none has moved by more than the tolerance.
template <class T, class Next>
void descend(const Vectors<T>& of, const std::vector<std::int64_t>& free, T* vectors, T* m, int sweeps,
             double tolerance, Next next) {
  std::vector<T> projected(of.rank), fresh(of.rank);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    T farthest = 0;
    for (const std::int64_t o : free) {
      T* v = vectors + o * of.rank;
      of.project(m, o, projected.data());
      next(o, projected.data(), fresh.data());
      T distance = 0;
      for (std::int64_t k = 0; k < of.rank; ++k) {
        projected[k] = fresh[k] - v[k];
        distance += projected[k] * projected[k];
        v[k] = fresh[k];
      }
      of.add(m, o, projected.data());
      farthest = std::max(farthest, distance);
    }
    if (farthest <= tolerance * tolerance) return;
  }
}

std::vector<std::int64_t> free_variables(const bool* given, std::int64_t atoms, std::int64_t variables) {
  std::vector<std::int64_t> free;
  for (std::int64_t i = 1; i < variables; ++i) {
    if (i > atoms || !given[i - 1]) free.push_back(i);
  }
  return free;
}

struct Layer : torch::autograd::Function<Layer> {
  static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& z, const Tensor& given,
                        const Tensor& clauses, const Tensor& start, std::int64_t sweeps, double tolerance);
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list upstream);
};

template <class T>
void solve(const Tensor& z, const Tensor& given, const Tensor& s, const Tensor& start, int sweeps,
           double tolerance, Tensor& vectors, Tensor& sums, Tensor& norms, Tensor& result) {
  const std::int64_t batch = z.size(0), atoms = z.size(1), variables = s.size(0), rank = start.size(1);
  at::parallel_for(0, batch, 1, [&](std::int64_t begin, std::int64_t end) {
    const Vectors<T> of{variables, s.size(1), rank, s.data_ptr<T>()};
    std::vector<T> squares(variables);
    for (std::int64_t i = 0; i < variables; ++i) squares[i] = of.square(i);
    for (std::int64_t b = begin; b < end; ++b) {
      T* v = vectors.data_ptr<T>() + b * variables * rank;
      T* w = sums.data_ptr<T>() + b * of.clauses * rank;
      T* norm = norms.data_ptr<T>() + b * variables;
      const bool* fixed = given.data_ptr<bool>() + b * atoms;
      const T* value = z.data_ptr<T>() + b * atoms;
      std::copy_n(start.data_ptr<T>(), variables * rank, v);
      for (std::int64_t i = 0; i < atoms; ++i) {
        if (!fixed[i]) continue;
        T* own = v + (i + 1) * rank;  // the start of an atom has no part along "true" when it is given
        const T angle = static_cast<T>(M_PI) * value[i], along = own[0];
        const T scale = std::sin(angle) / std::sqrt(1 - along * along);
        for (std::int64_t k = 1; k < rank; ++k) own[k] *= scale;
        own[0] = -std::cos(angle);
      }
      for (std::int64_t i = 0; i < variables; ++i) of.add(w, i, v + i * rank);
      descend(of, free_variables(fixed, atoms, variables), v, w, sweeps, tolerance,
              [&](std::int64_t o, T* g, T* fresh) {
                for (std::int64_t k = 0; k < rank; ++k) g[k] -= squares[o] * v[o * rank + k];
                norm[o] = std::max(std::sqrt(dot(g, g, rank)), static_cast<T>(kSmallestNorm));
                for (std::int64_t k = 0; k < rank; ++k) fresh[k] = -g[k] / norm[o];
              });
      T* out = result.data_ptr<T>() + b * atoms;
      for (std::int64_t i = 0; i < atoms; ++i) {
        const T cosine =
            std::clamp(-v[(i + 1) * rank], static_cast<T>(-kLargestCosine), static_cast<T>(kLargestCosine));
        out[i] = fixed[i] ? value[i] : std::acos(cosine) / static_cast<T>(M_PI);
      }
    }
  });
}

template <class T>
void differentiate(const Tensor& z, const Tensor& given, const Tensor& s, const Tensor& start, int sweeps,
                   double tolerance, const Tensor& vectors, const Tensor& sums, const Tensor& norms,
                   const Tensor& upstream, Tensor& to_z, Tensor& to_s) {
  const std::int64_t batch = z.size(0), atoms = z.size(1), variables = s.size(0), rank = start.size(1);
  const std::int64_t clauses = s.size(1);
  std::vector<Tensor> each(static_cast<std::size_t>(batch));  // ∂L/∂S of each example, added in their order
  at::parallel_for(0, batch, 1, [&](std::int64_t begin, std::int64_t end) {
    const Vectors<T> of{variables, clauses, rank, s.data_ptr<T>()};
    std::vector<T> squares(variables), target(rank), slope(atoms);
    for (std::int64_t i = 0; i < variables; ++i) squares[i] = of.square(i);
    for (std::int64_t b = begin; b < end; ++b) {
      const T* v = vectors.data_ptr<T>() + b * variables * rank;
      const T* w = sums.data_ptr<T>() + b * clauses * rank;
      const T* norm = norms.data_ptr<T>() + b * variables;
      const bool* fixed = given.data_ptr<bool>() + b * atoms;
      const T* value = z.data_ptr<T>() + b * atoms;
      const T* gradient = upstream.data_ptr<T>() + b * atoms;
      for (std::int64_t i = 0; i < atoms; ++i) {
        const T along = std::min(std::abs(v[(i + 1) * rank]), static_cast<T>(kLargestCosine));
        slope[i] = fixed[i] ? T(0) : gradient[i] / (static_cast<T>(M_PI) * std::sqrt(1 - along * along));
      }
      std::vector<T> u(variables * rank), phi(clauses * rank);
      descend(of, free_variables(fixed, atoms, variables), u.data(), phi.data(), sweeps, tolerance * 1e-2,
              [&](std::int64_t o, T* projected, T* fresh) {
                for (std::int64_t k = 0; k < rank; ++k)
                  fresh[k] = squares[o] * u[o * rank + k] - projected[k];
                if (o <= atoms) fresh[0] += slope[o - 1];
                const T along = dot(fresh, v + o * rank, rank);
                for (std::int64_t k = 0; k < rank; ++k)
                  fresh[k] = (fresh[k] - along * v[o * rank + k]) / norm[o];
              });
      each[b] = torch::zeros_like(s);
      T* own = each[b].template data_ptr<T>();
      for (std::int64_t i = 0; i < variables; ++i) {
        for (std::int64_t c = 0; c < clauses; ++c)
          own[i * clauses + c] =
              -dot(w + c * rank, u.data() + i * rank, rank) - dot(phi.data() + c * rank, v + i * rank, rank);
      }
      T* into = to_z.data_ptr<T>() + b * atoms;
      for (std::int64_t i = 0; i < atoms; ++i) {
        into[i] = gradient[i];
        if (!fixed[i]) {
          into[i] = 0;
          continue;
        }
        of.project(phi.data(), i + 1, target.data());
        const T* from = start.data_ptr<T>() + (i + 1) * rank;
        const T angle = static_cast<T>(M_PI) * value[i];
        const T scale = static_cast<T>(M_PI) * std::cos(angle) / std::sqrt(1 - from[0] * from[0]);
        into[i] -= target[0] * static_cast<T>(M_PI) * std::sin(angle);
        for (std::int64_t k = 1; k < rank; ++k) into[i] -= target[k] * scale * from[k];
      }
    }
  });
  for (const Tensor& one : each) to_s += one;
}

Tensor Layer::forward(torch::autograd::AutogradContext* context, const Tensor& z, const Tensor& given,
                      const Tensor& clauses, const Tensor& start, std::int64_t sweeps, double tolerance) {
  const auto options = z.options();
  const std::int64_t batch = z.size(0), variables = clauses.size(0), rank = start.size(1);
  Tensor vectors = torch::empty({batch, variables, rank}, options);
  Tensor sums = torch::zeros({batch, clauses.size(1), rank}, options);
  Tensor norms = torch::ones({batch, variables}, options), result = torch::empty_like(z);
  AT_DISPATCH_FLOATING_TYPES(z.scalar_type(), "satnet", [&] {
    solve<scalar_t>(z, given, clauses, start, static_cast<int>(sweeps), tolerance, vectors, sums, norms,
                    result);
  });
  context->save_for_backward({z, given, clauses, start, vectors, sums, norms});
  keep_edges(context, {z, clauses});
  context->saved_data["sweeps"] = sweeps;
  context->saved_data["tolerance"] = tolerance;
  return result;
}

torch::autograd::variable_list Layer::backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::variable_list upstream) {
  const auto saved = context->get_saved_variables();
  Tensor to_z = torch::empty_like(saved[0]), to_s = torch::zeros_like(saved[2]);
  const Tensor gradient = upstream[0].contiguous();
  AT_DISPATCH_FLOATING_TYPES(to_z.scalar_type(), "satnet_backward", [&] {
    differentiate<scalar_t>(
        saved[0], saved[1], saved[2], saved[3], static_cast<int>(context->saved_data["sweeps"].toInt()),
        context->saved_data["tolerance"].toDouble(), saved[4], saved[5], saved[6], gradient, to_z, to_s);
  });
  return once_differentiable(context, upstream, {to_z, {}, to_s, {}, {}, {}});
}

}  // namespace

Tensor satnet(const Tensor& z, const Tensor& given, const Tensor& clauses, const Tensor& start, int sweeps,
              double tolerance) {
  const auto host = [&](const Tensor& tensor) { return tensor.to(torch::kCPU).contiguous(); };
  return Layer::apply(host(z), host(given), host(clauses).to(z.scalar_type()),
                      host(start).to(z.scalar_type()), static_cast<std::int64_t>(sweeps), tolerance)
      .to(z.device());
}

SatNet::SatNet(const SatNetOptions& options, const compile::ConstraintProgram& program) : options_(options) {
  structure_ = Structure::of(program);
  const std::int64_t variables = 1 + structure_.positions * structure_.symbols + options.auxiliary;
  const auto rank = static_cast<std::int64_t>(std::ceil(std::sqrt(2.0 * static_cast<double>(variables)))) + 1;
  // From our own generator, so that they are the same on every machine.
  Random random(0);
  start_ = torch::empty({variables, rank});
  for (std::int64_t n = 0; n < start_.numel(); ++n)
    start_.data_ptr<float>()[n] = static_cast<float>(random.normal());
  start_ = start_ / start_.norm(2, 1, true);
  start_[0].zero_();
  start_[0][0] = 1;  // "true"
  const double scale = std::sqrt(0.5 / static_cast<double>(variables + options.clauses));
  clauses_ = register_parameter("clauses", torch::randn({variables, options.clauses}) * scale);
}

void SatNet::bind(const compile::ConstraintProgram& program) {
  Structure structure = Structure::of(program);
  AS2_REQUIRE(structure.positions == structure_.positions && structure.symbols == structure_.symbols,
              "a satnet's weights fit programs with the same positions and symbols");
  structure_ = std::move(structure);
}

// Atoms outside a domain are given as false. Evidence keeps its logarithm.
ReasonerOutput SatNet::forward(const ReasonerInput& input, int /*passes*/) {
  constexpr double kSmallest = 1e-6;
  AS2_REQUIRE(!input.state.defined(), "a satnet carries no state");
  const auto device = input.beliefs.device();
  if (structure_.mask.device() != device) structure_ = structure_.to(device);
  const auto dtype = input.beliefs.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  const Tensor beliefs = input.beliefs.to(dtype);
  const Tensor known = input.evidence.unsqueeze(-1) | structure_.mask.logical_not();
  const Tensor z = torch::where(structure_.mask, beliefs, torch::zeros_like(beliefs));
  const Tensor solved =
      satnet(z.flatten(1), known.flatten(1), clauses_, start_, options_.sweeps, options_.tolerance)
          .view_as(beliefs)
          .clamp(kSmallest, 1 - kSmallest);
  Tensor logits = torch::where(input.evidence.unsqueeze(-1), beliefs.clamp_min(kSmallest).log(),
                               solved.log() - (1 - solved).log());
  if (!structure_.full)
    logits = logits.masked_fill(structure_.mask.logical_not(), -std::numeric_limits<float>::infinity());
  ReasonerOutput output;
  output.logits.push_back(logits);
  if (!is_training())
    output.passes = torch::ones({beliefs.size(0)}, input.evidence.options().dtype(torch::kInt64));
  return output;
}

}  // namespace as2::nn
