// Metrics that are no mean over samples, metrics with options, and how they are written.
#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/eval/metric.hpp"

namespace quasar::eval {
namespace {

std::string error_of(const Json& words) {
  try {
    metric_text(words, "search_metric");
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(MetricText, NamesOptionsThatDifferFromTheirDefaults) {
  EXPECT_EQ(metric_text("l2"), "L2");
  EXPECT_EQ(metric_text("accuracy"), "top1");
  EXPECT_EQ(metric_text("topk(k=3)"), "topk(k=3)");
  EXPECT_EQ(metric_text("TopK(k=5)"), "topk");
  EXPECT_EQ(metric_text(Json{{"name", "topk"}, {"k", 3}}), "topk(k=3)");
  EXPECT_EQ(metric_text(Json{{"name", "map"}, {"truth", "float"}, {"iou", {0.5, 0.75}}}), "mAP(truth=float,iou=[0.5,0.75])");
  EXPECT_EQ(metric_text("mAP(iou=[0.5,0.75],truth=float)"), "mAP(truth=float,iou=[0.5,0.75])");
  EXPECT_TRUE(is_metric("topk(k=3)"));
  EXPECT_FALSE(is_metric("latency"));
}

TEST(MetricText, MistakesAreNamed) {
  EXPECT_NE(error_of("top6").find("unknown metric 'top6'"), std::string::npos) << error_of("top6");
  EXPECT_NE(error_of("topk(n=3)").find("unknown option 'n'"), std::string::npos) << error_of("topk(n=3)");
  EXPECT_NE(error_of("topk(k=0)").find("'k' is 0"), std::string::npos) << error_of("topk(k=0)");
  EXPECT_NE(error_of("topk(k)").find("OPTION=VALUE"), std::string::npos);
  EXPECT_NE(error_of("topk(k=3").find("NAME(OPTION=VALUE,...)"), std::string::npos);
  EXPECT_NE(error_of("L2(k=3)").find("it takes no options"), std::string::npos) << error_of("L2(k=3)");
  EXPECT_NE(error_of(3).find("search_metric: 3 is not the name of a metric"), std::string::npos);
  EXPECT_NE(error_of("mAP(iou=1.5)").find("'iou' is 1.5"), std::string::npos);
  EXPECT_NE(error_of("mAP(style=kitti)").find("kitti"), std::string::npos);
}

double pooled(const std::string& text, const std::vector<Part>& parts) {
  const auto metric = make_metric(text);
  return metric->pooled()->pool(parts)->value(std::vector<uint32_t>(parts.size(), 1));
}

TEST(F1, AsScikitLearn) {
  // f1_score([0, 1, 2, 2, 2, 1], [0, 2, 2, 2, 1, 1], average=…)
  const std::vector<Part> parts{{0, 0}, {1, 2}, {2, 2}, {2, 2}, {2, 1}, {1, 1}};
  EXPECT_NEAR(pooled("F1", parts), (1 + 0.5 + 2.0 / 3) / 3, 1e-12);
  EXPECT_NEAR(pooled("F1(average=weighted)", parts), (1 + 2 * 0.5 + 3 * 2.0 / 3) / 6, 1e-12);
  EXPECT_NEAR(pooled("F1(average=micro)", parts), 4.0 / 6, 1e-12);
}

double one(const std::string& text, const std::vector<float>& f, const std::vector<float>& q, const Shape& shape,
           const std::vector<int64_t>& target) {
  const Layout layout{{shape}, {}};
  const Tensor truth = Tensor::of<int64_t>({static_cast<int64_t>(target.size())}, target);
  return make_metric(text)->of({f, q, std::nullopt, &layout, nullptr, &truth}, {});
}

TEST(MeanIou, CountsPixels) {
  // Two classes on four pixels; answers 0 1 1 1, truth 0 0 1 255.
  const std::vector<float> q{9, 0, 0, 0, 1, 1, 1, 1};
  EXPECT_NEAR(one("mean_iou", q, q, {1, 2, 2, 2}, {0, 0, 1, 255}), (0.5 + 0.5) / 2, 1e-12);
  EXPECT_EQ(one("mean_iou(truth=float)", q, q, {1, 2, 2, 2}, {}), 1);
  // The classes last: answers 0 1.
  EXPECT_EQ(one("mean_iou(classes=last)", {}, {1, 0, 0, 1}, {1, 1, 2, 2}, {0, 1}), 1);
  EXPECT_THROW(one("mean_iou", q, q, {1, 2, 2, 2}, {0, 0, 1}), Error);
  EXPECT_THROW(one("mean_iou", q, q, {1, 8}, {0}), Error);
  EXPECT_THROW(one("mean_iou(truth=float)", q, q, {1, 1, 2, 4}, {}), Error) << "one value is always the greatest";
}

TEST(MeanIou, TakesClassNumbersAndMaps) {
  EXPECT_NEAR(one("mean_iou(classes=none)", {}, {0, 1, 1, 3}, {1, 2, 2}, {0, 1, 3, 3}), (1 + 0.5 + 0.5) / 3, 1e-12);
  // 0 1 1 0 against 0 1 0 0.
  const std::vector<float> f{0.1F, 0.6F, 0.4F, 0}, q{0.1F, 0.7F, 0.6F, 0};
  EXPECT_NEAR(one("mean_iou(truth=float,classes=threshold)", f, q, {1, 1, 2, 2}, {}), (2.0 / 3 + 0.5) / 2, 1e-12);
  EXPECT_EQ(one("mean_iou(truth=float,classes=threshold,threshold=0.3)", f, q, {1, 1, 2, 2}, {}), 1);
}

TEST(Sequences, TimeMayComeFirst) {
  const std::vector<float> q{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};  // 0 1 2 0
  EXPECT_EQ(one("sequence_accuracy(blank=0)", q, q, {4, 1, 3}, {1, 2}), 1);
  EXPECT_EQ(one("token_accuracy", q, q, {4, 1, 3}, {0, 1, 2, 1}), 0.75);
  EXPECT_THROW(one("token_accuracy", q, q, {2, 2, 3}, {0, 1, 2, 1}), Error);
}

TEST(Sequences, CountPlacesAndWholes) {
  const std::vector<float> q{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};  // 0 1 2 0
  const Shape shape{1, 4, 3};
  EXPECT_EQ(one("token_accuracy", q, q, shape, {0, 1, 1, -100}), 2.0 / 3);
  EXPECT_EQ(one("token_accuracy", q, q, shape, {-100, -100, -100, -100}), 1);
  EXPECT_EQ(one("sequence_accuracy", q, q, shape, {0, 1, 2, 0}), 1);
  EXPECT_EQ(one("sequence_accuracy", q, q, shape, {0, 1, 2, -100}), 1);
  EXPECT_EQ(one("sequence_accuracy", q, q, shape, {0, 1, 1, 0}), 0);
  // CTC with blank 0: the answer is 1 2.
  EXPECT_EQ(one("sequence_accuracy(blank=0)", q, q, shape, {1, 2, -100, -100}), 1);
  EXPECT_EQ(one("sequence_accuracy(blank=0)", q, q, shape, {1, 2, 2}), 0);
  EXPECT_EQ(one("sequence_accuracy(blank=0,truth=float)", q, q, shape, {}), 1);
  EXPECT_THROW(one("sequence_accuracy(blank=-1,truth=float)", q, q, shape, {}), Error) << "counted from 0";
}

TEST(EmbeddingCos, PoolsBeforeItCompares) {
  // Two places of two values: means (1, 1) and (2, 2) point the same way, first places do not.
  const std::vector<float> f{2, 0, 0, 2}, q{0, 4, 4, 0};
  EXPECT_NEAR(one("embedding_cos", f, q, {1, 2, 2}, {}), 1, 1e-12);
  EXPECT_NEAR(one("embedding_cos(pooling=cls)", f, q, {1, 2, 2}, {}), 0, 1e-12);
}

// A feature network ends in [1, size, 1, 1]: no places to average.
TEST(EmbeddingCos, OneVectorIsComparedAsItIs) {
  const std::vector<float> f{2, 0, 0, 2}, q{0, 4, 4, 0};
  for (const Shape& shape : {Shape{1, 4}, Shape{1, 4, 1}, Shape{1, 4, 1, 1}, Shape{1, 1, 1, 4}}) {
    EXPECT_NEAR(one("embedding_cos", f, q, shape, {}), 0, 1e-12) << to_string(shape);
    EXPECT_NEAR(one("embedding_cos", f, f, shape, {}), 1, 1e-12) << to_string(shape);
  }
}

TEST(EmbeddingCos, PaddedPlacesDoNotCount) {
  const std::vector<float> f{2, 0, 9, 9}, q{0, 4, 9, 9};  // padding that agrees
  const std::map<std::string, Tensor> inputs{{"attention_mask", Tensor::of<int64_t>({1, 2}, std::vector<int64_t>{1, 0})}};
  const auto cosine = [&](const std::string& metric, const Shape& shape) {
    const Layout layout{{shape}, {}};
    return make_metric(metric)->of({.reference = f, .candidate = q, .layout = &layout, .inputs = &inputs}, {});
  };
  EXPECT_NEAR(cosine("embedding_cos", {1, 2, 2}), 0, 1e-12);
  EXPECT_GT(cosine("embedding_cos(mask=none)", {1, 2, 2}), 0.9);
  EXPECT_GT(cosine("embedding_cos", {1, 4}), 0.9);  // pooled in the model
  EXPECT_THROW(cosine("embedding_cos", {1, 4, 1}), Error);
  EXPECT_TRUE(make_metric("embedding_cos(pooling=cls)")->looks_at().empty());
  EXPECT_EQ(make_metric("embedding_cos")->looks_at().at(0).instead, "");
  EXPECT_NE(make_metric("embedding_cos(mask=maske)")->looks_at().at(0).instead, "");
}

}  // namespace
}  // namespace quasar::eval
