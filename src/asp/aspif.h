// aspif 1, gringo's intermediate format, read as a stream of callbacks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "as2/ground_program.h"

namespace as2::asp {

// Receives the directives of an aspif program; whatever is not overridden throws InputError.
class AspifHandler {
 public:
  virtual ~AspifHandler() = default;

  virtual void rule(Rule&& rule);
  virtual void minimize(Minimize&& minimize);
  virtual void project(const std::vector<Atom>& atoms);
  virtual void output(std::string&& text, const std::vector<Lit>& condition);
  virtual void external(Atom atom, int value);
  virtual void assumption(const std::vector<Lit>& literals);
  virtual void heuristic();
  // An edge that is there if all of the condition holds; those that are there must form no cycle.
  virtual void edge(int from, int to, const std::vector<Lit>& condition);
  virtual void theory();
  virtual void comment(std::string_view text);

  // The line being read, for messages.
  const SourceLocation& here() const { return here_; }
  void set_here(const SourceLocation& here) { here_ = here; }

 private:
  [[noreturn]] void unhandled(const std::string& directive) const;

  SourceLocation here_;
};

// Reads the whole text; throws InputError with `name` and the line where it is not aspif.
void read_aspif(std::string_view text, const std::string& name, AspifHandler& handler);

}  // namespace as2::asp
