#include "as2/error.h"

#include <sstream>
#include <utility>

#include "text.h"

namespace as2 {
namespace {

std::string compose(const SourceLocation& location, const std::string& message,
                    const std::vector<std::string>& notes) {
  std::string text;
  const std::string place = location.str();
  if (!place.empty()) text += place + ": ";
  text += "error: " + message;
  for (const auto& note : notes) text += "\nnote: " + note;
  return readable(text);
}

}  // namespace

std::string SourceLocation::str() const {
  std::ostringstream out;
  out << file;
  if (line > 0) {
    out << ':' << line;
    if (column > 0) {
      out << ':' << column;
      if (end_line > line) {
        out << '-' << end_line << ':' << end_column;
      } else if (end_column > column) {
        out << '-' << end_column;
      }
    }
  }
  return out.str();
}

InputError::InputError(const std::string& message, std::vector<std::string> notes)
    : InputError(SourceLocation{}, message, std::move(notes)) {}

InputError::InputError(SourceLocation location, const std::string& message, std::vector<std::string> notes)
    : std::runtime_error(compose(location, message, notes)), location_(std::move(location)) {}

EnvironmentError::EnvironmentError(const std::string& message, std::vector<std::string> notes)
    : EnvironmentError(SourceLocation{}, message, std::move(notes)) {}

EnvironmentError::EnvironmentError(SourceLocation location, const std::string& message,
                                   std::vector<std::string> notes)
    : std::runtime_error(compose(location, message, notes)) {}

NumericError::NumericError(const std::string& message, std::vector<std::string> notes)
    : std::runtime_error(compose({}, message, notes)) {}

void throw_contract_error(const char* expression, const char* file, int line, const std::string& message) {
  std::ostringstream out;
  out << file << ':' << line << ": requirement failed: " << expression << ": " << message;
  throw ContractError(out.str());
}

}  // namespace as2
