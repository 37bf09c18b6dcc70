// Ground rules as readable text: `{a;b} :- c, not d [k]`, k being the statement, heads and bodies
// sorted. Auxiliary atoms are `#n`.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "as2/ground_program.h"

namespace as2::asp {

inline std::string atom_text(const GroundProgram& program, Atom atom) {
  return program.names[atom].empty() ? "#" + std::to_string(atom) : program.names[atom];
}

inline std::string rule_text(const GroundProgram& program, const Rule& rule) {
  std::vector<std::string> heads;
  for (const Atom atom : rule.head) heads.push_back(atom_text(program, atom));
  std::sort(heads.begin(), heads.end());
  std::string text = rule.choice ? "{" : "";
  for (std::size_t i = 0; i < heads.size(); ++i) text += (i > 0 ? ";" : "") + heads[i];
  text += rule.choice ? "}" : "";
  if (rule.head.empty() || !rule.body.empty()) text += rule.head.empty() ? ":- " : " :- ";
  if (rule.sum) text += std::to_string(rule.bound) + " <= ";
  std::vector<std::string> body;
  for (const auto& [lit, weight] : rule.body) {
    body.push_back((lit < 0 ? "not " : "") + atom_text(program, static_cast<Atom>(std::abs(lit))) +
                   (rule.sum ? "*" + std::to_string(weight) : ""));
  }
  std::sort(body.begin(), body.end());
  for (std::size_t i = 0; i < body.size(); ++i) text += (i > 0 ? ", " : "") + body[i];
  if (rule.statement >= 0) text += (text.back() == ' ' ? "[" : " [") + std::to_string(rule.statement) + "]";
  return text;
}

inline std::vector<std::string> rules_text(const GroundProgram& program) {
  std::vector<std::string> texts;
  for (const auto& rule : program.rules) texts.push_back(rule_text(program, rule));
  return texts;
}

}  // namespace as2::asp
