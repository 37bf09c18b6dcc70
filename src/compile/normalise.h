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
  std::vector<NormalRule> rules;                 // rules with one head, of unknown truth
  std::vector<NormalRule> disjunctions;          // rules with several heads; none after pass `shift`
  std::vector<NormalRule> choices;               // choice rules that can fire
  std::vector<NormalRule> exactly_one;           // those of them of which exactly one is picked if they fire
  std::vector<NormalRule> constraints;           // without a head; an empty conjunction: always violated
  std::vector<std::pair<asp::Atom, int>> clues;  // atoms of choices given as facts, and their statement

  std::vector<std::vector<int>> rules_of;    // per atom, indices into rules
  std::vector<std::vector<int>> choices_of;  // per atom, indices into choices
  std::vector<char> clue;                    // per atom: it is one of `clues`
  bool chosen(asp::Atom atom) const { return !choices_of[atom].empty(); }

  // A new atom of unknown truth, without a name.
  asp::Atom add_atom();
  void add_rule(NormalRule rule);
  void add_choice(NormalRule rule);
};

// `f :- not f, B.` becomes the constraint that it is (they are strongly equivalent), `f :- f, B.` vanishes.
// External atoms are false, true or free, as the ground program says.
NormalProgram normalise(const asp::GroundProgram& ground);

}  // namespace as2::compile
