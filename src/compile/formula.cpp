#include "compile/formula.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

namespace as2::compile {
namespace {

// Steps to spend on the values of a sum; a sum that needs more is treated as if it could take every value
// between its extremes.
constexpr std::int64_t kLongSum = 1 << 24;

// Appends the bytes of a number: keys are compared for equality only.
void append(std::string& key, std::int64_t value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(std::string& key, Formula formula) {
  append(key, 2 * std::int64_t{formula.id} + formula.negated);
}

// The values a sum can take, by dynamic programming over its parts; just their interval where that would take
// too long.
ValueSet reachable_values(const Sum& sum) {
  std::vector<std::vector<std::int64_t>> parts = sum.values;
  for (const WeightedFormula& other : sum.others) parts.push_back({0, other.weight});
  std::int64_t low = sum.constant;
  std::int64_t high = sum.constant;
  for (auto& part : parts) {
    std::sort(part.begin(), part.end());
    part.erase(std::unique(part.begin(), part.end()), part.end());
    low += part.front();
    high += part.back();
  }
  const std::int64_t range = high - low;
  if (range > kLongSum / static_cast<std::int64_t>(parts.size())) return interval(low, high);
  std::vector<char> reached(static_cast<std::size_t>(range) + 1, 0);
  std::vector<char> next;
  reached[0] = 1;
  std::int64_t width = 0;
  for (const auto& part : parts) {
    const std::int64_t growth = part.back() - part.front();
    const bool dense = growth == static_cast<std::int64_t>(part.size()) - 1;
    const bool all_reached =
        std::all_of(reached.begin(), reached.begin() + width + 1, [](char c) { return c != 0; });
    if (dense && all_reached) {
      std::fill(reached.begin() + width + 1, reached.begin() + width + growth + 1, 1);
    } else {
      next.assign(reached.size(), 0);
      for (std::int64_t value = 0; value <= width; ++value) {
        if (reached[static_cast<std::size_t>(value)] == 0) continue;
        for (const std::int64_t step : part) next[static_cast<std::size_t>(value + step - part.front())] = 1;
      }
      reached.swap(next);
    }
    width += growth;
  }
  ValueSet result;
  for (std::int64_t value = 0; value <= range; ++value) {
    if (reached[static_cast<std::size_t>(value)] == 0) continue;
    if (!result.intervals.empty() && result.intervals.back().second == low + value - 1) {
      ++result.intervals.back().second;
    } else {
      result.intervals.emplace_back(low + value, low + value);
    }
  }
  return result;
}

bool constant_table(const std::vector<std::int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

}  // namespace

Formulas::Formulas(std::vector<int> domain_sizes) : domain_sizes_(std::move(domain_sizes)) {
  std::size_t symbols = 0;
  for (const int size : domain_sizes_) {
    first_symbol_.push_back(symbols);
    symbols += static_cast<std::size_t>(size);
  }
  singles_.assign(symbols, 0);
  bodies_.reserve(symbols + 1);
}

Formula Formulas::intern(FormulaBody body, std::string key) {
  const auto [place, is_new] = ids_.emplace(std::move(key), size());
  if (is_new) bodies_.push_back(std::move(body));
  return {place->second, false};
}

Formula Formulas::set(int position, std::vector<int> symbols) {
  if (symbols.empty()) return kFalse;
  if (static_cast<int>(symbols.size()) == domain_size(position)) return kTrue;
  if (symbols.size() == 1) {
    // By far the most: a table instead of a key.
    int& id = singles_[first_symbol_[static_cast<std::size_t>(position)] +
                       static_cast<std::size_t>(symbols.front())];
    if (id == 0) {
      id = size();
      bodies_.emplace_back();
      bodies_.back().kind = FormulaKind::kSet;
      bodies_.back().set = {position, std::move(symbols)};
    }
    return {id, false};
  }
  std::string key = "s";
  append(key, position);
  for (const int symbol : symbols) append(key, symbol);
  FormulaBody body;
  body.kind = FormulaKind::kSet;
  body.set = {position, std::move(symbols)};
  return intern(std::move(body), std::move(key));
}

Formula Formulas::negation(Formula formula) {
  const FormulaBody& body = bodies_[static_cast<std::size_t>(formula.id)];
  if (body.kind == FormulaKind::kTest) return test_of_sum(body.sum, complement(body.values));
  if (body.kind != FormulaKind::kSet) return {formula.id, !formula.negated};
  std::vector<int> rest;
  for (int symbol = 0; symbol < domain_size(body.set.position); ++symbol) {
    if (!std::binary_search(body.set.symbols.begin(), body.set.symbols.end(), symbol)) rest.push_back(symbol);
  }
  return set(body.set.position, std::move(rest));
}

std::optional<std::vector<Formula>> Formulas::merged(bool conjunctive, const std::vector<Formula>& inputs) {
  const Formula neutral = conjunctive ? kTrue : kFalse;
  const Formula absorbing = conjunctive ? kFalse : kTrue;
  std::map<int, std::vector<int>> sets;
  std::map<int, ValueSet> tests;
  std::vector<Formula> result;
  for (const Formula input : inputs) {
    if (input == absorbing) return std::nullopt;
    if (input == neutral) continue;
    const FormulaBody& body = bodies_[static_cast<std::size_t>(input.id)];
    if (body.kind == FormulaKind::kSet) {
      const auto [place, is_new] = sets.emplace(body.set.position, body.set.symbols);
      if (is_new) continue;
      std::vector<int> both;
      const auto& [a, b] = std::tie(place->second, body.set.symbols);
      if (conjunctive) {
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      } else {
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      }
      place->second = std::move(both);
    } else if (body.kind == FormulaKind::kTest) {
      const auto [place, is_new] = tests.emplace(body.sum, body.values);
      if (is_new) continue;
      place->second =
          conjunctive ? intersection(place->second, body.values) : unite(place->second, body.values);
    } else {
      result.push_back(input);
    }
  }
  for (auto& [position, symbols] : sets) result.push_back(set(position, std::move(symbols)));
  for (const auto& [sum, values] : tests) result.push_back(test_of_sum(sum, values));
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  std::vector<Formula> kept;
  for (const Formula formula : result) {
    if (formula == absorbing) return std::nullopt;
    if (formula == neutral) continue;
    if (!kept.empty() && kept.back().id == formula.id) return std::nullopt;  // x and not x
    kept.push_back(formula);
  }
  return kept;
}

Formula Formulas::combine(bool conjunctive, const std::vector<Formula>& inputs) {
  std::optional<std::vector<Formula>> list = merged(conjunctive, inputs);
  if (!list) return conjunctive ? kFalse : kTrue;
  if (list->empty()) return conjunctive ? kTrue : kFalse;
  if (list->size() == 1) return list->front();
  std::string key = conjunctive ? "c" : "d";
  for (const Formula input : *list) append(key, input);
  FormulaBody body;
  body.kind = conjunctive ? FormulaKind::kConjunction : FormulaKind::kDisjunction;
  body.inputs = std::move(*list);
  return intern(std::move(body), std::move(key));
}

Formula Formulas::test(const std::vector<WeightedFormula>& inputs, const ValueSet& values) {
  Sum sum;
  std::map<int, std::vector<std::int64_t>> tables;
  std::map<int, std::int64_t> others;
  for (const auto& [formula, weight] : inputs) {
    const FormulaBody& body = bodies_[static_cast<std::size_t>(formula.id)];
    if (formula == kTrue) {
      sum.constant += weight;
    } else if (body.kind == FormulaKind::kSet) {
      auto& table = tables[body.set.position];
      table.resize(static_cast<std::size_t>(domain_size(body.set.position)), 0);
      for (const int symbol : body.set.symbols) table[static_cast<std::size_t>(symbol)] += weight;
    } else if (formula != kFalse) {
      if (formula.negated) sum.constant += weight;
      others[formula.id] += formula.negated ? -weight : weight;
    }
  }
  for (auto& [position, table] : tables) {
    if (constant_table(table)) {
      sum.constant += table.front();
    } else {
      sum.positions.push_back(position);
      sum.values.push_back(std::move(table));
    }
  }
  for (const auto& [id, weight] : others) {
    if (weight != 0) sum.others.push_back({{id, false}, weight});
  }
  if (sum.others.empty() && sum.positions.empty()) return values.contains(sum.constant) ? kTrue : kFalse;
  if (sum.others.empty() && sum.positions.size() == 1) {
    std::vector<int> symbols;
    for (std::size_t symbol = 0; symbol < sum.values[0].size(); ++symbol) {
      if (values.contains(sum.constant + sum.values[0][symbol])) symbols.push_back(static_cast<int>(symbol));
    }
    return set(sum.positions[0], std::move(symbols));
  }
  if (sum.positions.empty() && sum.others.size() == 1) {
    const bool without = values.contains(sum.constant);
    const bool with = values.contains(sum.constant + sum.others[0].weight);
    if (with == without) return with ? kTrue : kFalse;
    return with ? sum.others[0].formula : negation(sum.others[0].formula);
  }
  std::int64_t offset = sum.constant;
  for (const auto& table : sum.values) offset += table.front();
  int sign = 0;
  for (const auto& table : sum.values) {
    for (std::size_t k = 1; k < table.size() && sign == 0; ++k)
      sign = (table[k] > table[0]) - (table[k] < table[0]);
  }
  if (sign == 0) sign = sum.others[0].weight > 0 ? 1 : -1;
  sum.sign = sign;
  sum.offset = offset;
  const int index = intern_sum(std::move(sum));
  const Sum& stored = sums_[static_cast<std::size_t>(index)];
  const int relation = stored.sign * sign;
  return test_of_sum(index, affine(values, relation, stored.offset - relation * offset));
}

int Formulas::intern_sum(Sum sum) {
  std::string key;
  append(key, static_cast<std::int64_t>(sum.positions.size()));
  for (std::size_t k = 0; k < sum.positions.size(); ++k) {
    append(key, sum.positions[k]);
    for (const std::int64_t value : sum.values[k]) append(key, sum.sign * (value - sum.values[k].front()));
  }
  for (const WeightedFormula& other : sum.others) {
    append(key, other.formula);
    append(key, sum.sign * other.weight);
  }
  const auto [place, is_new] = sum_ids_.emplace(std::move(key), sums());
  if (!is_new) return place->second;
  for (std::size_t k = 0; k < sum.positions.size(); ++k) {
    std::map<std::int64_t, std::vector<int>> by_value;
    for (std::size_t s = 0; s < sum.values[k].size(); ++s)
      by_value[sum.values[k][s]].push_back(static_cast<int>(s));
    by_value.erase(0);
    for (auto& [value, symbols] : by_value)
      sum.inputs.push_back({set(sum.positions[k], std::move(symbols)), value});
  }
  sum.inputs.insert(sum.inputs.end(), sum.others.begin(), sum.others.end());
  sum.reachable = reachable_values(sum);
  sums_.push_back(std::move(sum));
  return place->second;
}

Formula Formulas::test_of_sum(int sum, const ValueSet& values) {
  const ValueSet& reachable = sums_[static_cast<std::size_t>(sum)].reachable;
  FormulaBody body;
  body.kind = FormulaKind::kTest;
  body.sum = sum;
  body.values = simplified(values, reachable);
  if (body.values.intervals.empty()) return kFalse;
  if (body.values == simplified(reachable, reachable)) return kTrue;
  std::string key = "t";
  append(key, sum);
  for (const auto& [low, high] : body.values.intervals) {
    append(key, low);
    append(key, high);
  }
  return intern(std::move(body), std::move(key));
}

namespace {

// The least solution when the outside conditions have these values.
std::vector<char> least_solution(const RecursiveComponent& members,
                                 const std::function<bool(Formula)>& holds_outside) {
  // Every rule waits for the members in its body; one that waits for none derives its head.
  std::vector<char> holds(members.size(), 0);
  std::vector<std::vector<std::size_t>> waiting_for(members.size());
  std::vector<std::pair<std::size_t, std::size_t>> rules;  // head, members still missing
  std::vector<std::size_t> ready;
  const auto derive = [&](std::size_t member) {
    if (holds[member] == 0) ready.push_back(member);
    holds[member] = 1;
  };
  for (std::size_t member = 0; member < members.size(); ++member) {
    for (const RecursiveRule& rule : members[member]) {
      if (!std::all_of(rule.outside.begin(), rule.outside.end(), holds_outside)) continue;
      if (rule.inside.empty()) derive(member);
      for (const int k : rule.inside) waiting_for[static_cast<std::size_t>(k)].push_back(rules.size());
      rules.emplace_back(member, rule.inside.size());
    }
  }
  while (!ready.empty()) {
    const std::size_t member = ready.back();
    ready.pop_back();
    for (const std::size_t rule : waiting_for[member]) {
      if (--rules[rule].second == 0) derive(rules[rule].first);
    }
  }
  return holds;
}

}  // namespace

std::vector<Formula> Formulas::recursive(const RecursiveComponent& members) {
  // If all conditions are about one position (or there are none), the component is solved for each of its
  // symbols, and the members become sets of symbols.
  int position = -1;
  bool one_position = true;
  for (const auto& rules : members) {
    for (const RecursiveRule& rule : rules) {
      for (const Formula formula : rule.outside) {
        if (formula.id == 0) continue;
        const FormulaBody& body = bodies_[static_cast<std::size_t>(formula.id)];
        const bool fits = body.kind == FormulaKind::kSet && (position < 0 || position == body.set.position);
        one_position &= fits;
        if (fits) position = body.set.position;
      }
    }
  }
  std::vector<Formula> result;
  if (one_position) {
    std::vector<std::vector<int>> symbols(members.size());
    const int size = position < 0 ? 1 : domain_size(position);
    for (int symbol = 0; symbol < size; ++symbol) {
      const std::vector<char> holds = least_solution(members, [&](Formula formula) {
        if (formula.id == 0) return formula == kTrue;
        const std::vector<int>& set = bodies_[static_cast<std::size_t>(formula.id)].set.symbols;
        return std::binary_search(set.begin(), set.end(), symbol);
      });
      for (std::size_t member = 0; member < members.size(); ++member) {
        if (holds[member] != 0) symbols[member].push_back(symbol);
      }
    }
    for (auto& list : symbols) {
      const bool some = !list.empty();
      result.push_back(position < 0 ? (some ? kTrue : kFalse) : set(position, std::move(list)));
    }
    return result;
  }
  const std::vector<char> possible =
      least_solution(members, [](Formula formula) { return formula != kFalse; });
  const int component = components();
  components_.push_back(members);
  for (std::size_t member = 0; member < members.size(); ++member) {
    FormulaBody body;
    body.kind = FormulaKind::kRecursive;
    body.component = component;
    body.member = static_cast<int>(member);
    bodies_.push_back(std::move(body));
    result.push_back(possible[member] != 0 ? Formula{size() - 1, false} : kFalse);
  }
  return result;
}

}  // namespace as2::compile
