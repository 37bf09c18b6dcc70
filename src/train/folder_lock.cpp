#include "train/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "as2/error.h"
#include "files.h"

namespace as2::train {

namespace fs = std::filesystem;

FolderLock::FolderLock(const fs::path& folder) : folder_(fs::absolute(folder).lexically_normal()) {
  if (!folder_.has_filename()) folder_ = folder_.parent_path();  // `run/`
  std::error_code error;
  for (fs::path missing = folder_; !fs::exists(missing, error); missing = missing.parent_path())
    made_ = missing;
  fs::create_directories(folder_, error);
  if (error) throw_file_error(folder, "cannot be made", error.value());
  handle_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle_ < 0) throw_file_error(folder, "cannot be opened", errno);
  // On a file system without locks, go on without one.
  if (::flock(handle_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(handle_);
  throw InputError({folder.string()}, "another process trains in this folder",
                   {"wait until it ends, or give another --out"});
}

FolderLock::~FolderLock() {
  for (fs::path folder = folder_; !made_.empty() && ::rmdir(folder.c_str()) == 0 && folder != made_;)
    folder = folder.parent_path();
  ::close(handle_);
}

}  // namespace as2::train
