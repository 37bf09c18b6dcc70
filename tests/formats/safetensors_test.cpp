#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "as2/error.h"
#include "support/temporary_folder.h"

namespace as2::formats {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Safetensors : public ::testing::Test {
 protected:
  fs::path path() const { return folder_ / "t.safetensors"; }

  void put(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  std::string get() const {
    std::ostringstream out;
    out << std::ifstream(path(), std::ios::binary).rdbuf();
    return out.str();
  }

  // A file with this header and this many bytes of data, laid out by hand.
  void put_header(const std::string& header, std::size_t data_bytes) const {
    std::string bytes(8, '\0');
    for (int k = 0; k < 8; ++k) bytes[k] = static_cast<char>(header.size() >> 8 * k & 0xff);
    put(bytes + header + std::string(data_bytes, 'x'));
  }

  void expect_error(const std::string& part) const {
    try {
      read_safetensors(path());
      FAIL() << "no error; expected one with: " << part;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(path().string()));
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }

  const test::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

template <typename T>
SafeTensor tensor(const std::string& name, Dtype dtype, std::vector<std::int64_t> shape,
                  const std::vector<T>& values) {
  SafeTensor result{name, dtype, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(result.data.data(), values.data(), result.data.size());
  return result;
}

SafeTensorFile example() {
  SafeTensorFile file;
  file.metadata = {{"program", "sudoku.lp"}, {"quote", "a \"b\"\nü"}};
  file.tensors = {tensor<float>("weight", Dtype::kF32, {2, 3}, {1.5f, -2, 3, 4, 5, 6.25f}),
                  tensor<double>("scalar", Dtype::kF64, {}, {0.1}),
                  tensor<std::int64_t>("counts", Dtype::kI64, {3}, {-1, 0, std::int64_t{1} << 40}),
                  tensor<std::uint8_t>("pixels", Dtype::kU8, {1, 5}, {0, 1, 2, 254, 255}),
                  tensor<std::uint8_t>("mask", Dtype::kBool, {2}, {1, 0}),
                  tensor<std::uint16_t>("half", Dtype::kF16, {2}, {0x3c00, 0xc000}),
                  tensor<std::uint16_t>("brain", Dtype::kBF16, {1}, {0x3f80}),
                  tensor<float>("none", Dtype::kF32, {0, 7}, {})};
  return file;
}

TEST_F(Safetensors, DeepHeadersAreRefused) {
  constexpr std::size_t kDepth = 1'000'000;
  put_header("{\"t\": {\"dtype\": " + std::string(kDepth, '[') + std::string(kDepth, ']') +
                 ", \"shape\": [], \"data_offsets\": [0, 0]}}",
             0);
  expect_error("more than 500 lists and objects");
}

TEST_F(Safetensors, RoundTrip) {
  const SafeTensorFile written = example();
  write_safetensors(path(), written);
  const SafeTensorFile read = read_safetensors(path());
  EXPECT_EQ(read.metadata, written.metadata);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (const SafeTensor& expected : written.tensors) {
    const SafeTensor* found = read.find(expected.name);
    ASSERT_NE(found, nullptr) << expected.name;
    EXPECT_EQ(found->dtype, expected.dtype);
    EXPECT_EQ(found->shape, expected.shape);
    EXPECT_EQ(found->data, expected.data);
  }
  EXPECT_EQ(read.find("absent"), nullptr);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "a temporary file was left behind";
}

TEST_F(Safetensors, ReadsBytesWrittenByHand) {
  put_header(
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]}} )",
      3);
  const SafeTensorFile file = read_safetensors(path());
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "a");
  EXPECT_EQ(file.tensors[1].shape, std::vector<std::int64_t>{2});
  EXPECT_EQ(file.tensors[1].data, std::vector<std::byte>(2, std::byte{'x'}));
}

TEST_F(Safetensors, AnotherReaderAgrees) {
  if (std::system("python3 -c '' 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  write_safetensors(path(), example());
  std::ofstream(folder_ / "read.py") << R"(
import json, struct, sys
raw = open(sys.argv[1], 'rb').read()
n, = struct.unpack('<Q', raw[:8])
head = json.loads(raw[8:8 + n].decode('utf-8'))
data = raw[8 + n:]
assert n % 8 == 0
assert head.pop('__metadata__') == {'program': 'sudoku.lp', 'quote': 'a "b"\nü'}
assert len(head) == 8
assert max(t['data_offsets'][1] for t in head.values()) == len(data)
def read(name, dtype, shape, code):
    t = head[name]
    assert (t['dtype'], t['shape']) == (dtype, shape), t
    begin, end = t['data_offsets']
    return list(struct.unpack('<' + code, data[begin:end]))
assert read('weight', 'F32', [2, 3], '6f') == [1.5, -2, 3, 4, 5, 6.25]
assert read('scalar', 'F64', [], 'd') == [0.1]
assert read('counts', 'I64', [3], '3q') == [-1, 0, 1 << 40]
assert read('pixels', 'U8', [1, 5], '5B') == [0, 1, 2, 254, 255]
assert read('mask', 'BOOL', [2], '2?') == [True, False]
assert read('half', 'F16', [2], '2e') == [1.0, -2.0]
assert read('brain', 'BF16', [1], 'H') == [0x3f80]
assert read('none', 'F32', [0, 7], '') == []
)";
  EXPECT_EQ(
      std::system(("python3 '" + (folder_ / "read.py").string() + "' '" + path().string() + "'").c_str()), 0);
}

TEST_F(Safetensors, MalformedFilesAreNamed) {
  expect_error("cannot be opened");
  put("");
  expect_error("found 0 bytes");
  put("1234567");
  expect_error("found 7 bytes");
  put(std::string(8, '\xff'));
  expect_error("18446744073709551615 bytes");
  put_header("", 0);
  expect_error("does not begin with '{'");
  put_header("[]", 0);
  expect_error("does not begin with '{'");
  put_header("{\"a\"", 0);
  expect_error("not JSON");
  put_header("{\"\xff\":1}", 0);
  expect_error("not JSON");
  put_header("{\"a\":1}", 0);
  expect_error("tensor 'a': expected an object with dtype, shape and data_offsets");
  put_header(R"({"a":{"dtype":"F31","shape":[],"data_offsets":[0,4]}})", 4);
  expect_error("\"F31\" is not one of");
  put_header(R"({"a":{"dtype":7,"shape":[],"data_offsets":[0,4]}})", 4);
  expect_error("dtype 7 is not one of");
  put_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4);
  expect_error("shape is not a list of whole numbers");
  put_header(R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", 4);
  expect_error("shape is not a list of whole numbers");
  put_header(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0);
  expect_error("shape is too large");
  put_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4);
  expect_error("found 4 bytes, its shape asks for 8");
  put_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 3);
  expect_error("within the file's 3 bytes");
  put_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 5);
  expect_error("found 5 bytes of data, expected 4");
  put_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})", 1);
  expect_error("data_offsets are not a range");
  put_header(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
      3);
  expect_error("begins at byte 1 of the data, expected 2");
  put_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2);
  expect_error("begins at byte 1 of the data, expected 0");
  put_header(
      R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
      0);
  expect_error("'a' is given twice");
  put_header(R"({"__metadata__":{"k":1}})", 0);
  expect_error("'k' is not a text");
  put_header(R"({"__metadata__":[]})", 0);
  expect_error("__metadata__ is not an object");
}

TEST_F(Safetensors, EveryTruncationIsAnError) {
  write_safetensors(path(), example());
  const std::string bytes = get();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    put(bytes.substr(0, length));
    EXPECT_THROW(read_safetensors(path()), InputError) << length;
  }
}

// Random damage either reads as a consistent file or is an InputError; anything else fails the test.
TEST_F(Safetensors, RandomDamage) {
  write_safetensors(path(), example());
  const std::string bytes = get();
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string damaged = bytes;
    for (unsigned k = 1 + random() % 4; k > 0; --k) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0:
          damaged[at] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(at, random() % 9);
          break;
        default:
          damaged.insert(at, 1 + random() % 8, "0123456789[]{}\",:-e. \\u"[random() % 23]);
      }
    }
    put(damaged);
    try {
      for (const SafeTensor& tensor : read_safetensors(path()).tensors) {
        std::size_t count = size_of(tensor.dtype);
        for (const std::int64_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
        EXPECT_EQ(count, tensor.data.size());
      }
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
}

TEST_F(Safetensors, WritingChecksItsArguments) {
  SafeTensorFile file;
  file.tensors = {tensor<float>("a", Dtype::kF32, {2}, {1})};
  EXPECT_THROW(write_safetensors(path(), file), ContractError);
  file.tensors = {tensor<float>("a", Dtype::kF32, {1}, {1}), tensor<float>("a", Dtype::kF32, {1}, {1})};
  EXPECT_THROW(write_safetensors(path(), file), ContractError);
  EXPECT_THROW(write_safetensors(folder_ / "no" / "folder", {}), InputError);
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace as2::formats
