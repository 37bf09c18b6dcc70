#include "formats/safetensors.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "as2/error.h"
#include "files.h"
#include "json_text.h"
#include "text.h"

namespace as2::formats {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the reference implementation
constexpr const char* kMetadata = "__metadata__";

struct DtypeRow {
  Dtype dtype;
  const char* name;
  std::size_t size;
};
constexpr DtypeRow kDtypes[] = {{Dtype::kBool, "BOOL", 1}, {Dtype::kU8, "U8", 1},     {Dtype::kI64, "I64", 8},
                                {Dtype::kF16, "F16", 2},   {Dtype::kBF16, "BF16", 2}, {Dtype::kF32, "F32", 4},
                                {Dtype::kF64, "F64", 8}};

const DtypeRow& row_of(Dtype dtype) {
  return kDtypes[static_cast<std::size_t>(dtype)];
}

// Bytes of an array of this shape; none if a dimension is negative or the product overflows.
std::optional<std::uint64_t> byte_count(Dtype dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = size_of(dtype);
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      empty = true;
    } else if (bytes >
               std::uint64_t{std::numeric_limits<std::int64_t>::max()} / static_cast<std::uint64_t>(extent)) {
      return std::nullopt;
    } else {
      bytes *= static_cast<std::uint64_t>(extent);
    }
  }
  return empty ? 0 : bytes;
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message) {
  throw InputError({path.string()}, message,
                   {"a safetensors file is expected; this one may be damaged or only partly copied"});
}

// A tensor's entry in the header, before its bytes are read.
struct Entry {
  SafeTensor tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class Reader {
 public:
  Reader(const std::string& bytes, const std::filesystem::path& path) : bytes_(bytes), path_(path) {}

  SafeTensorFile read() {
    const Json header = read_header();
    SafeTensorFile file;
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        file.metadata = read_metadata(value);
      } else {
        entries.push_back(read_entry(name, value));
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t offset = 0;
    for (Entry& entry : entries) {
      if (entry.begin != offset) {
        fail(path_, "tensor " + in_quotes(entry.tensor.name) + " begins at byte " +
                        std::to_string(entry.begin) + " of the data, expected " + std::to_string(offset) +
                        " (no gaps, no overlaps)");
      }
      offset = entry.end;
    }
    if (offset != data_bytes()) {
      fail(path_,
           "found " + std::to_string(data_bytes()) + " bytes of data, expected " + std::to_string(offset));
    }
    const auto* data = reinterpret_cast<const std::byte*>(bytes_.data()) + data_begin_;
    for (Entry& entry : entries) {
      entry.tensor.data.assign(data + entry.begin, data + entry.end);
      file.tensors.push_back(std::move(entry.tensor));
    }
    return file;
  }

 private:
  std::uint64_t data_bytes() const { return bytes_.size() - data_begin_; }

  Json read_header() {
    if (bytes_.size() < 8) {
      fail(path_, "found " + std::to_string(bytes_.size()) +
                      " bytes, expected at least the 8 of the header's length");
    }
    std::uint64_t length = 0;
    for (std::size_t k = 8; k-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes_[k]);
    const std::uint64_t most = std::min<std::uint64_t>(bytes_.size() - 8, kMaxHeaderBytes);
    if (length > most) {
      fail(path_, "the header is said to have " + std::to_string(length) + " bytes, expected at most " +
                      std::to_string(most));
    }
    data_begin_ = 8 + length;
    const std::string text = bytes_.substr(8, length);
    if (text.empty() || text.front() != '{') fail(path_, "the header does not begin with '{'");

    try {
      return parse_json(text, {path_.string()});
    } catch (const Json::exception& error) {
      fail(path_, std::string("the header is not JSON: ") + error.what());
    }
  }

  std::map<std::string, std::string> read_metadata(const Json& value) const {
    if (!value.is_object()) fail(path_, "__metadata__ is not an object of texts");
    std::map<std::string, std::string> metadata;
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) fail(path_, "__metadata__: " + in_quotes(key) + " is not a text");
      metadata[key] = text.get<std::string>();
    }
    return metadata;
  }

  Entry read_entry(const std::string& name, const Json& value) const {
    const std::string what = "tensor " + in_quotes(name) + ": ";
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets")) {
      fail(path_, what + "expected an object with dtype, shape and data_offsets");
    }
    Entry entry;
    entry.tensor.name = name;
    const Json& dtype = value["dtype"];
    const auto* row = std::find_if(std::begin(kDtypes), std::end(kDtypes), [&](const DtypeRow& candidate) {
      return dtype.is_string() && dtype.get_ref<const std::string&>() == candidate.name;
    });
    if (row == std::end(kDtypes)) {
      fail(path_, what + "dtype " + json_text(dtype) + " is not one of BOOL, U8, I64, F16, BF16, F32, F64");
    }
    entry.tensor.dtype = row->dtype;
    for (const std::uint64_t extent : numbers(value["shape"], what + "shape")) {
      entry.tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto offsets = numbers(value["data_offsets"], what + "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes()) {
      fail(path_, what + "data_offsets are not a range within the file's " + std::to_string(data_bytes()) +
                      " bytes of data");
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    const auto expected = byte_count(entry.tensor.dtype, entry.tensor.shape);
    if (!expected) fail(path_, what + "the shape is too large");
    if (entry.end - entry.begin != *expected) {
      fail(path_, what + "found " + std::to_string(entry.end - entry.begin) + " bytes, its shape asks for " +
                      std::to_string(*expected));
    }
    return entry;
  }

  // A list of whole numbers, 0 to 2^63 - 1.
  std::vector<std::uint64_t> numbers(const Json& value, const std::string& what) const {
    std::vector<std::uint64_t> result;
    bool good = value.is_array();
    if (good) {
      for (const Json& number : value) {
        good = good && number.is_number_unsigned() &&
               number.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
        if (good) result.push_back(number.get<std::uint64_t>());
      }
    }
    if (!good) fail(path_, what + " is not a list of whole numbers");
    return result;
  }

  const std::string& bytes_;
  const std::filesystem::path& path_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace

const char* name_of(Dtype dtype) {
  return row_of(dtype).name;
}

std::size_t size_of(Dtype dtype) {
  return row_of(dtype).size;
}

const SafeTensor* SafeTensorFile::find(const std::string& name) const {
  for (const SafeTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

SafeTensorFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_file(path), path);
}

SafeTensorFile parse_safetensors(const std::string& bytes, const std::filesystem::path& path) {
  return Reader(bytes, path).read();
}

void write_safetensors(const std::filesystem::path& path, const SafeTensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) header[kMetadata] = file.metadata;
  std::uint64_t offset = 0;
  for (const SafeTensor& tensor : file.tensors) {
    AS2_REQUIRE(tensor.name != kMetadata && !header.contains(tensor.name),
                "tensor names differ: " + tensor.name);
    AS2_REQUIRE(byte_count(tensor.dtype, tensor.shape) == tensor.data.size(),
                "tensor " + in_quotes(tensor.name) + " holds the bytes of its shape");
    header[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.data.size()}}};
    offset += tensor.data.size();
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data
  write_file(path, [&](std::ostream& out) {
    for (int k = 0; k < 8; ++k) out.put(static_cast<char>(std::uint64_t{text.size()} >> 8 * k & 0xff));
    out << text;
    for (const SafeTensor& tensor : file.tensors) {
      out.write(reinterpret_cast<const char*>(tensor.data.data()),
                static_cast<std::streamsize>(tensor.data.size()));
    }
  });
}

}  // namespace as2::formats
