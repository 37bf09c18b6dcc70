#include "serve/jobs.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "as2/error.h"
#include "child_process.h"
#include "files.h"
#include "json_text.h"

namespace as2::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostPrinted = std::int64_t{32} << 20;  // parsed it takes ten times as much

std::string text_of(const Json& document) {
  return json_text(document) + "\n";
}

// A folder of a request's files, gone with it.
class RequestFolder {
 public:
  RequestFolder(fs::path path, const Call& call) : path_(std::move(path)) {
    fs::create_directory(path_);
    for (const auto& [name, content] : call.files) {
      // Not write_file(): these need not outlive a loss of power.
      std::ofstream file(path_ / name, std::ios::binary);
      file.write(content.data(), static_cast<std::streamsize>(content.size()));
      file.close();
      if (!file) throw_file_error(path_ / name, "cannot be written", errno);
    }
  }
  ~RequestFolder() { remove_tree(path_); }
  RequestFolder(const RequestFolder&) = delete;
  RequestFolder& operator=(const RequestFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

int status_of(int exit_code) {
  switch (exit_code) {
    case 0:
      return 200;
    case 1:
      return 422;
    case 2:
      return 400;
    case 4:
      return 503;
    default:
      return 500;
  }
}

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text;
}

// A note of the verb may name an option that only who started the server can give, and the usage of a command
// line is of no help to who has none.
std::string in_words_of_the_api(std::string text) {
  const std::pair<std::string, std::string> options[] = {
      {"--grounding-seconds", "--time-limit of `as2 serve`"}, {"--grounding-mib", "--memory of `as2 serve`"}};
  for (const auto& [option, own] : options) {
    if (const std::size_t at = text.find(option); at != std::string::npos)
      text.replace(at, option.size(), own);
  }
  constexpr std::string_view kHelp = "\nRun with --help for more information.";
  if (const std::size_t at = text.find(kHelp); at != std::string::npos) text.erase(at, kHelp.size());
  return text;
}

// What the verb printed, with what it said on standard error beside it as `messages`.
Reply reply_of(const ChildResult& result) {
  Json document = Json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  const std::string said = in_words_of_the_api(without_end(result.err));
  const int status = status_of(result.exit_code);
  if (!document.is_object()) {
    if (status == 200) return error_reply(500, "the verb printed no JSON document");
    return error_reply(status, said);
  }
  if (status != 200) {
    const Json own = document.value("error", Json());
    document["error"] = own.is_string() ? in_words_of_the_api(own.get<std::string>()) : said;
  }
  if (status == 200 && !said.empty()) {
    document["messages"] = Json::array();
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) document["messages"].push_back(line);
  }
  return {status, text_of(document)};
}

}  // namespace

Jobs::Jobs(const JobOptions& options) : options_(options) {
  program_ = fs::read_symlink("/proc/self/exe").string();
  std::error_code error;
  const fs::path temporary = fs::temp_directory_path(error);
  if (error)
    throw EnvironmentError("there is no folder for temporary files: " + error.message(),
                           {"set TMPDIR to one that can be written to"});
  std::string pattern = (temporary / "as2-serve-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw_file_error(pattern, "cannot be made", errno);
  folder_ = pattern;
}

Jobs::~Jobs() {
  remove_tree(folder_);
}

Reply Jobs::run(const std::function<Call()>& make_call) {
  {
    std::unique_lock lock(mutex_);
    if (running_ >= options_.at_once && waiting_ >= options_.waiting)
      return error_reply(503, "too many requests at once\nnote: try again in a second");
    ++waiting_;
    const bool free = freed_.wait_for(lock, std::chrono::duration<double>(options_.limits.seconds),
                                      [&] { return running_ < options_.at_once; });
    --waiting_;
    if (!free) return error_reply(503, "too many requests at once\nnote: try again in a second");
    ++running_;
  }
  Reply reply;
  try {
    reply = run_now(make_call);
  } catch (const std::bad_alloc&) {
    reply = error_reply(503, "the server has not enough memory\nnote: try again in a second");
  } catch (const std::exception& error) {
    reply = error_reply(503, error.what());
  }
  {
    const std::lock_guard lock(mutex_);
    --running_;
  }
  freed_.notify_one();
  return reply;
}

Reply Jobs::run_now(const std::function<Call()>& make_call) {
  Call call;
  try {
    call = make_call();
  } catch (const InputError& error) {
    return error_reply(400, error.what());
  }
  long number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
  }
  const RequestFolder folder(folder_ / std::to_string(number), call);
  ChildOptions limits;
  limits.seconds = options_.limits.seconds;
  limits.bytes = options_.limits.mib << 20;
  limits.printed = kMostPrinted;
  limits.folder = folder.path();
  const ChildResult result = run_child(program_, call.arguments, "", limits);
  if (result.timed_out) {
    std::ostringstream seconds;
    seconds << options_.limits.seconds;
    return error_reply(504,
                       "stopped after " + seconds.str() +
                           " s\nnote: a smaller instance of the program needs less; `time_budget` ends a "
                           "search before, with what it has found; --time-limit of `as2 serve` raises "
                           "the limit");
  }
  if (result.printed_too_much)
    return error_reply(422, "the answer is larger than " + std::to_string(kMostPrinted >> 20) +
                                " MiB\nnote: ask for fewer models or samples, or use the command line");
  if (result.signal != 0)
    return error_reply(500, "the verb was ended by signal " + std::to_string(result.signal));
  return reply_of(result);
}

}  // namespace as2::serve
