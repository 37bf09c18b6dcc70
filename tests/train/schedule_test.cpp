#include "train/schedule.h"

#include <gtest/gtest.h>

namespace as2::train {
namespace {

// The paper's values: α(t) = max(0.1, 1 − 0.9 t / 100), β(t) = min(1, t / 20), and addition's 50 and 10.
TEST(Schedule, PaperSudoku) {
  const TermSchedule latent{0.3, 100, 0.1, 0}, constraint{5.0, 0, 0.1, 20};
  EXPECT_DOUBLE_EQ(latent.at(0), 0.3);
  EXPECT_DOUBLE_EQ(latent.at(50), 0.3 * 0.55);
  EXPECT_NEAR(latent.at(100), 0.03, 1e-15);
  EXPECT_NEAR(latent.at(400), 0.03, 1e-15);
  EXPECT_DOUBLE_EQ(constraint.at(0), 0);
  EXPECT_DOUBLE_EQ(constraint.at(5), 1.25);
  EXPECT_DOUBLE_EQ(constraint.at(20), 5);
  EXPECT_DOUBLE_EQ(constraint.at(21), 5);
}

TEST(Schedule, PaperAddition) {
  EXPECT_DOUBLE_EQ(decay(25, 50), 0.55);
  EXPECT_DOUBLE_EQ(decay(50, 50), 0.1);
  EXPECT_DOUBLE_EQ(ramp(3, 10), 0.3);
  EXPECT_DOUBLE_EQ(ramp(10, 10), 1);
}

TEST(Schedule, LearningRateWarmsUpAndFallsAsACosine) {
  EXPECT_DOUBLE_EQ(learning_rate(0, 2, 0.1, 0.01), 0);
  EXPECT_DOUBLE_EQ(learning_rate(0.05, 2, 0.1, 0.01), 1);
  EXPECT_DOUBLE_EQ(learning_rate(0.1, 2, 0.1, 0.01), 2);
  EXPECT_NEAR(learning_rate(0.55, 2, 0.1, 0.01), 2 * 0.505, 1e-12);
  EXPECT_NEAR(learning_rate(1, 2, 0.1, 0.01), 0.02, 1e-12);
  EXPECT_NEAR(learning_rate(1.5, 2, 0.1, 0.01), 0.02, 1e-12);
  EXPECT_DOUBLE_EQ(learning_rate(0, 2, 0, 0), 2);
}

// The clock decides after each batch, and may change its mind.
TEST(Schedule, AValidationThatWasCutShortDoesNotGrowAgain) {
  EXPECT_EQ(validation_size(64, 32, 32, 0.1, 0.08), 40);
  EXPECT_EQ(validation_size(64, 32, 40, 0.1, 0.0001), 40) << "only 24 rows are left of the batch";
  EXPECT_EQ(validation_size(96, 32, 64, 0.1, 0.0001), 96);
  EXPECT_EQ(validation_size(96, 32, 32, 0.1, 100), kLeastValidation);
  EXPECT_EQ(validation_size(50, 32, 50, 0.1, 0.01), 50);
}

}  // namespace
}  // namespace as2::train
