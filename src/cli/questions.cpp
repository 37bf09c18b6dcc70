#include "cli/questions.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <numeric>

#include "as2/error.h"
#include "text.h"

namespace as2::cli {

void declare_questions(CLI::App& command, std::vector<std::string>& queries,
                       std::vector<std::string>& distributions) {
  command
      .add_option("--query", queries,
                  "The probability that all of these hold: atoms, `not` atoms, POSITION=SYMBOL, with commas "
                  "between them")
      ->type_name("LITERALS");
  command
      .add_option("--distribution", distributions,
                  "The probability of every atom that matches; `_` is any argument: 'total(_)'")
      ->type_name("PATTERN");
}

std::vector<std::pair<std::string, prob::Observable>> require_atoms(const compile::ConstraintProgram& program,
                                                                    const std::string& pattern) {
  auto atoms = prob::matching_atoms(program, pattern);
  if (atoms.empty()) {
    throw InputError("no atom of the program matches " + in_quotes(pattern),
                     {"`_` stands for any argument: total(_); atoms hidden by #show are not found"});
  }
  return atoms;
}

void judge_unknown(const compile::ConstraintProgram& program, const prob::Observation& query) {
  for (const std::string& atom : prob::unknown_atoms(program, query))
    std::cerr << "warning: " << in_quotes(atom) << " can never hold: the program has no such atom\n";
}

void Questions::ask(const std::string& query) {
  always_.push_back(add(query));
  judge_unknown(program_, observations_[always_.back()]);
}

void Questions::ask_distribution(const std::string& pattern) {
  for (const auto& [atom, observable] : require_atoms(program_, pattern))
    always_.push_back(add(atom, {observable}));
}

std::size_t Questions::observe(const std::string& literal, const SourceLocation& place) {
  try {
    const std::size_t index = add(literal);
    for (const std::string& atom : prob::unknown_atoms(program_, observations_[index]))
      throw InputError("the program has no atom " + in_quotes(atom));
    return index;
  } catch (const InputError& error) {
    throw InputError(place, "\"observed\" has " + in_quotes(literal), {error.what()});
  }
}

void Questions::forget_observed() {
  const std::size_t kept = always_.empty() ? 0 : *std::max_element(always_.begin(), always_.end()) + 1;
  for (; observations_.size() > kept; texts_.pop_back(), observations_.pop_back())
    index_.erase(texts_.back());
}

std::vector<int> Questions::nodes() const {
  std::vector<std::size_t> all(observations_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return nodes(all);
}

std::vector<int> Questions::nodes(const std::vector<std::size_t>& questions) const {
  std::vector<int> nodes;
  for (const std::size_t index : questions) {
    for (const prob::Observable& observable : observations_[index]) prob::collect_nodes(observable, nodes);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::size_t Questions::add(const std::string& text) {
  const auto known = index_.find(text);
  return known != index_.end() ? known->second : add(text, prob::parse_observation(program_, text));
}

std::size_t Questions::add(const std::string& text, prob::Observation observation) {
  const auto [at, fresh] = index_.emplace(text, observations_.size());
  if (fresh) {
    observations_.push_back(std::move(observation));
    texts_.push_back(text);
  }
  return at->second;
}

}  // namespace as2::cli
