// Convolutions whose inputs find their scales at run time.
#include <gtest/gtest.h>

#include "executed.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Convolutions of 3 inputs, of 16 with strides and pads, and one in groups; Gemm.
graph::Model network() {
  Builder b(9);
  const auto first = b.node("Relu", {b.conv(b.input("x", {1, 3, 12, 12}), 3, 16, 3)});
  const auto padded = b.node("Conv", {first, b.weights({20, 16, 3, 3}), b.weights({20})},
                             {{"pads", std::vector<int64_t>{1, 1, 1, 1}}, {"strides", std::vector<int64_t>{2, 2}}});
  const auto grouped = b.conv(b.node("Relu", {padded}), 20, 20, 3, 20);
  const auto flat = b.node("Flatten", {b.node("GlobalAveragePool", {grouped})});
  return b.finish({b.node("Gemm", {flat, b.weights({10, 20}), b.weights({10})}, {{"transB", int64_t{1}}})});
}

Plan planned(const graph::Model& model, const char* scheme) {
  return resolve(model, {}, parse_config(words_of_scheme(scheme)), *targets::table().make("ort_cpu"));
}

TEST(DynamicConv, WherePlainDynamicLeavesConvolutionsInFloat) {
  const graph::Model model = network();
  const auto names = [&](const char* scheme) {
    std::set<std::string> out;
    for (const auto& [name, node] : planned(model, scheme).nodes) out.insert(name);
    return out;
  };
  EXPECT_EQ(names("DYNAMIC"), (std::set<std::string>{"Gemm_0"}));
  EXPECT_EQ(names("DYNAMIC_CONV"), (std::set<std::string>{"Conv_1", "Gemm_0"})) << "the others would be slower";
}

TEST(DynamicConv, ComputesNearlyTheSame) {
  const graph::Model model = network();
  const graph::Model quantized = apply(model, planned(model, "DYNAMIC_CONV"));
  const auto is = [](const char* type) { return [type](const graph::Node& node) { return node.is(type); }; };
  EXPECT_EQ(std::ranges::count_if(quantized.nodes, is("ConvInteger")), 1);
  EXPECT_EQ(std::ranges::count_if(quantized.nodes, is("Conv")), 2);
  for (const auto& sample : random_samples(model, 3)) {
    const auto expected = runtime::Session(model).run(sample)[0], found = runtime::Session(quantized).run(sample)[0];
    double error = 0, power = 0;
    for (size_t i = 0; i < expected.count(); i++) {
      error += std::pow(expected.as<float>()[i] - found.as<float>()[i], 2);
      power += std::pow(expected.as<float>()[i], 2);
    }
    EXPECT_LT(std::sqrt(error / power), 0.02);
    EXPECT_GT(error, 0);
  }
}

}  // namespace
}  // namespace quasar::quant
