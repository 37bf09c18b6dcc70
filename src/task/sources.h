// Where a task's examples come from: one table, a row per `data.source`.
//
//   boards     Sudoku puzzles, generated (large lists are kept in the cache)
//   tuples     tuples of pictures; the other positions hold what the program then says
//   images     one picture each
//   answers    answer sets drawn from the program itself
//   instances  a file of JSON lines
#pragma once

#include <string>
#include <vector>

#include "sudoku/board.h"
#include "task/instances.h"

namespace as2::task {

class Task;

// What `as2 eval` measures of such examples.
enum class Figures { kBoards, kTuples, kPictures };

// How a user's own list is read.
struct ListOptions {
  Part part = Part::kTest;             // whose pictures it names
  std::int64_t count = 0;              // boards at most; 0: all
  int min_clues = 0, max_clues = 256;  // boards with this many
};

struct Source {
  const char* name;
  std::vector<std::string> settings;  // of [data] beside `train` and `validation`
  bool names_pictures;                // its examples name their pictures; else those are drawn by label
  Figures figures;
  // The examples of a part. Generated ones are the same in every run, whatever its seed.
  Instances (*make)(const Task& task, Part part, std::int64_t count);
  // Examples from a file.
  Instances (*read)(const Task& task, const std::string& path, const ListOptions& options);

  bool uses(const std::string& setting) const;
};

const std::vector<Source>& sources();
std::vector<std::string> source_names();
const Source& source_of(const std::string& name);

// Examples from boards, clues as evidence; a board without its solution has labels at its clues alone.
Instances of_boards(const Task& task, const std::vector<sudoku::Board>& boards);

}  // namespace as2::task
