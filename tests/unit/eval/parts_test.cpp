#include "quasar/eval/parts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "quasar/eval/evaluate.hpp"
#include "quasar/eval/examination.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::eval {
namespace {

using test::float_value;
using test::node;

// Outputs of several samples as the float model gave them.
class Outputs {
 public:
  Outputs(std::vector<Shape> shapes, std::vector<std::vector<float>> samples) : samples_(std::move(samples)) {
    layout_.outputs = std::move(shapes);
  }
  OutputParts parts() const {
    return OutputParts({samples_.size(), [this](size_t) -> const Layout& { return layout_; },
                        [this](size_t i) { return std::span<const float>(samples_[i]); }});
  }
  const Layout& layout() const { return layout_; }

 private:
  Layout layout_;
  std::vector<std::vector<float>> samples_;
};

// [1, rows, 4]: every row has one value everywhere.
std::vector<float> rows(const std::vector<float>& values) {
  std::vector<float> out;
  for (const float value : values) out.insert(out.end(), 4, value);
  return out;
}

TEST(OutputParts, RowsOfOtherSizesAreParts) {
  const Outputs outputs({{1, 4, 4}}, {rows({100, -200, 0.5F, 1.5F}), rows({150, 90, 2, 0.7F})});
  const OutputParts parts = outputs.parts();
  ASSERT_EQ(parts.all().size(), 2U);
  EXPECT_EQ(parts.all()[0].axis, 1U);
  EXPECT_EQ(parts.all()[0].slices, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(parts.all()[1].slices, (std::vector<int64_t>{2, 3}));
  EXPECT_NEAR(parts.all()[0].rms, std::sqrt((100.0 * 100 + 200 * 200 + 150 * 150 + 90 * 90) / 4), 1e-3);
  EXPECT_NEAR(parts.all()[1].norm, (std::sqrt(4 * (0.25 + 2.25)) + std::sqrt(4 * (4 + 0.49))) / 2, 1e-5);
  EXPECT_TRUE(parts.differ());
}

TEST(OutputParts, WhatDiffersLittleIsOne) {
  const Outputs outputs({{1, 4, 4}}, {rows({1, 7, 40, 200})});  // each at most 8 times the one before
  EXPECT_EQ(outputs.parts().all().size(), 1U);
  EXPECT_FALSE(outputs.parts().all().front().axis.has_value());
  EXPECT_FALSE(outputs.parts().differ());
}

// A class that no sample shows has small scores, and is no quantity of its own.
TEST(OutputParts, ProbabilitiesAreOneKindHoweverRare) {
  const Outputs outputs({{1, 5, 4}}, {rows({300, 0.9F, 1e-5F, 0.02F, 0})});
  const OutputParts parts = outputs.parts();
  ASSERT_EQ(parts.all().size(), 2U);
  EXPECT_EQ(parts.all()[0].slices, (std::vector<int64_t>{0}));
  EXPECT_EQ(parts.all()[1].slices, (std::vector<int64_t>{1, 2, 3}));  // the row of zeros belongs to none
}

TEST(OutputParts, TheLastAxisMayHoldThem) {
  const Outputs outputs({{1, 2, 3}}, {{500, 1.5F, 2, 400, 1, 3}});
  const OutputParts parts = outputs.parts();
  ASSERT_EQ(parts.all().size(), 2U);
  EXPECT_EQ(parts.all()[0].axis, 2U);
  EXPECT_EQ(parts.all()[1].slices, (std::vector<int64_t>{1, 2}));
}

// Eight samples: the first row moves by one from each to the next, the second stands still.
TEST(OutputParts, SpreadIsWhatValuesVaryBetweenSamples) {
  std::vector<std::vector<float>> samples;
  for (int i = 0; i < 7; ++i) samples.push_back(rows({1000 + static_cast<float>(i), 3}));
  const std::vector<Shape> shapes{{1, 2, 4}};
  EXPECT_FALSE(Outputs(shapes, samples).parts().all()[0].spread) << "seven samples do not tell";
  samples.push_back(rows({1007, 3}));
  const OutputParts parts = Outputs(shapes, samples).parts();
  ASSERT_EQ(parts.all().size(), 2U);
  EXPECT_NEAR(parts.all()[0].spread.value(), std::sqrt(6.0), 1e-9);  // the unbiased variance of 0 … 7
  EXPECT_EQ(parts.all()[1].spread.value(), 0);
}

TEST(OutputParts, EachOutputIsOneAtLeast) {
  const Outputs outputs({{1, 2}, {1, 3}}, {{100, 90, 0.1F, 0.2F, 0.3F}});
  const OutputParts parts = outputs.parts();
  ASSERT_EQ(parts.all().size(), 2U);
  EXPECT_EQ(parts.all()[1].output, 1U);
  EXPECT_TRUE(parts.differ());
}

TEST(OutputParts, TheErrorOfEachIsItsOwn) {
  const Outputs outputs({{1, 3, 4}}, {rows({100, 1.5F, 2})});
  const OutputParts parts = outputs.parts();
  const std::vector<float> reference = rows({100, 1.5F, 2}), candidate = rows({101, 0, 0});
  std::vector<OutputParts::Sums> sums;
  const Pair pair{.reference = reference, .candidate = candidate, .layout = &outputs.layout()};
  parts.add(pair, sums);
  const auto errors = OutputParts::errors({sums});
  EXPECT_NEAR(errors[0].relative, 0.01, 1e-6);
  EXPECT_NEAR(errors[0].cosine, 1, 1e-6);
  EXPECT_NEAR(errors[1].relative, 1, 1e-6);
  EXPECT_EQ(errors[1].cosine, 0);
  EXPECT_FALSE(errors[0].constant);  // as the float model's
  EXPECT_TRUE(errors[1].constant);
  const Context context{.parts = &parts};
  EXPECT_NEAR(make_metric("parts")->of(pair, context), 1, 1e-6);
  EXPECT_NEAR(make_metric("relative")->of(pair, context), std::sqrt((1 + 2.25 + 4) / (10000 + 2.25 + 4)), 1e-6);
}

// y = x · w
graph::Model scaled(const std::vector<float>& w) {
  graph::Model m = test::empty_model();
  m.inputs = {float_value("x", {1, 3})};
  m.outputs = {float_value("y", {1, 3})};
  m.initializers["w"] = test::floats(w);
  m.nodes = {node("Mul", "scale", {"x", "w"}, {"y"})};
  return m;
}

// The greatest value is far ahead, but for the last sample's, where noise decides.
class Clear : public data::Dataset {
 public:
  size_t size() const override { return 9; }
  data::Sample at(size_t i) const override {
    std::vector<float> row = {1, 1, 1};
    row[i % 3] = i == 8 ? 1.00001F : 3;
    return {Tensor::of<float>({1, 3}, row)};
  }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "'clear'"; }
};

TEST(Examination, AnswersCountWhereTheFloatModelIsSure) {
  const Evaluator evaluator(scaled({1, 1, 1}), std::make_shared<Clear>(), {.metrics = {"L2"}});
  const auto found = examine(evaluator, scaled({1, 1, 1}), scaled({1, 1, 0.1F}), {.answers = "agreement"});
  ASSERT_TRUE(found.answers.has_value());
  EXPECT_LE(found.answers->samples, 9U);
  EXPECT_GE(found.answers->samples, 8U);
  EXPECT_NEAR(found.answers->share, 6.0 / static_cast<double>(found.answers->samples),
              1e-9 + (found.answers->samples == 9 ? 0.12 : 0));
  EXPECT_EQ(found.parts.size(), 1U);
  EXPECT_FALSE(examine(evaluator, scaled({1, 1, 1}), scaled({1, 1, 0.1F}), {}).answers.has_value());
}

// Four places of two classes each.
class Places : public data::Dataset {
 public:
  size_t size() const override { return 3; }
  data::Sample at(size_t) const override { return {Tensor::of<float>({1, 4, 2}, {1, 3, 1, 3, 3, 1, 3, 1})}; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "'places'"; }
};

TEST(Examination, AnswersMayBeAlikeInPart) {
  const auto turned = [](float last) {
    graph::Model m = test::empty_model();
    m.inputs = {float_value("x", {1, 4, 2})};
    m.outputs = {float_value("y", {1, 4, 2})};
    m.initializers["w"] = Tensor::of<float>({1, 4, 1}, {1, 1, 1, last});
    m.nodes = {node("Mul", "scale", {"x", "w"}, {"y"})};
    return m;
  };
  const Evaluator evaluator(turned(1), std::make_shared<Places>(), {.metrics = {"L2"}});
  const auto found = examine(evaluator, turned(1), turned(-1), {.answers = "token_accuracy(truth=float)"});
  ASSERT_TRUE(found.answers.has_value());
  EXPECT_EQ(found.answers->share, 1) << "more than half of each";
  EXPECT_EQ(found.answers->mean, 0.75);
}

TEST(Examination, WithoutLossAllAnswersAreTheSame) {
  const Evaluator evaluator(scaled({1, 1, 1}), std::make_shared<Clear>(), {.metrics = {"L2"}});
  const auto found = examine(evaluator, scaled({1, 1, 1}), scaled({1, 1, 1}), {.answers = "agreement"});
  EXPECT_EQ(found.answers->share, 1);
  EXPECT_EQ(found.answers->mean, 1);
  EXPECT_EQ(found.parts.front().relative, 0);
  EXPECT_NEAR(found.parts.front().cosine, 1, 1e-12);
}

}  // namespace
}  // namespace quasar::eval
