// Pass `normalise`: constants are propagated, so that later passes see only what depends on choices.
#pragma once

#include <vector>

#include "as2/ground_program.h"

namespace as2::compile {

enum class Truth : std::uint8_t { kUnknown, kAlways, kNever };

// A rule whose body mentions only atoms of unknown truth; weights are positive.
struct NormalRule {
  bool choice = false;
  bool sum = false;
  std::int64_t bound = 0;
  std::vector<asp::Atom> head;
  std::vector<asp::WeightedLit> body;
  int statement = -1;
};

struct NormalProgram {
  std::vector<Truth> truth;                      // per atom
  std::vector<NormalRule> rules;                 // proper rules with a head, of atoms of unknown truth
  std::vector<NormalRule> choices;               // choice rules that can fire
  std::vector<NormalRule> constraints;           // without a head; an empty conjunction: always violated
  std::vector<std::pair<asp::Atom, int>> clues;  // atoms of choices given as facts, and their statement

  std::vector<std::vector<int>> rules_of;    // per atom, indices into rules
  std::vector<std::vector<int>> choices_of;  // per atom, indices into choices
  bool chosen(asp::Atom atom) const { return !choices_of[atom].empty(); }
};

// Refuses disjunctive heads, and atoms that are chosen and also derived by a rule that is no fact.
NormalProgram normalise(const asp::GroundProgram& ground);

}  // namespace as2::compile
