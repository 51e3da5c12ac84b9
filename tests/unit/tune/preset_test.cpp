#include "quasar/tune/preset.hpp"

#include <gtest/gtest.h>

#include "quasar/search/sampler.hpp"
#include "quasar/tune/job.hpp"
#include "quasar/tune/spaces.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::tune {
namespace {

Json with(const std::string& preset) {
  return {{"preset", preset}, {"model_input", "m.onnx"}, {"calib_data_reader", {{"reader", "random"}}}};
}

TEST(Preset, EveryPresetIsAJobWhosePointsAreConfigurations) {
  for (const auto& [name, entry] : presets::table().items()) {
    const Job job = parse_job(with(name), ".");
    const Spaces spaces = read_spaces(job);
    EXPECT_GT(entry.help.size(), 40u) << name;
    strategies::table().make(job.strategy)->check(job, spaces);
    Rng rng(1);
    for (int i = 0; i < 50; ++i) {
      const search::Point point = spaces.each[0].sample(rng);
      EXPECT_EQ(quant::contradiction(words_of(spaces.all, point)), spaces.each[0].refused(point)) << name;
    }
  }
}

TEST(Preset, IsAValue) {
  const Json before = presets::table().make("cpu_int8_search")->words();
  Json words = with("cpu_int8_search");
  words["search_space"] = {{"weight", {"UInt8Spec"}}};
  parse_job(words, ".");
  EXPECT_EQ(presets::table().make("cpu_int8_search")->words(), before);
}

TEST(Preset, AUsersChoicesTakeTheGroupsThatTheyMakeImpossible) {
  const Json preset = parse_json(R"({"n_trials": 20, "search_space": {
    "algorithms": ["adaround", "adaquant"], "adaround_params": {"damping": [1], "only_if": {"algorithms": "adaround"}},
    "adaquant_params": {"damping": [1], "only_if": {"algorithms": "adaquant"}}, "cle_algo": ["cle", null],
    "cle_params": {"cle_steps": [1], "only_if": "cle_algo"}}})",
                                 "test");
  const Json off = over_preset({{"search_space", {{"algorithms", {nullptr}}}}}, preset);
  EXPECT_FALSE(off["search_space"].contains("adaround_params"));
  EXPECT_FALSE(off["search_space"].contains("adaquant_params"));
  EXPECT_TRUE(off["search_space"].contains("cle_params"));
  const Json one = over_preset({{"search_space", {{"algorithms", {"AdaRound"}}, {"cle_algo", {nullptr}}}}}, preset);
  EXPECT_TRUE(one["search_space"].contains("adaround_params"));
  EXPECT_FALSE(one["search_space"].contains("adaquant_params"));
  EXPECT_FALSE(one["search_space"].contains("cle_params"));
  EXPECT_EQ(one["n_trials"], 20);
  EXPECT_EQ(preset["search_space"].size(), 5u);
}

}  // namespace
}  // namespace quasar::tune
