#include "asp/gringo.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "child_process.h"
#include "stop.h"
#include "text.h"

namespace as2::asp {
namespace {

constexpr const char* kInstall = "install gringo (Debian: apt install gringo), or set AS2_GRINGO to its path";

// One message of gringo: `-:3:1-12: error: unsafe variables in:` and the indented lines below it.
struct Message {
  SourceLocation location;
  std::string severity;  // error, warning, info, note
  std::string text;
};

std::string gringo_path(const GroundOptions& options) {
  const char* named = std::getenv("AS2_GRINGO");
  const std::string wanted = !options.gringo.empty()                      ? options.gringo
                             : named != nullptr && std::strlen(named) > 0 ? named
                                                                          : "gringo";
  const std::string found = find_program(wanted);
  if (found.empty())
    throw EnvironmentError("gringo cannot be found: there is no program `" + wanted + "`",
                           {kInstall, "or give a compiled program (`.as2c`), which needs no gringo"});
  return found;
}

std::vector<std::string> gringo_arguments(const GroundOptions& options) {
  std::vector<std::string> arguments = {"--output=intermediate"};
  for (const auto& [name, value] : options.constants) {
    arguments.push_back("-c");
    arguments.push_back(name + "=" + value);
  }
  arguments.push_back("-");
  return arguments;
}

// Reads `3:1-12: ` or `3:1-4:2: ` from the front of the text.
bool take_place(std::string_view& text, SourceLocation& place) {
  const auto number = [&](int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  const auto separator = [&](char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!number(place.line) || !separator(':') || !number(place.column)) return false;
  place.end_line = place.line;
  place.end_column = place.column;
  if (separator('-')) {
    if (!number(place.end_column)) return false;
    if (text.size() > 1 && text[0] == ':' && text[1] >= '0' && text[1] <= '9') {
      place.end_line = place.end_column;
      separator(':');
      if (!number(place.end_column)) return false;
    }
  }
  return separator(':') && separator(' ');
}

// Reads the first line of a message about a place in `file`; `-` is the text we gave gringo.
std::optional<Message> message_start(std::string_view line, const std::string& file = "-") {
  if (line.substr(0, file.size()) != file || line.substr(file.size(), 1) != ":") return std::nullopt;
  line.remove_prefix(file.size() + 1);
  Message message;
  if (!take_place(line, message.location)) return std::nullopt;
  for (const char* severity : {"error", "warning", "info", "note"}) {
    const std::string prefix = std::string(severity) + ": ";
    if (line.substr(0, prefix.size()) != prefix) continue;
    message.severity = severity;
    message.text = std::string(line.substr(prefix.size()));
    return message;
  }
  return std::nullopt;
}

// Replaces places in our rewritten text by the user's file and line, and quotes of it by what the user wrote.
void bring_home(Message& message, const TaggedText& program) {
  std::string source;
  const SourceLocation ours = message.location;
  const auto origin = program.origin(ours.line, ours.column, ours.end_line, ours.end_column, &source);
  if (origin) message.location = *origin;
  const bool quotes_tags = message.text.find("__as2_") != std::string::npos ||
                           message.text.find("[#inc_base]") != std::string::npos;
  const std::size_t quote = message.text.find("\n  ");
  if (quotes_tags && quote != std::string::npos) message.text = message.text.substr(0, quote + 3) + source;
}

std::vector<Message> read_messages(const std::string& printed, const TaggedText& program) {
  std::vector<Message> messages;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (auto message = message_start(line)) {
      messages.push_back(std::move(*message));
    } else if (!messages.empty() && line.substr(0, 2) == "  ") {
      messages.back().text += "\n" + line;
    } else if (line.substr(0, 4) == "*** " || line.substr(0, 5) == "<cmd>") {
      messages.emplace_back();
      messages.back().severity = "fatal";
      messages.back().text = line;
    }
  }
  for (auto& message : messages) bring_home(message, program);
  return messages;
}

// gringo reads each constant by itself, and names it in place of a file: `<n=3 x>:1:5-6: error: …`. Of one
// without a value, such as n=1/0, it only informs, and drops what it stands in.
void refuse_broken_constant(const GroundOptions& options, const std::string& printed) {
  for (const auto& [name, value] : options.constants) {
    const std::string file = "<" + name + "=" + value + ">";
    const auto line_at = [&](std::size_t at, std::size_t skip) {
      return std::string_view(printed).substr(at, printed.find('\n', at + skip) - at);
    };
    std::optional<Message> said;
    for (std::size_t at = printed.find(file); at != std::string::npos; at = printed.find(file, at + 1)) {
      if (at > 0 && printed[at - 1] != '\n') continue;  // quoted
      const std::string_view line = line_at(at, file.size());
      auto message = message_start(line, file);
      if (!message || (said && (said->severity == "error" || message->severity != "error"))) continue;
      said = std::move(message);
      if (const std::size_t next = at + line.size() + 1; next < printed.size()) {
        const std::string_view below = line_at(next, 0);
        if (below.substr(0, 2) == "  ") said->text += below.substr(1);
      }
    }
    if (!said) continue;
    const bool unreadable = said->severity == "error";
    throw InputError(
        "the constant " + in_quotes(name + "=" + value) +
            (unreadable ? " cannot be read: " : " has no value: ") + said->text,
        {unreadable ? "expected a name and one term without variables, like n=3 or n=f(a,\"b c\")"
                    : "its value must be a term that can be evaluated"});
  }
}

[[noreturn]] void throw_errors(const std::vector<Message>& messages, const ChildResult& result) {
  const auto first = std::find_if(messages.begin(), messages.end(),
                                  [](const Message& message) { return message.severity == "error"; });
  std::vector<std::string> notes;
  if (first == messages.end()) {
    for (const auto& message : messages) {
      if (message.severity == "fatal") notes.push_back("gringo said: " + message.text);
    }
    const bool refused = !notes.empty();
    if (notes.empty() && !result.err.empty()) notes.push_back("gringo said: " + result.err.substr(0, 500));
    notes.push_back("check that gringo runs: gringo --version");
    const std::string message = "gringo failed with exit code " + std::to_string(result.exit_code);
    if (refused) throw InputError(message, notes);
    throw EnvironmentError(message, notes);
  }
  for (auto other = first + 1; other != messages.end(); ++other) {
    if (other->severity != "note" && other->severity != "error") continue;
    const std::string severity = other->severity == "error" ? "error: " : "";
    notes.push_back(other->location.str() + ": " + severity + other->text);
  }
  throw InputError(first->location, first->text, notes);
}

void check_end(const ChildResult& result, const GroundOptions& options) {
  if (result.timed_out) {
    std::ostringstream limit;
    limit << options.time_limit_seconds;
    throw InputError("gringo was stopped after " + limit.str() + " s",
                     {"the program may ground to too many rules or to infinitely many; raise the limit with "
                      "--grounding-seconds if not"});
  }
  const bool out_of_memory = result.err.find("bad_alloc") != std::string::npos || result.printed_too_much;
  if (out_of_memory) {
    rlimit own{};
    if (::getrlimit(RLIMIT_AS, &own) == 0 && own.rlim_cur < static_cast<rlim_t>(options.memory_limit_bytes)) {
      throw EnvironmentError("gringo needs more memory than the " + std::to_string(own.rlim_cur >> 20) +
                                 " MiB this process may have",
                             {"raise the limit: ulimit -v unlimited"});
    }
    throw InputError("gringo needs more than " + std::to_string(options.memory_limit_bytes >> 20) + " MiB",
                     {"the program may ground to too many rules or to infinitely many; raise the limit with "
                      "--grounding-mib if not"});
  }
  if (result.signal != 0) {
    throw GringoDied("gringo died: " + std::string(::strsignal(result.signal)),
                     {"check that gringo runs: gringo --version"});
  }
}

}  // namespace

std::string run_gringo(const TaggedText& program, const GroundOptions& options,
                       std::vector<Warning>& warnings) {
  ChildOptions limits;
  limits.seconds = options.time_limit_seconds;
  limits.bytes = options.memory_limit_bytes;
  limits.stop = options.stop;
  ChildResult result = run_child(gringo_path(options), gringo_arguments(options), program.text(), limits);
  if (result.stopped) throw_interrupted("grounding");
  check_end(result, options);
  const auto messages = read_messages(result.err, program);
  const bool any_error = std::any_of(messages.begin(), messages.end(),
                                     [](const Message& message) { return message.severity == "error"; });
  refuse_broken_constant(options, result.err);
  if (result.exit_code != 0 || any_error) throw_errors(messages, result);
  for (const auto& message : messages) {
    if (message.severity != "info" && message.severity != "warning") continue;
    // The twin rule that tagging adds repeats the messages of its statement.
    const bool known = std::any_of(warnings.begin(), warnings.end(), [&](const Warning& warning) {
      return warning.message == message.text && warning.location.str() == message.location.str();
    });
    if (!known) warnings.push_back({message.location, message.text});
  }
  return std::move(result.out);
}

}  // namespace as2::asp
