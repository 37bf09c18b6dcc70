#include "serve/pages.h"

#include "as2/error.h"
#include "as2/resources.h"
#include "files.h"

namespace as2::serve {
namespace {

namespace fs = std::filesystem;

std::string type_of(const fs::path& file) {
  static const std::map<std::string, std::string> types = {
      {".html", "text/html; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".wasm", "application/wasm"},
      {".json", "application/json"},
      {".webmanifest", "application/manifest+json"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".svg", "image/svg+xml"},
      {".lp", "text/plain; charset=utf-8"},
      {".as2c", "text/plain; charset=utf-8"},
  };
  const auto found = types.find(file.extension().string());
  return found == types.end() ? "application/octet-stream" : found->second;
}

}  // namespace

std::map<std::string, Page> read_pages(const fs::path& folder) {
  // Before anything is read: of a folder that is no page there may be no end.
  if (fs::is_directory(folder) && !fs::is_regular_file(folder / "index.html"))
    throw InputError({folder.string()}, "is not a page: it has no index.html",
                     {"name the folder that has it"});
  std::map<std::string, Page> pages;
  std::size_t size = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = "/" + entry.path().lexically_relative(folder).generic_string();
    Page page{read_file(entry.path().string(), kLargestFile - size), type_of(entry.path())};
    size += page.content.size();
    pages[path] = std::move(page);
  }
  if (const auto index = pages.find("/index.html"); index != pages.end()) pages["/"] = index->second;
  return pages;
}

fs::path default_page() {
  std::error_code none;
  const fs::path here = fs::read_symlink("/proc/self/exe", none).parent_path();
  for (const fs::path& folder : {here / "../web/page", data_dir() / "page"}) {
    if (fs::exists(folder / "index.html", none)) return folder.lexically_normal();
  }
  return {};
}

}  // namespace as2::serve
