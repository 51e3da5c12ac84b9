#include "quasar/job/preset.hpp"

#include <gtest/gtest.h>

#include "quasar/job/job.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/strategy/strategy.hpp"
#include "unit/quant/npu_models.hpp"

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

TEST(Preset, IsKnownByTheNameOfItsTargetToo) {
  EXPECT_EQ(with_preset({{"preset", "ort_arm64_search"}})["target"], "ort_arm64");
  EXPECT_EQ(with_preset({{"preset", "ort_cuda_search"}})["target"], "ort_cuda");
  EXPECT_EQ(presets::table().resolve("ort_cpu_search"), "cpu_int8_search");
}

// The peer's search of this name has these options, and its quantizer never reads them (its failure 11).
TEST(Preset, N11_TheOptionsOfA8W8SearchAct) {
  const Job job = parse_job(with("A8W8_SEARCH"), ".");
  const Spaces spaces = read_spaces(job);
  const auto model = quant::patchwork();
  const auto target = quant::targets::table().make("ort_cpu");
  for (const char* option : {"FoldRelu", "AlignConcat", "AlignSlice"}) {
    size_t changed = 0;
    for (uint32_t seed = 1; seed <= 10; ++seed) {
      const auto seen = quant::wild_statistics(model, seed);
      for (const bool symmetric : {true, false}) {
        search::Point point =
            spaces.calibration[0].nearest_to({{"activation_params", {{"symmetric", symmetric}}}, {"cle_algo", nullptr}});
        Json words = words_of(spaces.calibration[0], point);
        ASSERT_EQ(words["activation_params"]["symmetric"], symmetric);
        words["cle_algo"] = nullptr;
        words.erase("cle_params");
        words["PercentileCandidates"] = nullptr;
        const auto hash = [&] { return hash_of(quant::resolve(model, seen, quant::parse_config(words), *target)); };
        const std::string before = hash();
        words[option] = !words[option].get<bool>();
        changed += hash() != before ? 1 : 0;
      }
    }
    EXPECT_GT(changed, 0u) << option;
  }
}

// The peer runs one of them on a processor with all samples, the other on a GPU with some (its failure 20). Here both run on the
// processor with all samples at once; what a preset says of devices, batches and samples is the same for both.
TEST(Preset, N20_BothAlgorithmsAreTreatedAlike) {
  size_t compared = 0;
  for (const auto& [name, entry] : presets::table().items()) {
    const Job job = parse_job(with(name), ".");
    const Json& space = job.spaces[0];
    if (!space.contains("adaround_params") || !space.contains("adaquant_params")) continue;
    ++compared;
    for (const char* option : {"data_size", "batch_size", "optim_device", "infer_device", "early_stop"}) {
      EXPECT_EQ(space["adaround_params"].value(option, Json()), space["adaquant_params"].value(option, Json())) << name << option;
    }
  }
  EXPECT_GE(compared, 4u);
}

// Its user has not written them: one line tells of them all, whoever's the preset is.
TEST(Preset, ParametersWithoutEffectAreToldInOneLine) {
  const Json samples{{"reader", "npz"}, {"path", "c.npz"}};
  const auto told = [&](const char* preset, const Json& more) {
    Json words{{"model_input", "m.onnx"}, {"calib_data_reader", samples}, {"preset", preset}};
    words.update(more);
    std::vector<std::string> lines;
    for (const auto& line : parse_job(words, ".").warnings) {
      if (line.find("no effect") != std::string::npos) lines.push_back(line);
    }
    return lines;
  };
  EXPECT_EQ(
      told("A8W8_SEARCH", Json::object()),
      std::vector<std::string>{"preset A8W8_SEARCH names parameters that have no effect: docs/rounding.md says which, and why"});
  EXPECT_TRUE(told("cpu_int8_search", Json::object()).empty());
  const Json copied{{"search_space", presets::table().make("XINT8_SEARCH")->words().at("search_space")}, {"preset", nullptr}};
  EXPECT_EQ(told("", copied), std::vector<std::string>{"the preset that this space is from names parameters that have no effect: "
                                                       "docs/rounding.md says which, and why"});
  const Json own{
      {"search_space", {{"adaround_params", {{"learning_rate", {0.1, 0.2}}, {"only_if", {{"algorithms", "adaround"}}}}}}}};
  EXPECT_EQ(told("A8W8_SEARCH", own).size(), 2u) << "what the user writes is told by its name";
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
  const Json spelled = over_preset({{"search_space", {{"Algorithms", {nullptr}}}}}, preset);
  EXPECT_EQ(spelled, off);
  const Json both{{"search_space", {{"algorithms", {nullptr}}, {"Algorithms", {"adaround"}}}},
                  {"model_input", "m.onnx"},
                  {"calib_data_reader", {{"reader", "random"}}}};
  EXPECT_THROW(parse_job(both, "."), Error);
  const Json one = over_preset({{"search_space", {{"algorithms", {"AdaRound"}}, {"cle_algo", {nullptr}}}}}, preset);
  EXPECT_TRUE(one["search_space"].contains("adaround_params"));
  EXPECT_FALSE(one["search_space"].contains("adaquant_params"));
  EXPECT_FALSE(one["search_space"].contains("cle_params"));
  EXPECT_EQ(one["n_trials"], 20);
  EXPECT_EQ(preset["search_space"].size(), 5u);
}

TEST(Preset, WithoutAlgorithmsThroughSetItHasNoGroupsOfThem) {
  for (const char* name : {"A8W8_SEARCH", "XINT8_SEARCH", "A16W8_SEARCH", "ADVANCED_SEARCH"}) {
    Json words = with_preset({{"preset", name}});
    if (!words.contains("search_space")) continue;
    ASSERT_TRUE(words["search_space"].contains("adaround_params")) << name;
    set_key(words, "search_space.algorithms", Json::array({nullptr}), "");
    EXPECT_FALSE(words["search_space"].contains("adaround_params")) << name;
    EXPECT_TRUE(words["search_space"].contains("activation_params")) << name;
  }
  // A group that could never exist is the user's mistake, and stays for the check that says so.
  Json words{{"search_space", {{"algorithms", {"gptq"}}, {"adaround_params", {{"only_if", {{"algorithms", "adaround"}}}}}}}};
  set_key(words, "search_space.algorithms", Json::array({nullptr}), "");
  EXPECT_TRUE(words["search_space"].contains("adaround_params"));
}

// `--calib calib.npz --set calib_data_reader.labels=y`: a path is a reader, too.
TEST(SetKey, AddsAKeyToAReaderThatIsAPath) {
  Json words = {{"calib_data_reader", "/d/calib.npz"}, {"eval_data_reader", "random"}, {"holdout_data_reader", "/d/own.yaml"}};
  set_key(words, "calib_data_reader.labels", "y", "/here");
  EXPECT_EQ(words["calib_data_reader"], (Json{{"path", "/d/calib.npz"}, {"labels", "y"}}));
  set_key(words, "eval_data_reader.samples", 8, "/here");
  EXPECT_EQ(words["eval_data_reader"], (Json{{"reader", "random"}, {"samples", 8}}));
  try {
    set_key(words, "holdout_data_reader.labels", "y", "/here");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "--set holdout_data_reader.labels: 'holdout_data_reader' is \"/d/own.yaml\", not a mapping of keys");
  }
}

}  // namespace
}  // namespace quasar::tune
