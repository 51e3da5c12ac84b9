#include "quasar/quant/weight_memo.hpp"

#include <gtest/gtest.h>

#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/weights.hpp"

namespace quasar::quant {
namespace {

Tensor drawn(uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(64);
  for (auto& value : values) value = static_cast<float>(rng.normal());
  return Tensor::of(Shape{8, 8}, values);
}

TEST(WeightMemo, AnswersAsWithoutIt) {
  WeightMemo memo;
  const Tensor first = drawn(1), second = drawn(2);
  Scheme scheme;
  scheme.granularity = Granularity::channel;
  Scheme finer = scheme;
  finer.range_method = "min_mse";
  for (int time = 0; time < 2; time++) {
    for (const Scheme& one : {scheme, finer, Scheme()}) {
      for (const std::optional<int> axis : {std::optional<int>(0), std::optional<int>(1), std::optional<int>()}) {
        EXPECT_EQ(memo.params("first", first, axis, one), weight_params(first, axis, one));
        EXPECT_EQ(memo.params("second", second, axis, one), weight_params(second, axis, one));
      }
    }
  }
}

TEST(WeightMemo, AsksOnceForEachQuestion) {
  WeightMemo memo;
  int asked = 0;
  const auto limit = [&](ConstantPlan plan) {
    asked++;
    plan.limits.most = 64;
    return plan;
  };
  ConstantPlan plan{1, {.type = DataType::int8, .scales = {0.5F}, .zero_points = {0}}};
  EXPECT_EQ(memo.limited("node", "avoid", plan, limit).limits.most, 64);
  EXPECT_EQ(memo.limited("node", "avoid", plan, limit), memo.limited("node", "avoid", plan, limit));
  EXPECT_EQ(asked, 1);
  memo.limited("other", "avoid", plan, limit);
  memo.limited("node", "reduce_range", plan, limit);
  plan.params.scales = {0.25F};
  EXPECT_EQ(memo.limited("node", "avoid", plan, limit).params.scales.front(), 0.25F);
  EXPECT_EQ(asked, 4);
}

TEST(WeightMemo, ThreadsShareIt) {
  WeightMemo memo;
  const Tensor weights = drawn(3);
  parallel_for(200, 4, [&](size_t i) {
    Scheme scheme;
    scheme.symmetric = i % 2 == 0;
    EXPECT_EQ(memo.params("w", weights, 0, scheme), weight_params(weights, 0, scheme));
  });
}

}  // namespace
}  // namespace quasar::quant
