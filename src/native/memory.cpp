#include "native/memory.h"

#include <algorithm>
#include <string>

#include "as2/error.h"

namespace as2::native {

Share share_memory(std::size_t memory, std::size_t each_worker, std::size_t each_item, int threads,
                   std::int64_t items, std::int64_t most_at_once, const char* what) {
  const std::size_t least = each_worker + each_item;
  if (memory < least) {
    constexpr std::size_t kMegabyte = 1000000;
    throw InputError(std::string("not enough memory for ") + what + ": one at a time takes " +
                         std::to_string(least / kMegabyte + 1) + " MB, and " +
                         std::to_string(memory / kMegabyte) + " MB are allowed",
                     {"allow more with --memory"});
  }
  Share share;
  share.workers = static_cast<int>(std::min<std::size_t>(memory / least, static_cast<std::size_t>(threads)));
  share.workers = static_cast<int>(std::min<std::int64_t>(share.workers, std::max<std::int64_t>(items, 1)));
  const std::size_t own = memory / static_cast<std::size_t>(share.workers) - each_worker;
  const std::int64_t fair = (items + 2 * share.workers - 1) / (2 * share.workers);
  share.at_once = std::min(most_at_once, std::max<std::int64_t>(fair, 1));
  if (each_item > 0) share.at_once = std::min(share.at_once, static_cast<std::int64_t>(own / each_item));
  return share;
}

}  // namespace as2::native
