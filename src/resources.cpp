#include "as2/resources.h"

#ifdef __linux__
#include <dlfcn.h>
#endif

#include <cstdlib>

#include "as2/error.h"

namespace as2 {

namespace fs = std::filesystem;

namespace {

// The folder of the shared library that this code is part of; of a program, whose path here may be relative,
// `bin`.
fs::path code_folder(const fs::path& bin) {
#ifdef __linux__
  Dl_info about{};
  if (dladdr(reinterpret_cast<void*>(&data_dir), &about) != 0 && about.dli_fname) {
    const fs::path file = about.dli_fname;
    if (file.is_absolute()) return file.parent_path();
  }
#endif
  return bin;
}

}  // namespace

fs::path data_dir() {
  if (const char* home = std::getenv("AS2_HOME"); home && *home) return home;
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  // as2 stands in bin/, as2-tensor in libexec/as2/; in a Python package the files stand beside the library.
  for (const fs::path& candidate : {code_folder(bin) / "share/as2", bin / "../share/as2",
                                    bin / "../../share/as2", fs::path(AS2_SOURCE_DIR)}) {
    if (fs::is_directory(candidate / "programs", ignored)) return candidate.lexically_normal();
  }
  return AS2_INSTALLED_DATA_DIR;
}

fs::path shipped_file(const std::string& relative) {
  const fs::path path = data_dir() / relative;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw EnvironmentError({path.string()}, "this file ships with AS2 but is missing",
                           {"set AS2_HOME to the folder that holds programs/ and models/"});
  }
  return path;
}

}  // namespace as2
