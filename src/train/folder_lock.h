// A run's folder belongs to one process at a time: two would mix their files.
#pragma once

#include <filesystem>

namespace as2::train {

class FolderLock {
 public:
  // Makes the folder where there is none and holds it; InputError when another process does. The lock is the
  // system's, so it ends with the process, however that ends.
  explicit FolderLock(const std::filesystem::path& folder);
  // Releases the lock, and removes the folders that were made if they are still empty.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::filesystem::path folder_, made_;  // made_: the topmost folder that was not there before, or empty
  int handle_ = -1;
};

}  // namespace as2::train
