// Hard 9×9 puzzles from our own generator, for training networks on what public lists of the hardest hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sudoku/board.h"

namespace as2::sudoku {

// How much search a puzzle takes: 256 · log2(1 + guesses until its solution is known to be the only one), the
// mean over `copies` random symmetric copies, since the order of the cells decides the order of the search.
int search_effort(const Grid& puzzle, int copies, Random& random);
// A number of guesses in the unit of search_effort().
int effort_of_guesses(std::int64_t guesses);

struct HardOptions {
  int guesses = 50;  // required at least: the geometric mean over symmetric copies
  std::uint64_t seed = 0;
  std::size_t per_climb = 300;  // at most this many puzzles from one climb: neighbours are alike
  // Set from outside, it ends the search: what was found by then is the beginning of the whole list.
  const std::atomic<bool>* stop = nullptr;
};

// The first `count` puzzles of the climbs 0, 1, 2, … of the seed: the same list for any number of threads.
// `found` is told the number of puzzles whenever it grows. Throws InputError if thousands of climbs find
// none.
std::vector<Board> generate_hard(const HardOptions& options, std::size_t count, int threads = 1,
                                 const std::function<void(std::size_t)>& found = {});

// The first `count` puzzles as hard that differ in a clue or two from those of `list`, or from one another: a
// hundred times as many per second as climbs find. None of them is in the list, none stands twice, and they
// are the same for any number of threads. Throws InputError if thousands of changes find none.
std::vector<Board> vary_hard(const HardOptions& options, const std::vector<Grid>& list, std::size_t count,
                             int threads = 1, const std::function<void(std::size_t)>& found = {});

}  // namespace as2::sudoku
