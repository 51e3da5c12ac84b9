#include <gtest/gtest.h>

#include "e2e/program.hpp"
#include "quasar/data/npy_write.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/search/storage.hpp"
#include "servers/postgresql.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::e2e {
namespace fs = std::filesystem;
namespace {

using test::float_value;
using test::node;

// What a detector's packed output is like: two rows of hundreds beside two of hundredths, on one grid.
graph::Model two_sizes_in_one_output() {
  constexpr int64_t inner = 24;
  graph::Model m = test::empty_model();
  m.inputs = {float_value("x", {1, 16})};
  m.outputs = {float_value("y", {1, 4})};
  m.initializers["w1"] = test::random_tensor({16, inner}, 1);
  const Tensor rows = test::random_tensor({inner, 4}, 2);
  std::vector<float> sized(rows.as<float>().begin(), rows.as<float>().end());
  for (size_t i = 0; i < sized.size(); ++i) sized[i] *= i % 4 < 2 ? 100.0F : 0.01F;
  m.initializers["w2"] = Tensor::of<float>({inner, 4}, sized);
  m.nodes = {node("MatMul", "first", {"x", "w1"}, {"a"}), node("Relu", "relu", {"a"}, {"r"}),
             node("MatMul", "packed", {"r", "w2"}, {"y"})};
  return m;
}

// Nine convolutions, in which errors add up, and a small product behind them: quantizing that alone is nearer to float, and of no
// use.
graph::Model many_convolutions() {
  constexpr int64_t channels = 8, side = 8, count = 9;
  graph::Model m = test::empty_model();
  m.inputs = {float_value("x", {1, channels, side, side})};
  m.outputs = {float_value("y", {1, 4})};
  std::string value = "x";
  for (int64_t i = 0; i < count; ++i) {
    const std::string name = "conv" + std::to_string(i);
    m.initializers[name + "_w"] = test::random_tensor({channels, channels, 3, 3}, static_cast<uint64_t>(10 + i), -0.2, 0.2);
    m.nodes.push_back(node("Conv", name, {value, name + "_w"}, {name + "_y"}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
    m.nodes.push_back(node("Tanh", name + "_tanh", {name + "_y"}, {name + "_t"}));
    value = name + "_t";
  }
  m.initializers["last_w"] = test::random_tensor({channels * side * side, 4}, 2);
  m.nodes.push_back(node("Flatten", "flat", {value}, {"f"}));
  m.nodes.push_back(node("MatMul", "last", {"f", "last_w"}, {"y"}));
  return m;
}

class Quality : public testing::Test {
 protected:
  void SetUp() override {
    graph::save(two_sizes_in_one_output(), folder_.path() / "model.onnx");
    for (uint64_t i = 0; i < 80; ++i) {
      const fs::path samples = folder_.path() / (i < 40 ? "calibration" : "evaluation");
      fs::create_directories(samples);
      data::write_npy(samples / ("sample" + std::to_string(100 + i) + ".npy"), test::random_tensor({1, 16}, i));
    }
  }

  Ran search(const std::string& options, const std::string& out = "out") {
    return run("search --model " + path("model.onnx") + " --calib " + path("calibration") + " --eval " + path("evaluation") +
               " --output-dir " + path(out) + " " + options);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Json result(const std::string& out = "out") const { return read_json(folder_.path() / out / "result.json"); }

  const TemporaryFolder folder_;
  const fs::path out_ = folder_.path() / "out";
};

TEST_F(Quality, AUselessModelIsCalledPoor) {
  const Ran ran = search("--set search_space.scheme='[U8S8_CHANNEL]' --set search_algo=Grid");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(ran.out.rfind("POOR: the best model is of little use: output 'y', 2–3 of axis 1", 0), 0U) << ran.out;
  EXPECT_EQ(result()["status"], "ok");
  EXPECT_EQ(result()["quality"], "poor");
  EXPECT_FALSE(result()["best"]["answers"]["try"].empty());
  EXPECT_NE(read_file(out_ / "report.html").find("Do not use best.onnx"), std::string::npos);
}

TEST_F(Quality, WhatIsAdvisedMendsItAsItStands) {
  search("--set search_space.scheme='[U8S8_CHANNEL]' --set search_algo=Grid");
  const auto advice = result()["best"]["answers"]["try"].front().get<std::string>();
  const size_t begin = advice.find('`') + 1;
  const Ran ran = search(advice.substr(begin, advice.find('`', begin) - begin), "mended");
  EXPECT_EQ(ran.code, 0) << advice << ran.out << ran.err;
  EXPECT_NE(result("mended")["quality"], "poor") << ran.out;
}

TEST_F(Quality, ADistanceThatSeesOnlyTheLargestValuesIsNamed) {
  const Ran ran = search("--set search_space.scheme='[U8S8_CHANNEL]' --set search_algo=Grid --set search_metric=L2");
  EXPECT_NE(ran.err.find("L2 sees little but the largest of the outputs' parts"), std::string::npos) << ran.err;
}

TEST_F(Quality, AModelThatIsNearerButQuantizesLittleIsNamed) {
  graph::save(many_convolutions(), folder_.path() / "model.onnx");
  for (uint64_t i = 0; i < 80; ++i) {
    const fs::path samples = folder_.path() / (i < 40 ? "calibration" : "evaluation");
    data::write_npy(samples / ("sample" + std::to_string(100 + i) + ".npy"), test::random_tensor({1, 8, 8, 8}, i));
  }
  const Ran ran = search("--preset cpu_int8_search --set speed_gate=off --set pruner=none");
  const Json result = this->result();
  EXPECT_NE(result["best"]["params"]["form"], "dynamic") << ran.err;
  const size_t at = ran.err.find("is nearer to float (parts ");
  ASSERT_NE(at, std::string::npos) << ran.err;
  const size_t begin = ran.err.find("`quasar ", at) + 8, end = ran.err.find(" -o nearer.onnx`", at);
  EXPECT_EQ(run(ran.err.substr(begin, end - begin) + " -o " + path("nearer.onnx")).code, 0);
  EXPECT_TRUE(fs::exists(path("nearer.onnx")));
}

// The preset's first form alone: the others do not lose the part.
const std::string first_form = "--preset cpu_int8_search --set search_space.form='[all]' ";

TEST_F(Quality, ThePresetGoesOnWithRepair) {
  const Ran ran = search(first_form);
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const Json result = this->result();
  EXPECT_NE(result["quality"], "poor") << ran.out;
  EXPECT_EQ(result["before"]["quality"], "poor");
  EXPECT_EQ(result["study_name"], "AutoSearch-repair");
  EXPECT_LT(result["best"]["metrics"]["parts"]["value"], 0.3);
  EXPECT_GT(result["before"]["metrics"]["parts"]["value"], 0.9);
  EXPECT_FALSE(fs::exists(out_ / "repair"));
  for (const char* file : {"best.onnx", "best_config.yaml", "best_params.json", "report.html"})
    EXPECT_TRUE(fs::exists(out_ / file)) << file;
  const Ran evaluated = run("evaluate " + (out_ / "best.onnx").string() + " --reference " + path("model.onnx") + " --data " +
                            path("evaluation") + " --json");
  EXPECT_NEAR(parse_json(evaluated.out, "stdout")["metrics"]["parts"]["value"].get<double>(),
              result["best"]["metrics"]["parts"]["value"].get<double>(), 1e-3);
  EXPECT_EQ(run("report " + out_.string()).code, 0);
  // What is there is not done again.
  const auto trials = [&] { return search::open_storage((out_ / "auto_search.db").string())->studies().size(); };
  EXPECT_EQ(trials(), 2U);
  EXPECT_EQ(search(first_form + "--resume").code, 0);
  EXPECT_EQ(trials(), 2U);
}

// In the database that its workers shared, and by the leader alone.
TEST_F(Quality, ASearchOnPostgresqlGoesOnWithRepairToo) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const Ran ran = search(first_form + "--set study_storage_db='" + server->url() + "'");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(result()["quality"], "poor") << ran.out;
  EXPECT_EQ(result()["before"]["quality"], "poor");
  EXPECT_EQ(search::open_storage(server->url())->studies().size(), 2U);
}

// With weights per tensor the demo answers otherwise than float on 13 % of the samples: its repair counts answers, and says so.
TEST_F(Quality, TrialsOfRepairAreNamedByWhatTheyCount) {
  const std::string digits = std::string(QUASAR_SOURCE_DIR) + "/examples/digits/";
  const Ran ran =
      run("search --model " + digits + "digits.onnx --calib " + digits + "calibration.npz --eval " + digits +
          "evaluation.npz --preset cpu_int8_search --set search_space.weight_params.quant_granularity='[Tensor]' "
          "--set search_space.BiasCorrection='[false]' --set speed_gate=off --set search_stop_condition.iteration_limit=1 "
          "--output-dir " +
          path("digits"));
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("trial 0: parts 0.2"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("trial 0: agreement 0.8"), std::string::npos) << ran.err;  // of the poor one, with which repair begins
}

// Regions that are faster in float among them: a list of operators, and not one choice after another.
TEST_F(Quality, RepairLeavesInFloatWhatTheSearchLeftThere) {
  const Ran ran = search(first_form + "--set search_space.exclude='[[first, relu]]' --set n_trials=6");
  ASSERT_NE(ran.err.find("the search goes on with strategy repair"), std::string::npos) << ran.err;
  const auto storage = search::open_storage((out_ / "auto_search.db").string());
  const auto studies = storage->studies();
  ASSERT_EQ(studies.size(), 2U);
  for (const auto& trial : storage->trials(studies.back().id)) {
    const auto config = trial.user_attributes.find("config");
    if (config == trial.user_attributes.end()) continue;
    EXPECT_EQ((*config)["exclude"], Json::parse(R"(["first", "relu"])")) << trial.number;
  }
}

TEST_F(Quality, RepairGetsTheLastThirdOfTheTrials) {
  const Ran ran = search(first_form + "--set n_trials=6");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  const auto storage = search::open_storage((out_ / "auto_search.db").string());
  for (const auto& study : storage->studies()) EXPECT_GT(storage->trials(study.id).size(), 0U);
  EXPECT_EQ(result()["before"]["quality"], "poor");
}

}  // namespace
}  // namespace quasar::e2e
