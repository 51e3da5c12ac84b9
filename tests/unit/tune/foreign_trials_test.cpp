#include "quasar/tune/foreign_trials.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/search/enqueued.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {
namespace {

TEST(ForeignTrials, AreSaid) {
  const auto trial = [](int64_t number, search::State state) {
    search::Trial out;
    out.number = number;
    out.state = state;
    return out;
  };
  search::Trial own = trial(0, search::State::complete), enqueued = trial(2, search::State::waiting);
  own.user_attributes["config"] = Json::object();
  enqueued.system_attributes[search::enqueued_attribute] = {{"a", 1}};
  EXPECT_TRUE(words_on_foreign_trials({{own}}).empty());
  const search::Trial brought = trial(1, search::State::complete);
  search::Trial failed = trial(3, search::State::failed), infinite = trial(4, search::State::failed);
  failed.user_attributes[search::attribute::error] = "its own reasons";
  infinite.user_attributes[search::attribute::error] = search::infinite_value(-INFINITY);
  const std::vector<search::Trial> all{own, brought, enqueued, failed, infinite};
  const auto told = words_on_foreign_trials(all);
  ASSERT_EQ(told.size(), 3u);
  EXPECT_NE(told[0].find("trial 2 of the study, enqueued"), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("trial 1 of the study came"), std::string::npos) << told[1];
  EXPECT_NE(told[1].find("no limit on trials counts it"), std::string::npos) << told[1];
  EXPECT_NE(told[2].find("trial 4 of the study got an infinite value"), std::string::npos) << told[2];
}

}  // namespace
}  // namespace quasar::tune
