#include "quasar/tune/rescue.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

// A repaired model with such a cosine, and a goal for it.
struct Repaired {
  explicit Repaired(double cos) {
    whole.aim.criterion = AccuracyCriterion{.parts = {{"cos", Direction::maximize, 1}}, .tolerable_loss = 0.01};
    summary.reason = "the accuracy criterion is met";
    summary.baseline.metrics["cos"].value = 1;
    summary.best.emplace();
    summary.best->metrics["cos"].value = cos;
  }
  Job whole;
  Summary summary;
};

TEST(Rescue, AModelThatMissesTheUsersOwnGoalSaysSo) {
  Repaired repaired(0.98);
  judge_by(repaired.whole.aim, repaired.summary);
  EXPECT_EQ(repaired.summary.status, Status::goal_missed);
  EXPECT_NE(repaired.summary.reason.find("the goal cos at least 0.99 is missed: cos 0.98"), std::string::npos)
      << repaired.summary.reason;
}

TEST(Rescue, AModelThatMeetsItIsFine) {
  Repaired repaired(0.991);
  judge_by(repaired.whole.aim, repaired.summary);
  EXPECT_EQ(repaired.summary.status, Status::ok);
  EXPECT_EQ(repaired.summary.reason, "the accuracy criterion is met");
}

TEST(Rescue, AGoalThatWasNotMeasuredIsNotJudged) {
  Repaired repaired(0.98);
  repaired.whole.aim.criterion->parts.front().metric = "L2";
  judge_by(repaired.whole.aim, repaired.summary);
  EXPECT_EQ(repaired.summary.status, Status::ok);
}

TEST(Rescue, WhoeverWasAskedToStopGoesOnWithNothing) {
  Repaired missed(0.98);
  missed.whole.words = {{"accuracy_criterion", Json::object()}};
  missed.summary.status = Status::goal_missed;
  EXPECT_NE(why_rescued(missed.whole, missed.summary), "");
  missed.summary.asked_to_stop = true;
  EXPECT_EQ(why_rescued(missed.whole, missed.summary), "");
}

}  // namespace
}  // namespace quasar::tune
