// Everything but gringo's version is known when this is built, so that `--version` loads no LibTorch.
#include "cli/version.h"

#include <cstdlib>

#include "child_process.h"

namespace as2::cli {
namespace {

std::string gringo_version() {
  const char* named = std::getenv("AS2_GRINGO");
  const std::string path = find_program(named && *named ? named : "gringo");
  if (path.empty()) return "gringo not found";
  const std::string said = run_child(path, {"--version"}, "", {}).out;
  const std::string first_line = said.substr(0, said.find('\n'));
  return first_line.empty() ? "gringo of unknown version" : first_line;
}

}  // namespace

std::string version_text() {
  const std::string torch = AS2_TORCH_VERSION;
  return std::string("as2 ") + AS2_VERSION + "\n" +
         (torch.empty() ? "without LibTorch"
                        : "LibTorch " + torch + (AS2_HAS_CUDA ? " with CUDA" : " without CUDA")) +
         "\n" + gringo_version();
}

}  // namespace as2::cli
