// Requests of the JSON API as command lines: a request's fields are the verb's long options, so that the
// answer is the document that `as2 VERB --json` prints, and nothing is computed in a second way.
//
//   POST /api/decode {"program": "{a; b} = 1.", "beliefs": {"{a,...}": {"a": 0.9, "b": 0.1}}, "explain":
//   true} as2 decode program.lp --beliefs=beliefs.json --explain --json
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace as2::serve {

// A command line, and the files it reads, which lie in the folder it runs in.
struct Call {
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> files;  // name, content
};

// What a command line may use.
struct CallLimits {
  double seconds = 10;      // wall clock
  std::int64_t mib = 2048;  // memory of each of its processes
};

// An HTTP status and a JSON document.
struct Reply {
  int status = 200;
  std::string body;
};

// {"error": message}
Reply error_reply(int status, const std::string& message);

// The verbs that take a JSON document: check, decode, prob, tp, verify.
const std::vector<std::string>& json_verbs();

// InputError where the body is no document of the verb: not JSON, an unknown field, a value of
// the wrong kind.
Call call_of_document(const std::string& verb, const std::string& body, const CallLimits& limits);

// as2 solve: the body is the picture itself, the options are the URL's parameters.
Call call_of_picture(const std::string& body, const std::multimap<std::string, std::string>& parameters);

}  // namespace as2::serve
