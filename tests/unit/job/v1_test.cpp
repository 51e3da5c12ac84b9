// Auto Search's first form, translated.
#include "quasar/job/v1.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {
namespace {

Json words(const std::string& text) {
  return parse_json(text, "test");
}

// The example of AMD Quark's document on Auto Search, but for transforms.
const char* const example = R"({
  "calibrate_method": ["PowerOfTwoMethod.MinMSE", "PowerOfTwoMethod.NonOverflow", "CalibrationMethod.MinMax",
                       "CalibrationMethod.Entropy", "CalibrationMethod.Percentile"],
  "activation_type": ["QuantType.QInt8", "QuantType.QInt16"],
  "weight_type": ["QInt8", "QInt16"],
  "include_cle": [false], "include_auto_mp": [false], "include_sq": [false],
  "include_fast_ft": [false, true],
  "extra_options": {
    "ActivationSymmetric": [true, false], "WeightSymmetric": [true, false],
    "CalibMovingAverage": [true, false], "CalibMovingAverageConstant": [0.01, 0.001],
    "Percentile": [99.99, 99.999], "SmoothAlpha": [0.5, 0.6],
    "FastFinetune": {"DataSize": [500, 1000], "NumIterations": [100, 1000], "OptimAlgorithm": ["adaround", "adaquant"],
                     "LearningRate": [0.01, 0.001, 0.0001], "FixedSeed": [42]}
  }
})";

TEST(V1, TheSeedsExampleBecomesAHierarchicalSpaceWithoutItsInvalidPoints) {
  const Translation translated = from_v1(words(example), Json::object());
  EXPECT_EQ(translated.space["activation"], words(R"(["Int8Spec", "Int16Spec"])"));
  EXPECT_EQ(translated.space["activation_params"]["symmetric"], words("[true, false]"));
  EXPECT_EQ(translated.space["algorithms"], words(R"([null, "adaround", "adaquant"])"));
  EXPECT_EQ(translated.space["adaround_params"]["data_size"], words("[500, 1000]"));
  ASSERT_EQ(translated.notes.size(), 1u);  // SmoothAlpha without SmoothQuant
  const search::Space space = search::Space::parse(translated.space);
  // methods: MinMSE, NonOverflow, Entropy: 1 each; MinMax: 2 with the average + 1 without; Percentile: 2. Types and symmetry:
  // 16. Fine-tuning: none, or 2 methods · 2 sizes · 2 iterations · 3 rates.
  EXPECT_EQ(space.size(), 8u * 16u * 25u);
  for (uint64_t i = 0; i < *space.size(); i += 17) {
    const Json configuration = words_of(space, space.at(i));
    EXPECT_EQ(quant::contradiction(configuration), "") << configuration.dump();
    const quant::Config config = quant::parse_config(configuration);
    const bool shifts = config.activation.range_method == "non_overflow" ||
                        (config.activation.range_method == "min_mse" && config.weight.range_method == "min_mse");
    EXPECT_EQ(config.activation.scale_type == quant::ScaleType::power_of_two, shifts);
    EXPECT_EQ(config.weight.scale_type, config.activation.scale_type);
  }
}

// calibrate_method gives weights a method of their own only where nothing else does.
TEST(V1, TheMethodOfWeightsReplacesTheUsualOne) {
  const Json v1 = words(R"({"calibrate_method": ["CalibrationMethod.MinMax"], "activation_type": ["QInt8"],
                            "weight_type": ["QInt8"], "extra_options": {"WeightCalibrateMethod": ["MinMax", "MinMSE"]}})");
  const search::Space space = search::Space::parse(from_v1(v1, Json::object()).space);
  std::set<std::string> methods;
  for (uint64_t i = 0; i < *space.size(); i++)
    methods.insert(quant::parse_config(words_of(space, space.at(i))).weight.range_method);
  EXPECT_EQ(methods, (std::set<std::string>{"min_max", "min_mse"}));
}

TEST(V1, TheBaseConfigurationHoldsWhereTheSpaceSaysNothing) {
  const Json base = words(R"({"calibrate_method": "CalibrationMethod.MinMax", "activation_type": "QUInt8", "per_channel": true,
                              "include_fast_ft": true, "extra_options": {"FastFinetune": {"OptimAlgorithm": "adaquant"}}})");
  const Translation translated = from_v1(words(R"({"calibrate_method": ["CalibrationMethod.Entropy"]})"), base);
  EXPECT_EQ(translated.space["activation"], words(R"(["UInt8Spec"])"));
  EXPECT_EQ(translated.space["calibrate_method"], words(R"(["CalibrationMethod.Entropy"])"));
  EXPECT_EQ(translated.space["weight_params"]["quant_granularity"], words(R"(["Channel"])"));
  EXPECT_EQ(translated.space["algorithms"], words(R"(["adaquant"])"));
}

// include_fast_ft in the base configuration, in the space, in both or in neither.
TEST(V1, FastFinetuneIsOnWhereEitherPlaceSaysSo) {
  const Json fine = words(R"({"FastFinetune": {"NumIterations": [10, 20]}})");
  for (const Json& in_base : {Json(), Json(false), Json(true)}) {
    for (const Json& in_space : {Json(), words("[false]"), words("[true]"), words("[false, true]")}) {
      Json base = Json::object(), space = {{"calibrate_method", {"CalibrationMethod.MinMax"}}, {"extra_options", fine}};
      if (!in_base.is_null()) base["include_fast_ft"] = in_base;
      if (!in_space.is_null()) space["include_fast_ft"] = in_space;
      const Json decides = in_space.is_null() ? Json::array({in_base == true}) : in_space;
      const bool can_be_on = decides.dump().find("true") != std::string::npos,
                 can_be_off = decides.dump().find("false") != std::string::npos;
      const Translation translated = from_v1(space, base);
      EXPECT_EQ(has_fine_tuning(translated.space), can_be_on) << in_base << in_space;
      EXPECT_EQ(translated.notes.empty(), can_be_on);
      if (can_be_on) {
        EXPECT_EQ(translated.space["algorithms"], can_be_off ? words(R"([null, "adaround"])") : words(R"(["adaround"])"));
      }
    }
  }
}

TEST(V1, NumIterLRStandsForBoth) {
  const Translation translated = from_v1(
      words(
          R"({"include_fast_ft": [true], "extra_options": {"FastFinetune": {"NumIterLR": [[100, 1e-4], [200, 1e-5]], "NumIterations": [5]}}})"),
      Json::object());
  EXPECT_EQ(translated.space["adaround_params"]["NumIterLR"].size(), 2u);
  EXPECT_FALSE(translated.space["adaround_params"].contains("num_iterations"));
  EXPECT_EQ(translated.notes.size(), 1u);
}

TEST(V1, AJobGetsV1sDefaults) {
  const JobTranslation job = job_from_v1({{"search_space", words(example)}, {"quant_config", "S8S8_AAWS"}});
  EXPECT_TRUE(job.translated);
  EXPECT_EQ(job.words["search_algo"], "grid_search");
  EXPECT_EQ(job.words["search_metric"], words(R"(["v1_L2"])"));
  EXPECT_FALSE(job.words.contains("quant_config"));
  const JobTranslation pro = job_from_v1({{"search_space", {{"activation", {"Int8Spec"}}}}});
  EXPECT_FALSE(pro.translated);
  EXPECT_FALSE(pro.words.contains("search_algo"));
}

TEST(V1, AdvancedFastftSearchesTwoRanges) {
  const Json fine = words(R"({"NumIterations": [100, 200], "LearningRate": [1e-3, 1e-7]})");
  Json job{{"advanced_fastft_search", true},
           {"search_space", {{"extra_options", {{"FastFinetune", fine}}}}},
           {"quant_config", "S8S8_AAWS"}};
  const JobTranslation translated = job_from_v1(job);
  EXPECT_EQ(translated.words["search_algo"], "TPE");
  EXPECT_EQ(translated.words["n_trials"], 10);
  const search::Space space = search::Space::parse(translated.words["search_space"]);
  const auto& rate = std::get<search::Real>(*space.find("adaround_params_learning_rate")->distribution);
  EXPECT_EQ(rate.low, 1e-7);
  EXPECT_EQ(rate.high, 1e-3);
  EXPECT_TRUE(rate.log);
  const auto& iterations = std::get<search::Integer>(*space.find("adaround_params_num_iterations")->distribution);
  EXPECT_EQ(iterations.low, 100);
  EXPECT_EQ(iterations.high, 200);
  EXPECT_EQ(space.ranges().size(), 2u);
  EXPECT_EQ(space.find("algorithms")->distribution->index(), 0u);

  const auto fails = [&](const Json& other) {
    Json wrong = job;
    wrong["search_space"]["extra_options"]["FastFinetune"] = other;
    EXPECT_THROW(job_from_v1(wrong), Error) << other;
  };
  fails(words(R"({"NumIterLR": [[100, 1e-4]]})"));
  fails(words(R"({"DataSize": [100, 200]})"));
  fails(words(R"({"NumIterations": [100, 200, 300]})"));
  Json several = job;
  several["search_spaces"] = {job["search_space"], job["search_space"]};
  EXPECT_THROW(job_from_v1(several), Error);
  Json params = job;
  params["advanced_fastft_params"] = {{"sampler_algo", "Random"}, {"n_trials", 3}, {"direction", "minimize"}};
  EXPECT_EQ(job_from_v1(params).words["search_algo"], "Random");
  EXPECT_EQ(job_from_v1(params).words["n_trials"], 3);
  params["advanced_fastft_params"] = {{"sampler", "Random"}};
  EXPECT_THROW(job_from_v1(params), Error);
}

// Of Quasar's own metrics v1's "minimize" says nothing; of a user's score it says which way is better.
TEST(V1, MinimizeIsAboutAScoreOfTheUsers) {
  Json job{{"advanced_fastft_search", true},
           {"search_space", {{"extra_options", {{"FastFinetune", {{"NumIterations", {8, 16}}}}}}}},
           {"quant_config", "S8S8_AAWS"},
           {"advanced_fastft_params", {{"direction", "minimize"}}}};
  EXPECT_FALSE(job_from_v1(job).words.contains("direction"));
  job["search_evaluator"] = "top1";
  EXPECT_FALSE(job_from_v1(job).words.contains("direction")) << "a metric's name";
  job["search_evaluator"] = {{"command", {"score"}}};
  const JobTranslation own = job_from_v1(job);
  EXPECT_EQ(own.words["direction"], "minimize");
  EXPECT_TRUE(std::ranges::any_of(
      own.notes, [](const auto& note) { return note.find("smaller values of search_evaluator") != std::string::npos; }));
  job["direction"] = "maximize";
  EXPECT_THROW(job_from_v1(job), Error);
  job["advanced_fastft_params"]["direction"] = nullptr;
  EXPECT_EQ(job_from_v1(job).words["direction"], "maximize");
}

}  // namespace
}  // namespace quasar::tune
