// The numbered failures of the peer's searches that concern options, presets and files; the others stand in
// quark_failures_test.cpp.
#include <algorithm>
#include <regex>
#include <set>

#include "e2e/quark_failure.hpp"

namespace quasar::e2e {
namespace {

using search::Trial;

Json value_of(const Trial& trial, const std::string& name) {
  const Json* value = trial.point.find(name);
  return value == nullptr ? Json() : *value;
}

std::set<std::string> hashes(const std::vector<Trial>& trials) {
  std::set<std::string> out;
  for (const auto& trial : trials) {
    if (!trial.is_duplicate() && trial.user_attributes.contains("plan_hash"))
      out.insert(trial.user_attributes.at("plan_hash").get<std::string>());
  }
  return out;
}

// One sample is what a method may find too little; whatever comes of it stands under the method that was asked for.
TEST_F(QuarkFailure, N09_ACalibrationMethodIsNeverReplacedSilently) {
  const std::string methods = "[MinMax, Percentile, LayerwisePercentile, Entropy, Distribution, MinMSE, NonOverflow]";
  const Ran ran = search(
      "search_space:\n  activation: [Int8Spec]\n  activation_params: {scale_type: [Float32, PowerOf2], calibration_method: " +
      methods + ", only_if: activation}\n  CalibDataSize: [1, 200]\nsearch_algo: Grid\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::set<std::string> seen;
  for (const auto& trial : trials()) {
    const std::string asked = value_of(trial, "activation_params_calibration_method").get<std::string>();
    if (trial.state == search::State::failed) {
      EXPECT_FALSE(trial.user_attributes.value("error", std::string()).empty());
      continue;
    }
    const auto plain = [](std::string name) {
      std::erase(name, '_');
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      return name;
    };
    const Json config = trial.user_attributes.at("config");
    EXPECT_EQ(plain(config["activation_params"]["calibration_method"]), plain(asked));
    EXPECT_EQ(plain(config["activation_params"]["scale_type"]),
              plain(value_of(trial, "activation_params_scale_type").get<std::string>()));
    seen.insert(plain(asked));
  }
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_GE(hashes(trials()).size(), 12u);  // the methods do differ
}

TEST_F(QuarkFailure, N09_SamplesThatCannotBeCalibratedWithAreAnErrorThatNamesThem) {
  write_file(folder.path() / "broken.py",
             "import numpy, sys\nd = dict(numpy.load(sys.argv[1]))\nk = next(k for k in d if k != 'label')\n"
             "d[k] = d[k].astype('float32'); d[k][3] = numpy.nan\nnumpy.savez(sys.argv[2], **d)\n");
  const std::string broken = (folder.path() / "broken.npz").string();
  const std::string make = "python3 " + (folder.path() / "broken.py").string() + " " + digits("calibration.npz") + " " + broken;
  if (std::system((make + " 2> /dev/null").c_str()) != 0) GTEST_SKIP() << "no NumPy";
  const Ran ran = search(std::string(space) + "search_algo: Grid\n", "--set calib_data_reader.path=" + broken);
  EXPECT_NE(ran.code, 0);
  EXPECT_NE(ran.err.find("NaN"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(out / "best.onnx"));
}

// The scheme that a user deploys is one of the models that the search of its name tries, bit for bit.
TEST_F(QuarkFailure, N12_SearchAndDeploymentOfOneNameAgree) {
  for (const std::string name : {"A8W8", "A16W8", "XINT8"}) {
    fs::remove_all(out);
    const Ran ran = search("preset: " + name + "_SEARCH\nsearch_space: {algorithms: [null]}\nkeep_models: all\n");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const std::string deployed = (folder.path() / (name + ".onnx")).string();
    const Ran made = run("quantize " + digits("digits.onnx") + " -o " + deployed + " --scheme " + name + " --calib " +
                         digits("calibration.npz"));
    ASSERT_EQ(made.code, 0) << made.err;
    const std::string model = read_file(deployed);
    size_t equal = 0;
    for (const auto& file : fs::directory_iterator(out))
      equal += file.path().extension() == ".onnx" && read_file(file.path()) == model ? 1 : 0;
    EXPECT_GE(equal, 1u) << name;
  }
}

TEST_F(QuarkFailure, N14_TheFineTuneSearchIsOneStudyAndMaximizingReturnsTheGreatest) {
  const Ran ran = search(
      "advanced_fastft_search: true\nadvanced_fastft_params: {sampler_algo: TPE, direction: maximize, n_trials: 12}\n"
      "quant_config: {calibrate_method: CalibrationMethod.MinMax, include_fast_ft: true}\nsearch_metric: cos\n"
      "search_space: {extra_options: {FastFinetune: {NumIterations: [1, 30]}}}\n");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto all = trials();
  ASSERT_EQ(all.size(), 12u);
  EXPECT_EQ(search::open_storage((out / "auto_search.db").string())->studies().size(), 1u);
  double most = -1;
  std::set<std::string> tried;
  for (const auto& trial : all) {
    most = std::max(most, trial.values.at(0));
    EXPECT_TRUE(tried.insert(value_of(trial, "adaround_params_num_iterations").dump()).second) << "history prevents repetition";
  }
  EXPECT_DOUBLE_EQ(result()["best"]["metrics"]["v1_cos"]["value"].get<double>(), most);
}

TEST_F(QuarkFailure, N15_TwoElementsOfNumIterationsAreTheEndsOfARange) {
  const auto tried_between = [&](int low, int high) {
    fs::remove_all(out);
    const Ran ran = search(
        "advanced_fastft_search: true\nadvanced_fastft_params: {n_trials: 8}\n"
        "quant_config: {calibrate_method: CalibrationMethod.MinMax, include_fast_ft: true}\n"
        "search_space: {extra_options: {FastFinetune: {NumIterations: [" +
        std::to_string(low) + ", " + std::to_string(high) + "]}}}\n");
    EXPECT_EQ(ran.code, 0) << ran.err;
    const bool settled = ran.err.find("settled within 32 passes") != std::string::npos;
    EXPECT_EQ(settled, low >= 32) << ran.err;
    std::set<int> tried;
    for (const auto& trial : trials()) tried.insert(value_of(trial, "adaround_params_num_iterations").get<int>());
    return tried;
  };
  const auto several = tried_between(4, 20);
  EXPECT_EQ(several.size(), 8u);
  EXPECT_GE(*several.begin(), 4);
  EXPECT_LE(*several.rbegin(), 20);
  EXPECT_EQ(tried_between(100, 200), std::set<int>{100}) << "layers have settled before: one model is one trial";
}

TEST_F(QuarkFailure, N24_ValidOptionsOfASpaceActOrSayWhyNot) {
  const std::string base =
      "search_space:\n  activation: [Int8Spec]\n  activation_params: {calibration_method: [Percentile], only_if: activation}\n";
  const std::vector<std::pair<std::string, size_t>> acting{{"  include_sq: [true]\n  SmoothAlpha: [0.3, 0.7]\n", 1},
                                                           {"  InputNodes: [null, [block2/depthwise/conv]]\n", 2},
                                                           {"  OutputNodes: [null]\n", 1},
                                                           {"  NumBins: [512, 2048]\n", 1},
                                                           {"  CalibDataSize: [20, 200]\n", 2}};
  for (const auto& [options, models] : acting) {
    fs::remove_all(out);
    const Ran ran = search(base + options + "search_algo: Grid\n");
    ASSERT_EQ(ran.code, 0) << options << ran.err;
    EXPECT_GE(hashes(trials()).size(), models) << options;
  }
  fs::remove_all(out);
  const Ran refused = search(base + "  TmpDir: [/tmp]\nsearch_algo: Grid\n", "--dry-run");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("temp_dir is the way"), std::string::npos) << refused.err;
}

TEST_F(QuarkFailure, N40_EverySearchHasItsOwnLogAndNothingGoesIntoTheWorkingDirectory) {
  const fs::path here = folder.path() / "here", config = folder.path() / "search.yaml";
  fs::create_directories(here);
  ASSERT_EQ(search(std::string(space) + "n_trials: 2\n").code, 0);  // writes the configuration
  for (const char* name : {"first", "second"}) {
    const std::string command = "cd " + here.string() + " && " + program() + " search " + config.string() + " --output-dir " +
                                (folder.path() / name).string() + " > /dev/null 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0);
    const std::string log = read_file(folder.path() / name / "auto_search.log");
    size_t started = 0;
    for (size_t at = log.find("search started"); at != std::string::npos; at = log.find("search started", at + 1)) ++started;
    EXPECT_EQ(started, 1u) << log;
    EXPECT_LT(std::ranges::count(log, '\n'), 60);
  }
  EXPECT_TRUE(fs::is_empty(here));
}

// Every test that docs/search.md names stands in the tree.
TEST(QuarkFailures, TheTableNamesTestsThatExist) {
  const std::string page = read_file(QUASAR_SOURCE_DIR "/docs/search.md");
  const std::string table = page.substr(page.find("## What goes wrong elsewhere"));
  std::string tests;
  for (const auto& file : fs::recursive_directory_iterator(QUASAR_SOURCE_DIR "/tests"))
    tests += file.path().extension() == ".cpp" ? read_file(file.path()) : "";
  size_t named = 0;
  const std::regex name("`([A-Za-z]+)\\.(\\w+)`");
  for (std::sregex_iterator match(table.begin(), table.end(), name), end; match != end; ++match, ++named)
    EXPECT_NE(tests.find("(" + (*match)[1].str() + ", " + (*match)[2].str() + ")"), std::string::npos) << match->str();
  EXPECT_GE(named, 35u);
}

}  // namespace
}  // namespace quasar::e2e
