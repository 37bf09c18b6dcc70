// Other sites' pages cannot use the API from a visitor's browser: a JSON body has to be declared as such,
// which makes the browser ask first (CORS), and we do not agree.
#include "serve/requests.h"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "as2/error.h"

namespace as2::serve {
namespace {

constexpr double kThrownAway = 16;  // times as large as bodies may be

void send(const Reply& reply, httplib::Response& response) {
  response.status = reply.status;
  if (reply.status == 503) response.set_header("Retry-After", "1");
  response.set_content(reply.body, "application/json");
}

// Its media type in lower case, without parameters: `application/json` of `Application/JSON; charset=utf-8`.
std::string type_of(const httplib::Request& request) {
  std::string type = request.get_header_value("Content-Type");
  type.resize(std::min(type.find_first_of("; \t"), type.size()));
  for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return type;
}

// What httplib refuses by itself gets a document too.
std::string message_of(int status) {
  switch (status) {
    case 400:
      return "this is not a readable HTTP request";
    case 404:
      return "there is no such page\nnote: the API is POST /api/check, decode, prob, solve, tp, verify";
    case 405:
      return "expected GET, HEAD or POST";
    case 413:
      return "the body is too large\nnote: --max-body of `as2 serve` raises the limit";
    case 414:
      return "the address is too long";
    default:
      return "the request was refused with status " + std::to_string(status);
  }
}

void add_api(httplib::Server& server, const CallLimits& limits, const Run& run) {
  for (const std::string& verb : json_verbs()) {
    server.Post("/api/" + verb, [run, verb, limits](const auto& request, auto& response) {
      if (type_of(request) != "application/json") {
        send(error_reply(415, "expected Content-Type: application/json"), response);
        return;
      }
      send(run([&] { return call_of_document(verb, request.body, limits); }), response);
    });
  }
  server.Post("/api/solve", [run](const auto& request, auto& response) {
    if (type_of(request).rfind("image/", 0) != 0) {
      send(error_reply(415,
                       "expected the picture itself as the body, with Content-Type: image/png or another"),
           response);
      return;
    }
    send(run([&] { return call_of_picture(request.body, request.params); }), response);
  });
}

// Why a request's body is not read, if it is not. httplib bounds only a body that says how long it is, and
// not what a packed one unpacks to; it reads bodies of methods that we have no use for, and a body that is
// too large to its end. Who counts a length in another way than we do, a proxy say, would take the rest of
// one request for the next.
std::optional<Reply> refusal(const httplib::Request& request, std::size_t body_bytes) {
  static const std::set<std::string> methods = {"GET", "HEAD", "OPTIONS", "POST"};
  if (methods.count(request.method) == 0) return error_reply(405, message_of(405));
  if (request.has_header("Transfer-Encoding"))
    return error_reply(411, "the body is chunked\nnote: send it whole, with its Content-Length");
  const std::string length = request.get_header_value("Content-Length");
  if (request.get_header_value_count("Content-Length") > 1 ||
      length.find_first_not_of("0123456789") != std::string::npos)
    return error_reply(400, "Content-Length is not a number");
  if (request.method != "POST") {
    if (length.empty() || length == "0") return std::nullopt;
    return error_reply(400, "only POST has a body");
  }
  if (length.empty())
    return error_reply(411,
                       "the request has no body\nnote: send a JSON document, or to /api/solve a picture");
  if (request.has_header("Content-Encoding"))
    return error_reply(415, "the body is compressed\nnote: send it uncompressed, without Content-Encoding");
  // One that is a little too large is read and thrown away: its sender would not see our reply before.
  if (std::strtod(length.c_str(), nullptr) > kThrownAway * static_cast<double>(body_bytes))
    return error_reply(413, message_of(413));
  return std::nullopt;
}

// httplib's own request, which it hands to us as if it were const.
httplib::Request& changeable(const httplib::Request& request) {
  return const_cast<httplib::Request&>(request);
}

// Ends the connection behind the reply, so that a body which was not read is not taken for a request. httplib
// does so where content cannot be provided; a reply to HEAD would have none.
void hang_up(const Reply& reply, const httplib::Request& request, httplib::Response& response) {
  changeable(request).method = "GET";
  response.status = reply.status;
  if (reply.status == 405) response.set_header("Allow", "GET, HEAD, POST");
  response.set_header("Connection", "close");
  response.set_content_provider(reply.body.size(), "application/json",
                                [body = reply.body](std::size_t, std::size_t, httplib::DataSink& sink) {
                                  sink.write(body.data(), body.size());
                                  return false;
                                });
}

// Answered before any pattern is matched and any body read: a page's path is only looked up.
void add_pages(httplib::Server& server, const std::map<std::string, Page>& pages, std::size_t body_bytes) {
  server.set_pre_routing_handler(
      [&pages, body_bytes](const httplib::Request& request, httplib::Response& response) {
        using Response = httplib::Server::HandlerResponse;
        // Each of many ranges may be all of a page, and httplib cuts documents to them, too.
        changeable(request).ranges.clear();
        if (const auto refused = refusal(request, body_bytes)) {
          hang_up(*refused, request, response);
          return Response::Handled;
        }
        if (request.method != "GET" && request.method != "HEAD") return Response::Unhandled;
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

void answer_requests(httplib::Server& server, const std::map<std::string, Page>& pages,
                     std::size_t body_bytes, const CallLimits& limits, const Run& run) {
  server.set_payload_max_length(body_bytes);
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Cross-Origin-Resource-Policy", "same-origin"},
                              {"Cache-Control", "no-cache"}});
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty() && !response.has_header("Content-Type"))
      send(error_reply(response.status, message_of(response.status)), response);
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
  add_pages(server, pages, body_bytes);
  add_api(server, limits, run);
}

}  // namespace as2::serve
