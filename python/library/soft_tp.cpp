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

// [batch, families, positions, symbols]
Tensor by_family(const Tensor& beliefs, std::int64_t number) {
  const auto families = static_cast<std::int64_t>(program_for(beliefs, number)->program().families.size());
  return beliefs.detach().to(result_options(beliefs).dtype()).unsqueeze(1).expand({-1, families, -1, -1});
}

// The methods that give a value per family: their operators differ only in name.
template <const char* kName, Tensor (tp::SoftTp::*method)(const Tensor&) const>
struct PerFamily {
  static constexpr const char* name = kName;
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t) {
    return (program_for(p, n)->soft_tp().*method)(p);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) { return by_family(p, n); }
};

constexpr char kImage[] = "soft_tp_image", kResidual[] = "soft_tp_residual",
               kLeaveOneOut[] = "soft_tp_leave_one_out";
using Image = PerFamily<kImage, &tp::SoftTp::image>;
using Residual = PerFamily<kResidual, &tp::SoftTp::residual>;
using LeaveOneOut = PerFamily<kLeaveOneOut, &tp::SoftTp::leave_one_out>;

// `argument`: 0 mean, 1 sum.
struct Loss {
  static constexpr const char* name = "soft_tp_loss";
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t sum) {
    return program_for(p, n)->soft_tp().loss(p, sum != 0 ? tp::Reduction::kSum : tp::Reduction::kMean);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    program_for(p, n);
    return torch::empty({}, result_options(p));
  }
};

struct MaxResidual {
  static constexpr const char* name = "soft_tp_max_residual";
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t) {
    return program_for(p, n)->soft_tp().max_residual(p);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    program_for(p, n);
    return batch_of(p);
  }
};

// `argument`: at most so many steps.
struct Refine {
  static constexpr const char* name = "soft_tp_refine";
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t steps) {
    return program_for(p, n)->soft_tp().refine(p, static_cast<int>(steps));
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    program_for(p, n);
    return p.detach().to(result_options(p).dtype());
  }
};

struct ExpectedCost {
  static constexpr const char* name = "soft_tp_expected_cost";
  static Tensor compute(const Tensor& p, std::int64_t n, std::int64_t) {
    return program_for(p, n)->soft_tp().expected_cost(p);
  }
  static Tensor shape(const Tensor& p, std::int64_t n, std::int64_t) {
    const auto levels = static_cast<std::int64_t>(program_for(p, n)->program().objectives.size());
    return batch_of(p).unsqueeze(1).expand({-1, levels});
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
