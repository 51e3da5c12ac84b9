#include "quasar/eval/evaluate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/data/annotations.hpp"
#include "quasar/data/repeating.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::eval {
namespace {

using test::error_of;
using test::float_value;
using test::node;

// Three values per sample; the greatest one is at label(i), which is i % 3.
class Rows : public data::Dataset {
 public:
  explicit Rows(size_t size, int64_t offset = 0, bool labelled = true) : size_(size), offset_(offset), labelled_(labelled) {}
  size_t size() const override { return size_; }
  data::Sample at(size_t i) const override {
    std::vector<float> row = {0.25F, 0.5F, -0.5F};
    row[i % 3] = 1 + static_cast<float>(i);
    return {Tensor::of<float>({1, 3}, row)};
  }
  std::optional<int64_t> label(size_t i) const override {
    return labelled_ ? std::optional(static_cast<int64_t>(i % 3) + offset_) : std::nullopt;
  }
  std::string source() const override { return "'rows'"; }

 private:
  size_t size_;
  int64_t offset_;
  bool labelled_;
};

// y = x * w, one factor per value.
graph::Model scaled(const std::vector<float>& w) {
  graph::Model m = test::empty_model();
  m.inputs = {float_value("x", {-1, 3}, {"N", ""})};
  m.outputs = {float_value("y", {-1, static_cast<int64_t>(3)}, {"N", ""})};
  m.initializers["w"] = test::floats(w);
  m.nodes = {node("Mul", "scale", {"x", "w"}, {"y"})};
  return m;
}

const std::vector<std::string> metrics = {"L2", "l1", "top1", "agreement", "psnr", "COS", "sqnr", "kl", "ssim", "mse", "top5"};

TEST(Evaluator, ScoresAreTheMeansOverSamples) {
  const auto rows = std::make_shared<Rows>(30);
  const Evaluator evaluator(scaled({1, 1, 1}), rows, {.metrics = metrics});
  EXPECT_EQ(evaluator.samples(), 30U);
  // The third value is lost: every third sample, whose greatest value it is, is wrong.
  const Scores scores = evaluator.score(scaled({1, 1, 0}));
  double l2 = 0;
  for (size_t i = 0; i < 30; ++i) l2 += (i % 3 == 2 ? 1.0 + static_cast<double>(i) : 0.5) / 30;
  EXPECT_NEAR(scores.at("L2").value, l2, 1e-6);
  EXPECT_NEAR(scores.at("L1").value, l2, 1e-6);
  EXPECT_NEAR(scores.at("top1").value, 2.0 / 3, 1e-12);
  EXPECT_NEAR(scores.at("agreement").value, 2.0 / 3, 1e-12);
  EXPECT_EQ(scores.at("top1").low, wilson(20, 30).first);
  EXPECT_EQ(scores.at("top1").high, wilson(20, 30).second);
  EXPECT_EQ(scores.at("L2").per_sample.size(), 30U);
  EXPECT_NEAR(scores.at("L2").per_sample[2], 3, 1e-6);
  EXPECT_EQ(scores.at("L2").samples, 30U);
  EXPECT_LT(scores.at("L2").low, scores.at("L2").value);
  EXPECT_GT(scores.at("L2").high, scores.at("L2").value);
  // The range of all float outputs is [-0.5, 30]; sample 0 differs by 0.5 in one of three values.
  EXPECT_NEAR(scores.at("psnr").per_sample[0], 10 * std::log10(30.5 * 30.5 / (0.25 / 3)), 1e-6);
}

TEST(Evaluator, FloatModelsOwnScores) {
  const Evaluator evaluator(scaled({1, 1, -1}), std::make_shared<Rows>(30), {.metrics = metrics});
  const Scores& scores = evaluator.reference();
  EXPECT_NEAR(scores.at("top1").value, 2.0 / 3, 1e-12);
  EXPECT_EQ(scores.at("top1").low, wilson(20, 30).first);
  EXPECT_EQ(scores.at("agreement").value, 1);
  EXPECT_EQ(scores.at("agreement").low, 1);
  EXPECT_EQ(scores.at("L2").value, 0);
  EXPECT_EQ(scores.at("L2").high, 0);
  EXPECT_EQ(scores.at("sqnr").value, 200);
}

TEST(Evaluator, ThreadsAndMemoryLimitChangeNothing) {
  const auto rows = std::make_shared<Rows>(97);
  const Evaluator one(scaled({1, 1, 1}), rows, {.metrics = metrics, .threads = 1});
  const Evaluator many(scaled({1, 1, 1}), rows, {.metrics = metrics, .memory_limit = 100, .threads = 4});
  const Scores a = one.score(scaled({1, 0.7F, 0.3F})), b = many.score(scaled({1, 0.7F, 0.3F}), 3);
  ASSERT_EQ(a.size(), metrics.size());
  for (const auto& [name, score] : a) {
    EXPECT_EQ(score.per_sample, b.at(name).per_sample) << name;
    EXPECT_EQ(score.value, b.at(name).value) << name;
    EXPECT_EQ(score.low, b.at(name).low) << name;
    EXPECT_EQ(score.high, b.at(name).high) << name;
  }
}

// Four copies of every row, as for a model that takes four at a time.
class FourTimes : public Rows, public data::Repeating {
 public:
  using Rows::Rows;
  data::Sample at(size_t i) const override {
    const Tensor row = Rows::at(i)[0];
    std::vector<float> four;
    for (int k = 0; k < 4; ++k) four.insert(four.end(), row.as<float>().begin(), row.as<float>().end());
    return {Tensor::of<float>({4, 3}, four)};
  }
  int64_t repeats() const override { return 4; }
};

TEST(Evaluator, AFixedBatchChangesNoScore) {
  const Evaluator single(scaled({1, 1, 1}), std::make_shared<Rows>(30), {.metrics = metrics});
  const Evaluator four(scaled({1, 1, 1}), std::make_shared<FourTimes>(30), {.metrics = metrics});
  const Scores a = single.score(scaled({1, 0.7F, 0.3F})), b = four.score(scaled({1, 0.7F, 0.3F}), 2);
  for (const auto& [name, score] : a) EXPECT_EQ(score.per_sample, b.at(name).per_sample) << name;
  EXPECT_EQ(single.reference().at("top1").value, four.reference().at("top1").value);
}

TEST(Evaluator, OutputsAreConcatenatedAndConverted) {
  graph::Model m = scaled({1, 1, 1});
  m.nodes.push_back(node("ArgMax", "best", {"y"}, {"class"}, {{"axis", int64_t{1}}}));
  m.outputs.push_back({.name = "class", .type = DataType::int64, .shape = Shape{-1, 1}, .symbols = {"N", ""}});
  graph::Model other = m;
  other.initializers["w"] = test::floats({1, 1, 0});
  const Evaluator evaluator(m, std::make_shared<Rows>(3), {.metrics = {"L1"}});
  // Sample 2: [0.25, 0.5, 3 | 2] against [0.25, 0.5, 0 | 1].
  EXPECT_NEAR(evaluator.score(other).at("L1").per_sample[2], 3 + 1, 1e-6);
}

TEST(Evaluator, OutputWeightsMultiplyOrLeaveOut) {
  graph::Model m = scaled({1, 1, 1});
  m.nodes.push_back(node("ArgMax", "best", {"y"}, {"class"}, {{"axis", int64_t{1}}}));
  m.outputs.push_back({.name = "class", .type = DataType::int64, .shape = Shape{-1, 1}, .symbols = {"N", ""}});
  graph::Model other = m;
  other.initializers["w"] = test::floats({1, 1, 0});
  const auto l1 = [&](const Json& weights) {
    return Evaluator(m, std::make_shared<Rows>(3), {.metrics = {"L1"}, .output_weights = weights})
        .score(other)
        .at("L1")
        .per_sample[2];
  };
  EXPECT_NEAR(l1({{"class", 10}}), 3 + 10, 1e-6);
  EXPECT_NEAR(l1({{"class", 0}}), 3, 1e-6);
  EXPECT_NEAR(l1({{"y", 0.5}}), 1.5 + 1, 1e-6);
  const auto fails = [&](const Json& weights) { return error_of([&] { l1(weights); }); };
  EXPECT_NE(fails({{"klass", 1}}).find("did you mean 'class'"), std::string::npos) << fails({{"klass", 1}});
  EXPECT_NE(fails({{"class", -1}}).find("at least 0"), std::string::npos);
  EXPECT_NE(fails({{"class", 0}, {"y", 0}}).find("leaves no output"), std::string::npos);
  EXPECT_NE(fails(3).find("must be a mapping"), std::string::npos);
}

TEST(Evaluator, TextsAreLeftOutOrRefused) {
  graph::Model m = scaled({1, 1, 1});
  m.nodes.push_back(node("Cast", "write", {"y"}, {"text"}, {{"to", static_cast<int64_t>(DataType::string)}}));
  m.outputs.push_back({.name = "text", .type = DataType::string, .shape = Shape{-1, 3}, .symbols = {"N", ""}});
  const auto score = [&](const Json& weights) {
    return Evaluator(m, std::make_shared<Rows>(3), {.metrics = {"L1"}, .output_weights = weights}).score(m).at("L1").value;
  };
  EXPECT_EQ(score({{"text", 0}}), 0);
  EXPECT_EQ(error_of([&] { score(nullptr); }),
            "the model's output 'text' holds no numbers and cannot be scored; output_weights: {'text': 0} leaves it out");
}

TEST(Evaluator, PooledMetricsAreOfAllSamplesAtOnce) {
  const auto rows = std::make_shared<Rows>(60);
  const Evaluator evaluator(scaled({1, 1, 1}), rows, {.metrics = {"F1", "F1(average=micro)", "top1"}, .threads = 1});
  EXPECT_EQ(evaluator.reference().at("F1").value, 1);
  // The third value is lost: its class is never answered, the second class is answered too often.
  const Scores scores = evaluator.score(scaled({1, 1, 0}), 3);
  EXPECT_NEAR(scores.at("F1").value, (1 + 2.0 * 20 / (20 + 40) + 0) / 3, 1e-12);
  EXPECT_EQ(scores.at("F1(average=micro)").value, scores.at("top1").value);
  EXPECT_TRUE(scores.at("F1").per_sample.empty());
  EXPECT_EQ(scores.at("F1").resampled.size(), 200U);
  EXPECT_LT(scores.at("F1").low, scores.at("F1").value);
  EXPECT_GT(scores.at("F1").high, scores.at("F1").value);
  EXPECT_EQ(evaluator.score(scaled({1, 1, 0}), 1).at("F1").resampled, scores.at("F1").resampled);
}

TEST(Evaluator, CancelledWorkEndsBetweenSamples) {
  const auto rows = std::make_shared<Rows>(50);
  const Evaluator evaluator(scaled({1, 1, 1}), rows, {});
  std::stop_source stop;
  const CancelScope scope(stop.get_token());
  EXPECT_EQ(evaluator.score(scaled({1, 1, 1})).at("parts").samples, 50u);
  stop.request_stop();
  EXPECT_THROW(evaluator.score(scaled({1, 1, 1}), 2), Cancelled);
  EXPECT_THROW(Evaluator(scaled({1, 1, 1}), rows, {}), Cancelled);
}

TEST(Evaluator, ARaceGivesTheSameScores) {
  const auto rows = std::make_shared<Rows>(300);
  const Evaluator evaluator(scaled({1, 1, 1}), rows, {.metrics = {"L2", "top1"}, .seed = 7});
  const graph::Model candidate = scaled({1, 0.7F, 0.3F});
  std::vector<size_t> looks;
  std::vector<double> raced;
  const auto scores = evaluator.race(candidate, 2, [&](std::span<const double> values) {
    EXPECT_TRUE(std::equal(raced.begin(), raced.end(), values.begin()));  // what was seen stays
    raced.assign(values.begin(), values.end());
    looks.push_back(values.size());
    return true;
  });
  ASSERT_TRUE(scores);
  const Scores whole = evaluator.score(candidate);
  for (const auto& [name, score] : whole) {
    EXPECT_EQ(scores->at(name).per_sample, score.per_sample) << name;
    EXPECT_EQ(scores->at(name).value, score.value) << name;
    EXPECT_EQ(scores->at(name).low, score.low) << name;
  }
  EXPECT_EQ(looks.front(), 16u);
  EXPECT_EQ(looks.back(), 300u);
  std::vector<double> sorted = whole.at("L2").per_sample;
  EXPECT_NE(raced, sorted);  // a permutation of them
  std::sort(raced.begin(), raced.end());
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(raced, sorted);
}

TEST(Evaluator, ARaceEndsWhenTheRefereeHasSeenEnough) {
  const Evaluator evaluator(scaled({1, 1, 1}), std::make_shared<Rows>(300), {});
  size_t seen = 0;
  EXPECT_FALSE(evaluator.race(scaled({1, 1, 0}), 1, [&](std::span<const double> values) { return (seen = values.size()) < 40; }));
  EXPECT_EQ(seen, 48u);
}

TEST(Evaluator, LooksAtSamplesOneByOne) {
  const Evaluator evaluator(scaled({1, 1, 1}), std::make_shared<Rows>(50), {.metrics = {"L2", "top1"}});
  const graph::Model candidate = scaled({1, 0.7F, 0.3F});
  const std::vector<double> whole = evaluator.score(candidate).at("L2").per_sample;
  const std::vector<size_t> order{7, 49, 0, 3};
  std::map<size_t, double> seen;
  evaluator.look(candidate, 2, {}, order, [&](size_t i, double value) { return seen.emplace(i, value).second; });
  EXPECT_EQ(seen, (std::map<size_t, double>{{0, whole[0]}, {3, whole[3]}, {7, whole[7]}, {49, whole[49]}}));
  std::vector<size_t> first;
  evaluator.look(candidate, 1, {}, order, [&](size_t i, double) {
    first.push_back(i);
    return first.size() < 2;
  });
  EXPECT_EQ(first, (std::vector<size_t>{7, 49}));
}

// Two outputs, boxes [1, N, 4] and, from the same N, scores and labels: N is how many rows of the input are above a limit.
class Boxes : public data::Dataset, public data::Truths {
 public:
  explicit Boxes(size_t pictures = 4, int64_t label = 0) : pictures_(pictures), label_(label) {}
  size_t size() const override { return pictures_; }
  data::Sample at(size_t i) const override {
    const auto found = static_cast<float>(i % 4);  // none in the first picture
    return {Tensor::of<float>({1, 3}, {found >= 1 ? 0.9F : 0.0F, found >= 2 ? 0.8F : 0.0F, found >= 3 ? 0.52F : 0.0F})};
  }
  std::optional<data::Boxes> boxes(size_t i) const override {
    data::Boxes out;
    for (size_t k = 0; k < i % 4; ++k) {
      const auto at = static_cast<double>(k);
      out.push_back({10 * at, 0, 10 * at + 5, 5, label_, false});
    }
    return out;
  }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "'boxes'"; }

 private:
  size_t pictures_;
  int64_t label_;
};

// Boxes whose score is above 0.5, as a model with NonMaxSuppression inside has them, of scores that are multiplied.
graph::Model detector(float factor) {
  graph::Model m = test::empty_model();
  m.inputs = {float_value("x", {1, 3})};
  m.outputs = {float_value("boxes", {1, -1, 4}), float_value("scores", {1, -1}), float_value("labels", {1, -1})};
  m.initializers["factor"] = test::floats({factor});
  m.initializers["limit"] = test::floats({0.5F});
  m.initializers["all"] = Tensor::of<float>({1, 3, 4}, {0, 0, 5, 5, 10, 0, 15, 5, 20, 0, 25, 5});
  m.initializers["flat"] = Tensor::of<int64_t>({1}, std::vector<int64_t>{-1});
  m.nodes = {node("Mul", "scale", {"x", "factor"}, {"scaled"}),
             node("Greater", "above", {"scaled", "limit"}, {"kept"}),
             node("Reshape", "row", {"kept", "flat"}, {"which"}),
             node("Compress", "boxes", {"all", "which"}, {"boxes"}, {{"axis", int64_t{1}}}),
             node("Compress", "scores", {"scaled", "which"}, {"scores"}, {{"axis", int64_t{1}}}),
             node("Sub", "labels", {"scores", "scores"}, {"labels"})};
  return m;
}

TEST(Evaluator, DetectionsMayBeMoreOrLessThanFloats) {
  const EvaluatorOptions options{.metrics = {"mAP(iou=0.5)"},
                                 .decoder = {{"name", "ssd"}, {"normalized", false}, {"background", -1}}};
  const Evaluator evaluator(detector(1), std::make_shared<Boxes>(), options);
  EXPECT_NEAR(evaluator.reference().at("mAP(iou=0.5)").value, 1, 1e-9) << "also where a picture has none";
  EXPECT_NEAR(evaluator.score(detector(0.9F)).at("mAP(iou=0.5)").value, 84.0 / 101, 1e-9) << "one of six is not found";
  const EvaluatorOptions both{.metrics = {"mAP(iou=0.5)", "L2"}, .decoder = options.decoder};
  EXPECT_NE(error_of([&] { Evaluator(detector(1), std::make_shared<Boxes>(), both); }).find("empty (sample 0)"),
            std::string::npos);
}

TEST(Evaluator, DoubtsClassesOfBoxes) {
  const EvaluatorOptions options{.metrics = {"mAP"}, .decoder = {{"name", "ssd"}, {"normalized", false}, {"background", -1}}};
  EXPECT_EQ(Evaluator(detector(1), std::make_shared<Boxes>(24), options).label_doubt(), "");
  const std::string doubt = Evaluator(detector(1), std::make_shared<Boxes>(24, 1), options).label_doubt();
  EXPECT_NE(doubt.find("on 100 % with every label smaller by one (label_offset: -1"), std::string::npos) << doubt;
}

// The greatest value of a map, or of one value, is no class.
TEST(Evaluator, ClassesAreThoseOfOneVector) {
  const auto shaped = [](const std::vector<int64_t>& shape, Shape declared) {
    graph::Model m = scaled({1, 1, 1});
    m.outputs = {float_value("z", std::move(declared))};
    m.initializers["shape"] = Tensor::of<int64_t>({std::ssize(shape)}, shape);
    m.nodes.push_back(node("Concat", "twice", {"y", "y"}, {"y2"}, {{"axis", int64_t{1}}}));
    m.nodes.push_back(node("Reshape", "reshape", {"y2", "shape"}, {"z"}));
    return m;
  };
  const auto rows = std::make_shared<Rows>(6, 0, false);
  const auto error = [&](const graph::Model& model) {
    return error_of([&] { Evaluator(model, rows, {.metrics = {"agreement"}}); });
  };
  EXPECT_EQ(error(shaped({1, 6, 1, 1}, {1, 6, 1, 1})), "no error");
  const std::string map = error(shaped({1, 2, 1, 3}, {1, 2, 1, 3}));
  EXPECT_NE(map.find("agreement' ranks the classes of a sample, but the output 'z' is [1,2,1,3]"), std::string::npos) << map;
  graph::Model number = scaled({1, 1, 1});
  number.outputs = {float_value("z", {1, 1})};
  number.nodes.push_back(node("ReduceMean", "mean", {"y"}, {"z"}, {{"axes", std::vector<int64_t>{1}}}));
  EXPECT_NE(error(number).find("one value; metrics of values do"), std::string::npos) << error(number);
}

TEST(Evaluator, ErrorsSayWhatIsWrong) {
  const auto rows = std::make_shared<Rows>(3);
  const auto build = [](const graph::Model& model, data::DatasetPtr data, std::vector<std::string> names) {
    return error_of([&] { Evaluator(model, std::move(data), {.metrics = std::move(names), .threads = 1}); });
  };
  EXPECT_EQ(build(scaled({1, 1, 1}), std::make_shared<Rows>(3, 0, false), {"top1"}),
            "metric 'top1' needs labels, but 'rows' has none (sample 0); name them with the reader's option labels; samples in "
            "memory have them in pairs (inputs, label) or as 'labels' beside the inputs");
  EXPECT_NE(build(scaled({1, 1, 1}), rows, {"mAP"}).find("metric 'mAP' needs a decoder"), std::string::npos);
  EXPECT_NE(build(scaled({1, 1, 1}), rows, {"mean_iou"}).find("needs a label per place or pixel, but 'rows' has none"),
            std::string::npos);
  const auto boxes = error_of([&] { Evaluator(scaled({1, 1, 1}), rows, {.metrics = {"mAP"}, .decoder = "yolov5"}); });
  EXPECT_NE(boxes.find("needs labelled boxes, but 'rows' has none (sample 0); name a file in COCO's form"), std::string::npos)
      << boxes;
  EXPECT_EQ(build(scaled({1, 1, 1}), std::make_shared<Rows>(3, 1), {"top1"}),
            "label 3 of 'rows' (sample 2) is none of the model's 3 classes; is label_offset right?");
  EXPECT_EQ(build(scaled({1, 1, 1}), std::make_shared<Rows>(3, 1), {"L2"}), "no error");
  EXPECT_EQ(build(scaled({1, 1, 1}), std::make_shared<Rows>(0), {"L2"}), "'rows' holds no samples to evaluate on");
  EXPECT_NE(build(scaled({1, 1, 1}), rows, {"L3"}).find("did you mean"), std::string::npos);
  EXPECT_EQ(build(scaled({1, 1, 1}), rows, {"perplexity"}),
            "metric 'perplexity': ids is 'input_ids', which is no input of the model; its inputs: x; name the one that holds the "
            "tokens, or give ids=labels");
  EXPECT_EQ(build(scaled({1, INFINITY, 1}), rows, {"L2"}), "the float model's outputs are not finite (sample 0)");

  const Evaluator evaluator(scaled({1, 1, 1}), rows, {});
  EXPECT_EQ(error_of([&] { evaluator.score(scaled({1, NAN, 1})); }), "outputs are not finite (sample 0)");
  graph::Model fewer = scaled({1, 1, 1});
  fewer.nodes.push_back(node("ReduceSum", "sum", {"y"}, {"s"}));
  fewer.outputs = {{.name = "s", .type = DataType::float32}};
  EXPECT_EQ(error_of([&] { evaluator.score(fewer); }), "the candidate has 1 output values, the float model 3 (sample 0)");
}

}  // namespace
}  // namespace quasar::eval
