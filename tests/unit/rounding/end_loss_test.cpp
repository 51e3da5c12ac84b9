#include "quasar/rounding/end_loss.hpp"

#include <gtest/gtest.h>

#include "quasar/rounding/rounding_layers.hpp"
#include "quasar/trial/variants.hpp"
#include "unit/rounding/rounding_models.hpp"

namespace quasar::tune {
namespace {

constexpr int64_t positions = 6, width = 8;

graph::Node node_of(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
  return {.name = output + "_node", .op_type = type, .domain = "", .inputs = inputs, .outputs = {output}};
}

// A matrix product whose rows count differently at the end; `last` makes the output of them.
graph::Model rows_that_count(const std::vector<float>& counts, const std::string& last) {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, positions, width}}};
  model.outputs = {{"y", DataType::float32, Shape{1, positions, width}}};
  model.initializers["w"] = random_tensor({width, width}, 1);
  model.initializers["counts"] = Tensor::of(Shape{positions, 1}, counts);
  model.nodes = {node_of("MatMul", {"x", "w"}, "product"), node_of("Mul", {"product", "counts"}, "weighted"),
                 node_of(last, {"weighted"}, "y")};
  return model;
}

// Rows of two kinds, each in half of the directions; the last two are large.
struct Rows final : GeneratedSamples {
  Rows()
      : GeneratedSamples(32, [](size_t index) {
          Rng rng(50 + index);
          std::vector<float> values;
          for (int64_t i = 0; i < positions * width; i++) {
            const bool large = i / width >= positions - 2;
            const double mixed = rng.normal() + (values.empty() ? 0 : 0.8 * static_cast<double>(values.back()));
            values.push_back(static_cast<float>(large ? 20 * rng.normal() : std::clamp(mixed, -4.0, 4.0)));
          }
          return data::Sample{Tensor::of(Shape{1, positions, width}, values)};
        }) {}
};

const std::vector<float> last_hardly_count{1, 2, 1, 0.5F, 0.001F, 0.001F};

TEST(EndLoss, IsTheSquareOfWhatAPositionDoes) {
  const graph::Model model = rows_that_count(last_hardly_count, "Identity");
  const EndLoss end_loss(model, layers_of(model));
  const auto weights = end_loss.at(Rows().at(0), 3);
  ASSERT_EQ(weights.size(), 1U);
  ASSERT_EQ(weights[0].size(), static_cast<size_t>(positions));
  for (size_t p = 0; p < weights[0].size(); p++)
    EXPECT_NEAR(weights[0][p], last_hardly_count[p] * last_hardly_count[p], 1e-6) << p;
  EXPECT_TRUE(end_loss.missing().empty());
}

// Over many vectors the estimate is the diagonal itself: here each output is the sum of two rows' values.
TEST(EndLoss, VectorsOfSignsDifferBySeedAndElement) {
  const graph::Model model = rows_that_count(last_hardly_count, "Softmax");
  const EndLoss end_loss(model, layers_of(model));
  const data::Sample sample = Rows().at(0);
  EXPECT_EQ(end_loss.at(sample, 1), end_loss.at(sample, 1));
  EXPECT_NE(end_loss.at(sample, 1), end_loss.at(sample, 2));
  // Of Softmax, J = diag(y) − y yᵀ: the mean of (Jᵀv)² is Σ of its squared rows.
  const Tensor y = runtime::Session(model).run(sample).front();
  for (size_t p = 0; p < 2; p++) {
    const auto row = y.as<float>().subspan(p * width, width);
    double exact = 0;
    for (size_t i = 0; i < row.size(); i++) {
      for (size_t k = 0; k < row.size(); k++) exact += std::pow((i == k ? row[i] : 0) - row[i] * row[k], 2);
    }
    exact *= static_cast<double>(last_hardly_count[p] * last_hardly_count[p]) / width;
    double mean = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) mean += static_cast<double>(end_loss.at(sample, seed * 977)[0][p]) / 2000;
    EXPECT_NEAR(mean, exact, 0.1 * exact) << p;
  }
}

TEST(EndLoss, AnOperatorWithoutGradientIsNamed) {
  graph::Model model = rows_that_count(last_hardly_count, "Softsign");
  const auto samples = std::make_shared<Rows>();
  Rounder rounder(model, samples);
  quant::Plan plan = plan_for(model, *samples, "adaquant", {{"end_loss_guidance", 1}});
  quant::Plan plain = plan_for(model, *samples, "adaquant", {{"end_loss_guidance", 0}});
  rounder.improve(plan);
  rounder.improve(plain);
  const auto names = [](const std::string& note) { return note.find("Softsign (1)") != std::string::npos; };
  EXPECT_EQ(std::ranges::count_if(plan.notes, names), 1);
  EXPECT_EQ(std::ranges::count_if(plain.notes, names), 0);
  plan.rounding = plain.rounding = {};
  EXPECT_EQ(quant::hash_of(plan), quant::hash_of(plain));
}

// The codes and scales of the only layer's weights.
quant::Optimized rounded(const graph::Model& model, const Json& options) {
  const auto samples = std::make_shared<Rows>();
  Rounder rounder(model, samples);
  quant::Plan plan = plan_for(model, *samples, "adaquant", options);
  rounder.improve(plan);
  const auto layer = std::ranges::find_if(plan.nodes, [](const auto& node) { return node.second.weight.has_value(); });
  return layer->second.weight->optimized.value();
}

TEST(EndLoss, IsOnByItselfWhereTheModelNormalizes) {
  const auto same = [](const quant::Optimized& a, const quant::Optimized& b) {
    return a.codes == b.codes && a.params == b.params;
  };
  const Json off{{"end_loss_guidance", 0}}, on{{"end_loss_guidance", 0.25}};
  graph::Model model = rows_that_count(last_hardly_count, "Identity");
  EXPECT_FALSE(same(rounded(model, on), rounded(model, off)));
  EXPECT_TRUE(same(rounded(model, Json::object()), rounded(model, off)));
  model.nodes.back().op_type = "LayerNormalization";
  model.nodes.back().inputs.push_back("gain");
  model.initializers["gain"] = random_tensor({width}, 2);
  EXPECT_FALSE(same(rounded(model, on), rounded(model, off)));
  EXPECT_TRUE(same(rounded(model, Json::object()), rounded(model, on)));
}

TEST(EndLoss, TrialsNameOperatorsWithoutGradientToo) {
  const graph::Model model = rows_that_count(last_hardly_count, "Softsign");
  const quant::Config config =
      quant::parse_config({{"algorithms", "adaquant"}, {"adaquant_params", {{"end_loss_guidance", 0.25}}}});
  CalibrationNeeds needs;
  needs.add(config);
  Variants variants(model, model, std::make_shared<Rows>(), needs, {});
  for (size_t trial = 0; trial < 2; trial++) {  // the second takes what the first computed
    quant::Plan plan = variants.plan(config, *quant::targets::table().make("ort_cpu"));
    variants.improve(config, plan);
    const auto names = [](const std::string& note) { return note.find("Softsign (1)") != std::string::npos; };
    EXPECT_EQ(std::ranges::count_if(plan.notes, names), 1) << trial;
  }
}

double error_with(Rounder& rounder, const graph::Model& model, const data::Dataset& samples, double guidance,
                  const std::string& method) {
  const quant::Config config = quant::parse_config({{"activation", "Int16Spec"},
                                                    {"weight", "Int4Spec"},
                                                    {"algorithms", method},
                                                    {method + "_params", {{"end_loss_guidance", guidance}}}});
  const auto seen = stats::collect(model, samples, quant::observed_values(model), quant::needs_of(config)).at(samples.size());
  quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("generic"));
  rounder.improve(plan);
  return output_error(model, plan, samples);
}

// The large rows are all that a layer's own error knows.
TEST(EndLoss, RowsThatCountAreRoundedFor) {
  const graph::Model model = rows_that_count(last_hardly_count, "Identity");
  const auto samples = std::make_shared<Rows>();
  Rounder rounder(model, samples);
  for (const char* method : {"adaround", "adaquant", "gptq"}) {
    const double without = error_with(rounder, model, *samples, 0, method),
                 with = error_with(rounder, model, *samples, 1, method);
    EXPECT_LT(with, 0.9 * without) << method;
    EXPECT_EQ(error_with(rounder, model, *samples, 0, method), without) << method;  // neither takes what the other keeps
  }
}

TEST(EndLoss, GuidesBySharesOfWhatANormalizationAsks) {
  std::vector<std::vector<float>> plain{{}, {}}, normalized{{4, 1}, {1, 1}};
  const std::vector<std::vector<float>> end_loss{{1, 16}, {0, 4}};
  guide(plain, end_loss, 0.5);  // 1, 4, 0, 2: a sum of 7 for one of 4
  EXPECT_NEAR(plain[0][0], 4.0 / 7, 1e-6);
  EXPECT_NEAR(plain[0][1], 16.0 / 7, 1e-6);
  EXPECT_EQ(plain[1][0], 0);
  EXPECT_NEAR(plain[1][1], 8.0 / 7, 1e-6);
  guide(normalized, end_loss, 0.5);  // 2, 4, 0, 2: of 8 for one of 7
  EXPECT_NEAR(normalized[0][0], 7.0 / 4, 1e-6);
  EXPECT_NEAR(normalized[0][1], 7.0 / 2, 1e-6);
  EXPECT_EQ(normalized[1][0], 0);
  EXPECT_NEAR(normalized[1][1], 7.0 / 4, 1e-6);
}

// A layer that no output depends on, and one whose gradient is not a number, count all positions alike.
TEST(EndLoss, ZeroAndInfiniteGradientsChangeNothing) {
  std::vector<std::vector<float>> plain{{}, {}}, normalized{{4, 1}, {1, 1}};
  guide(plain, {{0, 0}, {0, 0}}, 0.5);
  EXPECT_EQ(plain, (std::vector<std::vector<float>>{{}, {}}));
  guide(normalized, {{1, INFINITY}, {1, 1}}, 0.5);
  EXPECT_EQ(normalized, (std::vector<std::vector<float>>{{4, 1}, {1, 1}}));
}

}  // namespace
}  // namespace quasar::tune
