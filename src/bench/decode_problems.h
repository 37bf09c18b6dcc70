// A dozen ordinary ASP problems, decoded and solved by clingo.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace as2::bench {

struct ProblemFigures {
  std::string name;
  double whole = 0;            // processor seconds of grounding, compiling and decoding
  double decoding = 0;         // of decoding alone
  bool proved = false;         // ours is the best, or any if no beliefs are given
  double clingo = 0;           // processor seconds of clingo, grounding included
  bool clingo_proved = false;  // before its time was up
};

// Uniform beliefs first (any answer will do), then noise (clingo maximises the same sum of logarithms). Every
// answer is checked against the compiled program, and its loss against clingo's. `seconds`: for one run.
// `progress` hears the name of each problem before it is measured.
std::vector<ProblemFigures> measure_problems(const std::string& clingo, double seconds,
                                             const std::function<void(const std::string&)>& progress);

}  // namespace as2::bench
