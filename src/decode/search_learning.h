// Branch and bound by learning, in instalments, so that plain search and this one can take turns.
#pragma once

#include <functional>

#include "decode/learner.h"
#include "decode/search_result.h"

namespace as2::decode {

class LearningSearch {
 public:
  // Why an instalment ended.
  enum class Halt { kDone, kPaused, kStopped };

  // `losses` must outlive it; those given to the search are theirs plus `offset`.
  LearningSearch(const Problem& problem, const std::vector<Pin>& pins,
                 const std::vector<std::vector<std::int64_t>>& losses, std::int64_t offset,
                 std::size_t models, Filter* filter);

  // What has been found and proved elsewhere.
  void hear_of(const std::vector<Found>& found, std::int64_t bound);
  // Goes on for this many conflicts (0: to the end), or until stop(decisions of this instalment).
  Halt go_on(std::int64_t conflicts, const std::function<bool(std::int64_t)>& stop);

  // Best first, in the losses given to the search; after kDone nothing better exists.
  std::vector<Found> found() const;
  bool has_found() const { return !found_.empty(); }
  std::int64_t bound() const;
  std::int64_t decisions() const { return learner_.decisions(); }

 private:
  void add(Found model);

  Learner learner_;
  const std::vector<std::vector<std::int64_t>>& losses_;
  const std::int64_t offset_;
  const std::size_t models_;
  Filter* const filter_;
  const bool flat_;              // all losses are equal
  std::vector<int> everything_;  // positions
  std::vector<Found> found_;
  std::int64_t lower_ = 0;  // no other answer has less of the first criterion
  std::int64_t round_;      // conflicts
  std::int64_t step_ = 1;   // from what is proved to the next cap, as long as nothing was found
  std::int64_t leap_ = -1;  // by how much the next answer is to be better; -1: none was found yet
  bool below_;              // this round is near what is proved, not near what was found
};

}  // namespace as2::decode
