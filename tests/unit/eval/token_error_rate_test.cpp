// Error rates of what is read or heard, as jiwer counts them (tests/peers/error_rate.sh).
#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/eval/metric.hpp"
#include "unit/error_of.hpp"

namespace quasar::eval {
namespace {

using test::error_of;

// Outputs [1, length, classes] whose greatest values are at these classes.
std::vector<float> answering(const std::vector<int64_t>& answers, int64_t classes) {
  std::vector<float> out(answers.size() * static_cast<size_t>(classes));
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i] >= 0) out[i * static_cast<size_t>(classes) + static_cast<size_t>(answers[i])] = 1;
  }
  return out;
}

Part part_of(const std::string& text, const std::vector<int64_t>& answers, const std::vector<int64_t>& truth) {
  constexpr int64_t classes = 6;
  const std::vector<float> q = answering(answers, classes), f = answering(truth, classes);
  const Layout layout{{{1, static_cast<int64_t>(answers.size()), classes}}, {}};
  const Tensor target = Tensor::of<int64_t>({static_cast<int64_t>(truth.size())}, truth);
  return make_metric(text)->pooled()->part({.reference = f, .candidate = q, .layout = &layout, .target = &target}, {});
}

TEST(TokenErrorRate, CountsEdits) {
  EXPECT_EQ(part_of("token_error_rate", {1, 2, 3}, {1, 2, 3}), (Part{0, 3}));
  EXPECT_EQ(part_of("token_error_rate", {1, 2, 3}, {1, 3}), (Part{1, 2}));           // one too many
  EXPECT_EQ(part_of("token_error_rate", {1, 3}, {1, 2, 3, 4}), (Part{2, 4}));        // two are missing
  EXPECT_EQ(part_of("cer", {3, 2, 1}, {1, 2, 3}), (Part{2, 3}));                     // two are wrong
  EXPECT_EQ(part_of("token_error_rate", {2, 3, 4, 5}, {1, 2, 3, 4}), (Part{2, 4}));  // moved by one: not four
  EXPECT_EQ(part_of("token_error_rate", {1, 2}, {1, 2, -100, -100}), (Part{0, 2}));
  EXPECT_EQ(part_of("token_error_rate(truth=float)", {1, 2, 4}, {1, 2, 3}), (Part{1, 3}));
}

TEST(TokenErrorRate, DecodesGreedily) {
  EXPECT_EQ(part_of("token_error_rate(blank=0)", {0, 1, 1, 0, 1, 2, 2}, {1, 1, 2}), (Part{0, 3}));
  EXPECT_EQ(part_of("token_error_rate(blank=0,truth=float)", {0, 1, 1, 0}, {1, 0, 0, 1}), (Part{1, 2}));
}

// Words are 1 2 | 3 | 4 between spaces of class 5.
TEST(TokenErrorRate, ComparesWords) {
  const std::vector<int64_t> truth{1, 2, 5, 3, 5, 4};
  EXPECT_EQ(part_of("token_error_rate(space=5)", truth, truth), (Part{0, 3}));
  EXPECT_EQ(part_of("token_error_rate(space=5)", {5, 1, 2, 5, 5, 3, 5, 4, 5}, truth), (Part{0, 3}));  // spaces count once
  EXPECT_EQ(part_of("token_error_rate(space=5)", {1, 1, 5, 3, 4}, truth), (Part{3, 3}));
  EXPECT_EQ(part_of("token_error_rate(space=5)", {1, 2, 5, 4}, truth), (Part{1, 3}));
}

// The same words by the name that speech has for it; which class stands between them nobody can guess.
TEST(WordErrorRate, ComparesWords) {
  EXPECT_EQ(part_of("wer(space=5)", {1, 2, 5, 4}, {1, 2, 5, 3, 5, 4}), (Part{1, 3}));
  EXPECT_EQ(part_of("wer(space=5,blank=0)", {1, 1, 0, 2, 5, 0, 4}, {1, 2, 5, 4, -100}), (Part{0, 2}));
  EXPECT_EQ(metric_text(parse_json(R"({"name": "wer", "space": 5})", "test")), "word_error_rate(space=5)");
  const std::string error = error_of([] { return metric_text("wer", "search_metric"); });
  EXPECT_NE(error.find("which class stands between words? Say {name: wer, space: CLASS}"), std::string::npos) << error;
  EXPECT_NE(error.find("quasar.transcription_errors()"), std::string::npos) << error;
}

TEST(TokenErrorRate, PoolsTokens) {
  const std::vector<Part> parts{{1, 2}, {1, 8}};
  const auto pool = make_metric("token_error_rate")->pooled()->pool(parts);
  EXPECT_DOUBLE_EQ(pool->value(std::vector<uint32_t>{1, 1}), 0.2);
  EXPECT_DOUBLE_EQ(pool->value(std::vector<uint32_t>{2, 0}), 0.5);
  const std::vector<Part> empty{{1, 0}};
  EXPECT_THROW(make_metric("token_error_rate")->pooled()->pool(empty), Error);
  EXPECT_THROW(make_metric("token_error_rate(blank=zero)"), Error);
}

}  // namespace
}  // namespace quasar::eval
