#include "quasar/cli/steps.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "quasar/cli/progress.hpp"

namespace quasar::cli {
namespace {

TEST(Steps, SayWhatIsDoneAndWhatIsLeft) {
  EXPECT_EQ(step_line("calibration", 0, 0, 80), "calibration  [................]");
  EXPECT_EQ(step_line("calibration", 0.25, 4, 80), "calibration  [####............]  12 s left");
  EXPECT_EQ(step_line("calibration", 0.25, 0.5, 80), "calibration  [####............]");  // too early to tell
  EXPECT_EQ(step_line("calibration", 1, 4, 80), "calibration  [################]");
}

TEST(Steps, FitIntoTheTerminal) {
  for (const size_t width : {size_t{0}, size_t{1}, size_t{8}, size_t{20}, size_t{30}, size_t{42}}) {
    EXPECT_LE(step_line("calibration", 0.25, 4, width).size(), width);
  }
  EXPECT_EQ(step_line("calibration", 0.25, 4, 30), "calibration  12 s left");
}

TEST(Steps, NothingIsShownWithoutATerminal) {
  if (isatty(STDERR_FILENO) != 0) GTEST_SKIP() << "this is a terminal";
  EXPECT_FALSE(Steps().progress());
}

TEST(Progress, BarsHaveSixteenParts) {
  EXPECT_EQ(progress_bar(-1), "[................]");
  EXPECT_EQ(progress_bar(0.5), "[########........]");
  EXPECT_EQ(progress_bar(2), "[################]");
}

}  // namespace
}  // namespace quasar::cli
