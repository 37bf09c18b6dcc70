// child_process.h in the browser: there are no processes, but there may be clingo as WebAssembly beside us
// (npm's clingo-wasm), which `Module.ground` runs. It gives what gringo gives: aspif and messages.
#include "child_process.h"

#include <emscripten.h>

#include "as2/error.h"

// Runs clingo's grounder over `text`. Returns {out, err, exitCode} as a JSON text, or null where the page has
// no clingo.
EM_JS(char*, as2_ground_in_page, (const char* text, const char* options), {
  if (!Module["ground"]) return 0;
  const result = Module["ground"](UTF8ToString(text), UTF8ToString(options));
  const bytes = lengthBytesUTF8(result) + 1;
  const copy = _malloc(bytes);
  stringToUTF8(result, copy, bytes);
  return copy;
});

#include <nlohmann/json.hpp>

namespace as2 {

std::string find_program(const std::string& name) {
  return name;
}

ChildResult run_child(const std::string& /*program*/, const std::vector<std::string>& arguments,
                      const std::string& input, const ChildOptions& /*limits*/) {
  std::string options;
  for (const std::string& argument : arguments) {
    if (argument == "-") continue;
    if (argument.find_first_of(" \t\n\"'") != std::string::npos)
      throw InputError("found '" + argument + "', expected an option without blanks and quotes",
                       {"the grounder in the page takes no others"});
    options += (options.empty() ? "" : " ") + argument;
  }
  char* printed = as2_ground_in_page(input.c_str(), options.c_str());
  if (!printed)
    throw EnvironmentError("there is no grounder on this page",
                           {"choose a shipped program, which is compiled already, or use `./as2 serve`"});
  const nlohmann::json parsed = nlohmann::json::parse(printed);
  std::free(printed);
  ChildResult result;
  result.out = parsed.at("out").get<std::string>();
  result.err = parsed.at("err").get<std::string>();
  result.exit_code = parsed.at("exitCode").get<int>();
  return result;
}

}  // namespace as2
