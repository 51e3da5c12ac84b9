#include "quasar/tune/foreign_trials.hpp"

#include <gtest/gtest.h>

#include "quasar/search/enqueued.hpp"

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
  const std::vector<search::Trial> all{own, brought, enqueued};
  const auto told = words_on_foreign_trials(all);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told[0].find("trial 2 of the study, enqueued"), std::string::npos) << told[0];
  EXPECT_NE(told[1].find("trial 1 of the study came"), std::string::npos) << told[1];
}

}  // namespace
}  // namespace quasar::tune
