#include "files.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "as2/error.h"

namespace as2 {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) throw InputError({path.string()}, "found a folder, expected a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError({path.string()}, std::string("cannot be opened: ") + std::strerror(errno));
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (in.bad()) throw InputError({path.string()}, "cannot be read to its end");
  return std::move(bytes).str();
}

void write_file(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  static std::atomic<int> count{0};
  fs::path temporary = path;
  temporary += "." + std::to_string(getpid()) + "-" + std::to_string(count++) + ".tmp";
  std::error_code error;
  try {
    std::ofstream out(temporary, std::ios::binary);
    if (!out) throw InputError({path.string()}, std::string("cannot be written: ") + std::strerror(errno));
    write(out);
    out.close();
    if (!out) throw InputError({path.string()}, std::string("cannot be written: ") + std::strerror(errno));
    fs::rename(temporary, path, error);
    if (error) throw InputError({path.string()}, "cannot be written: " + error.message());
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}

void write_file(const fs::path& path, const std::string& bytes) {
  write_file(path,
             [&](std::ostream& out) { out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())); });
}

}  // namespace as2
