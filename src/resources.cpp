#include "as2/resources.h"

#include <cstdlib>

#include "as2/error.h"

namespace as2 {

namespace fs = std::filesystem;

fs::path data_dir() {
  if (const char* home = std::getenv("AS2_HOME"); home && *home) return home;
  std::error_code ignored;
  const fs::path bin = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  // as2 stands in bin/, as2-tensor in libexec/as2/.
  for (const fs::path& candidate :
       {bin / "../share/as2", bin / "../../share/as2", fs::path(AS2_SOURCE_DIR)}) {
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
