// The evaluator scores the metric of the model's head beside those that were asked for.
#include <gtest/gtest.h>

#include "quasar/eval/evaluate.hpp"
#include "unit/eval/head_models.hpp"

namespace quasar::eval {
namespace {

using test::Noise;
using test::on_picture;
using test::Sketch;

graph::Model classifier(uint64_t seed) {
  Sketch s = on_picture();
  for (uint64_t i = 0; i < seed; ++i) s.random({1});
  const auto pooled = s.op("Flatten", {s.op("GlobalAveragePool", {s.op("Relu", {s.conv("x", 3, 8, 8)})})});
  return s.ending_in({s.softmax(s.op("Gemm", {pooled, s.random({8, 10}), s.random({10})}), 1)});
}

// FastestDet's form; `reach`: of the biases before the sigmoid that says where objects are.
graph::Model finder(double reach) {
  Sketch s = on_picture();
  const auto feature = s.op("Relu", {s.conv("x", 3, 8, 16)});
  const auto kinds = s.softmax(s.conv(feature, 8, 3, 1, -9, 9), 1);
  return s.ending_in(
      {s.concat({s.op("Sigmoid", {s.conv(feature, 8, 1, 1, reach, reach + 0.1)}), s.conv(feature, 8, 4), kinds}, 1)});
}

const auto pictures = std::make_shared<const Noise>(6);

TEST(JudgedHead, ItsMetricStandsBehindTheOthers) {
  const Evaluator evaluator(classifier(0), pictures, {.metrics = {"L2"}, .judge_head = true});
  ASSERT_TRUE(evaluator.head());
  EXPECT_EQ(evaluator.head()->name, "classes");
  EXPECT_EQ(evaluator.reference().at("agreement").value, 1);
  const Scores same = evaluator.score(classifier(0)), other = evaluator.score(classifier(5));
  EXPECT_EQ(same.at("agreement").value, 1);
  EXPECT_LT(other.at("agreement").value, 1);
  EXPECT_EQ(same.at("L2").answers.size(), 6U);  // the first metric's, as before
  EXPECT_TRUE(same.at("agreement").answers.empty());
}

TEST(JudgedHead, AMetricOfItsNameThatWasAskedForTakesItsPlace) {
  const Evaluator evaluator(finder(1), pictures,
                            {.metrics = {"L2", "mAP(truth=float,iou=0.5)"}, .decoder = "fastestdet", .judge_head = true});
  EXPECT_EQ(evaluator.head()->metric, "mAP(truth=float,iou=0.5)");
  EXPECT_EQ(evaluator.head()->suggested, "mAP(truth=float)");
  EXPECT_EQ(evaluator.reference().size(), 2U);
}

TEST(JudgedHead, ADetectorGetsItsDecoder) {
  const Evaluator evaluator(finder(1), pictures, {.metrics = {"L2"}, .judge_head = true});
  EXPECT_EQ(evaluator.head()->decoder, "fastestdet");
  EXPECT_NEAR(evaluator.reference().at("mAP(truth=float)").value, 1, 1e-9);
  EXPECT_TRUE(evaluator.head()->problem.empty());
}

TEST(JudgedHead, NothingFoundIsNothingToJudge) {
  const Evaluator evaluator(finder(-9), pictures, {.metrics = {"L2"}, .judge_head = true});
  EXPECT_EQ(evaluator.head()->name, "fastestdet");
  EXPECT_NE(evaluator.head()->problem.find("finds nothing"), std::string::npos);
  EXPECT_TRUE(evaluator.head()->metric.empty());
  EXPECT_EQ(evaluator.reference().size(), 1U);
  EXPECT_EQ(evaluator.score(finder(-9)).size(), 1U);
  EXPECT_TRUE(to_json(*evaluator.head()).contains("problem"));
}

TEST(JudgedHead, NamedDecodersGoFirst) {
  const Evaluator evaluator(finder(1), pictures,
                            {.metrics = {"L2"}, .decoder = {{"name", "fastestdet"}, {"most", 5}}, .judge_head = true});
  EXPECT_EQ(evaluator.head()->decoder, (Json{{"name", "fastestdet"}, {"most", 5}}));
  EXPECT_EQ(evaluator.head()->metric, "mAP(truth=float)");
}

TEST(JudgedHead, WeightsOfOutputsHideIt) {
  Sketch s = on_picture();
  const auto pooled = s.op("Flatten", {s.op("GlobalAveragePool", {s.conv("x", 3, 8, 8)})});
  const graph::Model model = s.ending_in({s.softmax(s.op("Gemm", {pooled, s.random({8, 10}), s.random({10})}), 1)});
  const Json weights{{model.outputs[0].name, 2}};
  const Evaluator evaluator(model, pictures, {.metrics = {"L2"}, .output_weights = weights, .judge_head = true});
  EXPECT_FALSE(evaluator.head());
  EXPECT_EQ(evaluator.reference().size(), 1U);
  EXPECT_FALSE(Evaluator(model, pictures, {.metrics = {"L2"}}).head());
}

// An embedding of a text is pooled by its mask, which only its metric looks at.
TEST(JudgedHead, MasksOfTextsAreKept) {
  Sketch s(test::float_value("vectors", {1, 4, 16}));
  graph::Model model = s.ending_in({s.op("LayerNormalization", {"vectors", s.random({16}), s.random({16})})});
  model.inputs.push_back({"attention_mask", DataType::int64, Shape{1, 4}, {}});
  model.inputs.front().name = "vectors";
  class Masked : public Noise {
   public:
    Masked() : Noise(3, {1, 4, 16}) {}
    data::Sample at(size_t i) const override {
      return {Noise::at(i)[0], Tensor::of<int64_t>({1, 4}, std::vector<int64_t>{1, 1, 0, 0})};
    }
  };
  const Evaluator evaluator(model, std::make_shared<const Masked>(), {.metrics = {"L2"}, .judge_head = true});
  EXPECT_EQ(evaluator.head()->name, "embedding") << evaluator.head()->why;
  graph::Model padding = model;  // another answer, but only where the mask is 0
  padding.initializers["there"] = Tensor::of<float>({1, 4, 1}, {0, 0, 1, 1});
  padding.nodes.front().outputs = {"before"};
  padding.nodes.push_back(test::node("Add", "shifted", {"before", "there"}, {model.outputs.front().name}));
  const Scores scores = evaluator.score(padding);
  EXPECT_NEAR(scores.at("embedding_cos").value, 1, 1e-6);
  EXPECT_GT(scores.at("L2").value, 1);
}

}  // namespace
}  // namespace quasar::eval
