// The repairs that strategy repair tries by itself.
#include "quasar/strategy/repair_space.hpp"

#include <gtest/gtest.h>

#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

// Configurations of the trials of repairs, in their order, of a search in which nothing helps.
std::vector<quant::Config> tried_on(const std::string& target) {
  Json words = digits_words();
  words["target"] = target;
  words["runtime"] = "onnxruntime";
  words["speed_gate"] = "off";
  MadeUpTrials trials(std::move(words));
  std::vector<quant::Config> out;
  trials.run([&](const search::Point& point) {
    out.push_back(quant::parse_config(words_of(trials.setting.spaces.all, point)));
    return Measures{{"L2", 1}, {"parts", 0.1}};
  });
  return out;
}

bool smooths(const quant::Config& config) {
  return std::ranges::any_of(config.transforms, [](const auto& transform) { return transform.name == "smooth_quant"; });
}

TEST(RepairSpace, SmoothQuantComesFirstWhereFunctionsStayInFloat) {
  const auto configs = tried_on("openvino");
  ASSERT_GT(configs.size(), 2U);
  EXPECT_FALSE(smooths(configs[0]));
  ASSERT_TRUE(smooths(configs[1]));
  const Json words = quant::to_json(configs[1]);
  EXPECT_EQ(words.value("SmoothFunctions", Json()), Json(true)) << words;
  EXPECT_FALSE(configs[1].rounding.optimizes()) << "nothing else has been changed yet";
}

TEST(RepairSpace, NoSmoothQuantElsewhere) {
  const auto configs = tried_on("ort_cpu");
  ASSERT_GT(configs.size(), 2U);
  EXPECT_TRUE(std::ranges::none_of(configs, smooths));
}

}  // namespace
}  // namespace quasar::tune
