// Each connection has a thread of its own, of which there is a fixed number; a connection beyond them waits
// until one ends. The work itself happens in children (serve/jobs.cpp), so a thread only waits.
//
// Other sites' pages cannot use the API from a visitor's browser: a JSON body has to be declared as such,
// which makes the browser ask first (CORS), and we do not agree.
#include "serve/server.h"

#include <httplib.h>
#include <malloc.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "as2/error.h"
#include "serve/pages.h"
#include "share_work.h"

namespace as2::serve {
namespace {

constexpr std::size_t kConnections = 64;

// A fixed number of threads, or as many of them as the system gives. enqueue() waits while as many
// connections are waiting for one, so that what is not accepted yet waits in the system's own queue.
class Connections : public httplib::TaskQueue {
 public:
  // std::bad_alloc where the system gives none.
  explicit Connections(std::size_t count) : threads_(start_threads(count, [this](std::size_t) { work(); })) {
    if (threads_.empty()) throw std::bad_alloc();
  }
  ~Connections() override { end(); }
  void enqueue(std::function<void()> connection) override {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [&] { return queue_.size() < threads_.size(); });
    queue_.push_back(std::move(connection));
    arrived_.notify_one();
  }
  void shutdown() override { end(); }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    arrived_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  void work() {
    for (;;) {
      std::function<void()> connection;
      {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return !queue_.empty() || ended_; });
        if (queue_.empty()) return;
        connection = std::move(queue_.front());
        queue_.pop_front();
      }
      taken_.notify_one();
      try {
        connection();
      } catch (const std::bad_alloc&) {  // outside a request: one connection lost, and not the server
      }
    }
  }

  std::deque<std::function<void()>> queue_;
  std::mutex mutex_;
  std::condition_variable arrived_, taken_;
  bool ended_ = false;
  std::vector<std::thread> threads_;  // the last to be made: they use all of the above
};

// Ends the server once `stop` is true. std::bad_alloc where the system gives no thread for it.
class Watch {
 public:
  Watch(const std::atomic<bool>& stop, httplib::Server& server)
      : thread_(start_threads(1, [this, &stop, &server](std::size_t) {
          while (!stop && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(50));
          server.stop();
        })) {
    if (thread_.empty()) throw std::bad_alloc();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    ended_ = true;
    thread_.front().join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::vector<std::thread> thread_;
};

void send(const Reply& reply, httplib::Response& response) {
  response.status = reply.status;
  if (reply.status == 503) response.set_header("Retry-After", "1");
  response.set_content(reply.body, "application/json");
}

bool has_type(const httplib::Request& request, const std::string& prefix) {
  const std::string type = request.get_header_value("Content-Type");
  return type.compare(0, prefix.size(), prefix) == 0;
}

// What httplib refuses by itself gets a document too.
std::string message_of(int status) {
  switch (status) {
    case 400:
      return "this is no HTTP request that can be read";
    case 404:
      return "there is no such page\nnote: the API is POST /api/check, decode, prob, solve, tp, verify";
    case 413:
      return "the body is too large\nnote: --max-body of `as2 serve` raises the limit";
    case 414:
      return "the address is too long";
    default:
      return "the request was refused with status " + std::to_string(status);
  }
}

void add_api(httplib::Server& server, Jobs& jobs, const CallLimits& limits) {
  for (const std::string& verb : json_verbs()) {
    server.Post("/api/" + verb, [&jobs, verb, limits](const auto& request, auto& response) {
      if (!has_type(request, "application/json")) {
        send(error_reply(415, "expected Content-Type: application/json"), response);
        return;
      }
      send(jobs.run([&] { return call_of_document(verb, request.body, limits); }), response);
    });
  }
  server.Post("/api/solve", [&jobs](const auto& request, auto& response) {
    if (!has_type(request, "image/")) {
      send(error_reply(415,
                       "expected the picture itself as the body, with Content-Type: image/png or another"),
           response);
      return;
    }
    send(jobs.run([&] { return call_of_picture(request.body, request.params); }), response);
  });
}

// Answered before any pattern is matched and any body read: a request's path is only looked up, and one that
// does not say how long its body is would be waited for in vain.
void add_pages(httplib::Server& server, const std::map<std::string, Page>& pages) {
  server.set_pre_routing_handler([&pages](const httplib::Request& request, httplib::Response& response) {
    using Response = httplib::Server::HandlerResponse;
    if (request.method != "GET" && request.method != "HEAD") {
      if (request.method != "POST" || request.has_header("Content-Length") ||
          request.has_header("Transfer-Encoding"))
        return Response::Unhandled;
      send(
          error_reply(411, "the request has no body\nnote: send a JSON document, or to /api/solve a picture"),
          response);
      return Response::Handled;
    }
    const auto page = pages.find(request.path);
    if (page == pages.end()) {
      send(error_reply(404, message_of(404)), response);
      return Response::Handled;
    }
    response.set_content(page->second.content, page->second.type.c_str());
    return Response::Handled;
  });
}

}  // namespace

void serve(const ServerOptions& options, const std::atomic<bool>& stop,
           const std::function<void(int port)>& ready) {
  // By default each thread has a heap of its own, and keeps what its largest request took.
  ::mallopt(M_ARENA_MAX, 2);
  const std::map<std::string, Page> pages =
      options.page.empty() ? std::map<std::string, Page>{} : read_pages(options.page);
  Jobs jobs(options.jobs);
  httplib::Server server;
  auto connections = std::make_unique<Connections>(kConnections);
  server.new_task_queue = [&] { return connections.release(); };  // httplib deletes it
  server.set_payload_max_length(options.body_bytes);
  server.set_read_timeout(5);
  server.set_write_timeout(5);
  server.set_keep_alive_timeout(2);
  server.set_keep_alive_max_count(1000);
  server.set_tcp_nodelay(true);
  // Without SO_REUSEPORT, which httplib would set: two servers would share the port without a word.
  server.set_socket_options([](int socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cache-Control", "no-cache"}});
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) send(error_reply(response.status, message_of(response.status)), response);
  });
  server.set_exception_handler(
      [](const httplib::Request&, httplib::Response& response, const std::exception_ptr& thrown) {
        try {
          std::rethrow_exception(thrown);
        } catch (const std::bad_alloc&) {
          send(error_reply(503, "the server has not enough memory\nnote: try again in a second"), response);
        } catch (...) {
          send(error_reply(500, "internal error"), response);
        }
      });
  add_pages(server, pages);
  add_api(server, jobs, options.jobs.limits);

  const int port = options.port == 0                                 ? server.bind_to_any_port(options.host)
                   : server.bind_to_port(options.host, options.port) ? options.port
                                                                     : -1;
  if (port < 0)
    throw EnvironmentError("cannot listen on " + options.host + ":" + std::to_string(options.port),
                           {"another program may use the port; give another by --port, or 0 for any"});
  {
    const Watch watch(stop, server);
    ready(port);
    server.listen_after_bind();  // returns when all that has arrived is answered
  }
  if (!stop) throw EnvironmentError("the server ended by itself", {"start it again"});
}

}  // namespace as2::serve
