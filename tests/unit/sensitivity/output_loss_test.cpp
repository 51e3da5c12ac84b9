#include "quasar/sensitivity/output_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/base/file.hpp"
#include "quasar/sensitivity/hessian_trace.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/tune/search.hpp"
#include "unit/rounding/random_tensor.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

constexpr int64_t width = 6, classes = 3;

class Labelled final : public GeneratedSamples {
 public:
  Labelled() : GeneratedSamples(12, [](size_t index) { return data::Sample{random_tensor({1, width}, 9 + index)}; }) {}
  std::optional<int64_t> label(size_t index) const override { return static_cast<int64_t>(index) % classes; }
};

// x·w is what `y` gives as it is, and `best` as the place of its greatest value, which comes first; z is x·v.
graph::Model three_outputs() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, width}}};
  model.outputs = {{"best", DataType::int64, Shape{1, 1}},
                   {"y", DataType::float32, Shape{1, classes}},
                   {"z", DataType::float32, Shape{1, classes}}};
  model.initializers["w"] = random_tensor({width, classes}, 1);
  model.initializers["v"] = random_tensor({width, classes}, 2);
  model.nodes = {{.name = "one", .op_type = "MatMul", .domain = "", .inputs = {"x", "w"}, .outputs = {"y"}},
                 {.name = "other", .op_type = "MatMul", .domain = "", .inputs = {"x", "v"}, .outputs = {"z"}},
                 {.name = "place", .op_type = "ArgMax", .domain = "", .inputs = {"y"}, .outputs = {"best"}}};
  model.nodes[2].set({"axis", int64_t{1}});
  return model;
}

std::map<std::string, double> traces_of(const graph::Model& model, const std::string& loss, const Json& weights = nullptr) {
  return average_traces(model, {"w", "v"}, Labelled(), {.loss = loss, .output_weights = weights, .threads = 1});
}

std::string failure_of(const graph::Model& model, const std::string& loss, const Json& weights = nullptr) {
  try {
    traces_of(model, loss, weights);
  } catch (const TraceFailed& failed) {
    return failed.what();
  }
  return "";
}

TEST(OutputLoss, AllFloatOutputsCountAndNoOthers) {
  for (const char* loss : {"mse", "kl"}) {
    const auto traces = traces_of(three_outputs(), loss);
    EXPECT_GT(traces.at("w"), 0) << loss;
    EXPECT_GT(traces.at("v"), 0) << loss;
  }
}

TEST(OutputLoss, OutputWeightsAreItsFactors) {
  const auto plain = traces_of(three_outputs(), "mse"), weighted = traces_of(three_outputs(), "mse", {{"y", 0}, {"z", 2}});
  EXPECT_EQ(weighted.at("w"), 0);
  EXPECT_NEAR(weighted.at("v"), 2 * plain.at("v"), 1e-3 * plain.at("v"));
}

TEST(OutputLoss, LabelsAreOfTheOneOutputWithScores) {
  graph::Model model = three_outputs();
  const std::string both = failure_of(model, "cross_entropy");
  EXPECT_NE(both.find("y, z are vectors"), std::string::npos) << both;
  EXPECT_NE(both.find("output_weights"), std::string::npos) << both;
  const auto chosen = traces_of(model, "cross_entropy", {{"z", 0}});
  EXPECT_GT(chosen.at("w"), 0);
  EXPECT_EQ(chosen.at("v"), 0);
  model.nodes.push_back({.name = "outer", .op_type = "MatMul", .domain = "", .inputs = {"column", "z"}, .outputs = {"map"}});
  model.initializers["column"] = random_tensor({4, 1}, 3);
  model.outputs[2] = {"map", DataType::float32, Shape{4, classes}};
  EXPECT_EQ(traces_of(model, "cross_entropy"), chosen);  // a map holds no scores of classes
}

TEST(OutputLoss, WithoutFloatOutputsItSaysSo) {
  graph::Model model = three_outputs();
  model.outputs.resize(1);
  EXPECT_NE(failure_of(model, "mse").find("best (int64)"), std::string::npos) << failure_of(model, "mse");
  EXPECT_NE(failure_of(three_outputs(), "kl", {{"y", 0}, {"z", 0}}).find("y (factor 0)"), std::string::npos);
}

// As a detector's, whose boxes are as many as it finds: the positive ones of x·w, of which one column is 0 until it is moved.
TEST(OutputLoss, OutputsOfAnotherSizeAreNotComparedAndTheLossIsNamed) {
  graph::Model model = three_outputs();
  std::vector<float> weights(model.initializers["w"].as<float>().begin(), model.initializers["w"].as<float>().end());
  for (size_t i = 0; i < weights.size(); i += classes) weights[i] = 0;
  model.initializers["w"] = Tensor::of({width, classes}, weights);
  model.initializers["zero"] = Tensor::scalar(0.0F);
  model.initializers["flat"] = Tensor::of(Shape{1}, std::vector<int64_t>{-1});
  model.nodes.push_back({.name = "compare", .op_type = "Greater", .domain = "", .inputs = {"y", "zero"}, .outputs = {"above"}});
  model.nodes.push_back(
      {.name = "flatten", .op_type = "Reshape", .domain = "", .inputs = {"above", "flat"}, .outputs = {"mask"}});
  model.nodes.push_back({.name = "found", .op_type = "Compress", .domain = "", .inputs = {"y", "mask"}, .outputs = {"boxes"}});
  model.nodes.back().set({"axis", int64_t{1}});
  model.outputs = {{"boxes", DataType::float32, Shape{1, -1}}};
  for (const char* loss : {"mse", "kl"}) {
    const std::string what = failure_of(model, loss);
    EXPECT_NE(what.find(std::string("hawq_v2_loss ") + loss + " failed on calibration sample"), std::string::npos) << what;
    EXPECT_NE(what.find("has shape"), std::string::npos) << what;
  }
}

// 0 whatever the output, or less the further it is from the float model's.
class Useless final : public Loss {
 public:
  explicit Useless(double sign) : sign_(sign) {}
  double of(const Tensor& output, const Tensor& reference, std::optional<int64_t>) const override {
    return sign_ * losses::table().make("mse")->of(output, reference, std::nullopt);
  }

 private:
  double sign_;
};

TEST(OutputLoss, ALossThatRanksNothingIsToldOnce) {
  const std::string digits = QUASAR_SOURCE_DIR "/examples/digits/";
  for (const auto& [sign, said] : {std::pair(0.0, "does not change"), {-1.0, "the wrong sign"}, {1.0, ""}}) {
    const Registration<Loss> guest(losses::table(), "useless", {.help = "of a test", .make = [s = sign](const Options&) {
                                                                  return std::make_unique<Useless>(s);
                                                                }});
    const TemporaryFolder folder;
    const auto reader = [&](const char* file) { return Json{{"reader", "npz"}, {"path", digits + file}, {"limit", 16}}; };
    const Summary summary =
        search(parse_job({{"model_input", digits + "digits.onnx"},
                          {"calib_data_reader", reader("calibration.npz")},
                          {"eval_data_reader", reader("evaluation.npz")},
                          {"search_metric", "L2"},
                          {"strategy", "hawq_v2"},
                          {"accuracy_criterion", {{"criterion", "absolute"}, {"tolerable_loss", 1e-6}}},
                          {"tuning_criterion", {{"max_trials", 2}, {"strategy_kwargs", {{"hawq_v2_loss", "useless"}}}}},
                          {"output_dir", (folder.path() / "out").string()}},
                         folder.path()),
               {});
    const auto about = [](const std::string& warning) { return warning.find("hawq_v2_loss useless") != std::string::npos; };
    const auto told = std::ranges::find_if(summary.warnings, about);
    EXPECT_EQ(std::ranges::count_if(summary.warnings, about), *said == '\0' ? 0 : 1) << sign;
    if (*said != '\0') {
      EXPECT_NE(told->find(said), std::string::npos) << *told;
    }
  }
}

}  // namespace
}  // namespace quasar::tune
