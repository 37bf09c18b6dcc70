// Bytes of connections to `as2 serve`, as they come over the wire: httplib parses them, and what it makes of
// them goes through our handlers. No verb runs; its command line is looked at instead. The parser itself
// comes compiled from the system and so is not instrumented, but its memory is watched.
#include <httplib.h>

#include <cstdlib>

#include "fuzz/fuzz.h"
#include "serve/requests.h"

namespace {

constexpr std::size_t kMostBody = 4096, kMostAnswer = 1 << 20;

void require(bool holds) {
  if (!holds) std::abort();
}

// What a connection brings, in pieces as a socket would give them, and what is answered.
class Wire : public httplib::Stream {
 public:
  explicit Wire(const std::string& bytes) : bytes_(bytes) {}
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* bytes, size_t size) override {
    const std::size_t count = bytes_.copy(bytes, std::min<std::size_t>(size, 1000), at_);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* bytes, size_t size) override {
    answer_.append(bytes, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip = "127.0.0.1", port = 1; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip = "127.0.0.1", port = 2; }
  socket_t socket() const override { return -1; }

  bool ended() const { return at_ == bytes_.size(); }
  std::string take_answer() { return std::exchange(answer_, {}); }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
  std::string answer_;
};

class Server : public httplib::Server {
 public:
  // Whether the connection stays open for another request.
  bool answer(Wire& wire) {
    bool closed = false;
    return process_request(wire, false, closed, nullptr) && !closed;
  }
};

// A request names no file and no option but by the names in our table, and none takes the next one for its
// value.
void check(const as2::serve::Call& call) {
  std::string names = " ";
  for (const auto& [name, content] : call.files) {
    require(!name.empty() && name.find_first_of("/ ") == std::string::npos && name[0] != '.');
    names += name + " ";
  }
  for (std::size_t k = 1; k < call.arguments.size(); ++k) {
    const std::string& word = call.arguments[k];
    require(word.find('\0') == std::string::npos);
    require(word.find('=') + 1 != word.size());
    require(word.rfind("--", 0) == 0 || names.find(" " + word + " ") != std::string::npos);
  }
}

as2::serve::Reply run(const std::function<as2::serve::Call()>& make_call) {
  try {
    check(make_call());
    return {200, "{}"};
  } catch (const as2::InputError& error) {
    return as2::serve::error_reply(400, error.what());
  }
}

}  // namespace

AS2_FUZZ(bytes) {
  static const std::map<std::string, as2::serve::Page> pages = {
      {"/", {"<p>", "text/html"}}, {"/a.bin", {std::string(5000, 'x'), "application/octet-stream"}}};
  static Server server;
  static const bool ready = (as2::serve::answer_requests(server, pages, kMostBody, {}, run), true);
  static_cast<void>(ready);
  Wire wire(bytes);
  for (bool open = true; open && !wire.ended();) {
    open = server.answer(wire);
    const std::string answer = wire.take_answer();
    require(answer.empty() || answer.rfind("HTTP/1.1 ", 0) == 0);
    require(answer.size() < kMostAnswer);
  }
}
