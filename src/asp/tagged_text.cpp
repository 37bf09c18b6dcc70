#include <algorithm>

#include "asp/tagging.h"

namespace as2::asp {

void TaggedText::copy(const SourceFile& file, std::size_t begin, std::size_t end) {
  chunks_.push_back({text_.size(), &file, begin, end, true});
  const auto slice = file.slice(begin, end);
  for (std::size_t i = 0; i < slice.size(); ++i) {
    if (slice[i] == '\n') line_starts_.push_back(text_.size() + i + 1);
  }
  text_ += slice;
}

void TaggedText::insert(const std::string& text, const SourceFile& file, std::size_t begin, std::size_t end) {
  chunks_.push_back({text_.size(), &file, begin, end, false});
  for (const char c : text) {
    text_ += c;
    if (c == '\n') line_starts_.push_back(text_.size());
  }
}

std::optional<std::size_t> TaggedText::offset_of(int line, int column) const {
  if (line < 1 || column < 1 || static_cast<std::size_t>(line) > line_starts_.size()) return std::nullopt;
  const std::size_t offset =
      line_starts_[static_cast<std::size_t>(line - 1)] + static_cast<std::size_t>(column - 1);
  if (offset > text_.size()) return std::nullopt;
  return offset;
}

const TaggedText::Chunk* TaggedText::chunk_at(std::size_t offset) const {
  const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), offset,
                                      [](std::size_t at, const Chunk& chunk) { return at < chunk.begin; });
  return after == chunks_.begin() ? nullptr : &*(after - 1);
}

std::optional<SourceLocation> TaggedText::origin(int line, int column, int end_line, int end_column,
                                                 std::string* slice) const {
  const auto begin = offset_of(line, column);
  const auto end = offset_of(end_line, end_column);
  const Chunk* first = begin ? chunk_at(*begin) : nullptr;
  // The end is exclusive: the byte before it says which piece it belongs to.
  const Chunk* last = end && *end > 0 ? chunk_at(*end - 1) : nullptr;
  if (first == nullptr) return std::nullopt;
  const std::size_t from = first->copied ? first->offset + (*begin - first->begin) : first->offset;
  std::size_t to = from;
  if (last != nullptr && last->file == first->file)
    to = std::max(from, last->copied ? last->offset + (*end - last->begin) : last->end);
  to = std::min(to, first->file->text().size());
  if (slice != nullptr) *slice = std::string(first->file->slice(from, to));
  return first->file->location(from, to);
}

}  // namespace as2::asp
