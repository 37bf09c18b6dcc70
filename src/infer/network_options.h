// A network's sizes and switches, to JSON and back: what a card says and what a preset sets. They stand here,
// below the networks, so that a card can be read, and a network built from it, without LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "as2/error.h"

namespace as2::infer {

// The side of a picture that perception reads, in pixels.
constexpr int kPictureSide = 28;

struct PerceptionOptions {
  std::int64_t symbols = 10;   // k: classes of the concept bottleneck
  std::int64_t d_model = 256;  // embedding
  std::array<std::int64_t, 3> channels{32, 64, 128};
  double width = 1.0;    // multiplies the channels
  int convolutions = 1;  // per block; preset `paper`: 1, `best`: 2
  double dropout = 0.0;  // on the embedding

  static PerceptionOptions paper(std::int64_t symbols);
  static PerceptionOptions best(std::int64_t symbols);
};

// How a token of the transformer learns which groups it belongs to.
enum class Placement {
  kMembership,  // one embedding table per family, indexed by group, summed (the paper)
  kRelation,    // a learned attention bias per layer, head and family for "shares a group with me"
  kIndex,       // a table indexed by position: the addend index of addition
};
const char* name_of(Placement placement);

struct TransformerOptions {
  int layers = 6;
  int heads = 8;
  std::int64_t d_model = 256;
  std::int64_t d_ff = 1024;
  int passes = 1;        // times that all layers run, one after the other, with the same weights
  double dropout = 0.1;  // after attention and after the feed-forward layer
  Placement placement = Placement::kMembership;
  bool pooled = false;  // the sums' guard position is no token: a head on the mean token decides it
  bool clamp = true;    // evaluation: evidence enters as the one-hot of its argmax
  bool restore = true;  // evaluation: logits at evidence positions are the logarithm of what came in
};

enum class Mixing { kAttention, kPooling, kBoth };
const char* name_of(Mixing mixing);

struct SoftTpReasonerOptions {
  std::int64_t width = 96;  // channels of the state
  int heads = 4;
  std::int64_t d_ff = 384;
  Mixing mixing = Mixing::kBoth;
  int passes = 12;                  // in training
  int eval_passes = 64;             // at most, in evaluation
  bool tp_feedback = true;          // false: the ablation without soft T_P features
  bool detach_feedback = false;     // no gradient through the beliefs that are fed back
  double state_noise = 0;           // the state starts as Gaussian noise of this size; 0: as nothing
  double path_noise = 0;            // Gaussian noise of this size on a state that goes on after `passes`
  double residual_tolerance = 0.1;  // halting: every |p − T_P(p)| below this,
  double decided = 0.95;            // and every position's largest belief above this
  // Sizes::list() of what means are taken as over (infer/sizes.h), in training and after it; empty: as over
  // the program that the weights are trained on.
  std::vector<int> sizes;
};

// Recurrent relational network (Palm, Paquet, Winther, NeurIPS 2018); the defaults are theirs for Sudoku.
struct RelationalOptions {
  std::int64_t width = 96;      // of states and messages
  std::int64_t embedding = 16;  // of a symbol, and of a group for each family
  int layers = 3;               // hidden layers of each perceptron
  int passes = 32;              // in training
  int eval_passes = 32;
};

// SATNet (Wang, Donti, Wilder, Kolter, ICML 2019); the defaults are theirs for 9 × 9 Sudoku.
struct SatNetOptions {
  std::int64_t clauses = 600;
  std::int64_t auxiliary = 300;  // variables beside the atoms
  int sweeps = 40;               // of coordinate descent, at most
  double tolerance = 1e-4;       // they end when no variable has moved further in a sweep
};

enum class ReasonerKind { kNone, kTransformer, kSoftTp, kRelational, kSatNet };
const char* name_of(ReasonerKind kind);  // "none", "transformer", "soft-tp", "rrn", "satnet"
// All of them.
std::vector<std::string> reasoner_kinds();

struct ModelOptions {
  std::optional<PerceptionOptions> perception;
  ReasonerKind kind = ReasonerKind::kNone;
  TransformerOptions transformer;  // kTransformer
  SoftTpReasonerOptions soft_tp;   // kSoftTp
  RelationalOptions relational;    // kRelational
  SatNetOptions satnet;            // kSatNet
};

// {"perception": {…} or null, "reasoner": {"kind": …, …}}
nlohmann::json to_json(const ModelOptions& options);
// Where a field stands in the user's file: `reasoner.width`, or `reasoner` for the whole of it.
using FieldPlace = std::function<SourceLocation(const std::string& field)>;
// Fields left out keep their defaults; one that is unknown, wrong or absurdly large is an InputError at its
// place.
ModelOptions model_options(const nlohmann::json& json, const FieldPlace& place);

// Lays `changes`, {"reasoner": {"eval_passes": 256}}, over a trained network. Only what does not shape its
// weights can change after training; any other field is an InputError at its place.
ModelOptions changed_options(const ModelOptions& trained, const nlohmann::json& changes,
                             const FieldPlace& place);

}  // namespace as2::infer
