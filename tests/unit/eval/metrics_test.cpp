#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval {
namespace {

double score(const std::string& metric, const std::vector<float>& f, const std::vector<float>& q, const Context& context = {0, 1},
             std::optional<int64_t> label = {}) {
  return metrics::table().make(metric)->of({f, q, label}, context);
}

struct Case {
  std::string metric;
  std::vector<float> f, q;
  double expected;
};

// Computed by hand; the differences of the first pair are 3, -4, 0.
TEST(Metrics, KnownAnswers) {
  const std::vector<float> f = {4, 0, 2}, q = {1, 4, 2};
  const std::vector<Case> table = {
      {"L1", f, q, 7},
      {"l2", f, q, 5},
      {"mse", f, q, 25.0 / 3},
      {"cos", f, q, 8 / std::sqrt(20.0 * 21)},
      {"cos", {1, 2}, {-2, -4}, -1},
      {"cos", {0, 0}, {1, 1}, 0},
      {"cos", {1, 1}, {0, 0}, 0},
      {"v1_L2", f, q, 25.0 / 3},
      {"v1_L1", f, q, 7.0 / 3},
      {"v1_cos", f, q, 0.5 + 4 / std::sqrt(20.0 * 21)},
      {"v1_cos", {0, 0}, {1, 1}, 0},
      {"v1_psnr", f, q, 20 * std::log10(255 / std::sqrt(25.0 / 3))},
      {"v1_psnr", f, f, 100},
      {"v1_ssim", f, f, 1},
      {"sqnr", f, q, 10 * std::log10(20.0 / 25)},
      {"sqnr", {10, 0}, {9, 0}, 20},
      {"sqnr", f, f, 200},
      {"sqnr", {0, 0}, {1, 0}, -200},
      {"psnr", f, f, 200},
      {"agreement", f, q, 0},
      {"agreement", f, {3, 1, 2}, 1},
      {"agreement", {1, 1, 0}, {2, 2, 0}, 1},  // the first of equal ones counts
      {"agreement", {0, 1, 1}, {0, 1, 2}, 0},
  };
  for (const auto& [metric, a, b, expected] : table) EXPECT_NEAR(score(metric, a, b), expected, 1e-12) << metric;
  // Range 10: 10 log10(100 / (25/3)).
  EXPECT_NEAR(score("psnr", f, q, {-2, 8}), 10 * std::log10(12.0), 1e-12);
  EXPECT_EQ(score("psnr", f, q, {3, 3}), -200);
}

// Means 2 and 3, variances 2 and 2/3, covariance 1, range 4: c1 = 0.0016, c2 = 0.0144.
TEST(Metrics, Ssim) {
  const std::vector<float> f = {1, 1, 4}, q = {2, 3, 4};
  const double above = (2 * 2 * 3 + 0.0016) * (2 * 1 + 0.0144), below = (4 + 9 + 0.0016) * (2 + 2.0 / 3 + 0.0144);
  EXPECT_NEAR(score("ssim", f, q, {0, 4}), above / below, 1e-12);
  EXPECT_NEAR(score("ssim", f, f, {0, 4}), 1, 1e-12);
  EXPECT_LT(score("ssim", {0, 1, 2}, {2, 1, 0}, {0, 2}), 0);  // shuffled outputs are not alike
  EXPECT_EQ(score("ssim", {3, 3}, {3, 3}, {3, 3}), 1);
  EXPECT_EQ(score("ssim", {0, 0}, {0, 0}, {0, 0}), 1);
}

TEST(Metrics, KullbackLeibler) {
  // Logits ln 1, ln 3 against ln 1, ln 1: p = (1/4, 3/4), r = (1/2, 1/2).
  const double expected = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  const auto l3 = static_cast<float>(std::log(3.0));
  EXPECT_NEAR(score("kl", {5, 5 + l3}, {-7, -7}), expected, 1e-6);
  EXPECT_NEAR(score("kl", {1000, 1000 + l3}, {900, 900}), expected, 1e-4);  // no overflow
  EXPECT_NEAR(score("kl", {0.25F, 0.75F}, {0.5F, 0.5F}), expected, 1e-7);   // probabilities as they are
  EXPECT_NEAR(score("kl", {0.25F, 0.75F}, {1, 1}), expected, 1e-7);         // scaled to the sum 1
  EXPECT_NEAR(score("kl", {0.5F, 0.5F}, {0, 1}), 0.5 * std::log(0.5 / 1e-12) + 0.5 * std::log(0.5), 1e-6);
  EXPECT_NEAR(score("kl", {1, 0}, {1, 0}), 0, 1e-12);
  EXPECT_GT(score("kl", {2, 1}, {1, 2}), 0.4);  // not probabilities: softmax
}

// Beside logits of 50 the second place would weigh e^−50 in one softmax of all.
TEST(Metrics, KullbackLeiblerIsTheMeanOverPlaces) {
  const double expected = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  const auto l3 = static_cast<float>(std::log(3.0));
  const auto of = [](const Shape& shape, const std::vector<float>& f, const std::vector<float>& q, bool two = false) {
    Layout layout{{shape}, {}};
    if (two) layout.outputs = {{1, 2}, {1, 2}};
    return make_metric("kl")->of({.reference = f, .candidate = q, .layout = &layout}, {});
  };
  const std::vector<float> f{50, 50, 0, l3}, q{50, 50, 0, 0};
  EXPECT_NEAR(of({1, 2, 2}, f, q), expected / 2, 1e-6);
  EXPECT_NEAR(of({2, 1, 2}, f, q), expected / 2, 1e-6);
  EXPECT_NEAR(of({1, 2, 2}, {0.5F, 0.5F, 0.25F, 0.75F}, {0.5F, 0.5F, 0.5F, 0.5F}), expected / 2, 1e-6);  // probabilities
  for (const Shape& whole : {Shape{1, 4}, Shape{1, 4, 1}, Shape{1, 4, 1, 1}}) EXPECT_LT(of(whole, f, q), 1e-12);
  EXPECT_LT(of({}, f, q, true), 1e-12);
}

TEST(Metrics, ExactMatchIsSequenceAccuracy) {
  EXPECT_EQ(metric_text("exact_match(truth=float)"), "sequence_accuracy(truth=float)");
}

// An evaluator of the user's may call its score by a metric's other name.
TEST(Metrics, InResultsHaveTheirOwnNames) {
  for (const char* name : {"top1", "topk(k=3)", "word_error_rate(space=1)"}) EXPECT_TRUE(is_metric_in_results(name)) << name;
  for (const char* name : {"accuracy", "wer", "cer", "exact_match", "bytes", "mine"})
    EXPECT_FALSE(is_metric_in_results(name)) << name;
}

// What a head suggests and the user's metric knows; not what has a default, nor what the metric does not know.
TEST(Metrics, OptionsThatAHeadSuggests) {
  const std::string ctc = "sequence_accuracy(truth=float,blank=0)";
  EXPECT_EQ(options_left_out("sequence_accuracy", ctc), std::vector<std::string>{"blank=0"});
  EXPECT_EQ(options_left_out("token_error_rate(truth=float)", ctc), std::vector<std::string>{"blank=0"});
  EXPECT_TRUE(options_left_out("sequence_accuracy(blank=5)", ctc).empty());
  EXPECT_TRUE(options_left_out("L2", ctc).empty());
  EXPECT_TRUE(options_left_out("sequence_accuracy", "agreement").empty());
}

TEST(Metrics, LabelsAreRanked) {
  const std::vector<float> q = {0.1F, 0.9F, 0.5F, 0.5F, 0.3F, 0.2F, 0.5F};
  const std::vector<double> top1 = {0, 1, 0, 0, 0, 0, 0}, top5 = {0, 1, 1, 1, 1, 0, 1};
  for (size_t label = 0; label < q.size(); ++label) {
    EXPECT_EQ(score("top1", q, q, {}, static_cast<int64_t>(label)), top1[label]) << label;
    EXPECT_EQ(score("top5", q, q, {}, static_cast<int64_t>(label)), top5[label]) << label;
  }
  const std::vector<float> equal(7, 1);  // earlier places first
  EXPECT_EQ(score("top5", equal, equal, {}, 4), 1);
  EXPECT_EQ(score("top5", equal, equal, {}, 5), 0);
  EXPECT_EQ(score("top1", equal, equal, {}, 0), 1);
}

TEST(Sums, ArgMaxIsTheFirstGreatest) {
  Rng rng(5);
  for (size_t count = 1; count < 70; ++count) {
    std::vector<float> values(count);
    for (auto& value : values) value = static_cast<float>(rng.below(5)) - 6;
    const auto expected = static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
    EXPECT_EQ(arg_max(values), expected);
    EXPECT_EQ(rank_of(values, expected), 0U);
  }
}

TEST(Sums, TakeEveryTermOnce) {
  for (size_t count = 0; count < 40; ++count) {
    EXPECT_EQ(sum(count, [](size_t i) { return static_cast<double>(i * i); }),
              static_cast<double>(count == 0 ? 0 : (count - 1) * count * (2 * count - 1) / 6));
  }
}

}  // namespace
}  // namespace quasar::eval
