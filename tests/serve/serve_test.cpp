// as2 serve, asked over sockets as a browser or an attacker does: bytes out, bytes in.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "files.h"
#include "support/running_as2.h"
#include "support/temporary_folder.h"

namespace as2::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

struct Response {
  int status = 0;
  std::string headers, body;
  json document() const { return json::parse(body, nullptr, false); }
  std::string error() const { return document().value("error", ""); }
};

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return connected_; }
  // False where the server has hung up.
  bool send(const std::string& bytes) const {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t put = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (put <= 0) return false;
      sent += static_cast<std::size_t>(put);
    }
    return true;
  }
  // No more bytes will be sent.
  void end() const { ::shutdown(socket_, SHUT_WR); }
  // All bytes until the server hangs up.
  std::string read() const {
    std::string text;
    char bytes[65536];
    for (ssize_t got = 0; (got = ::recv(socket_, bytes, sizeof bytes, 0)) > 0;)
      text.append(bytes, static_cast<std::size_t>(got));
    return text;
  }

 private:
  int socket_;
  bool connected_ = false;
};

Response parsed(const std::string& text) {
  Response response;
  const std::size_t end = text.find("\r\n\r\n");
  if (text.compare(0, 9, "HTTP/1.1 ") != 0 || end == std::string::npos) return response;
  response.status = std::atoi(text.c_str() + 9);
  response.headers = text.substr(0, end);
  response.body = text.substr(end + 4);
  return response;
}

class ServeTest : public ::testing::Test {
 protected:
  void start(std::vector<std::string> options = {}) {
    write("page/index.html", "<p>the page</p>");
    write("page/models/a.bin", "weights");
    write("secret.txt", "the secret");
    std::filesystem::create_directory(folder() / "tmp");
    setenv("TMPDIR", (folder() / "tmp").c_str(), 1);
    const auto limits_time = [](const std::string& option) { return option.rfind("--time-limit=", 0) == 0; };
    if (std::none_of(options.begin(), options.end(), limits_time)) options.emplace_back("--time-limit=600");
    options.insert(options.begin(), {"serve", "--port=0", "--page=page"});
    server_.emplace(folder(), options, /*terminal=*/false);
    unsetenv("TMPDIR");
    ASSERT_TRUE(server_->wait_for("Ctrl-C"));
    port_ = std::stoi(server_->said().substr(server_->said().find("127.0.0.1:") + 10));
  }
  void write(const std::string& name, const std::string& text) const {
    const auto path = folder() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  Response raw(const std::string& bytes, bool end = false) const {
    const Connection connection(port_);
    connection.send(bytes);
    if (end) connection.end();
    return parsed(connection.read());
  }
  Response get(const std::string& path, const std::string& headers = "") const {
    return raw("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + "\r\n");
  }
  static std::string post_bytes(const std::string& path, const std::string& body, const std::string& type) {
    return "POST " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  Response post_text(const std::string& path, const std::string& body,
                     const std::string& type = "application/json") const {
    return raw(post_bytes(path, body, type));
  }
  Response post(const std::string& path, const json& body) const { return post_text(path, body.dump()); }
  // What the command line prints on the same files.
  json printed(const std::string& arguments) const {
    return json::parse(run_as2(folder(), arguments).out, nullptr, false);
  }
  bool alive() const { return get("/").status == 200; }
  // A request's work lasts here until the file `enough` is there.
  void start_with_work_until_enough(const std::vector<std::string>& options = {}) {
    folder_.put_program("gringo",
                        "while [ ! -e '" + (folder() / "enough").string() + "' ]; do sleep 0.05; done");
    const std::string path = std::getenv("PATH");
    setenv("PATH", (folder().string() + ":" + path).c_str(), 1);
    start(options);
    setenv("PATH", path.c_str(), 1);
  }
  // Until a request is being worked on: its files stand in a folder below the server's own.
  void wait_for_work() const {
    const auto works = [&] {
      for (const auto& own : std::filesystem::directory_iterator(folder() / "tmp")) {
        if (!std::filesystem::is_empty(own)) return true;
      }
      return false;
    };
    while (!works()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  std::filesystem::path folder() const { return folder_.str(); }

  test::TemporaryFolder folder_;
  std::optional<RunningAs2> server_;
  int port_ = 0;
};

const std::string kProgram = "{ a(X,1..2) } = 1 :- X = 1..2.\n:- a(1,V), a(2,V). % different\n";
const json kBeliefs = {{"a(1,_)", {{"1", 0.9}, {"2", 0.1}}}, {"a(2,_)", {{"1", 0.6}, {"2", 0.4}}}};

TEST_F(ServeTest, EveryVerbGivesTheCommandLinesDocument) {
  start();
  write("program.lp", kProgram);
  write("beliefs.json", kBeliefs.dump());
  const json assignment = {{"a(1,_)", "1"}, {"a(2,_)", "1"}};
  write("assignment.json", assignment.dump());

  EXPECT_EQ(post("/api/check", {{"program", kProgram}, {"show", "positions"}}).document(),
            printed("check program.lp --show=positions --json"));
  EXPECT_EQ(
      post("/api/decode", {{"program", kProgram}, {"beliefs", kBeliefs}, {"explain", true}, {"models", 2}})
          .document(),
      printed("decode program.lp --beliefs beliefs.json --explain --models 2 --json"));
  EXPECT_EQ(post("/api/prob", {{"program", kProgram},
                               {"beliefs", kBeliefs},
                               {"query", {"a(1,1)", "a(2,1), not a(1,1)"}},
                               {"marginals", true},
                               {"count", true}})
                .document(),
            printed("prob program.lp --beliefs beliefs.json --query 'a(1,1)' --query 'a(2,1), not a(1,1)' "
                    "--marginals --count --json"));
  const json verdict = post("/api/verify", {{"program", kProgram}, {"assignment", assignment}}).document();
  EXPECT_EQ(verdict, printed("verify program.lp --assignment assignment.json --json"));
  EXPECT_EQ(verdict["valid"], false);
  EXPECT_EQ(verdict["violated"][0]["family"], "different");
  // With constants, and a compiled program in place of the text.
  EXPECT_EQ(post("/api/check", {{"program", "{a(1..n)}."}, {"const", {{"n", 5}}}}).document()["positions"],
            5);
  run_as2(folder(), "check program.lp --save program.as2c");
  EXPECT_EQ(post("/api/decode", {{"compiled", read_file(folder() / "program.as2c")}, {"beliefs", kBeliefs}})
                .document(),
            printed("decode program.lp --beliefs beliefs.json --json"));
  EXPECT_EQ(post("/api/decode", {{"program", kProgram}, {"beliefs", kBeliefs}, {"pin", {{"a(1,_)", "2"}}}})
                .document(),
            printed("decode program.lp --beliefs beliefs.json --pin 'a(1,_)=2' --json"));
}

TEST_F(ServeTest, SolvesAPicture) {
  start();
  const std::string picture = std::string(AS2_SOURCE_DIR) + "/examples/board.png";
  const Response response = post_text("/api/solve?explain=true", read_file(picture), "image/png");
  json expected = printed("solve " + picture + " --explain --json");
  expected["file"] = "picture";
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.document(), expected);
  const Response none = post_text("/api/solve", "this is no picture", "image/png");
  EXPECT_EQ(none.status, 422);
  EXPECT_THAT(none.error(), HasSubstr("picture: error:"));
  EXPECT_EQ(post_text("/api/solve?explain=perhaps", "x", "image/png").status, 400);
  EXPECT_EQ(post_text("/api/solve?out=/tmp/x.png", "x", "image/png").status, 400);
  EXPECT_EQ(post_text("/api/solve", "", "image/png").status, 400);
  EXPECT_EQ(post_text("/api/solve", "x", "text/plain").status, 415);
}

TEST_F(ServeTest, FaultsHaveTheCommandLinesMessage) {
  start();
  const Response syntax = post("/api/check", {{"program", "a.\n:- b c."}});
  EXPECT_EQ(syntax.status, 422);
  write("program.lp", "a.\n:- b c.");
  EXPECT_EQ(syntax.error(), printed("check program.lp --json")["error"]);
  EXPECT_THAT(syntax.error(), HasSubstr("program.lp:2:"));
  const Response belief = post("/api/decode", {{"program", kProgram}, {"beliefs", {{"a(3,_)", {{"1", 1}}}}}});
  EXPECT_EQ(belief.status, 422);
  EXPECT_THAT(belief.error(), HasSubstr("the program has no position 'a(3,_)'"));
  const Response option =
      post("/api/decode", {{"program", kProgram}, {"beliefs", kBeliefs}, {"method", "best"}});
  EXPECT_EQ(option.status, 400);
  EXPECT_THAT(option.error(), ::testing::Not(HasSubstr("--help"))) << "there is none to run";
  EXPECT_THAT(option.error(), HasSubstr("--method"));
  // What only the API can get wrong.
  EXPECT_THAT(post("/api/check", json::object()).error(), HasSubstr("'program' is missing"));
  EXPECT_THAT(post("/api/check", {{"program", 7}}).error(), HasSubstr("expected a string"));
  EXPECT_THAT(post("/api/check", {{"program", "a."}, {"save", "x.as2c"}}).error(),
              HasSubstr("no field 'save'"));
  EXPECT_THAT(post_text("/api/check", "[1]").error(), HasSubstr("expected an object"));
  EXPECT_THAT(post_text("/api/check", "{\"program\":").error(), HasSubstr("not JSON"));
  EXPECT_THAT(post_text("/api/check", R"({"program": "a.", "program": "b."})").error(),
              HasSubstr("'program' is given twice"));
  for (const char* type : {"text/plain", "application/jsonp", "application/json-seq", ""})
    EXPECT_EQ(post_text("/api/check", "{}", type).status, 415) << type;
  for (const char* type : {"Application/JSON", "application/json;charset=utf-8"})
    EXPECT_EQ(post_text("/api/check", R"({"program": "{a}."})", type).status, 200) << type;
  EXPECT_EQ(post("/api/train", json::object()).status, 404);
  EXPECT_EQ(get("/api/check").status, 404);
  const Response nothing = raw("POST /api/check HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(nothing.status, 411);
  EXPECT_THAT(nothing.error(), HasSubstr("the request has no body"));
  const Response small = post("/api/check", {{"program", "{a(1..9)}."}, {"grounding_size", 5}});
  EXPECT_EQ(small.status, 422);
  EXPECT_THAT(small.error(), HasSubstr("more than 5"));
  EXPECT_TRUE(alive());
}

TEST_F(ServeTest, NoFileOfTheServerCanBeRead) {
  start();
  EXPECT_EQ(get("/").body, "<p>the page</p>");
  EXPECT_EQ(get("/models/a.bin").body, "weights");
  for (const char* path :
       {"/../secret.txt", "/models/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt",
        "//etc/passwd", "/etc/passwd", "/models/%2e%2e/%2e%2e/secret.txt", "/models/..\\..\\secret.txt",
        "/models", "/page/index.html", "/index.html%00.png", "/%00"}) {
    const Response response = get(path);
    EXPECT_NE(response.status, 200) << path;
    EXPECT_THAT(response.body, Not(HasSubstr("secret"))) << path;
  }
  const std::string secret = (folder() / "secret.txt").string();
  write("secret.lp", "secret(42).");
  for (const std::string& text :
       {"#include \"" + secret + "\".", std::string("#include \"../../secret.lp\"."),
        "#include <" + secret + ">.", std::string("#script (python) print(1) #end."),
        std::string("#script (lua) os.exit(1) #end.")}) {
    for (const char* verb : {"check", "decode", "verify", "prob"}) {
      json body = {{"program", text + "\n{a}."}};
      if (verb == std::string("decode")) body["beliefs"] = json::object();
      if (verb == std::string("verify")) body["assignment"] = {{"a", "true"}};
      const Response response = post(std::string("/api/") + verb, body);
      EXPECT_EQ(response.status, 422) << verb << text;
      EXPECT_THAT(response.error(),
                  ::testing::AnyOf(HasSubstr("is refused here"), HasSubstr("not supported")));
      EXPECT_THAT(response.body, Not(HasSubstr("42")));
    }
  }
  // An option without its value would take the next one for it, `--no-include` say.
  const json empty = {{"program", "#include \"" + (folder() / "secret.lp").string() + "\".\n{a}."},
                      {"query", {""}}};
  EXPECT_EQ(post("/api/prob", empty).status, 400);
  EXPECT_EQ(post("/api/prob", empty).error(), "error: field 'query': the value is empty");
  // The command line takes a file's name here.
  const Response evidence = post(
      "/api/decode",
      {{"program", kProgram}, {"beliefs", json::object()}, {"method", "greedy"}, {"evidence", {secret}}});
  EXPECT_EQ(evidence.status, 422);
  EXPECT_THAT(evidence.error(), Not(HasSubstr("the secret")));
  for (const char* beliefs : {"/etc/passwd", "-"}) {
    EXPECT_EQ(post("/api/decode", {{"program", kProgram}, {"beliefs", beliefs}}).status, 400);
  }
}

TEST_F(ServeTest, LimitsHold) {
  start({"--max-body=0.01", "--time-limit=1", "--memory=256"});
  const Response large = post("/api/check", {{"program", std::string(20000, ' ')}});
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.error(), HasSubstr("too large"));
  // In pieces, without a length that says so before.
  const Connection pieces(port_);
  pieces.send(
      "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  const std::string piece = "1000\r\n" + std::string(4096, ' ') + "\r\n";
  for (int k = 0; k < 100 && pieces.send(piece); ++k) {
  }
  pieces.send("0\r\n\r\n");
  EXPECT_EQ(parsed(pieces.read()).status, 411);

  const std::string endless = "p(1). p(X+1) :- p(X).";
  const Response slow = post("/api/check", {{"program", endless}});
  EXPECT_THAT(slow.error(), ::testing::AnyOf(HasSubstr("stopped after"), HasSubstr("MiB")));
  // The remedy is one that there is: who asks cannot raise gringo's limits, who serves can.
  EXPECT_THAT(slow.error(), HasSubstr("of `as2 serve`"));
  EXPECT_THAT(slow.error(), Not(HasSubstr("--grounding")));
  // Many colourings, no beliefs: the search has nothing to prune with.
  const std::string hard =
      "{c(X,1..9)}=1 :- X=1..60. :- #sum{V*V*X,X : c(X,V)} != 50001. :- c(X,V), c(X+1,V).";
  const Response searched =
      post("/api/decode", {{"program", hard}, {"beliefs", json::object()}, {"models", 100000}});
  EXPECT_EQ(searched.status, 504) << searched.body.substr(0, 200);
  EXPECT_THAT(searched.error(), HasSubstr("stopped after 1 s"));
  EXPECT_TRUE(alive());
}

// One at work, one waiting: the third and fourth are refused.
TEST_F(ServeTest, RefusesWhoWouldWaitTooLong) {
  start_with_work_until_enough({"--jobs=1", "--waiting=1"});
  const auto ask = [&] { return post("/api/check", {{"program", "a."}}); };
  auto working = std::async(std::launch::async, ask);
  wait_for_work();
  std::mutex mutex;
  std::condition_variable answered;
  int refused = 0;
  std::vector<std::future<void>> others;
  for (int k = 0; k < 3; ++k)
    others.push_back(std::async(std::launch::async, [&] {
      const Response response = ask();
      const std::lock_guard lock(mutex);
      if (response.status == 503 && response.error().find("too many") != std::string::npos) ++refused;
      answered.notify_one();
    }));
  {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(answered.wait_for(lock, std::chrono::minutes(5), [&] { return refused == 2; })) << refused;
  }
  write("enough", "");
  for (auto& other : others) other.get();
  EXPECT_EQ(refused, 2);
  EXPECT_NE(working.get().status, 503);
  EXPECT_TRUE(alive());
}

TEST_F(ServeTest, SurvivesWhatIsNoRequest) {
  start();
  for (const std::string& bytes :
       {std::string("hello\r\n\r\n"), std::string(100000, 'a'),
        "GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nX: " + std::string(100000, 'b') + "\r\n\r\n", std::string("\0\0\0\0\r\n\r\n", 8),
        std::string("POST /api/check HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n{"),
        std::string("POST /api/check HTTP/1.1\r\nContent-Length: -1\r\n\r\n{"),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("TRACE / HTTP/1.1\r\n\r\n")}) {
    EXPECT_NE(raw(bytes, /*end=*/true).status, 200) << bytes.substr(0, 60);
  }
  std::string ranges = "Range: bytes=0-0";
  while (ranges.size() < 8000) ranges += ",0-0";
  get("/", ranges + "\r\n");
  EXPECT_TRUE(alive());
  // Deep JSON, and text that is not UTF-8.
  EXPECT_EQ(post_text("/api/check", std::string(100000, '[')).status, 400);
  std::string deep;
  for (int k = 0; k < 50000; ++k) deep += "{\"a\":";
  EXPECT_EQ(post_text("/api/check", deep).status, 400);
  // Closed again it is valid, and deeper than any stack.
  constexpr std::size_t kDepth = 1'000'000;
  const Response valid =
      post_text("/api/decode", "{\"program\": \"{a}.\", \"beliefs\": {\"a\": " + std::string(kDepth, '[') +
                                   std::string(kDepth, ']') + "}}");
  EXPECT_EQ(valid.status, 400);
  EXPECT_THAT(valid.error(), HasSubstr("more than 500 lists and objects"));
  EXPECT_TRUE(alive());
  EXPECT_EQ(post_text("/api/check", "{\"program\": \"a(\xff). \"}").status, 400);
  EXPECT_EQ(
      post("/api/decode",
           {{"program", "{a}."}, {"beliefs", json::object()}, {"pin", {{"a", std::string("tr\0ue", 5)}}}})
          .status,
      400);
  EXPECT_TRUE(alive());
}

// A small request must not become a large one: a packed body, a page many times over, a body without an end.
TEST_F(ServeTest, WhatWouldGrowIsNotRead) {
  write("page/large.bin", std::string(2'000'000, 'x'));
  start();
  const std::string packed = folder_.gzipped(std::string(200'000'000, ' '));
  const Response unpacked = raw(
      "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
      "Content-Length: " +
      std::to_string(packed.size()) + "\r\n\r\n" + packed);
  EXPECT_EQ(unpacked.status, 415);
  EXPECT_THAT(unpacked.error(), HasSubstr("without Content-Encoding"));
  std::string ranges = "Range: bytes=0-";
  for (int k = 0; k < 300; ++k) ranges += ",0-";
  const Response many = get("/large.bin", ranges + "\r\n");
  EXPECT_EQ(many.status, 200);
  EXPECT_EQ(many.body.size(), 2'000'000u);
  EXPECT_EQ(get("/large.bin", "Range: bytes=5-6\r\n").body.size(), 2'000'000u);
  EXPECT_THAT(get("/nothing", "Range: bytes=0-3\r\n").error(), HasSubstr("no such page"));
  const Connection pieces(port_);
  pieces.send(
      "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "100000\r\n" + std::string(0x100000, ' ') + "\r\n";
  for (int k = 0; k < 200 && pieces.send(piece); ++k) {
  }
  for (const char* method : {"PUT", "PATCH", "PRI", "DELETE"}) {
    const Connection endless(port_);
    endless.send(method + std::string(" /api/check HTTP/1.1\r\nHost: x\r\n\r\n"));
    for (int k = 0; k < 400 && endless.send(piece); ++k) {
    }
  }
  const Connection large(port_);
  large.send(
      "POST /api/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 900000000000000000000\r\n\r\n");
  EXPECT_THAT(large.read(), AllOf(HasSubstr("HTTP/1.1 413"), HasSubstr("--max-body")));
  const std::string peak = read_file("/proc/" + std::to_string(server_->pid()) + "/status");
  EXPECT_LT(std::stol(peak.substr(peak.find("VmHWM:") + 6)), 200'000) << "KiB";
  EXPECT_TRUE(alive());
}

// What follows a request whose body was not read is no second request.
TEST_F(ServeTest, ABodyThatIsNotReadEndsTheConnection) {
  start();
  const std::string hidden = "GET /index.html HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string length = std::to_string(hidden.size());
  for (const std::string& begin :
       {"GET / HTTP/1.1\r\nContent-Length: " + length, "HEAD / HTTP/1.1\r\nContent-Length: " + length,
        "OPTIONS / HTTP/1.1\r\nContent-Length: " + length, "PUT / HTTP/1.1\r\nContent-Length: " + length,
        "POST /api/check HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: " + length,
        std::string("POST /api/check HTTP/1.1\r\nContent-Length: 0x0\r\nTransfer-Encoding: identity"),
        std::string("POST /api/check HTTP/1.1\r\nContent-Length: +0"),
        "GET / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: " + length}) {
    const Connection connection(port_);
    connection.send(begin + "\r\nHost: x\r\n\r\n" + hidden);
    const std::string answer = connection.read();
    EXPECT_THAT(answer, ::testing::StartsWith("HTTP/1.1 4")) << begin;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << begin;
    EXPECT_THAT(answer, Not(HasSubstr("the page"))) << begin;
  }
}

TEST_F(ServeTest, AnswersWhatHasArrivedWhenInterrupted) {
  start_with_work_until_enough();
  const Connection asking(port_);
  asking.send(post_bytes("/api/check", json{{"program", "a."}}.dump(), "application/json"));
  wait_for_work();
  server_->interrupt();
  while (Connection(port_).connected()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  write("enough", "");
  const Response response = parsed(asking.read());
  EXPECT_NE(response.error(), "") << "the request in flight has its answer";
  const Finished finished = server_->finish();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_FALSE(Connection(port_).connected());
}

TEST_F(ServeTest, LeavesNothingBehind) {
  start();
  post("/api/check", {{"program", "a."}});
  server_->interrupt();
  EXPECT_EQ(server_->finish().exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder() / "tmp"));
}

// What destroys a JSON document allocates as well, and would end the server where it cannot.
TEST_F(ServeTest, OutlivesALackOfMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer takes terabytes of addresses";
#endif
  rlimit memory{}, stack{};
  getrlimit(RLIMIT_AS, &memory);
  getrlimit(RLIMIT_STACK, &stack);
  const rlimit little{rlim_t{250} << 20, memory.rlim_max}, small{rlim_t{256} << 10, stack.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  setrlimit(RLIMIT_STACK, &small);  // of 64 threads
  start();
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_STACK, &stack);
  std::string many = "{\"program\": \"{a}.\", \"beliefs\": {\"a\": [0";
  while (many.size() < 14'000'000) many += ",0";
  for (int k = 0; k < 3; ++k) {
    const Response refused = post_text("/api/decode", many + "]}}");
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.error(), HasSubstr("not enough memory"));
  }
  EXPECT_TRUE(alive());
}

TEST_F(ServeTest, OutlivesAFullDisk) {
  for (const auto& [name, value] : {std::pair("AS2_FAULT_FOLDER", (folder() / "tmp").string()),
                                    std::pair("AS2_FAULT", std::string("write:1:fail")),
                                    std::pair("ASAN_OPTIONS", std::string("verify_asan_link_order=0")),
                                    std::pair("LD_PRELOAD", std::string(AS2_FAULTS))})
    setenv(name, value.c_str(), 1);
  start();
  for (const char* name : {"LD_PRELOAD", "AS2_FAULT", "AS2_FAULT_FOLDER"}) unsetenv(name);
  const Response full = post("/api/check", {{"program", "a."}});
  EXPECT_EQ(full.status, 503);
  EXPECT_THAT(full.error(), HasSubstr("cannot be written: No space left on device"));
  EXPECT_TRUE(alive());
  EXPECT_EQ(post("/api/check", {{"program", "a."}}).status, 200);
}

// 6,000 answers of 400 atoms are 40 MB of JSON, and ten times as much once parsed.
TEST_F(ServeTest, ALongAnswerIsRefused) {
  start({"--time-limit=600"});
  const Response many =
      post("/api/decode", {{"program", "{a(1..400)}."}, {"beliefs", json::object()}, {"models", 6000}});
  EXPECT_EQ(many.status, 422) << many.body.substr(0, 200);
  EXPECT_THAT(many.error(), HasSubstr("the answer is larger than 32 MiB"));
  const std::string peak = read_file("/proc/" + std::to_string(server_->pid()) + "/status");
  EXPECT_LT(std::stol(peak.substr(peak.find("VmHWM:") + 6)), 200'000) << "KiB";
}

TEST_F(ServeTest, WithoutAFolderForFilesItDoesNotBegin) {
  setenv("TMPDIR", "/nonexistent", 1);
  const Finished finished = run_as2(folder(), "serve --port 0");
  unsetenv("TMPDIR");
  EXPECT_EQ(finished.exit_code, 4);
  EXPECT_THAT(finished.err, HasSubstr("no folder for temporary files"));
  EXPECT_THAT(finished.err, HasSubstr("set TMPDIR"));
}

TEST_F(ServeTest, AFolderThatIsNoPageIsNotRead) {
  write("other/file.html", "<p>");
  const Finished finished = run_as2(folder(), "serve --port 0 --page other");
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_THAT(finished.err, HasSubstr("other: error: is not a page: it has no index.html"));
}

TEST_F(ServeTest, TheAddressItPrintsIsOne) {
  write("page/index.html", "<p>the page</p>");
  server_.emplace(folder(), std::vector<std::string>{"serve", "--port=0", "--page=page", "--host=::1"},
                  /*terminal=*/false);
  if (!server_->wait_for("Ctrl-C")) GTEST_SKIP() << "no IPv6 here";
  EXPECT_THAT(server_->said(), HasSubstr("http://[::1]:"));
}

TEST_F(ServeTest, APortInUseIsSaid) {
  start();
  const Finished second = run_as2(folder(), "serve --page page --port " + std::to_string(port_));
  EXPECT_EQ(second.exit_code, 4);
  EXPECT_THAT(second.err, HasSubstr("cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace as2::testing
