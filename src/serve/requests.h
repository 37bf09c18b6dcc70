// How requests are answered: pages from memory, verbs by whoever runs command lines.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "serve/api.h"
#include "serve/pages.h"

namespace httplib {
class Server;
}

namespace as2::serve {

// The answer to a request whose command line `make_call` gives; make_call() throws InputError where there is
// none.
using Run = std::function<Reply(const std::function<Call()>& make_call)>;

// Sets the server up, all but its sockets and threads. Keeps a reference to `pages`.
void answer_requests(httplib::Server& server, const std::map<std::string, Page>& pages,
                     std::size_t body_bytes, const CallLimits& limits, const Run& run);

}  // namespace as2::serve
