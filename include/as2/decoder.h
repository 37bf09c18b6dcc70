// Beliefs in, an assignment that satisfies the program out: always, or a proof that there is none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::decode {

// Beliefs of one instance: p[position][symbol], flattened with stride `max_symbols()` of the program;
// entries past a position's domain are ignored. Not logarithms; 0 is allowed (floored at 1e-30 by map).
using Beliefs = std::vector<double>;

enum class Method { kMap, kGreedy };
// kUnknown: a budget ran out before any assignment was found.
enum class Status { kOptimal, kSatisfied, kUnsatisfiable, kDeadEnd, kUnknown };
const char* name_of(Status status);  // "optimal", "satisfied", "unsatisfiable", "dead_end", "unknown"

struct Pin {
  int position = 0;
  int symbol = 0;
};

// One instance: what is believed, and what is known for certain.
struct Query {
  Beliefs beliefs;
  std::vector<Pin> pins;      // hard; all else is soft
  std::vector<int> evidence;  // what was read; greedy locks it first, `unique` searches over it
  Beliefs guide;              // second beliefs that order the search and break exact ties; empty: none
};

// Options that are the same for all instances.
struct DecodeOptions {
  Method method = Method::kMap;
  std::int64_t node_budget = 0;           // 0: none; twice as many while nothing is found
  std::int64_t learn_after = -1;          // nodes of plain search before learning; -1: as the program is
  double time_budget_seconds = 0;         // 0: none
  int models = 1;                         // the K best, in order
  bool objective_first = false;           // clingo's lexicographic order first, Σ log p breaks ties
  std::vector<double> objective_weights;  // λ per level, highest priority first; missing: 1
  bool minimal_conflict = true;           // name the conflicting constraints when unsatisfiable
  // The most probable reading of the evidence (map) that leaves exactly one completion: among those at most
  // `unique_margin` less probable (in log p) than the most probable that can be completed, and after testing
  // at most `unique_readings`. With `models` the K most probable such readings, as far as there are so many.
  // If there is none, the answer is that of ordinary decoding.
  bool unique = false;
  double unique_margin = 30;
  int unique_readings = 2000;
  const std::atomic<bool>* stop = nullptr;  // once true, decoding ends as if its time were over
};

struct Model {
  compile::Assignment assignment;
  double log_probability = 0;      // Σ log max(p, 1e-30)
  std::vector<std::int64_t> cost;  // per objective level
};

// Constraints and pins that cannot hold together: without any one of them, some assignment satisfies the
// rest.
struct Conflict {
  std::vector<int> groups;  // indices into ConstraintProgram::groups
  std::vector<Pin> pins;
};

// The outcome of DecodeOptions::unique, of the first model. A reading gives every evidence position a symbol.
struct UniqueReading {
  bool found = false;     // whether the answer is the only completion of its reading
  int rank = 0;           // found: its place among the readings that can be completed, most probable first
  int readings = 0;       // tested
  bool complete = false;  // proved: no more probable reading qualifies, or none within the margin
};

struct Decoded {
  Status status = Status::kUnsatisfiable;
  std::vector<Model> models;  // best first; empty when unsatisfiable or dead end
  // kSatisfied: by how much, at most, the best answer's score lies above the one found. With objective_first
  // it is that of the first criterion that is not proved: a level's cost, or log p.
  double gap = 0;
  std::int64_t nodes = 0;
  int dead_end_position = -1;  // kDeadEnd
  Conflict conflict;           // kUnsatisfiable
  std::optional<UniqueReading> unique;
};

// One decoder per program, which it shares or, given the program itself, owns. decode() is const, re-entrant
// and deterministic.
class Decoder {
 public:
  explicit Decoder(std::shared_ptr<const compile::ConstraintProgram> program);
  explicit Decoder(compile::ConstraintProgram program);
  ~Decoder();
  Decoder(Decoder&&) noexcept;

  const compile::ConstraintProgram& program() const;
  Decoded decode(const Query& query, const DecodeOptions& options = {}) const;
  // Many instances over `threads` threads (0: all cores), results in order.
  std::vector<Decoded> decode_batch(const std::vector<Query>& queries, const DecodeOptions& options = {},
                                    int threads = 0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A position read one way (argmax) and decoded another. A position whose best symbols tie was not read.
struct Change {
  int position = 0;
  int read = 0;
  int decoded = 0;
  double p_read = 0;
  double p_decoded = 0;
};

struct Explanation {
  std::vector<Change> changed;
  std::vector<int> broken_groups;  // groups the raw reading violates
};
Explanation explain(const compile::ConstraintProgram& program, const Beliefs& beliefs,
                    const compile::Assignment& decoded);

}  // namespace as2::decode
