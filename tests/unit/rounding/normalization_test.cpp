#include "quasar/rounding/normalization.hpp"

#include <gtest/gtest.h>

#include "quasar/base/rng.hpp"
#include "quasar/rounding/layer_moments.hpp"
#include "quasar/rounding/rounding.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/quant/sample_models.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

using quant::Builder;

constexpr int64_t tokens = 32, width = 16;

// Of a transformer: tokens through a matrix, added to what came in, normalized.
graph::Model residual_and_norm() {
  Builder b(3);
  const auto x = b.input("x", {1, tokens, width});
  const auto product = b.node("MatMul", {x, b.weights({width, width})});
  const auto sum = b.node("Add", {b.node("Add", {product, b.weights({width})}), x});
  graph::Model model = b.finish({b.node("LayerNormalization", {sum, b.weights({width}, 0.1F, 1), b.weights({width})})});
  model.opsets[""] = 17;
  return model;
}

// One token in each sample is far larger than the others.
struct Tokens final : GeneratedSamples {
  Tokens()
      : GeneratedSamples(16, [](size_t index) {
          Rng rng(7 + index);
          std::vector<float> values;
          for (int64_t i = 0; i < tokens * width; i++) {
            const double base =
                i % 4 == 0 ? rng.normal() : 0.7 * (values.empty() ? 1 : static_cast<double>(values.back())) + 0.2 * rng.normal();
            values.push_back(static_cast<float>(base));
          }
          for (int64_t i = 0; i < width; i++) values[static_cast<size_t>(i)] = static_cast<float>(60 * rng.normal());
          return data::Sample{Tensor::of(Shape{1, tokens, width}, values)};
        }) {}
};

TEST(Normalization, IsFoundBehindSums) {
  const graph::Model model = residual_and_norm();
  const graph::Index index(model);
  EXPECT_EQ(normalized_value("MatMul_0_out", index), "Add_1_out");
  EXPECT_EQ(normalized_value("LayerNormalization_0_out", index), "");
}

// As Keras writes it. Gains of two axes say that the last is not alone.
TEST(Normalization, AnAxisFromTheFrontIsTheLastOneByItsGains) {
  graph::Model model = residual_and_norm();
  model.nodes.back().attributes = {{"axis", int64_t{2}}};
  EXPECT_EQ(normalized_value("MatMul_0_out", graph::Index(model)), "Add_1_out");
  model.nodes.back().attributes = {{"axis", int64_t{1}}};
  model.initializers[model.nodes.back().inputs[1]] = Tensor::of({tokens, width}, std::vector<float>(tokens * width, 1));
  EXPECT_EQ(normalized_value("MatMul_0_out", graph::Index(model)), "");
}

TEST(Normalization, IsFoundWhereItIsWrittenOut) {
  for (const int64_t axis : {-1, 1}) {
    Builder b;
    const auto x = b.input("x", {1, 4, 8});
    const auto product = b.node("MatMul", {x, b.weights({8, 8})});
    const auto mean = b.node("ReduceMean", {product}, {{"axes", std::vector<int64_t>{axis}}, {"keepdims", int64_t{1}}});
    const graph::Model model = b.finish({b.node("Sub", {product, mean})});
    EXPECT_EQ(normalized_value(product, graph::Index(model)), axis == -1 ? product : "");
  }
}

TEST(Normalization, RowsCountByTheirSpread) {
  const auto weights = weights_of_rows(Tensor::of<float>({1, 3, 2}, {1, 3, 10, 30, 5, 5}));
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_NEAR(weights[0], 1, 1e-4);
  EXPECT_NEAR(weights[1], 0.01, 1e-6);
  EXPECT_NEAR(weights[2], 1e5, 1);
}

// A column of weight 4 is as good as four columns.
TEST(Normalization, WeightsOfColumnsCountAsOften) {
  const LinearLayer layer{.node = "n", .input = "x", .output = "y", .outputs = 2, .inputs = 3};
  const std::vector<std::vector<float>> inputs{{1, 2, -1}, {0.5F, -2, 3}}, outputs{{4, 1}, {-2, 3}};
  const auto problem = [&](const std::vector<size_t>& columns, const std::vector<float>& weights) {
    Target target{.shape = {}, .positions = std::vector<uint32_t>(columns.size()), .values = {}, .weights = weights};
    for (size_t o = 0; o < 2; o++) {
      for (const size_t column : columns) target.values.push_back(outputs[column][o]);
    }
    const size_t samples[] = {0};
    const auto fill = [&](size_t, float* to, size_t stride) {
      for (size_t i = 0; i < 3; i++) {
        for (size_t c = 0; c < columns.size(); c++) to[i * stride + c] = inputs[columns[c]][i];
      }
    };
    return problem_of(layer, moments_of(layer, samples, {target}, fill, 1), 0, {});
  };
  const auto weighted = problem({0, 1}, {1, 4}), repeated = problem({0, 1, 1, 1, 1}, {});
  for (size_t i = 0; i < 9; i++) EXPECT_NEAR(weighted.gram[i], repeated.gram[i], 1e-6) << i;
  for (size_t i = 0; i < 6; i++) EXPECT_NEAR(weighted.cross[i], repeated.cross[i], 1e-6) << i;
  for (size_t o = 0; o < 2; o++) EXPECT_NEAR(weighted.power[o], repeated.power[o], 1e-6) << o;
}

// An input that never changes is no evidence: what is left of its mean square is rounding noise of sums.
TEST(Normalization, ConstantInputsAreLeftAlone) {
  const LinearLayer layer{.node = "n", .input = "x", .output = "y", .outputs = 1, .inputs = 2};
  Target target{.shape = {}, .positions = {0, 1, 2}, .values = {0.3F, 0.5F, 0.9F}};
  const size_t samples[] = {0};
  const auto fill = [&](size_t, float* to, size_t stride) {
    for (size_t c = 0; c < 3; c++) to[c] = 0.1F, to[stride + c] = 0.7F * static_cast<float>(c);
  };
  const auto problem = problem_of(layer, moments_of(layer, samples, {target}, fill, 1), 0, {});
  EXPECT_EQ(problem.gram[0], 0);
  EXPECT_EQ(problem.cross[0], 0);
  EXPECT_GT(problem.gram[3], 0.1);
}

// Without weights the huge token would be all that counts, and the others would be worse than with nearest rounding.
TEST(Normalization, RoundingServesOrdinaryTokensToo) {
  const graph::Model model = residual_and_norm();
  const auto samples = std::make_shared<Tokens>();
  const auto error = [&](const char* method) {
    const quant::Config config =
        quant::parse_config({{"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                             {"weight", "Int4Spec"},
                             {"weight_params", {{"quant_granularity", "Tensor"}}},
                             {"algorithms", method}});
    const auto seen = stats::collect(model, *samples, quant::observed_values(model), quant::needs_of(config)).at(samples->size());
    quant::Plan plan = quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
    Rounder(model, samples, {}).improve(plan);
    const runtime::Session exact(model), rounded(quant::apply(model, plan));
    double sum = 0;
    for (size_t i = 0; i < samples->size(); i++) {
      const Tensor wanted = exact.run(samples->at(i)).front(), found = rounded.run(samples->at(i)).front();
      for (size_t k = 0; k < wanted.count(); k++)
        sum += std::pow(static_cast<double>(wanted.as<float>()[k] - found.as<float>()[k]), 2);
    }
    return sum;
  };
  EXPECT_LT(error("adaquant"), error("nearest"));
  EXPECT_LT(error("gptq"), error("nearest"));
}

}  // namespace
}  // namespace quasar::tune
