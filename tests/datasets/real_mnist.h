// The real MNIST for tests labelled `data`: found, or fetched into the cache once.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "as2/error.h"
#include "datasets/mnist.h"

namespace as2::test {

struct RealMnist {
  std::optional<datasets::Mnist> mnist;
  std::string why_not;
};

inline const RealMnist& real_mnist() {
  static const RealMnist loaded = [] {
    datasets::MnistFiles files;
    try {
      files = datasets::find_mnist();
    } catch (const InputError& error) {
      return RealMnist{std::nullopt, error.what()};
    }
    return RealMnist{datasets::read_mnist(files), ""};
  }();
  return loaded;
}

}  // namespace as2::test

// Skips the test, with the reason, on a machine that has no MNIST and cannot fetch it.
#define AS2_NEED_MNIST() \
  if (!::as2::test::real_mnist().mnist) GTEST_SKIP() << ::as2::test::real_mnist().why_not
