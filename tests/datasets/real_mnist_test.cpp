#include "datasets/real_mnist.h"

#include <gmock/gmock.h>

namespace as2::datasets {
namespace {

TEST(RealMnist, IsTheKnownDataSet) {
  AS2_NEED_MNIST();
  const Mnist& mnist = *test::real_mnist().mnist;
  ASSERT_EQ(mnist.train.size(), 60000u);
  ASSERT_EQ(mnist.test.size(), 10000u);
  // The published number of digits in each class.
  const int train[10] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
  const int test[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};
  const auto by_train = indices_by_label(mnist.train), by_test = indices_by_label(mnist.test);
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_EQ(by_train[digit].size(), static_cast<std::size_t>(train[digit]));
    EXPECT_EQ(by_test[digit].size(), static_cast<std::size_t>(test[digit]));
  }
  EXPECT_EQ(mnist.train.labels[0], 5);
  EXPECT_EQ(mnist.test.labels[0], 7);
  EXPECT_EQ(mnist.train.image(0)[5 * 28 + 12], 3);  // the first pixels of the famous first five
  EXPECT_EQ(mnist.train.image(0)[5 * 28 + 13], 18);
}

}  // namespace
}  // namespace as2::datasets
