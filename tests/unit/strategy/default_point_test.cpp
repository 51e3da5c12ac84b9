// Trial 0 where the first choices cannot stand together: the first combination that can.
#include <gtest/gtest.h>

#include "quasar/job/precision.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

using search::Point;
using search::Space;

Json up_to(int end) {
  Json out = Json::array();
  for (int i = 0; i < end; i++) out.push_back(i);
  return out;
}

TEST(DefaultPoint, IsTheFirstPossibleOneOfALargeSpace) {
  Space space = Space::parse({{"a", up_to(200)}, {"b", up_to(200)}});
  space.forbid([](const Point& point) { return *point.find("a") == 0 || *point.find("b") < 5 ? "too small" : ""; });
  EXPECT_EQ(default_point(space), Point({{"a", 1}, {"b", 5}}));
}

// 250 000 points come before the first that is possible.
TEST(DefaultPoint, DiffersInOneChoiceWhereTheFirstPossibleOneIsFarOff) {
  Space space = Space::parse({{"a", {0, 1, 2}}, {"b", up_to(500)}, {"c", up_to(500)}});
  space.forbid([](const Point& point) { return *point.find("a") == 0 ? "too small" : ""; });
  EXPECT_EQ(default_point(space), Point({{"a", 1}, {"b", 0}, {"c", 0}}));
}

// What a strategy adds says nothing of what the user's parameters can be together.
TEST(DefaultPoint, OfAnExtendedSpaceIsThatOfItsPart) {
  Space part = Space::parse({{"a", {0, 1}}, {"b", {0, 1}}});
  part.forbid([](const Point& point) { return *point.find("a") == 0 || *point.find("b") == 0 ? "too small" : ""; });
  Json words{{"a", {0, 1}}, {"b", {0, 1}}};
  for (int i = 0; i < 70; i++) words["n" + std::to_string(i)] = {quantized, in_float};
  Space space = Space::parse(words);
  space.forbid_as(part);
  const Point point = default_point(space);
  EXPECT_EQ(*point.find("a"), 1);
  EXPECT_EQ(*point.find("b"), 1);
  for (int i = 0; i < 70; i++) EXPECT_EQ(*point.find("n" + std::to_string(i)), quantized);
}

// XInt8Spec has one scale per tensor; there is one weight for each channel in the first combination.
Json with_impossible_first(Json words) {
  words["search_space"] = {
      {"activation", {"UInt8Spec"}},
      {"weight", {"XInt8Spec", "Int8Spec"}},
      {"weight_params", {{"only_if", "weight"}, {"quant_granularity", {"Channel", "Tensor"}}}},
  };
  words["speed_gate"] = "off";
  return words;
}

TEST(DefaultPoint, StrategyRepairTriesNoImpossibleCombination) {
  MadeUpTrials trials(with_impossible_first(digits_words()));
  const Space& space = trials.setting.spaces.each.front();
  EXPECT_FALSE(space.refused(space.nearest_to(Json::object())).empty());
  size_t tried = 0;
  trials.run([&](const Point& point) {
    EXPECT_EQ(space.refused(point), "");
    EXPECT_NO_THROW(quant::parse_config(words_of(space, point)));
    tried++;
    return Measures{{"L2", 1}, {"parts", 0.1}};
  });
  EXPECT_GT(tried, 1U);
}

TEST(DefaultPoint, NorDoesStrategyBudget) {
  Json words = with_impossible_first(digits_words());
  words.erase("accuracy_criterion");
  words.erase("speed_gate");
  words["strategy"] = "budget";
  words["budget"] = {{"bytes", 0.7}};
  const MadeUpTrials trials(std::move(words));
  EXPECT_EQ(trials.setting.spaces.each.front().refused(trials.default_point()), "");
  EXPECT_NO_THROW(quant::parse_config(words_of(trials.setting.spaces.all, trials.default_point())));
}

std::vector<std::string> told_of(const Json& words) {
  const Job job = parse_job(words, ".");
  PreparedJob prepared;
  prepared.spaces = read_spaces(job);
  prepared.strategy = strategies::table().make(job.strategy);
  std::vector<std::string> out;
  tell_spaces(job, prepared, [&](Level, const std::string& text) { out.push_back(text); });
  return out;
}

// Of a large space a part is looked at.
TEST(TellSpaces, SaysThatMoreCombinationsMayBeLeftOut) {
  Json words = with_impossible_first(digits_words());
  const auto lines = [&](const std::string& wanted) {
    return std::ranges::count_if(told_of(words), [&](const std::string& line) { return line.starts_with(wanted); });
  };
  EXPECT_EQ(lines("1 combinations are left out: "), 1);
  Json percentiles = Json::array(), bins = Json::array();
  for (int i = 0; i < 150; i++) {
    percentiles.push_back(99 + i / 200.0);
    bins.push_back(256 + i);
  }
  words["search_space"]["Percentile"] = percentiles;
  words["search_space"]["NumBins"] = bins;
  words["search_space"]["activation_params"] = {{"only_if", "activation"}, {"calibration_method", {"Percentile"}}};
  EXPECT_EQ(lines("at least "), 1);
}

}  // namespace
}  // namespace quasar::tune
