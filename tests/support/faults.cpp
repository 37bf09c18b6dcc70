// Preloaded into a program, makes its disk fail: the nth write, fsync or rename below a folder.
//   AS2_FAULT_FOLDER   the folder; files elsewhere, pipes and terminals are left alone
//   AS2_FAULT          CALL:N:HOW, for example rename:2:fail. CALL is write, fsync or rename. HOW is fail
//                      (the disk is full) or kill (the process dies before the call; of a write, half the
//                      bytes have arrived).
//   AS2_FAULT_LOG      a file that gets one line per call, to count them
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool is_watched(const char* path) {
  const char* folder = std::getenv("AS2_FAULT_FOLDER");
  return folder && std::strncmp(path, folder, std::strlen(folder)) == 0;
}

bool is_watched(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return false;
  char link[64], path[4096];
  std::strcpy(link, "/proc/self/fd/");
  char digits[16];
  int at = 0, rest = file;
  do digits[at++] = static_cast<char>('0' + rest % 10);
  while ((rest /= 10) > 0);
  std::size_t end = std::strlen(link);
  while (at > 0) link[end++] = digits[--at];
  link[end] = '\0';
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return false;
  path[length] = '\0';
  return is_watched(path);
}

enum class Fate { kNormal, kFail, kKill };

Fate fate_of(const char* call, int& count) {
  ++count;
  if (const char* log = std::getenv("AS2_FAULT_LOG")) {
    const long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT, 0600);
    syscall(SYS_write, file, call, std::strlen(call));
    syscall(SYS_write, file, "\n", 1);
    syscall(SYS_close, file);
  }
  const char* wanted = std::getenv("AS2_FAULT");
  const std::size_t length = std::strlen(call);
  if (!wanted || std::strncmp(wanted, call, length) != 0 || wanted[length] != ':') return Fate::kNormal;
  char* how = nullptr;
  if (std::strtol(wanted + length + 1, &how, 10) != count) return Fate::kNormal;
  return std::strcmp(how, ":kill") == 0 ? Fate::kKill : Fate::kFail;
}

int full() {
  errno = ENOSPC;
  return -1;
}

int writes = 0, syncs = 0, renames = 0;

}  // namespace

extern "C" ssize_t write(int file, const void* bytes, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  if (!is_watched(file)) return real(file, bytes, size);
  const Fate fate = fate_of("write", writes);
  if (fate == Fate::kFail) return full();
  if (fate == Fate::kKill) {
    real(file, bytes, size / 2);
    raise(SIGKILL);
  }
  return real(file, bytes, size);
}

extern "C" ssize_t writev(int file, const iovec* parts, int count) {
  static const auto real = next<ssize_t (*)(int, const iovec*, int)>("writev");
  if (!is_watched(file)) return real(file, parts, count);
  const Fate fate = fate_of("write", writes);
  if (fate == Fate::kFail) return full();
  if (fate == Fate::kKill) {
    real(file, parts, count / 2);
    raise(SIGKILL);
  }
  return real(file, parts, count);
}

extern "C" int fsync(int file) {
  static const auto real = next<int (*)(int)>("fsync");
  if (!is_watched(file)) return real(file);
  const Fate fate = fate_of("fsync", syncs);
  if (fate == Fate::kKill) raise(SIGKILL);
  return fate == Fate::kFail ? full() : real(file);
}

extern "C" int rename(const char* from, const char* to) {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  char whole[8192] = "";
  if (to[0] != '/' && getcwd(whole, 4096)) std::strcat(whole, "/");
  if (std::strlen(to) < 4096) std::strcat(whole, to);
  if (!is_watched(whole)) return real(from, to);
  const Fate fate = fate_of("rename", renames);
  if (fate == Fate::kKill) raise(SIGKILL);
  return fate == Fate::kFail ? full() : real(from, to);
}
