#include "support/hand_programs.h"

#include <algorithm>

namespace as2::test {

using namespace as2::compile;

namespace {

Position position(const std::string& name, int symbols) {
  Position result;
  result.name = name;
  for (int s = 0; s < symbols; ++s) {
    result.symbols.push_back(std::to_string(s));
    result.atoms.push_back(name + "=" + std::to_string(s));
  }
  return result;
}

int add_node(ConstraintProgram& program, NodeContent content) {
  program.nodes.push_back({std::move(content), ""});
  return static_cast<int>(program.nodes.size()) - 1;
}

void cover_by_single_components(ConstraintProgram& program) {
  const int first = program.components.empty() ? 0 : program.components.back().end;
  for (int node = first; node < static_cast<int>(program.nodes.size()); ++node) {
    program.components.push_back({node, node + 1, false});
  }
}

Family family(const std::string& name) {
  Family result;
  result.name = name;
  return result;
}

SetLiteral random_literal(Random& random, const ConstraintProgram& program, int at) {
  const int domain = static_cast<int>(program.positions[at].symbols.size());
  SetLiteral literal;
  literal.position = at;
  while (literal.symbols.empty() || static_cast<int>(literal.symbols.size()) == domain) {
    literal.symbols.clear();
    for (int s = 0; s < domain; ++s) {
      if (random.below(3) == 0) literal.symbols.push_back(s);
    }
  }
  return literal;
}

std::vector<int> random_positions(Random& random, int count, int at_least) {
  std::vector<int> chosen;
  while (static_cast<int>(chosen.size()) < at_least) {
    chosen.clear();
    for (int i = 0; i < count; ++i) {
      if (random.below(3) > 0) chosen.push_back(i);
    }
  }
  return chosen;
}

std::vector<SetLiteral> random_literals(Random& random, const ConstraintProgram& program, int at_least) {
  std::vector<SetLiteral> literals;
  for (const int at : random_positions(random, static_cast<int>(program.positions.size()), at_least)) {
    literals.push_back(random_literal(random, program, at));
  }
  return literals;
}

ValueSet random_values(Random& random, std::int64_t min, std::int64_t max) {
  ValueSet set;
  for (std::int64_t value = min; value <= max; ++value) {
    if (random.below(3) > 0) continue;
    if (!set.intervals.empty() && set.intervals.back().second + 1 == value) {
      set.intervals.back().second = value;
    } else {
      set.intervals.emplace_back(value, value);
    }
  }
  return set;
}

void add_random_linear(Random& random, ConstraintProgram& program, Group& group) {
  std::vector<int> members = random_positions(random, static_cast<int>(program.positions.size()), 2);
  Linear linear;
  if (random.below(2) == 0) {
    linear.guard = members.back();
    members.pop_back();
  }
  Aggregate aggregate;
  aggregate.positions = members;
  aggregate.constant = random.below(5) - 2;
  aggregate.min = aggregate.max = aggregate.constant;
  for (const int at : members) {
    aggregate.values.emplace_back();
    for (std::size_t s = 0; s < program.positions[at].symbols.size(); ++s) {
      aggregate.values.back().push_back(random.below(9) - 4);
    }
    aggregate.min += *std::min_element(aggregate.values.back().begin(), aggregate.values.back().end());
    aggregate.max += *std::max_element(aggregate.values.back().begin(), aggregate.values.back().end());
  }
  linear.aggregate = static_cast<int>(program.aggregates.size());
  const std::size_t guards = linear.guard < 0 ? 1 : program.positions[linear.guard].symbols.size();
  for (std::size_t g = 0; g < guards; ++g) {
    linear.allowed.push_back(random_values(random, aggregate.min, aggregate.max));
  }
  group.positions = members;
  if (linear.guard >= 0) group.positions.push_back(linear.guard);
  // A second constraint over the same aggregate shares its convolution.
  Linear second{linear.aggregate, -1, {random_values(random, aggregate.min, aggregate.max)}};
  program.aggregates.push_back(std::move(aggregate));
  group.content = Linears{linear, second};
}

void add_random_derived(Random& random, ConstraintProgram& program, Group& group, bool read_once) {
  std::vector<NodeRef> level;
  for (int i = 0; i < static_cast<int>(program.positions.size()); ++i) {
    for (int copy = 0; copy < (read_once ? 1 : 2); ++copy) {
      level.push_back({add_node(program, random_literal(random, program, i)), random.below(2) == 0});
    }
  }
  while (level.size() > 2) {
    std::vector<NodeRef> above;
    for (std::size_t first = 0; first < level.size();) {
      const std::size_t size = std::min<std::size_t>(level.size() - first, 2 + random.below(2));
      const std::vector<NodeRef> inputs(level.begin() + first, level.begin() + first + size);
      const int kind = random.below(3);
      NodeContent content = Conjunction{inputs};
      if (kind == 1) content = Disjunction{inputs};
      if (kind == 2) {
        Bound bound{inputs, {}, {}};
        for (std::size_t k = 0; k < size; ++k) bound.weights.push_back(random.below(5) - 2);
        bound.allowed = random_values(random, -4, 4);
        content = std::move(bound);
      }
      const int node = add_node(program, std::move(content));
      above.push_back({node, random.below(2) == 0});
      first += size;
    }
    level = above;
  }
  cover_by_single_components(program);
  group.content = DerivedNogoods{{level}};
}

}  // namespace

ConstraintProgram sudoku(int box) {
  const int size = box * box;
  ConstraintProgram program;
  program.families = {family("row"), family("column"), family("box")};
  for (int cell = 0; cell < size * size; ++cell) {
    program.positions.push_back(position(
        "cell(" + std::to_string(cell / size + 1) + "," + std::to_string(cell % size + 1) + ",_)", size));
  }
  for (int f = 0; f < 3; ++f) {
    for (int unit = 0; unit < size; ++unit) {
      Group group;
      group.family = f;
      Slots slots;
      for (int k = 0; k < size; ++k) {
        const int row = f == 0 ? unit : f == 1 ? k : unit / box * box + k / box;
        const int column = f == 0 ? k : f == 1 ? unit : unit % box * box + k % box;
        group.positions.push_back(row * size + column);
      }
      for (int s = 0; s < size; ++s) {
        Slot slot;
        for (const int at : group.positions) slot.members.push_back({at, {s}});
        slots.push_back(std::move(slot));
      }
      group.content = std::move(slots);
      program.groups.push_back(std::move(group));
    }
  }
  return program;
}

ConstraintProgram addition(int addends, int base) {
  ConstraintProgram program;
  program.families = {family("sum")};
  Aggregate aggregate;
  for (int i = 0; i < addends; ++i) {
    program.positions.push_back(position("digit(" + std::to_string(i) + ",_)", base));
    aggregate.positions.push_back(i);
    aggregate.values.emplace_back();
    for (int d = 0; d < base; ++d) aggregate.values.back().push_back(d);
  }
  aggregate.max = std::int64_t{addends} * (base - 1);
  program.positions.push_back(position("total(_)", static_cast<int>(aggregate.max) + 1));
  Group group;
  for (int i = 0; i <= addends; ++i) group.positions.push_back(i);
  Linear linear;
  linear.guard = addends;
  for (std::int64_t sum = 0; sum <= aggregate.max; ++sum) linear.allowed.push_back({{{sum, sum}}});
  group.content = Linears{std::move(linear)};
  program.aggregates.push_back(std::move(aggregate));
  program.groups.push_back(std::move(group));
  return program;
}

ConstraintProgram reachability(int vertices) {
  ConstraintProgram program;
  program.families = {family("reached")};
  std::vector<std::vector<int>> edge(vertices, std::vector<int>(vertices, -1));
  for (int from = 0; from < vertices; ++from) {
    for (int to = 1; to < vertices; ++to) {
      if (from == to) continue;
      const int at = static_cast<int>(program.positions.size());
      program.positions.push_back(
          position("edge(" + std::to_string(from) + "," + std::to_string(to) + ")", 2));
      program.positions.back().boolean = true;
      edge[from][to] = add_node(program, SetLiteral{at, {1}});
    }
  }
  cover_by_single_components(program);
  // reached(T) holds by the edge (0, T), or by reached(F) and the edge (F, T).
  const int first = static_cast<int>(program.nodes.size());
  for (int to = 1; to < vertices; ++to) add_node(program, Disjunction{});
  for (int to = 1; to < vertices; ++to) {
    Disjunction reached{{{edge[0][to], false}}};
    for (int from = 1; from < vertices; ++from) {
      if (from == to) continue;
      const int step = add_node(program, Conjunction{{{first + from - 1, false}, {edge[from][to], false}}});
      reached.inputs.push_back({step, false});
    }
    program.nodes[first + to - 1].content = std::move(reached);
  }
  program.components.push_back({first, static_cast<int>(program.nodes.size()), true});
  for (int to = 1; to < vertices; ++to) {
    Group group;
    for (int i = 0; i < static_cast<int>(program.positions.size()); ++i) group.positions.push_back(i);
    group.content = DerivedNogoods{{{{first + to - 1, true}}}};
    program.groups.push_back(std::move(group));
  }
  return program;
}

ConstraintProgram random_constraints(std::uint64_t seed, const RandomConstraintOptions& options) {
  Random random(seed);
  ConstraintProgram program;
  const int positions = 3 + random.below(3);
  for (int i = 0; i < positions; ++i)
    program.positions.push_back(position("x" + std::to_string(i), 2 + random.below(3)));
  const int families = 2;
  for (int f = 0; f < families; ++f) program.families.push_back(family("f" + std::to_string(f)));
  for (int f = 0; f < families; ++f) {
    const auto add = [&]() -> Group& {
      program.groups.emplace_back();
      program.groups.back().family = f;
      return program.groups.back();
    };
    if (options.exclusive) {
      Slots slots;
      for (int k = 0; k < 2; ++k) slots.push_back({random_literals(random, program, 1)});
      add().content = std::move(slots);
    }
    if (options.nogood) {
      Nogoods nogoods;
      for (int k = 0; k < 3; ++k) nogoods.push_back({random_literals(random, program, 1)});
      add().content = std::move(nogoods);
    }
    if (options.linear) add_random_linear(random, program, add());
    if (options.derived) add_random_derived(random, program, add(), options.read_once);
  }
  return program;
}

}  // namespace as2::test
