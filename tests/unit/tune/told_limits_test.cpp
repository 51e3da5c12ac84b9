#include "quasar/tune/told_limits.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

TEST(ToldLimits, StandInTheStudy) {
  const auto storage = search::storage::table().make("memory", {});
  search::Study study(*storage, {});
  int heard = 0;
  const auto end = Deadline::Clock::now() + std::chrono::hours(1);
  const search::Listener listener = telling_limits(study, end, [&](const search::Event&) { ++heard; });
  const search::Counts counts;
  search::Trial trial;
  trial.user_attributes[search::attribute::stage] = "flat";
  const auto hear = [&](std::optional<uint64_t> total, bool elsewhere) {
    listener({search::Event::Kind::started, trial, nullptr, counts, total, elsewhere});
    return study.user_attributes().value(limits_attribute, Json());
  };
  EXPECT_EQ(hear(7, true), Json());  // another process's trial, which may be of a later stage
  const Json told = hear(20, false);
  EXPECT_EQ(told["stage"], "flat");
  EXPECT_EQ(told["total"], 20);
  EXPECT_GT(told["until_us"], search::now().time_since_epoch().count());
  EXPECT_EQ(hear(std::nullopt, false)["total"], nullptr);
  EXPECT_EQ(hear(uint64_t{1} << 62, false)["total"], nullptr);  // no limit that anybody set
  EXPECT_EQ(heard, 4);
}

}  // namespace
}  // namespace quasar::tune
