// Pictures at positions of a program in, an answer set out.
//
//   pictures ──Perceiver──▶ evidence ─┬─▶ Guide ──▶ its own beliefs: the order of search, and ties
//                                     └─▶ Decoder over the evidence ──▶ the most probable answer sets
//
// The decoder maximises Σ log p over the evidence alone, positions without a picture being uniform, so what
// was read wrongly may be put right by the rules. The guide's beliefs are not multiplied in: that would count
// the evidence twice. So it need not be asked where a short search without it proves one answer the best; its
// beliefs are then not known either (SolverOptions::reasoned). The two best answers say whether the best is
// the only one: a second with the same symbols at the evidence means that the evidence has several
// completions, else it says how far the next reading is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "as2/constraint_program.h"
#include "as2/decoder.h"

namespace as2::infer {

// A picture as the card's preprocessing says: 28 × 28 grey bytes in reading order, paper 0, ink 255. Where
// the symbol is known it takes the picture's place.
struct Picture {
  int position = 0;
  std::vector<std::uint8_t> pixels;
  int symbol = -1;  // known; −1: the picture shows it
};
// The pictures of one instance, ascending in their positions.
using Scene = std::vector<Picture>;

// What an instance is given: beliefs, and at which positions they are evidence (elsewhere uniform).
struct Evidence {
  decode::Beliefs beliefs;
  std::vector<int> positions;  // ascending
};

class Perceiver {
 public:
  virtual ~Perceiver() = default;
  // For each picture a distribution over its position's symbols.
  virtual std::vector<std::vector<double>> perceive(const std::vector<const Picture*>& pictures) = 0;
};

// What a guide may spend on each instance.
struct GuideLimits {
  int passes = 0;    // at most; 0: as its card says
  int restarts = 1;  // trajectories from different noise, at most
};

// What it makes of one.
struct Guidance {
  decode::Beliefs beliefs;  // about every position
  int trajectories = 1;     // that were run
};

class Guide {
 public:
  virtual ~Guide() = default;
  // Whether trajectories differ from one another; only then may there be more than one.
  virtual bool has_trajectories() const { return false; }
  virtual std::vector<Guidance> guide(const std::vector<Evidence>& instances, const GuideLimits& limits) = 0;
};

// The networks of a weights file; null where it has none of the kind.
struct PerceiverAndGuide {
  std::unique_ptr<Perceiver> perceiver;
  std::unique_ptr<Guide> guide;
};

// What is known before any evidence: the same of every symbol of a position.
decode::Beliefs uniform_beliefs(const compile::ConstraintProgram& program);

// What the perceiver makes of each scene: its beliefs where a picture is, certainty where the symbol is
// known, and uniform_beliefs() elsewhere. Without a perceiver every symbol has to be known.
std::vector<Evidence> look(Perceiver* perceiver, const compile::ConstraintProgram& program,
                           const std::vector<Scene>& scenes);

// Nats of correction beyond which evidence is not misread but wrong; `as2 bench misreading` measures what it
// costs.
constexpr double kMisreading = 4;

struct SolverOptions {
  double misreading = kMisreading;
  double time_budget_seconds = 10;  // of one instance's search
  std::int64_t node_budget = 0;     // of the same; 0: none
  int threads = 0;                  // for decoding; 0: all cores
  int passes = 0;                   // of the guide, at most; 0: as its card says
  int restarts = 1;                 // trajectories of the guide, at most, from different noise
  bool unique = false;  // where the evidence has several completions, the most probable reading with one
  const std::atomic<bool>* stop = nullptr;  // once true, searches end with what they have
  bool reasoned = true;                     // false: the guide is asked only where the answer may hang on it
};

struct Answer {
  decode::Beliefs beliefs;    // the evidence, uniform elsewhere
  decode::Beliefs reasoned;   // the guide's, or the same without one; empty where it was not asked
  std::vector<int> evidence;  // positions with pictures
  decode::Decoded decoded;    // at most two models
  decode::Explanation explanation;
  double correction = 0;         // nats by which the changed evidence is less likely than what was read
  bool completable = false;      // there is an answer, and misreading explains its correction
  std::optional<bool> unique;    // none: no answer, or the search for a second one was given up
  std::optional<double> margin;  // log p of the answer minus that of the next best; none: there is no other
  std::optional<decode::UniqueReading> reread;  // SolverOptions::unique, where the reading had several

  const compile::Assignment& assignment() const { return decoded.models.front().assignment; }
};

// Seconds spent on each step, and how many instances the guide was asked about.
struct SolveTimes {
  double perception = 0, reasoning = 0, decoding = 0;
  std::size_t asked = 0;
};

// When searches for one question end at the latest, however many there are; none: each has its own budget
// only.
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

class Solver {
 public:
  // Without a guide the answers are as probable, and found without its order.
  Solver(std::shared_ptr<const compile::ConstraintProgram> program, std::unique_ptr<Perceiver> perceiver,
         std::unique_ptr<Guide> guide, const SolverOptions& options = {});
  ~Solver();
  Solver(Solver&&) noexcept;

  const compile::ConstraintProgram& program() const { return *program_; }
  // Answers in order. Adds to `times` where given.
  std::vector<Answer> solve(const std::vector<Scene>& scenes, SolveTimes* times = nullptr);
  // The two halves of it: what perception makes of each scene, and the answers to evidence.
  std::vector<Evidence> look(const std::vector<Scene>& scenes, SolveTimes* times = nullptr);
  // Searches end at `until`, too.
  std::vector<Answer> answer(std::vector<Evidence> evidence, SolveTimes* times = nullptr,
                             Deadline until = {});

  // The groups that the evidence as read cannot all satisfy; empty where nothing was changed.
  std::vector<int> conflict(const Answer& answer) const;
  // What was read at a position: the symbol its evidence believes most.
  int read_at(const Answer& answer, int position) const;
  double belief(const decode::Beliefs& beliefs, int position, int symbol) const;
  // How sure: perception of a symbol at evidence, the guide, which was asked, of another.
  double confidence(const Answer& answer, int position, int symbol) const;

 private:
  // Whether answers may be given without asking the guide, and whether this one is such.
  bool may_spare_guide() const;
  static bool is_settled(const Answer& answer);
  void guide(const std::vector<Answer*>& answers);
  // Finds each answer's models; what the guide believes, where it was asked, orders the search.
  void decode(const std::vector<Answer*>& answers, std::int64_t node_budget, Deadline until) const;
  void read_again(Answer& answer, Deadline until) const;
  // What the models say about an answer: what was changed, and whether it is the only one.
  void conclude(Answer& answer) const;

  std::shared_ptr<const compile::ConstraintProgram> program_;
  std::unique_ptr<Perceiver> perceiver_;
  std::unique_ptr<Guide> guide_;
  SolverOptions options_;
  decode::Decoder decoder_;
};

}  // namespace as2::infer
