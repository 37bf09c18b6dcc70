#include "files.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <streambuf>

#include "as2/error.h"

namespace as2 {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCannotBeWritten = "cannot be written";
constexpr const char* kStandardInput = "<stdin>";

// An open file as the target of a stream. `error` is the system's error number of the first write that
// failed.
class Descriptor : public std::streambuf {
 public:
  explicit Descriptor(int fd) : fd_(fd) { setp(buffer_.data(), buffer_.data() + buffer_.size()); }
  ~Descriptor() override { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int fd() const { return fd_; }
  int error() const { return error_; }

 protected:
  int_type overflow(int_type byte) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(byte, traits_type::eof())) sputc(traits_type::to_char_type(byte));
    return traits_type::not_eof(byte);
  }
  int sync() override {
    for (const char* at = pbase(); at < pptr() && error_ == 0;) {
      const ssize_t put = ::write(fd_, at, static_cast<std::size_t>(pptr() - at));
      if (put >= 0) {
        at += put;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  std::array<char, 1 << 16> buffer_;
  int fd_;
  int error_ = 0;
};

// Lets `write` fill the file and flushes it to disk. Returns 0 or the system's error number.
int fill(Descriptor& file, const std::function<void(std::ostream&)>& write) {
  std::ostream out(&file);
  write(out);
  out.flush();
  if (file.error() != 0) return file.error();
  // A pipe or a terminal cannot be flushed to a disk; that is no error.
  if (::fsync(file.fd()) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) return errno;
  return 0;
}

// Where a chain of symbolic links ends; empty if it leads through /proc, as those of /dev/stdout and
// /dev/fd/3 do: such a link stands for an open file of any kind.
fs::path behind_links(fs::path path) {
  std::error_code error;
  for (int hops = 0; fs::is_symlink(path, error); ++hops) {
    if (hops == 40) throw_file_error(path, kCannotBeWritten, ELOOP);
    // The link may stand in a folder that is itself reached by a link, as /dev/fd is.
    if (fs::weakly_canonical(path.parent_path(), error).string().rfind("/proc/", 0) == 0) return {};
    const fs::path next = fs::read_symlink(path, error);
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

void write_through(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) throw_file_error(path, kCannotBeWritten, errno);
  Descriptor file(fd);
  if (const int error = fill(file, write)) throw_file_error(path, kCannotBeWritten, error);
}

std::string read_to_end(int fd, const fs::path& path, std::size_t most) {
  // Its size is a guess: a pipe says 0, and a file may grow.
  struct stat about {};
  const bool sized = ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
  if (sized && static_cast<std::size_t>(about.st_size) > most) throw_too_large({path.string()}, most);
  std::string bytes;
  if (sized) bytes.reserve(static_cast<std::size_t>(about.st_size) + 1);
  for (std::size_t size = 0;;) {
    if (size > most) throw_too_large({path.string()}, most);
    const std::size_t room = std::max(bytes.capacity(), size + 4096);
    bytes.resize(std::min(room, most + 1));
    const std::size_t got = read_some(fd, bytes.data() + size, bytes.size() - size, path);
    size += got;
    if (got > 0) continue;
    bytes.resize(size);
    return bytes;
  }
}

}  // namespace

void throw_file_error(const fs::path& path, const std::string& what, int code) {
  const std::string message = what + ": " + std::strerror(code);
  switch (code) {
    case EACCES:
    case EINVAL:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case EPERM:
    case EROFS:
    case ETXTBSY:
      throw InputError({path.string()}, message);
    case EFBIG:
      throw EnvironmentError({path.string()}, message, {"raise the limit on the size of files: ulimit -f"});
    case EDQUOT:
    case ENOSPC:
      throw EnvironmentError({path.string()}, message, {"make room, or write to another disk"});
    case EMFILE:
    case ENFILE:
      throw EnvironmentError({path.string()}, message, {"raise the limit of open files: ulimit -n"});
    case EBADF:
      throw EnvironmentError({path.string()}, message,
                             {"it is closed: remove `>&-` or a similar redirection"});
    case EPIPE:
      throw EnvironmentError({path.string()}, message,
                             {"the program that was reading it has ended; find out why"});
    case ENOMEM:
      throw EnvironmentError({path.string()}, message, {"free some memory, or raise the limit: ulimit -v"});
    default:
      throw EnvironmentError({path.string()}, message, {"check the disk, then run the command again"});
  }
}

int open_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError({path.string()}, "found a folder, expected a file");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_file_error(path, "cannot be opened", errno);
  return fd;
}

std::string read_file(const fs::path& path, std::size_t most) {
  const Descriptor file(open_file(path));
  return read_to_end(file.fd(), path, most);
}

std::string read_standard_input(std::size_t most) {
  return read_to_end(STDIN_FILENO, kStandardInput, most);
}

std::size_t read_some(int fd, char* bytes, std::size_t size, const fs::path& path) {
  for (;;) {
    const ssize_t got = ::read(fd, bytes, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EBADF && fd == STDIN_FILENO) return 0;
    if (errno == EAGAIN) {
      pollfd waiting{fd, POLLIN, 0};
      ::poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      throw_file_error(path, "cannot be read to its end", errno);
    }
  }
}

void throw_too_large(const SourceLocation& place, std::size_t most) {
  throw InputError(place, "is larger than " + std::to_string(most >> 20) + " MiB, or has no end",
                   {"split it into smaller ones; no more than this is read at a time"});
}

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  static std::atomic<int> count{0};
  const fs::path target = behind_links(path);
  struct stat old {};
  const bool exists = !target.empty() && ::stat(target.c_str(), &old) == 0;
  if (target.empty() || (exists && !S_ISREG(old.st_mode))) return write_through(path, write);

  fs::path temporary = target;
  temporary += "." + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) throw_file_error(path, kCannotBeWritten, errno);
  try {
    {
      Descriptor file(fd);
      if (exists) ::fchmod(fd, old.st_mode & 07777);
      if (const int error = fill(file, write)) throw_file_error(path, kCannotBeWritten, error);
    }
    if (::rename(temporary.c_str(), target.c_str()) != 0) throw_file_error(path, kCannotBeWritten, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_file(const fs::path& path, const std::string& bytes) {
  write_file(path,
             [&](std::ostream& out) { out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); });
}

void remove_tree(const fs::path& path) {
  const auto remove_one = [](const char* name, const struct stat*, int, struct FTW*) {
    ::remove(name);
    return 0;
  };
  constexpr int kOpenFolders = 16;
  nftw(path.c_str(), remove_one, kOpenFolders, FTW_DEPTH | FTW_PHYS);
}

void refuse_to_overwrite(const std::vector<std::string>& inputs, const std::string& output) {
  std::error_code error;
  if (output == "-" || !fs::is_regular_file(output, error)) return;
  for (const std::string& input : inputs) {
    if (input == "-" || !fs::equivalent(input, output, error) || error) continue;
    throw InputError({output}, "would replace " + (input == output ? "the input" : "the input " + input),
                     {"give another name for the output"});
  }
}

}  // namespace as2
