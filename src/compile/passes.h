// The compiler as one list of passes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "as2/compile.h"
#include "compile/kinds.h"
#include "compile/node_writer.h"
#include "compile/objectives.h"

namespace as2::compile {

// What the passes have found so far.
struct Compilation {
  explicit Compilation(const asp::GroundProgram& source) : ground(source) {}

  const asp::GroundProgram& ground;
  NormalProgram normal;
  Guesses guesses;
  Choices choices;
  Positions positions;
  std::vector<Stratum> strata;
  Definitions definitions;
  Constraints constraints;
  std::vector<Kinds> kinds;
  Objectives objectives;
  std::vector<std::pair<std::string, Formula>> shown;
  std::optional<NodeWriter> nodes;
  Compiled result;
};

struct Pass {
  const char* name;
  const char* purpose;
  void (*run)(Compilation&);
  std::string (*dump)(const Compilation&);
};

// All passes, in the order they run.
const std::vector<Pass>& passes();

}  // namespace as2::compile
