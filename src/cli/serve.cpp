// as2 serve: the page and the JSON API.
#include "serve/server.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <thread>

#include "cli/interrupt.h"
#include "cli/validators.h"
#include "cli/verbs.h"
#include "serve/pages.h"

namespace as2::cli {

Action declare_serve(CLI::App& command) {
  struct Arguments {
    serve::ServerOptions server;
    std::string page;
    double body_mib = 16;
  };
  auto arguments = std::make_shared<Arguments>();
  serve::JobOptions& jobs = arguments->server.jobs;
  jobs.at_once = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  command.add_option("--port", arguments->server.port, "Port to listen on; 0: any that is free")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command
      .add_option("--host", arguments->server.host,
                  "Address to listen on; 0.0.0.0 lets other machines in, which may then use this one's time")
      ->capture_default_str();
  command.add_option("--page", arguments->page, "Folder of the page; default: the one that was built")
      ->type_name("FOLDER");
  command.add_option("--jobs", jobs.at_once, "Requests worked on at once; others wait")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--waiting", jobs.waiting, "Requests that may wait; the next is refused (503)")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command.add_option("--time-limit", jobs.limits.seconds, "Seconds a request may take (504)")
      ->check(number_between(0.1, 1e6))
      ->capture_default_str();
  command.add_option("--memory", jobs.limits.mib, "MiB that each process of a request may take")
      ->check(CLI::Range(64, 1 << 20))
      ->capture_default_str();
  command.add_option("--max-body", arguments->body_mib, "MiB that a request's body may have (413)")
      ->check(number_between(0.001, 1024))
      ->capture_default_str();
  command.footer(
      "POST /api/check, decode, prob, tp, verify take {\"program\": text, …} with the verb's long options "
      "as\n"
      "fields, /api/solve a picture; each answers with the verb's own JSON document. docs/SERVING.md says "
      "more.\nCtrl-C answers what has arrived, then ends.");
  return [arguments] {
    serve::ServerOptions& options = arguments->server;
    options.page = arguments->page.empty() ? serve::default_page() : std::filesystem::path(arguments->page);
    options.body_bytes = static_cast<std::size_t>(arguments->body_mib * (1 << 20));
    if (options.page.empty())
      std::cerr
          << "warning: the page is not built here, so only the API is served; `./as2 serve` builds it\n";
    serve::serve(options, stop_on_interrupt(), [&](int port) {
      const bool v6 = options.host.find(':') != std::string::npos;
      std::cerr << "http://" << (v6 ? "[" + options.host + "]" : options.host) << ":" << port
                << " (Ctrl-C ends)" << std::endl;
    });
    return kDone;
  };
}

}  // namespace as2::cli
