// clingo as an oracle: one process per program, `--opt-mode=enum` so that every answer set comes with its
// cost. clasp's search for equivalent atoms can lose the condition of an #edge and the support of a
// disjunctive head; `--eq=0` turns it off, but then clasp may print one answer set twice.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/random_program.h"

namespace as2::testing {
namespace {

std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot start: " + command);
  std::string output;
  char buffer[1 << 14];
  while (const std::size_t count = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, count);
  pclose(pipe);
  return output;
}

// A file with this text, removed at the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) {
    const int descriptor = mkstemp(path_);
    if (descriptor < 0) throw std::runtime_error("no temporary file");
    close(descriptor);
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/as2_random_XXXXXX";
};

}  // namespace

bool have_clingo() {
  return std::system("clingo --version >/dev/null 2>&1") == 0;
}

std::vector<AnswerSet> answer_sets(const std::string& text) {
  const TemporaryFile file(text);
  const std::string output =
      output_of("exec clingo 0 --outf=2 --opt-mode=enum --eq=0 --warn=none " + file.path() + " 2>/dev/null");
  const auto document = nlohmann::json::parse(output, nullptr, false);
  if (document.is_discarded() || !document.contains("Result") || document["Result"] == "UNKNOWN") {
    throw std::runtime_error("clingo refuses:\n" + text + output);
  }
  std::vector<AnswerSet> result;
  for (const auto& call : document["Call"]) {
    if (!call.contains("Witnesses")) continue;
    for (const auto& witness : call["Witnesses"]) {
      AnswerSet answer;
      answer.atoms = witness["Value"].get<std::vector<std::string>>();
      std::sort(answer.atoms.begin(), answer.atoms.end());
      if (witness.contains("Costs")) answer.cost = witness["Costs"].get<std::vector<std::int64_t>>();
      result.push_back(std::move(answer));
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace as2::testing
