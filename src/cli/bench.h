// `as2 bench SUBJECT`: performance as ratios measured in one run; a result is checked before its time counts.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

#include "as2/constraint_program.h"

namespace as2::cli {

struct BenchOptions {
  std::string device = "cpu";
};

struct BenchSubject {
  const char* name;
  const char* summary;
  // Measures, and returns {"rows": [{"name", "value", "unit", "target", "ok"} …], …}.
  nlohmann::ordered_json (*measure)(const BenchOptions& options);
};

nlohmann::ordered_json bench_decode(const BenchOptions& options);      // bench_decode.cpp
nlohmann::ordered_json bench_misreading(const BenchOptions& options);  // bench_misreading.cpp
nlohmann::ordered_json bench_solve(const BenchOptions& options);       // bench_solve.cpp
nlohmann::ordered_json bench_tp(const BenchOptions& options);          // bench_tp.cpp
nlohmann::ordered_json bench_train(const BenchOptions& options);       // bench_train.cpp

// One figure of a subject's table. `target` says in words what is asked, empty: nothing.
nlohmann::ordered_json bench_row(const std::string& name, double value, const std::string& unit,
                                 const std::string& target = "", bool ok = true);

// What the compiler makes of a board whose boxes have this side, with its rows, columns and boxes as
// families, as many of them as asked; `boards` of them side by side, with more symbols than the side if
// asked. Built here, so that a measurement needs no grounder.
compile::ConstraintProgram bench_board(int box, int families, int boards = 1, int extra_symbols = 0);

// Seconds of the fastest of many calls, the one the machine's other work disturbed least: warms up, then
// repeats until `enough` seconds or 100 calls have passed.
double best_seconds(const std::function<void()>& call, double enough = 0.5);

}  // namespace as2::cli
