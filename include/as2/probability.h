// Exact probabilities of anything a compiled program can say.
//
// Positions are independent with the given beliefs. An answer set I weighs w(I) = ∏ p(position, its symbol in
// I); a position without given beliefs weighs 1. P(program) = Σ_I w(I); P(Q) = Σ_{I ⊨ Q} w(I) / P(program).
//
// The program is compiled once into a circuit of sums and products whose inputs are weights: one per symbol
// of each position, and two per observed node (it does not hold, it holds). The circuit is decomposable (the
// factors of a product share no input), deterministic (at most one term of a sum is not 0 at an answer set)
// and smooth (every answer set meets one symbol of every position and one indicator of every observed node),
// so one pass upward gives Σ w, and one pass downward gives the derivative by every input.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/decoder.h"
#include "as2/error.h"

namespace as2::prob {

// Nodes [begin, end) of one kind; their children lie in earlier layers or are inputs.
struct Layer {
  int begin = 0;
  int end = 0;
  bool sum = false;  // else product
};

struct Circuit {
  int positions = 0;
  int symbols = 1;                     // the stride: max_symbols() of the program
  std::vector<int> observed;           // nodes of the program that have indicators, ascending
  std::vector<Layer> layers;           // in order of evaluation
  std::vector<std::int64_t> begin{0};  // per node, and one past the last: its first child
  std::vector<int> children;           // below inputs(): an input; else inputs() + a node
  int root = -1;                       // as a child; -1: no answer set at all

  int inputs() const { return positions * symbols + 2 * static_cast<int>(observed.size()); }
  int nodes() const { return static_cast<int>(begin.size()) - 1; }
  // The input that weighs this symbol of this position.
  int input(int position, int symbol) const { return position * symbols + symbol; }
  // The input that weighs `observed[k]` being false or true.
  int indicator(int k, bool truth) const { return positions * symbols + 2 * k + (truth ? 1 : 0); }
  // Index of the program's node in `observed`; -1 where it has no indicators.
  int find_observed(int node) const;
};

// What compilation may cost. 0: no limit.
struct Budget {
  double seconds = 60;
  std::int64_t bytes = std::int64_t{2} << 30;
  const std::atomic<bool>* stop = nullptr;  // once true, compilation ends: EnvironmentError
};

// The circuit does not fit its budget; the message says how far it got and what to do instead.
class CircuitTooLarge : public InputError {
 public:
  using InputError::InputError;
};

// Compiles the program; `observed` are the nodes whose truth may be observed (set literals need no indicator:
// a weight of their position says it all, and they are ignored here).
Circuit compile_circuit(const compile::ConstraintProgram& program, const std::vector<int>& observed = {},
                        const Budget& budget = {});

// Weights of one instance's inputs: p, 0 or 1, not logarithms. `believed`: one entry per position; a position
// whose entry is 0 weighs 1, whatever its beliefs say. Empty: all positions but guesses are believed.
// Indicators weigh 1: nothing is observed yet.
using Weights = std::vector<double>;
Weights weights_of(const Circuit& circuit, const compile::ConstraintProgram& program,
                   const decode::Beliefs& beliefs, const std::vector<char>& believed = {});

// What a literal is about: nothing that varies, symbols of one position, or a node of the program.
struct Observable {
  enum class Kind { kNever, kAlways, kSet, kNode };
  Kind kind = Kind::kNever;
  bool known = true;        // false: the program has no such atom, only `text`
  compile::SetLiteral set;  // kSet
  compile::NodeRef node;    // kNode, never a set literal's
  std::string text;         // the atom as clingo prints it, where it is not known
};
// An observation, or a query: all of these hold.
using Observation = std::vector<Observable>;

// Reads `total(7), not carry(1,1), cell(1,1,_)=5`: atoms, negated atoms and positions with a symbol. An atom
// the program does not have can never hold (kNever). Throws InputError where the text is no such list.
Observation parse_observation(const compile::ConstraintProgram& program, const std::string& text);
// The atoms in it that the program does not have, which can never hold. InputError if `#show` hides one of
// them, because its truth is then unknown.
std::vector<std::string> unknown_atoms(const compile::ConstraintProgram& program,
                                       const Observation& observation);
// The atoms that match a pattern like `total(_)`, in clingo's term order, with what they are about.
std::vector<std::pair<std::string, Observable>> matching_atoms(const compile::ConstraintProgram& program,
                                                               const std::string& pattern);
// The nodes that must have indicators so that this can be observed.
void collect_nodes(const Observable& observable, std::vector<int>& nodes);
// Sets to 0 what contradicts the observation; every node in it must be among the circuit's observed ones.
// False: it can never hold.
bool observe(const Circuit& circuit, const Observation& observation, Weights& weights);

// Σ of the weights of the answer sets, and its derivatives, for a batch.
struct Evaluated {
  std::vector<double> log_value;       // [batch]; −∞: no answer set weighs anything
  std::vector<double> log_derivative;  // [batch, inputs]: log ∂value/∂weight
};
Evaluated evaluate(const Circuit& circuit, const std::vector<Weights>& batch);
// log Σ w of one instance.
double log_value(const Circuit& circuit, const Weights& weights);
// ∂ log value/∂weight of one instance, [inputs], and the share of the value that passes each input: for the
// symbol of a position that is P(position = symbol | what the weights observe).
std::vector<double> gradient(const Circuit& circuit, const Evaluated& evaluated, int row);
std::vector<double> marginals(const Circuit& circuit, const Weights& weights, const Evaluated& evaluated,
                              int row);
// The probability of an observable, read off the marginals.
double probability_of(const Circuit& circuit, const Observable& observable,
                      const std::vector<double>& marginals);

// The answer of greatest weight. Empty where the value is 0.
compile::Assignment most_probable(const Circuit& circuit, const Weights& weights);
// The answers of greatest weight, `most` or as many as weigh anything, heaviest first.
std::vector<compile::Assignment> most_probable(const Circuit& circuit, const Weights& weights, int most);
// Independent draws of answer sets, each with probability w(I)/Σw; the same for the same seed everywhere.
// Once `stop` is true: EnvironmentError.
std::vector<compile::Assignment> draw(const Circuit& circuit, const Weights& weights, int count,
                                      std::uint64_t seed, const std::atomic<bool>* stop = nullptr);
// Positions, as few as possible, whose weights of 0 leave no answer; empty where the program has none anyway.
std::vector<int> contradicting_positions(const Circuit& circuit, const compile::ConstraintProgram& program,
                                         Weights weights);
// The number of answer sets, in decimal digits. Once `stop` is true: EnvironmentError.
std::string count_answers(const Circuit& circuit, const std::atomic<bool>* stop = nullptr);

// Approximate probabilities of the program and of each query, computed without a circuit. Once `stop` is
// true: EnvironmentError.
struct Approximation {
  double log_p_program = 0;
  std::vector<double> queries;
  double bound = 0;  // no query's true probability is further off; when sampling, with 95 % confidence
  std::vector<int> contradicting;  // positions, as few as possible, whose weights of 0 leave no answer
};
// Sums over the `most` best answers: log_p_program is a lower bound; −∞ where none weighs anything (`bound`
// is then 0) or none was found in time (1). `seconds` limits the search; 0: no limit.
Approximation sum_best(const compile::ConstraintProgram& program, const decode::Beliefs& beliefs,
                       const std::vector<char>& believed, const std::vector<Observation>& queries, int most,
                       double seconds = 0, const std::atomic<bool>* stop = nullptr);
// Draws `count` assignments from the beliefs and keeps the answer sets among them.
Approximation sum_drawn(const compile::ConstraintProgram& program, const decode::Beliefs& beliefs,
                        const std::vector<char>& believed, const std::vector<Observation>& queries, int count,
                        std::uint64_t seed, const std::atomic<bool>* stop = nullptr);

}  // namespace as2::prob
