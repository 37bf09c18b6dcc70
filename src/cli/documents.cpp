#include "cli/documents.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "files.h"

namespace as2::cli {
namespace {

using nlohmann::json;

constexpr std::size_t kPiece = std::size_t{1} << 16;
constexpr int kPatience = 1000;  // milliseconds
constexpr const char* kBlanks = " \t\r\n\v\f";

bool is_blank(std::string_view text) {
  return text.find_first_not_of(kBlanks) == std::string_view::npos;
}

// `{}` or `[]`, as which every printer writes them, also one that puts all else on several lines.
bool is_empty_value(const std::string& line) {
  std::string text = line;
  text.erase(
      std::remove_if(text.begin(), text.end(),
                     [](char c) { return std::string_view(kBlanks).find(c) != std::string_view::npos; }),
      text.end());
  return text == "{}" || text == "[]";
}

bool is_object(const std::string& line) {
  return line[line.find_first_not_of(kBlanks)] == '{' && json::accept(line);
}

// Tells, line by line, whether a text can still become one object or list, and whether it is one: by its
// brackets and quotes only.
class Shape {
 public:
  void read(std::string_view line) {
    bool quoted = false, escaped = false;
    for (const char c : line) {
      if (quoted) {
        quoted = escaped || c != '"';
        escaped = !escaped && c == '\\';
      } else if (std::string_view(kBlanks).find(c) == std::string_view::npos) {
        take(c);
        quoted = c == '"';
        last_ = c;
      }
    }
    broken_ = broken_ || quoted;
  }
  bool is_broken() const { return broken_; }
  bool is_whole() const { return !broken_ && open_.empty() && last_ != '\0'; }

 private:
  void take(char c) {
    const char in = open_.empty() ? '\0' : open_.back();
    if (c == '{' || c == '[') {
      const bool expected = in == '\0'  ? last_ == '\0'
                            : in == '{' ? last_ == ':'
                                        : last_ == ',' || last_ == '[';
      broken_ = broken_ || !expected;
      open_.push_back(c);
    } else if (in == '\0') {
      broken_ = true;
    } else if (c == '}' || c == ']') {
      broken_ = broken_ || (in == '{') != (c == '}');
      open_.pop_back();
    }
  }

  std::string open_;
  char last_ = '\0';
  bool broken_ = false;
};

std::map<std::string, std::vector<Document>>& kept() {
  static std::map<std::string, std::vector<Document>> documents;
  return documents;
}

}  // namespace

Documents::Documents(const std::string& path) : name_(path == "-" ? "<stdin>" : path) {
  if (const auto found = kept().find(path); found != kept().end()) {
    ready_.assign(found->second.begin(), found->second.end());
    ended_ = true;
    return;
  }
  fd_ = path == "-" ? STDIN_FILENO : open_file(path);
}

Documents::Documents(std::string text, const std::string& name)
    : name_(name), buffer_(std::move(text)), ended_(true) {}

Documents::~Documents() {
  if (fd_ > STDIN_FILENO) ::close(fd_);
}

std::optional<Document> Documents::next() {
  std::optional<Document> document;
  if (ready_.empty()) {
    document = read_next();
  } else {
    document = std::move(ready_.front());
    ready_.pop_front();
  }
  if (document) ++given_;
  if (given_ == 0) throw InputError({name_}, "found nothing, expected a JSON document");
  return document;
}

bool Documents::take(std::size_t most, const std::function<void(const Document&)>& use) {
  std::size_t count = 0;
  for (; count < most && (count == 0 || !waits()); ++count) {
    const auto document = next();
    if (!document) break;
    use(*document);
  }
  return count > 0;
}

bool Documents::waits_after(int milliseconds) {
  while (ready_.empty() && !ended_ && !has_line()) {
    if (end_ - begin_ > kLargestText) return false;  // next() refuses it
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) == 0) return true;
    read_more();
  }
  return false;
}

bool Documents::only_one() {
  if (given_ != 1 || waits_after(kPatience)) return false;
  if (ready_.empty()) {
    if (auto more = read_next()) ready_.push_back(std::move(*more));
  }
  return ready_.empty();
}

std::optional<Document> Documents::read_next() {
  auto line = next_line();
  if (!line) return std::nullopt;
  const bool whole = by_line_ || json::accept(line->text);
  if (!whole) return gather(std::move(*line));
  by_line_ = by_line_ || !is_empty_value(line->text);
  return Document{std::move(line->text), {name_, line->number}};
}

// A document over several lines that begins here. Where one of them is a document by itself, and all together
// can be none, they are read again, each as one.
std::optional<Document> Documents::gather(Line first) {
  Document whole{first.text, {name_, first.number}};
  Shape shape;
  shape.read(first.text);
  bool one_a_line = false;
  for (int last = first.number; !(one_a_line && shape.is_broken());) {
    if (shape.is_whole() && json::accept(whole.text)) return whole;
    const auto line = next_line();
    if (!line) break;
    // With the blank lines between, so that a place in the document is one in the file.
    whole.text.append(static_cast<std::size_t>(line->number - last), '\n') += line->text;
    last = line->number;
    if (whole.text.size() > kLargestText) refuse_size(first.number);
    shape.read(line->text);
    one_a_line = one_a_line || is_object(line->text);
  }
  if (!one_a_line) return whole;
  by_line_ = true;
  buffer_.replace(0, begin_, whole.text + "\n");
  begin_ = end_ = first.text.size() + 1;
  lines_ = first.number;
  return Document{std::move(first.text), whole.location};
}

std::optional<Documents::Line> Documents::next_line() {
  for (std::size_t blank = 0;;) {
    while (!has_line() && !ended_) {
      if (end_ - begin_ + blank > kLargestText) refuse_size(lines_ + 1);
      read_more();
    }
    const std::size_t begin = begin_;
    if (begin == buffer_.size()) return std::nullopt;
    std::string_view line(buffer_.data() + begin, end_ - begin);
    begin_ = end_ = std::min(end_ + 1, buffer_.size());
    ++lines_;
    if (lines_ == 1 && line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);  // a byte-order mark
    if (!is_blank(line)) return Line{std::string(line), lines_};
    blank += line.size() + 1;
  }
}

// Whether a line's end is in the buffer: `end_` then stands on it, or else at the buffer's end.
bool Documents::has_line() {
  end_ = std::min(buffer_.find('\n', end_), buffer_.size());
  return end_ < buffer_.size();
}

void Documents::read_more() {
  buffer_.erase(0, begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kPiece);
  const std::size_t got = read_some(fd_, buffer_.data() + before, kPiece, name_);
  buffer_.resize(before + got);
  ended_ = got == 0;
}

void Documents::refuse_size(int line) const {
  throw_too_large({name_, line}, kLargestText);
}

void keep_documents(const std::string& path) {
  std::error_code none;
  if (kept().count(path) > 0 || (path != "-" && !std::filesystem::is_other(path, none))) return;
  Documents documents(path);
  std::vector<Document> all;
  std::size_t size = 0;
  while (auto document = documents.next()) {
    size += document->text.size();
    if (size > kLargestText) {
      throw InputError(
          document->location,
          "the program has external atoms, so all documents are read before the first is answered, "
          "and these are larger than " +
              std::to_string(kLargestText >> 20) + " MiB, or have no end",
          {"give them as a file, or name every external atom by --assume"});
    }
    all.push_back(std::move(*document));
  }
  kept()[path] = std::move(all);
}

}  // namespace as2::cli
