// Requests of the API: the first line is the verb and, for pictures, `name=value` parameters; the rest is the
// body. http.cpp has what comes before.
#include <sstream>

#include "fuzz/fuzz.h"
#include "serve/api.h"

AS2_FUZZ(bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::istringstream words(bytes.substr(0, end));
  const std::string body = end < bytes.size() ? bytes.substr(end + 1) : "";
  std::string verb, parameter;
  words >> verb;
  const auto& verbs = as2::serve::json_verbs();
  as2::fuzz::refused_or_read([&] {
    if (std::find(verbs.begin(), verbs.end(), verb) != verbs.end()) {
      as2::serve::call_of_document(verb, body, {});
      return;
    }
    std::multimap<std::string, std::string> parameters;
    while (words >> parameter) {
      const std::size_t equals = parameter.find('=');
      if (equals != std::string::npos)
        parameters.emplace(parameter.substr(0, equals), parameter.substr(equals + 1));
    }
    as2::serve::call_of_picture(body, parameters);
  });
}
