#include "quasar/graph/skeleton.hpp"

#include <gtest/gtest.h>

#include "quasar/graph/load.hpp"
#include "quasar/graph/share_equal.hpp"
#include "small_models.hpp"

namespace quasar::graph {
namespace {

TEST(Skeleton, LeavesLargeWeightsWhereTheyAre) {
  const Model model = small_model();
  const Skeleton out = skeleton_of(model, 100);
  ASSERT_EQ(out.weights.size(), 1U);
  EXPECT_EQ(out.weights[0].first, "w");
  EXPECT_EQ(out.weights[0].second.bytes().data(), model.initializers.at("w").bytes().data());
  EXPECT_LT(out.bytes.size() + 300, to_bytes(model).size());
  EXPECT_EQ(skeleton_of(model, 1000).bytes, to_bytes(model));
}

TEST(Skeleton, KeepsWhatCannotBeGivenAsMemory) {
  Model model = small_model();
  const std::vector<uint8_t> packed(50, 7);
  model.initializers["w4"] = Tensor::copy(DataType::int4, Shape{100}, packed.data(), packed.size());
  model.initializers["words"] = Tensor::strings(Shape{2}, {"one", "two"});
  EXPECT_EQ(skeleton_of(model, 10).weights.size(), 2U);  // w and b
}

TEST(ShareEqual, OnlyWeightsOfTheSameNameAndBits) {
  const Model model = small_model();
  Model other = small_model();
  other.initializers["b"] = Tensor::of<float>({4}, {1, 2, 3, 5});
  other.initializers["more"] = model.initializers.at("w");
  for (const bool mapped : {false, true}) {
    Model shared = other;
    shared.initializers["w"] = small_model().initializers.at("w");
    share_equal(shared, model, mapped);
    EXPECT_EQ(shared.initializers.at("w").bytes().data(), model.initializers.at("w").bytes().data());
    EXPECT_EQ(shared.initializers.at("b"), other.initializers.at("b"));
    EXPECT_EQ(shared.initializers.size(), 3U);
  }
}

}  // namespace
}  // namespace quasar::graph
