// PRelus that stay in float are a product and a maximum for ONNX Runtime's CPU, where that is the same function.
#include <gtest/gtest.h>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "no_overflow.hpp"
#include "quasar/quant/written_as.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Conv, PRelu with a slope for each channel, Conv.
graph::Model with_slopes(const std::vector<float>& slopes) {
  Builder b;
  const auto first = b.conv(b.input("x", {1, 3, 6, 7}), 3, 4, 3);
  const auto slope = b.constant(Tensor::of<float>({static_cast<int64_t>(slopes.size()), 1, 1}, slopes));
  graph::Model model = b.finish({b.conv(b.node("PRelu", {first, slope}), 4, 5, 1)});
  model.opsets[""] = 16;
  return without_overflow(model);
}

size_t count_of(const graph::Model& model, const char* type) {
  return static_cast<size_t>(std::ranges::count_if(model.nodes, [&](const graph::Node& node) { return node.is(type); }));
}

TEST(PRelu, ProductAndMaximumAreTheSameFunction) {
  for (const auto& slopes : {std::vector<float>{0.25F, 0, -0.5F, 1}, {0.1F}}) {
    const graph::Model model = with_slopes(slopes);
    graph::Model written = model;
    write_as(written, written_as(graph::Index(model), *targets::table().make("ort_cpu"), {}));
    EXPECT_EQ(count_of(written, "PRelu"), 0U);
    EXPECT_NO_THROW(graph::verify(written, "the test"));
    const runtime::SessionOptions unchanged{.optimization = runtime::Optimization::none};
    const runtime::Session before(model, unchanged), after(written, unchanged);
    for (const auto& sample : random_samples(model, 2)) EXPECT_EQ(before.run(sample)[0], after.run(sample)[0]);
  }
}

TEST(PRelu, ASlopeAboveOneStays) {
  const graph::Model model = with_slopes({0.25F, 1.5F, 0, 0});
  EXPECT_TRUE(written_as(graph::Index(model), *targets::table().make("ort_cpu"), {}).empty());
}

TEST(PRelu, QuantizedModelsOfOnnxRuntimeHaveNone) {
  const graph::Model model = with_slopes({0.25F, 0, -0.5F, 1});
  const auto seen = observe(model, random_samples(model, 2));
  for (const auto format : {Format::qdq, Format::qoperator}) {
    Config config = config_of(DataType::uint8, false);
    config.format = format;
    const graph::Model fast = written(model, resolve(model, seen, config, *targets::table().make("ort_cpu")));
    EXPECT_EQ(count_of(fast, "PRelu"), 0U);
    EXPECT_EQ(count_of(fast, "Max"), 1U);
    runtime::Session(fast).run(random_samples(model, 1)[0]);
  }
  Config config = config_of(DataType::uint8, false);
  EXPECT_EQ(count_of(written(model, resolve(model, seen, config, *targets::table().make("openvino"))), "PRelu"), 1U);
}

}  // namespace
}  // namespace quasar::quant
