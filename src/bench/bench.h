// What `as2 bench` measures: performance as ratios taken in one run; a result is checked before its time
// counts.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "as2/constraint_program.h"

namespace as2::bench {

// Says what is being measured now.
using ReportStep = std::function<void(const std::string& step)>;

struct Options {
  torch::Device device = torch::kCPU;      // soft T_P, circuits and training run there, the others on the CPU
  std::string fonts = "/usr/share/fonts";  // where drawn photos take their typefaces from
};

struct Subject {
  const char* name;
  const char* summary;
  // Measures, and returns {"rows": [{"name", "value", "unit", "target", "ok"} …], …}.
  nlohmann::ordered_json (*measure)(const Options& options, const ReportStep& progress);
};

// Everything there is to measure, in the order it is shown.
const std::vector<Subject>& subjects();

nlohmann::ordered_json measure_decode(const Options& options, const ReportStep& progress);  // decode.cpp
nlohmann::ordered_json measure_misreading(const Options& options,
                                          const ReportStep& progress);                      // misreading.cpp
nlohmann::ordered_json measure_photos(const Options& options, const ReportStep& progress);  // photos.cpp
nlohmann::ordered_json measure_prob(const Options& options, const ReportStep& progress);    // prob.cpp
nlohmann::ordered_json measure_solve(const Options& options, const ReportStep& progress);   // solve.cpp
nlohmann::ordered_json measure_tp(const Options& options, const ReportStep& progress);      // tp.cpp
nlohmann::ordered_json measure_train(const Options& options, const ReportStep& progress);   // train.cpp

// One figure of a subject's table. `target` says in words what is required; empty: nothing is.
nlohmann::ordered_json row(const std::string& name, double value, const std::string& unit,
                           const std::string& target = "", bool ok = true);

// The program the compiler would make of a Sudoku board whose boxes have side `box`, with the first
// `families` of rows, columns and boxes as its families; `boards` such boards side by side in one program,
// with `extra_symbols` more symbols than a board needs. Built by hand, so that a measurement needs no
// grounder.
compile::ConstraintProgram board_program(int box, int families, int boards = 1, int extra_symbols = 0);

// Seconds of the fastest of many calls, which other work on the machine disturbed least: warms up, then
// repeats until `enough` seconds or 100 calls have passed.
double best_seconds(const std::function<void()>& call, double enough = 0.5);

}  // namespace as2::bench
