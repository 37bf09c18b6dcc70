// Each connection has a thread of its own, of which there is a fixed number; a connection beyond them waits
// until one ends. The work itself happens in children (serve/jobs.cpp), so a thread only waits.
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
#include "serve/requests.h"
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
          // A wish to stop that comes before the server runs is kept: httplib would pass over it.
          while (!ended_ && !(stop && server.is_running()))
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
          if (!ended_) server.stop();
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
  answer_requests(server, pages, options.body_bytes, options.jobs.limits,
                  [&](const std::function<Call()>& make_call) { return jobs.run(make_call); });

  const int port = options.port == 0                                 ? server.bind_to_any_port(options.host)
                   : server.bind_to_port(options.host, options.port) ? options.port
                                                                     : -1;
  if (port < 0)
    throw EnvironmentError(
        "cannot listen on " + options.host + ":" + std::to_string(options.port),
        {"another program may use the port: give another by --port, or 0 for any; or the address does "
         "not belong to this machine: leave out --host"});
  {
    const Watch watch(stop, server);
    ready(port);
    server.listen_after_bind();  // returns when all that has arrived is answered
  }
  if (!stop) throw EnvironmentError("the server ended by itself", {"start it again"});
}

}  // namespace as2::serve
