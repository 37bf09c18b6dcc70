// In the place of server.cpp where the library that speaks HTTP was not found.
#include "as2/error.h"
#include "serve/server.h"

namespace as2::serve {

void serve(const ServerOptions&, const std::atomic<bool>&, const std::function<void(int port)>&) {
  throw EnvironmentError("this as2 was built without its server",
                         {"install cpp-httplib (Debian: libcpp-httplib-dev) and build again"});
}

}  // namespace as2::serve
