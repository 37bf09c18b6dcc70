// JSON documents of a file or a stream, read as they are asked for: an endless stream is answered as it
// comes, and only the document at hand has to fit into memory.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "as2/error.h"

namespace as2::cli {

// One JSON document and the place where it starts.
struct Document {
  std::string text;
  SourceLocation location;
};

// One document per line, or each over any number of lines. Once a line was a document by itself (other than
// `{}`), every line is taken for one, so that a broken line is refused in its place; until then a line that
// is none is the beginning of a document, and is waited for.
class Documents {
 public:
  // `-` is standard input. InputError or EnvironmentError where the file cannot be opened.
  explicit Documents(const std::string& path);
  Documents(std::string text, const std::string& name);
  ~Documents();
  Documents(const Documents&) = delete;
  Documents& operator=(const Documents&) = delete;

  // The next document; none at the end. InputError where there is none at all, or it is too large.
  std::optional<Document> next();
  // Hands the next documents to `use`: as many as have arrived, but at most `most`. False at the end.
  bool take(std::size_t most, const std::function<void(const Document&)>& use);
  // Whether next() would have to wait for bytes to arrive.
  bool waits() { return waits_after(0); }
  // Whether the document that next() gave is the only one. Of a stream that neither goes on nor ends for a
  // second it is not: somebody waits for an answer.
  bool only_one();

 private:
  struct Line {
    std::string text;
    int number;
  };

  bool waits_after(int milliseconds);
  std::optional<Document> read_next();
  std::optional<Document> gather(Line first);
  std::optional<Line> next_line();  // that is not blank
  void read_more();
  bool has_line();
  [[noreturn]] void refuse_size(int line) const;

  std::string name_;
  int fd_ = -1;
  std::string buffer_;               // what is read and not yet given lies behind begin_
  std::size_t begin_ = 0, end_ = 0;  // no line ends between the two
  bool ended_ = false;               // nothing more can be read
  int lines_ = 0;                    // lines given, blank ones included
  bool by_line_ = false;             // a line was a document
  std::deque<Document> ready_;
  std::size_t given_ = 0;
};

// Reads a stream's documents to the end, for a verb that has to know them all before it begins; `Documents`
// of the same path then give them again. A file needs no keeping.
void keep_documents(const std::string& path);

}  // namespace as2::cli
