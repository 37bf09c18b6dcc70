// Search on whole rows of bits, for problems that consist of slots alone.
//
// An *exact row* is a list of values of which exactly one holds: the symbols of a position, or the places
// where a group that is a permutation of its symbols can have one of them. All exact rows lie side by side in
// *planes*: bit r of plane k says that the k-th value of row r is left. Then a few operations on words serve
// all rows at once:
//   counting the planes up to two   finds rows with one value left (naked and hidden singles alike) and rows
//                                   with none
//   an AND with a mask              fixes a value and removes all it excludes
//   an OR over some of the planes   finds locked candidates: rows whose values left all lie in what they
//   share
//                                   with another row, which therefore loses its other values
// A decision copies the planes, some hundred bytes, instead of keeping a trail. Conflicts are not explained,
// so there is no jumping back and no learning: what is not settled in few nodes is left to the other
// searches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "as2/decoder.h"
#include "decode/problem.h"

namespace as2::decode {

// What all workspaces share.
struct RowTables {
  // Null where something else than slots over single values is to be satisfied, or the tables would be large.
  static std::shared_ptr<const RowTables> of(const Problem& problem);

  // Values left in a row that all lie in `planes` lie in another row too, the partner's.
  struct Shared {
    std::uint64_t planes = 0;
    std::vector<std::uint64_t> rows;  // bits: the rows that share these planes with another
    std::vector<int> partner;         // per row: the other one
    std::vector<int> theirs;          // per row: the entry of `shared` with the partner's planes
  };

  int positions = 0;  // the first rows are theirs
  int rows = 0;
  int planes = 0;
  int words = 0;                       // in a plane
  std::vector<std::uint64_t> all;      // bits: the rows there are
  std::vector<std::uint64_t> root;     // a state: the planes, then the rows that are settled
  std::vector<std::uint64_t> keep;     // per value: what its truth leaves of the planes
  std::vector<std::uint64_t> settles;  // per value: the rows it settles
  std::vector<int> value_at;           // per row and plane; -1: none
  Table places;                        // per value: row · planes + plane
  static constexpr std::size_t kMostShared = 16;
  std::vector<Shared> shared;

  std::size_t state_size() const { return static_cast<std::size_t>(words) * (planes + 1); }

 private:
  void add_masks(const Problem& problem, const Table& row_values);
  void add_shared(const Table& row_values);
};

struct RowResult {
  std::vector<compile::Assignment> found;
  bool complete = false;  // there are no others
  std::int64_t nodes = 0;
};

// A workspace for one thread.
class RowSearch {
 public:
  explicit RowSearch(std::shared_ptr<const RowTables> tables);
  ~RowSearch();

  // Up to `models` assignments without a loss, in at most this many nodes.
  RowResult run(const std::vector<std::int64_t>& losses, const Problem& problem, const std::vector<Pin>& pins,
                std::size_t models, std::int64_t nodes);

  class Engine;

 private:
  std::shared_ptr<const RowTables> tables_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace as2::decode
