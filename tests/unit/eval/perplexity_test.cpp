// Perplexity by hand, what it leaves out, and what it refuses.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/data/checked_ids.hpp"
#include "quasar/eval/evaluate.hpp"
#include "unit/error_of.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::eval {
namespace {

// Logits of two tokens at each place, ln w: shares w / Σw are 1/2 1/2, 1/4 3/4, 9/10 1/10.
const std::vector<float> logits{0, 0, 0, std::log(3.0F), std::log(9.0F), 0};
const Layout three_places{{{1, 3, 2}}, {}};

struct Fed {
  std::vector<int64_t> ids;
  std::vector<int64_t> mask = {};
  Layout layout = three_places;
  Shape mask_shape = {1, 3};
};

Part part_of(const std::string& metric, const Fed& fed, const std::vector<float>& q = logits) {
  const auto count = static_cast<int64_t>(fed.ids.size());
  std::map<std::string, Tensor> inputs{{"input_ids", Tensor::of<int64_t>({1, count}, fed.ids)}};
  if (!fed.mask.empty()) inputs["attention_mask"] = Tensor::of<int64_t>(fed.mask_shape, fed.mask);
  const Tensor target = inputs["input_ids"];
  return make_metric(metric)->pooled()->part(
      {.reference = q, .candidate = q, .layout = &fed.layout, .target = &target, .inputs = &inputs, .index = 7}, {});
}

double perplexity_of(const std::string& metric, const Fed& fed) {
  const std::vector<Part> parts{part_of(metric, fed)};
  return make_metric(metric)->pooled()->pool(parts)->value(std::vector<uint32_t>{1});
}

std::string refusal(const std::string& metric, const Fed& fed) {
  try {
    perplexity_of(metric, fed);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Ids 0 1 1: place 0 predicts the second with 1/2, place 1 the third with 3/4; what place 2 says is of no token.
TEST(Perplexity, IsTheInverseMeanShareOfTheNextTokens) {
  EXPECT_NEAR(perplexity_of("perplexity", {{0, 1, 1}}), std::sqrt(2 * 4.0 / 3), 1e-7);
  EXPECT_NEAR(perplexity_of("perplexity", {{0, 1, 0}}), std::sqrt(2 * 4.0), 1e-7);
  EXPECT_NEAR(perplexity_of("ppl(shift=2)", {{0, 1, 1}}), 2, 1e-7);
}

// Labels are the next tokens already.
TEST(Perplexity, TakesLabels) {
  EXPECT_NEAR(perplexity_of("perplexity(ids=labels)", {{0, 1, 1}}), std::cbrt(2 * 4.0 / 3 * 10), 1e-6);
  EXPECT_NEAR(perplexity_of("perplexity(ids=labels)", {{-100, 1, -100}}), 4.0 / 3, 1e-7);
  EXPECT_NEAR(perplexity_of("perplexity(ids=labels,shift=1)", {{0, 1, 1}}), std::sqrt(2 * 4.0 / 3), 1e-7);
  EXPECT_EQ(make_metric("perplexity(ids=labels)")->needs(), Truth::target);
  EXPECT_EQ(make_metric("perplexity")->needs(), Truth::none);
  EXPECT_FALSE(make_metric("perplexity")->compares_to_float());  // so that the float model's has an interval
}

TEST(Perplexity, PaddingDoesNotCount) {
  EXPECT_NEAR(perplexity_of("perplexity", {{0, 1, 1}, {1, 1, 0}}), 2, 1e-7);
  EXPECT_NEAR(perplexity_of("perplexity", {{0, 1, 1}, {0, 1, 1}}), 4.0 / 3,
              1e-7);  // the first token after padding has no context
  EXPECT_NEAR(perplexity_of("perplexity(mask=none)", {{0, 1, 1}, {1, 1, 0}}), std::sqrt(2 * 4.0 / 3), 1e-7);
  EXPECT_NEAR(perplexity_of("perplexity(ignore=0)", {{1, 0, 1}}), 4.0 / 3, 1e-7);
  // Two columns more, of a cache.
  EXPECT_NEAR(perplexity_of("perplexity", {{0, 1, 1}, {0, 0, 1, 1, 0}, three_places, {1, 5}}), 2, 1e-7);
  EXPECT_NE(refusal("perplexity", {{0, 1, 1}, {1, 1}, three_places, {1, 2}}).find("does not mask 1 x 3 places (sample 7)"),
            std::string::npos);
}

// Tokens weigh alike, whatever the sample's length.
TEST(Perplexity, PoolsTokens) {
  const std::vector<Part> parts{part_of("perplexity", {{0, 1, 1}}), part_of("perplexity", {{0, 1, 1}, {1, 1, 0}})};
  const auto pool = make_metric("perplexity")->pooled()->pool(parts);
  EXPECT_NEAR(pool->value(std::vector<uint32_t>{1, 1}), std::cbrt(2 * 4.0 / 3 * 2), 1e-7);
  EXPECT_NEAR(pool->value(std::vector<uint32_t>{0, 3}), 2, 1e-7);
}

// Rows of a batch do not predict each other.
TEST(Perplexity, RowsAreSeparate) {
  const Layout rows{{{2, 2, 2}}, {}};
  const std::vector<float> q{0, 0, 0, 0, 0, std::log(3.0F), 0, 0};
  std::map<std::string, Tensor> inputs{{"input_ids", Tensor::of<int64_t>({2, 2}, std::vector<int64_t>{0, 1, 0, 1})}};
  const Part part =
      make_metric("perplexity")->pooled()->part({.reference = q, .candidate = q, .layout = &rows, .inputs = &inputs}, {});
  EXPECT_NEAR(part[0], std::log(2 * 4.0 / 3), 1e-7);
  EXPECT_EQ(part[1], 2);
}

TEST(Perplexity, IsFiniteForTheWorstModel) {
  const std::vector<float> wrong{1e30F, -1e30F, 1e30F, -1e30F, 0, 0};
  const std::vector<Part> parts{part_of("perplexity", {{0, 1, 1}}, wrong)};
  EXPECT_TRUE(std::isfinite(make_metric("perplexity")->pooled()->pool(parts)->value(std::vector<uint32_t>{1})));
}

TEST(Perplexity, RefusalsNameWhatIsWrong) {
  EXPECT_NE(refusal("perplexity", {{0, 5, 1}}).find("token id 5 at position 1 of sample 7 is beyond the model's vocabulary of 2"),
            std::string::npos);
  EXPECT_NE(refusal("perplexity", {{0, -1, 1}}).find("token id -1 at position 1"), std::string::npos);
  EXPECT_NE(refusal("perplexity", {{0, 1, 1}, {}, {{{1, 6}}, {}}}).find("needs logits [batch,positions,vocabulary]"),
            std::string::npos);
  EXPECT_NE(refusal("perplexity", {{0, 1}}).find("the input 'input_ids' has the shape [1,2]"), std::string::npos);
  EXPECT_NE(refusal("perplexity", {{0, 1, 1}, {1, 0, 0}}).find("no sample has a token"), std::string::npos);
  EXPECT_NE(refusal("perplexity(ids=tokens)", {{0, 1, 1}}).find("the input 'tokens' is not there"), std::string::npos);
  EXPECT_NE(refusal("perplexity(shift=-1)", {{0, 1, 1}}).find("'shift' is -1"), std::string::npos);
}

// Padding that agrees is no agreement.
TEST(TokenAccuracy, PaddingDoesNotCount) {
  const std::vector<float> f{1, 0, 1, 0, 1, 0}, q{1, 0, 0, 1, 1, 0};
  const std::map<std::string, Tensor> inputs{{"attention_mask", Tensor::of<int64_t>({1, 3}, std::vector<int64_t>{1, 1, 0})}};
  const auto accuracy = [&](const std::string& metric) {
    return make_metric(metric)->of({.reference = f, .candidate = q, .layout = &three_places, .inputs = &inputs}, {});
  };
  EXPECT_NEAR(accuracy("token_accuracy(truth=float)"), 1.0 / 2, 1e-12);
  EXPECT_NEAR(accuracy("token_accuracy(truth=float,mask=none)"), 2.0 / 3, 1e-12);
}

// Four tokens read, two of them padding, and two places written; the last columns of the encoder's mask are its padding.
TEST(TokenAccuracy, AnEncodersMaskIsNotOfTheDecodersPlaces) {
  const std::vector<float> f{1, 0, 1, 0}, q{1, 0, 0, 1};
  const auto accuracy = [&](const std::string& name, const std::vector<Shape>& fed, int64_t columns) {
    std::vector<int64_t> mask(static_cast<size_t>(columns), 0);
    mask.front() = 1;
    const std::map<std::string, Tensor> inputs{{name, Tensor::of<int64_t>({1, columns}, mask)}};
    const Layout layout{{{1, 2, 2}}, fed};
    return make_metric("token_accuracy(truth=float" + (name == "attention_mask" ? "" : ",mask=" + name) + ")")
        ->of({.reference = f, .candidate = q, .layout = &layout, .inputs = &inputs}, {});
  };
  EXPECT_EQ(accuracy("attention_mask", {{1, 4}, {1, 4}, {1, 2}}, 4), 0.5);       // input_ids beside the mask
  EXPECT_EQ(accuracy("attention_mask", {{1, 4, 16}, {1, 4}, {1, 2}}, 4), 0.5);   // hidden states of the encoder
  EXPECT_EQ(accuracy("attention_mask", {{1, 2}, {1, 4}, {1, 4, 2, 16}}, 4), 1);  // a cache: the last places are masked
  EXPECT_EQ(accuracy("of_both", {{1, 4}, {1, 4}, {1, 2}}, 4), 1);                // named by the user
  EXPECT_EQ(accuracy("attention_mask", {{1, 2}, {1, 2}, {1, 2}}, 2), 1);         // as long as the output
}

TEST(Perplexity, AnEncodersMaskIsNotOfTheDecodersPlaces) {
  const std::vector<int64_t> mask{1, 0, 0, 0, 0};
  EXPECT_NEAR(perplexity_of("perplexity", {{0, 1, 1}, mask, {{{1, 3, 2}}, {{1, 5}, {1, 5}, {1, 3}}}, {1, 5}}),
              std::sqrt(2 * 4.0 / 3), 1e-7);
}

// Windows of two tokens each.
class Windows : public data::Dataset {
 public:
  explicit Windows(std::vector<int64_t> second) : second_(std::move(second)) {}
  size_t size() const override { return second_.size(); }
  data::Sample at(size_t i) const override { return {Tensor::of<int64_t>({1, 2}, std::vector<int64_t>{0, second_[i]})}; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "'windows'"; }

 private:
  std::vector<int64_t> second_;
};

// Logits of the next token by the present one: ln of these weights behind token 0, all alike behind token 1.
graph::Model pairs_of_tokens(float first, float second) {
  graph::Model m = test::empty_model();
  m.inputs = {{.name = "input_ids", .type = DataType::int64, .shape = Shape{-1, -1}, .symbols = {"batch", "positions"}}};
  m.outputs = {test::float_value("logits", {-1, -1, 2}, {"batch", "positions", ""})};
  m.initializers["table"] = Tensor::of<float>({2, 2}, {std::log(first), std::log(second), 0, 0});
  m.nodes = {test::node("Gather", "look", {"table", "input_ids"}, {"logits"})};
  return m;
}

TEST(Perplexity, OfAModel) {
  const auto windows = std::make_shared<Windows>(std::vector<int64_t>{1, 1, 0, 1});
  const Evaluator evaluator(pairs_of_tokens(1, 3), windows, {.metrics = {"perplexity"}});
  const Score own = evaluator.reference().at("perplexity");
  EXPECT_NEAR(own.value, std::pow(4.0 / 3 * 4.0 / 3 * 4 * 4.0 / 3, 0.25), 1e-6);
  EXPECT_LT(own.low, own.value);
  EXPECT_GT(own.high, own.value);
  const Score worse = evaluator.score(pairs_of_tokens(1, 1)).at("perplexity");
  EXPECT_NEAR(worse.value, 2, 1e-6);
  EXPECT_EQ(worse.resampled.size(), own.resampled.size());  // differences are taken between the same windows
}

// One message of Quasar's own, before ONNX Runtime stumbles over it.
TEST(Perplexity, IdsThatTheModelDoesNotKnowAreFoundByTheirSample) {
  const graph::Model model = pairs_of_tokens(1, 3);
  const auto windows = data::with_checked_ids(std::make_shared<Windows>(std::vector<int64_t>{1, 1, 7}), model);
  const std::string said = test::error_of([&] { Evaluator(model, windows, {.metrics = {"perplexity"}}); });
  EXPECT_EQ(
      said,
      "'windows', sample 2: input 'input_ids' holds the id 7 at [0,1], but the model looks it up in the table 'table', which "
      "has 2 rows (ids 0 to 1); the tokenizer that made the ids is another model's, or has tokens that were added later");
}

}  // namespace
}  // namespace quasar::eval
