#include "quasar/tune/warm_start.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

search::Trial tried(const search::Space& space, const Json& words) {
  search::Trial trial;
  trial.point = space.encode(words);
  for (const auto& [name, value] : trial.point.values()) trial.distributions.push_back(space.find(name)->distribution);
  return trial;
}

search::Space space_of(const char* words) {
  return search::Space::parse(parse_json(words, "space"));
}

TEST(WarmStart, ParametersOfOneChoiceMayBeNewOrGone) {
  const search::Space old = space_of(R"({"activation": ["Int8Spec", "UInt8Spec"], "weight": ["Int8Spec"]})");
  const std::vector<search::Trial> trials{tried(old, {{"activation", "UInt8Spec"}})};
  const auto more = fitting(trials, space_of(R"({"activation": ["UInt8Spec", "Int16Spec"], "CalibDataSize": [50]})"));
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(*more[0].point.find("CalibDataSize"), 50);
  EXPECT_EQ(more[0].point.find("weight"), nullptr);
}

TEST(WarmStart, ValuesOutsideAndParametersOfSeveralChoicesStayOutside) {
  const search::Space old = space_of(R"({"activation": ["Int8Spec", "UInt8Spec"]})");
  const std::vector<search::Trial> trials{tried(old, {{"activation", "UInt8Spec"}})};
  EXPECT_TRUE(fitting(trials, space_of(R"({"activation": ["Int8Spec", "Int16Spec"]})")).empty());
  EXPECT_TRUE(fitting(trials, space_of(R"({"activation": ["UInt8Spec"], "CalibDataSize": [50, 60]})")).empty());
  EXPECT_TRUE(fitting(trials, space_of(R"({"weight": ["Int8Spec", "UInt8Spec"]})")).empty());
}

}  // namespace
}  // namespace quasar::tune
