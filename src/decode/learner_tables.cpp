// Tables: a value is removed when every allowed tuple that contains it has lost another of its values.
#include <algorithm>
#include <limits>

#include "decode/learner.h"

namespace as2::decode {

bool Learner::propagate_table(int index) {
  const TupleTable& table = p_.tables[index];
  const std::size_t words = table.words;
  valid_.assign(words, ~std::uint64_t{0});
  for (std::size_t k = 0; k < table.positions.size(); ++k) {
    const int i = table.positions[k];
    mask_.assign(words, 0);
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      if (is_false(of_literal(v))) continue;
      const std::uint64_t* with = table.tuples_with(k, v - p_.value_begin[i]);
      for (std::size_t w = 0; w < words; ++w) mask_[w] |= with[w];
    }
    for (std::size_t w = 0; w < words; ++w) valid_[w] &= mask_[w];
  }
  const Reason because{Kind::kTable, static_cast<std::uint32_t>(index)};
  for (std::size_t k = 0; k < table.positions.size(); ++k) {
    const int i = table.positions[k];
    bool left = false;
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      const Literal l = of_literal(v);
      if (is_false(l)) continue;
      const std::uint64_t* with = table.tuples_with(k, v - p_.value_begin[i]);
      bool supported = false;
      for (std::size_t w = 0; w < words && !supported; ++w) supported = (valid_[w] & with[w]) != 0;
      left = left || supported;
      if (!supported && !assign(l ^ 1, because)) return false;
    }
    if (!left) return true;  // no value is left: the position's own clause reports the conflict
  }
  return true;
}

// Explains a removal by earlier removals, earliest first, that together strike out every tuple with the
// value.
void Learner::explain_table(int index, int value, int when, std::vector<Literal>& out) {
  const TupleTable& table = p_.tables[index];
  const std::size_t words = table.words;
  const int gone = p_.position_of[value];
  const auto own = std::find(table.positions.begin(), table.positions.end(), gone) - table.positions.begin();
  const std::uint64_t* with = table.tuples_with(static_cast<std::size_t>(own), value - p_.value_begin[gone]);
  valid_.assign(with, with + words);
  // (place on the trail, what it strikes out)
  struct Removal {
    int place;
    Literal literal;
    std::size_t k;
    int symbol;
    bool taken;  // the literal is the position's true value: it strikes out all tuples with another one
  };
  std::vector<Removal> removals;
  for (std::size_t k = 0; k < table.positions.size(); ++k) {
    const int i = table.positions[k];
    if (i == gone) continue;
    const bool wide = p_.value_begin[i + 1] - p_.value_begin[i] > 2;
    for (int v = p_.value_begin[i]; v < p_.value_begin[i + 1]; ++v) {
      const Literal l = of_literal(v);
      const int place = trail_place_[l >> 1];
      if (is_open(l) || (l > 1 && place >= when) || (is_true(l) && !wide)) continue;
      removals.push_back({l > 1 ? place : -1, is_true(l) ? l ^ 1 : l, k, v - p_.value_begin[i], is_true(l)});
    }
  }
  std::sort(removals.begin(), removals.end(), [](const Removal& a, const Removal& b) {
    return a.place != b.place ? a.place < b.place : a.literal < b.literal;
  });
  for (const Removal& removal : removals) {
    const std::uint64_t* tuples = table.tuples_with(removal.k, removal.symbol);
    bool strikes = false;
    bool left = false;
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t struck = valid_[w] & (removal.taken ? ~tuples[w] : tuples[w]);
      strikes = strikes || struck != 0;
      valid_[w] &= ~struck;
      left = left || valid_[w] != 0;
    }
    if (strikes) out.push_back(removal.literal);
    if (!left) return;
  }
}

}  // namespace as2::decode
