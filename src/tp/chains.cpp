#include "tp/chains.h"

#include <algorithm>

namespace as2::tp {
namespace {

constexpr double kLogZero = -1e30;
constexpr double kLargestLogRatio = 80;  // exp of it is finite in float32

std::int64_t place_of(const std::vector<std::int64_t>& sorted, std::int64_t value) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), value);
  return found != sorted.end() && *found == value ? found - sorted.begin() : -1;
}

// Puts a dummy state of weight zero behind the states and flattens rows and states: [batch, rows, n] →
// [batch, rows · (n + 1)].
torch::Tensor with_dummy(const torch::Tensor& states, const Semiring& semiring) {
  return torch::constant_pad_nd(states, {0, 1}, semiring.zero).flatten(1);
}

torch::Tensor multiply(const torch::Tensor& a, const torch::Tensor& b) {
  return a * b;
}
torch::Tensor add(const torch::Tensor& a, const torch::Tensor& b) {
  return a + b;
}
torch::Tensor sum(const torch::Tensor& x, std::int64_t dim) {
  return x.sum(dim);
}
torch::Tensor log_sum(const torch::Tensor& x, std::int64_t dim) {
  return torch::logsumexp(x, dim);
}

}  // namespace

const Semiring kReal{0, 1, multiply, sum};
const Semiring kLogarithmic{kLogZero, 0, add, log_sum};

namespace {

// For each row's chain: entry (row, state of level `from`, class) is the flat index of the state of level
// `to` that lies the class's value of `member` further (or back, with direction −1). Indices have 32 bits, to
// save memory on long chains.
torch::Tensor transitions(const Chains& chains, const std::vector<std::int64_t>& chain_of_row,
                          std::int64_t member, std::int64_t from, std::int64_t to, int direction) {
  const auto rows = static_cast<std::int64_t>(chain_of_row.size());
  torch::Tensor table = torch::empty({rows * chains.states[from] * chains.classes}, torch::kInt32);
  std::int32_t* entry = table.data_ptr<std::int32_t>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto& choices = chains.specs[chain_of_row[row]].members[member];
    const auto& sums = chains.reached[chain_of_row[row]];
    for (std::int64_t state = 0; state < chains.states[from]; ++state) {
      for (std::int64_t k = 0; k < chains.classes; ++k) {
        std::int64_t target = -1;
        if (state < static_cast<std::int64_t>(sums[from].size()) &&
            k < static_cast<std::int64_t>(choices.size())) {
          target = place_of(sums[to], sums[from][state] + direction * choices[k].value);
        }
        *entry++ = static_cast<std::int32_t>(row * (chains.states[to] + 1) +
                                             (target < 0 ? chains.states[to] : target));
      }
    }
  }
  return table;
}

}  // namespace

Chains Chains::of(std::vector<ChainSpec> specs, Reference zero, Reference one) {
  Chains chains;
  chains.rows = static_cast<std::int64_t>(specs.size());
  for (const ChainSpec& spec : specs) {
    chains.members = std::max(chains.members, static_cast<std::int64_t>(spec.members.size()));
  }
  std::vector<std::vector<Reference>> inputs;
  std::vector<std::int64_t> every_row;
  for (ChainSpec& spec : specs) {
    spec.members.resize(chains.members, {{0, one}});
    for (const auto& member : spec.members) {
      chains.classes = std::max(chains.classes, static_cast<std::int64_t>(member.size()));
      std::vector<Reference> row;
      for (const ValueClass& choice : member) row.push_back(choice.probability);
      inputs.push_back(std::move(row));
    }
    every_row.push_back(static_cast<std::int64_t>(chains.reached.size()));
    chains.reached.push_back(reachable_sums(spec));
  }
  chains.specs = std::move(specs);
  chains.inputs = IndexTable::of(inputs, zero);
  chains.states.assign(chains.members + 1, 0);
  for (std::int64_t level = 0; level <= chains.members; ++level) {
    for (const auto& levels : chains.reached) {
      chains.states[level] = std::max(chains.states[level], static_cast<std::int64_t>(levels[level].size()));
    }
  }
  for (std::int64_t level = 0; level < chains.members; ++level) {
    chains.previous.push_back(transitions(chains, every_row, level, level + 1, level, -1));
  }
  return chains;
}

void Chains::move(torch::Device device, torch::ScalarType type) {
  inputs = inputs.to(device, type);
  for (torch::Tensor& table : previous) table = table.to(device);
}

std::vector<torch::Tensor> prefixes(const Chains& chains, const torch::Tensor& probabilities,
                                    const Semiring& semiring) {
  const std::int64_t batch = probabilities.size(0);
  std::vector<torch::Tensor> alpha{
      torch::full({batch, chains.rows, 1}, semiring.one, probabilities.options())};
  for (std::int64_t level = 0; level < chains.members; ++level) {
    const torch::Tensor before = with_dummy(alpha.back(), semiring)
                                     .index_select(1, chains.previous[level])
                                     .view({batch, chains.rows, chains.states[level + 1], chains.classes});
    alpha.push_back(semiring.sum(semiring.times(before, probabilities.select(2, level).unsqueeze(2)), -1));
  }
  return alpha;
}

Linears linears_of(const std::vector<ChainSpec>& chains, const std::vector<LinearSpec>& specs, Reference zero,
                   Reference one) {
  Linears linears;
  linears.chains = Chains::of(chains, zero, one);
  const Chains& table = linears.chains;
  const std::int64_t final_states = table.states.back();
  linears.rows = static_cast<std::int64_t>(specs.size());
  std::vector<std::int64_t> chain_of;
  std::vector<std::vector<Reference>> guards;
  for (const LinearSpec& spec : specs) {
    chain_of.push_back(spec.chain);
    guards.push_back(spec.guard);
    linears.guard_symbols = std::max(linears.guard_symbols, static_cast<std::int64_t>(spec.guard.size()));
  }
  linears.chain_of = index_tensor(chain_of);
  linears.guards = IndexTable::of(guards, zero);
  for (std::int64_t level = 0; level < table.members; ++level) {
    linears.next.push_back(transitions(table, chain_of, level, level, level + 1, +1));
  }

  std::vector<std::vector<Reference>> guard_states, state_guards;
  for (std::int64_t row = 0; row < linears.rows; ++row) {
    const LinearSpec& spec = specs[row];
    const auto& sums = table.reached[spec.chain].back();
    std::vector<std::vector<Reference>> by_state(final_states);
    for (std::int64_t symbol = 0; symbol < linears.guard_symbols; ++symbol) {
      guard_states.emplace_back();
      if (symbol >= static_cast<std::int64_t>(spec.allowed.size())) continue;
      for (const auto& [low, high] : spec.allowed[symbol].intervals) {
        auto state = std::lower_bound(sums.begin(), sums.end(), low) - sums.begin();
        for (; state < static_cast<std::int64_t>(sums.size()) && sums[state] <= high; ++state) {
          guard_states.back().push_back({spec.chain * (final_states + 1) + state});
          by_state[state].push_back({row * (linears.guard_symbols + 1) + symbol});
        }
      }
    }
    state_guards.insert(state_guards.end(), by_state.begin(), by_state.end());
  }
  const IndexTable by_guard = IndexTable::of(guard_states, {final_states});
  const IndexTable by_state = IndexTable::of(state_guards, {linears.guard_symbols});
  linears.states_width = by_guard.width;
  linears.guards_width = by_state.width;
  linears.guard_states = by_guard.index;
  linears.state_guards = by_state.index;
  return linears;
}

void Linears::move(torch::Device device, torch::ScalarType type) {
  chains.move(device, type);
  chain_of = chain_of.to(device);
  for (torch::Tensor& table : next) table = table.to(device);
  guards = guards.to(device, type);
  guard_states = guard_states.to(device);
  state_guards = state_guards.to(device);
}

namespace {

// `inputs` [batch, chains, members, classes] and `guards` [batch, rows, guard_symbols] in the semiring.
LinearFactors factors_in(const Linears& linears, const torch::Tensor& inputs, const torch::Tensor& guards,
                         const Semiring& semiring) {
  const Chains& chains = linears.chains;
  const std::int64_t batch = inputs.size(0);
  const std::vector<torch::Tensor> alpha = prefixes(chains, inputs, semiring);

  LinearFactors factors;
  factors.guards = semiring.sum(with_dummy(alpha.back(), semiring)
                                    .index_select(1, linears.guard_states)
                                    .view({batch, linears.rows, linears.guard_symbols, linears.states_width}),
                                -1);
  torch::Tensor value =
      semiring.sum(with_dummy(guards, semiring)
                       .index_select(1, linears.state_guards)
                       .view({batch, linears.rows, chains.states.back(), linears.guards_width}),
                   -1);
  const torch::Tensor own = inputs.index_select(1, linears.chain_of);
  factors.holds = semiring.sum(semiring.times(alpha.back().index_select(1, linears.chain_of), value), -1);
  std::vector<torch::Tensor> members(chains.members);
  for (std::int64_t level = chains.members - 1; level >= 0; --level) {
    const torch::Tensor after = with_dummy(value, semiring)
                                    .index_select(1, linears.next[level])
                                    .view({batch, linears.rows, chains.states[level], chains.classes});
    const torch::Tensor before = alpha[level].index_select(1, linears.chain_of).unsqueeze(-1);
    members[level] = semiring.sum(semiring.times(before, after), 2);
    value = semiring.sum(semiring.times(after, own.select(2, level).unsqueeze(2)), -1);
  }
  factors.members = members.empty() ? torch::empty({batch, linears.rows, 0, chains.classes}, inputs.options())
                                    : torch::stack(members, 2);
  return factors;
}

torch::Tensor chain_inputs(const Chains& chains, const torch::Tensor& values) {
  return chains.inputs.read(values).view({values.size(0), chains.rows, chains.members, chains.classes});
}

}  // namespace

LinearFactors linear_factors(const Linears& linears, const torch::Tensor& values) {
  return factors_in(linears, chain_inputs(linears.chains, values), linears.guards.read(values), kReal);
}

torch::Tensor log_holds(const Linears& linears, const torch::Tensor& values) {
  const torch::Tensor inputs = chain_inputs(linears.chains, values);
  const torch::Tensor guards = linears.guards.read(values);
  LinearFactors logs;
  torch::Tensor member_slope, guard_slope;
  {
    const torch::NoGradGuard no_gradient;
    logs =
        factors_in(linears, inputs.log().clamp_min(kLogZero), guards.log().clamp_min(kLogZero), kLogarithmic);
    const torch::Tensor holds = logs.holds.unsqueeze(-1);
    member_slope = (logs.members - holds.unsqueeze(-1)).clamp_max(kLargestLogRatio).exp();
    guard_slope = (logs.guards - holds).clamp_max(kLargestLogRatio).exp();
  }
  // The value is logs.holds; the gradient is that of the linear terms, which are zero here.
  const torch::Tensor own = inputs.index_select(1, linears.chain_of);
  return logs.holds + (member_slope * (own - own.detach())).sum({2, 3}) +
         (guard_slope * (guards - guards.detach())).sum(2);
}

}  // namespace as2::tp
