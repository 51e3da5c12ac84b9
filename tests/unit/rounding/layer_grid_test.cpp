#include "quasar/rounding/layer_grid.hpp"

#include <gtest/gtest.h>

#include "quasar/quant/codes/gram_errors.hpp"
#include "quasar/quant/codes/weights.hpp"

namespace quasar::tune {
namespace {

// Ranges that clip (powers of two, least squares) give some weights the lowest code: the solvers must have it too, or they start
// from a worse model than nearest rounding's.
TEST(LayerGrid, ProblemsHaveEveryCodeThatNearestRoundingMakes) {
  LinearLayer layer;
  layer.outputs = 1;
  layer.inputs = 3;
  const Tensor weights = Tensor::of<float>({1, 3}, {-7.9F, 0.2F, 5.0F});
  for (const auto& [type, lowest] : {std::pair{DataType::int4, -8}, {DataType::int8, -128}, {DataType::int16, -32768}}) {
    quant::QuantParams params;
    params.type = type;
    params.scales = {7.9F / static_cast<float>(-lowest)};
    params.zero_points = {0};
    const LayerGrid grid(layer, weights, {1, params});
    quant::GramProblem problem;
    problem.inputs = 3;
    grid.fill(problem, 0, 1, 0);
    EXPECT_EQ(problem.low, lowest);
    EXPECT_EQ(problem.high, -lowest - 1);
    const auto nearest = quant::nearest_codes(problem);
    const auto stored = to_doubles(quant::quantize(weights, params));
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(nearest[i], static_cast<int32_t>(stored[i])) << lowest;
    EXPECT_EQ(nearest[0], lowest);
  }
}

}  // namespace
}  // namespace quasar::tune
