// torch.ops.as2.soft_tp_…(beliefs, program): soft T_P at beliefs [batch, positions, symbols].
#include "as2/soft_tp.h"

#include "library/operators.h"
#include "library/program.h"

namespace as2::python {
namespace {

using torch::Tensor;

std::shared_ptr<ProgramParts> program_for(const Tensor& beliefs, std::int64_t number) {
  auto parts = Numbered<ProgramParts>::find(number);
  const ConstraintProgram& program = parts->program();
  check_shape(beliefs, static_cast<std::int64_t>(program.positions.size()), program.max_symbols());
  if (has_values(beliefs)) check_values(beliefs, program, kNearProbabilities);
  return parts;
}

template <class T>
std::int64_t length(const std::vector<T>& things) {
  return static_cast<std::int64_t>(things.size());
}

// The methods that give a value per family: their operators differ only in name.
template <const char* kName, Tensor (tp::SoftTp::*method)(const Tensor&) const>
struct PerFamily {
  static constexpr const char* name = kName;
  static constexpr bool differentiable = true;
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t) {
    return (program_for(p, n)->soft_tp().*method)(p);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    const auto parts = program_for(p, n);
    const ConstraintProgram& program = parts->program();
    return empty_result(p, {length(program.families), length(program.positions), program.max_symbols()});
  }
};

constexpr char kImage[] = "soft_tp_image", kResidual[] = "soft_tp_residual",
               kLeaveOneOut[] = "soft_tp_leave_one_out";
using Image = PerFamily<kImage, &tp::SoftTp::image>;
using Residual = PerFamily<kResidual, &tp::SoftTp::residual>;
using LeaveOneOut = PerFamily<kLeaveOneOut, &tp::SoftTp::leave_one_out>;

// `argument`: 0 mean, 1 sum.
struct Loss {
  static constexpr const char* name = "soft_tp_loss";
  static constexpr bool differentiable = true;
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t sum) {
    return program_for(p, n)->soft_tp().loss(p, sum != 0 ? tp::Reduction::kSum : tp::Reduction::kMean);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    program_for(p, n);
    return p.new_empty({}, result_options(p));
  }
};

struct MaxResidual {
  static constexpr const char* name = "soft_tp_max_residual";
  static constexpr bool differentiable = false;
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t) {
    return program_for(p, n)->soft_tp().max_residual(p);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    program_for(p, n);
    return empty_result(p, {});
  }
};

// `argument`: at most so many steps.
struct Refine {
  static constexpr const char* name = "soft_tp_refine";
  static constexpr bool differentiable = true;
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t steps) {
    return program_for(p, n)->soft_tp().refine(p, checked(steps));
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t steps) {
    checked(steps);
    const auto parts = program_for(p, n);
    return empty_result(p, {length(parts->program().positions), parts->program().max_symbols()});
  }

 private:
  static int checked(std::int64_t steps) {
    if (steps >= 0 && steps <= std::numeric_limits<int>::max()) return static_cast<int>(steps);
    throw InputError("steps is " + std::to_string(steps) + ", expected 0 … 2147483647",
                     {"refinement stops by itself where nothing moves any more"});
  }
};

struct ExpectedCost {
  static constexpr const char* name = "soft_tp_expected_cost";
  static constexpr bool differentiable = true;
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t) {
    return program_for(p, n)->soft_tp().expected_cost(p);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    return empty_result(p, {length(program_for(p, n)->program().objectives)});
  }
};

}  // namespace

void register_soft_tp(torch::Library& m) {
  define<Image>(m);
  define<Residual>(m);
  define<LeaveOneOut>(m);
  define<Loss>(m);
  define<MaxResidual>(m);
  define<Refine>(m);
  define<ExpectedCost>(m);
}

}  // namespace as2::python
