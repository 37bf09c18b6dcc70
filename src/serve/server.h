// `as2 serve`: the page and the JSON API over HTTP.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "serve/jobs.h"

namespace as2::serve {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: any that is free
  JobOptions jobs;
  std::size_t body_bytes = std::size_t{16} << 20;
  std::filesystem::path page;  // folder of the page's files; empty: only the API
};

// Serves until `stop`; requests that have arrived by then are answered. Calls `ready` with the port once it
// listens. EnvironmentError where it cannot listen.
void serve(const ServerOptions& options, const std::atomic<bool>& stop,
           const std::function<void(int port)>& ready);

}  // namespace as2::serve
