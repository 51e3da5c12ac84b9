#include "quasar/quant/block_tables.hpp"

#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

struct TableForm {
  std::string type;
  size_t block;
  int64_t columns = 96;
};

Json words_for(const TableForm& form, const std::string& last) {
  return {{"activation", nullptr},
          {"weight", "UInt4Spec"},
          {"weight_params", {{"quant_granularity", "Group"}, {"group_size", form.block}, {"calibration_method", "MinMax"}}},
          {"layer_kinds", {{"table", form.type}, {"last", last}}}};
}

// Rows of a table, added to an input and multiplied with a matrix; `tied`: with the table itself, turned around.
graph::Model with_table(int64_t columns, bool tied) {
  Builder b;
  const auto ids = b.input("ids", {2, 3}, DataType::int64);
  const auto table = b.weights({60, columns});
  const auto x = b.node("Add", {b.node("Gather", {table, ids}), b.input("x", {2, 3, columns})});
  if (tied)
    return b.finish({b.node("Gemm", {b.node("Reshape", {x, b.constant(Tensor::of<int64_t>({2}, {6, columns}))}), table},
                            {{"transB", int64_t{1}}})});
  return b.finish({b.node("MatMul", {x, b.weights({columns, 8})}), x});
}

Plan plan_for(const graph::Model& model, const Json& words) {
  return resolve(model, {}, parse_config(words), *targets::table().make("ort_cpu"));
}

std::vector<Tensor> ids_and_values(int64_t columns) {
  std::vector<float> x(static_cast<size_t>(6 * columns));
  for (size_t i = 0; i < x.size(); i++) x[i] = 0.01F * static_cast<float>(i % 17);
  return {Tensor::of<int64_t>({2, 3}, {0, 39, 7, 7, -1, 12}), Tensor::of(Shape{2, 3, columns}, x)};
}

// The values that the codes stand for, gathered from a table of floats.
TEST(BlockTables, RunAsTheirCodesSay) {
  for (const std::string type : {"UInt2Spec", "Int2Spec", "UInt4Spec", "Int4Spec", "UInt8Spec", "Int8Spec"}) {
    for (const auto& [block, columns] :
         std::vector<std::pair<size_t, int64_t>>{{16, 96}, {32, 96}, {64, 96}, {128, 96}, {256, 300}, {16, 20}}) {
      SCOPED_TRACE(type + ", blocks of " + std::to_string(block));
      const graph::Model model = with_table(columns, false);
      const Plan plan = plan_for(model, words_for({type, block}, "Float32Spec"));
      ASSERT_TRUE(plan.nodes.contains("Gather_0"));
      const graph::Model quantized = apply(model, plan);
      EXPECT_EQ(quantized.nodes.front().op_type, "GatherBlockQuantized");
      EXPECT_TRUE(runtime::runs_quantized(quantized, {"Gather_0"}).at("Gather_0"));
      graph::Model exact = model;
      const QuantParams& params = plan.nodes.at("Gather_0").weight->params;
      Tensor& table = exact.initializers.at("constant_0");
      table = dequantize(quantize(table, params), params);
      const Tensor expected = runtime::Session(exact).run(ids_and_values(columns))[1],
                   got = runtime::Session(quantized).run(ids_and_values(columns))[1];
      for (size_t i = 0; i < expected.count(); i++) EXPECT_NEAR(got.as<float>()[i], expected.as<float>()[i], 1e-6);
    }
  }
}

// Scales of whole rows are repeated for blocks.
TEST(BlockTables, OneScaleForEachRow) {
  const graph::Model model = with_table(96, false);
  const Plan plan = plan_for(model, {{"activation", nullptr},
                                     {"weight", "Int8Spec"},
                                     {"weight_params", {{"quant_granularity", "Channel"}}},
                                     {"layer_kinds", {{"table", "Int8Spec"}}}});
  EXPECT_EQ(plan.nodes.at("Gather_0").weight->params.scales.size(), 60U);
  const Tensor expected = runtime::Session(model).run(ids_and_values(96))[1],
               got = runtime::Session(apply(model, plan)).run(ids_and_values(96))[1];
  for (size_t i = 0; i < expected.count(); i++) EXPECT_NEAR(got.as<float>()[i], expected.as<float>()[i], 0.01);
}

size_t stored_bytes(const graph::Model& model) {
  size_t out = 0;
  for (const auto& [name, tensor] : model.initializers) out += tensor.type() == DataType::uint8 ? tensor.count() : 0;
  return out;
}

TEST(BlockTables, TiedWeightsAreStoredOnce) {
  for (const std::string type : {"UInt4Spec", "UInt8Spec", "Int4Spec"}) {
    SCOPED_TRACE(type);
    const graph::Model model = with_table(96, true);
    const Plan plan = plan_for(model, words_for({type, 32}, type));
    EXPECT_TRUE(plan.notes.empty());
    const graph::Model quantized = apply(model, plan);
    EXPECT_NO_THROW(graph::verify(quantized, "the test"));
    const size_t codes = 60U * 96U * (type == "UInt8Spec" ? 8 : 4) / 8;
    EXPECT_LT(stored_bytes(quantized), codes + codes / 4);
    const auto expected = runtime::Session(model).run(ids_and_values(96))[0];
    const auto got = runtime::Session(quantized).run(ids_and_values(96))[0];
    double error = 0, all = 0;
    for (size_t i = 0; i < expected.count(); i++) {
      error += std::pow(got.as<float>()[i] - expected.as<float>()[i], 2);
      all += std::pow(expected.as<float>()[i], 2);
    }
    EXPECT_LT(error, (type == "UInt8Spec" ? 1e-3 : 0.1) * all);
    const runtime::SessionOptions plain{.optimization = runtime::Optimization::none, .integer_kernels = false};
    EXPECT_EQ(runtime::Session(quantized, plain).run(ids_and_values(96)).size(), 1U);
  }
}

TEST(BlockTables, WhyTiedWeightsAreStoredTwice) {
  const graph::Model model = with_table(96, true);
  const auto note = [&](const Json& words) { return plan_for(model, words).notes; };
  ASSERT_EQ(note(words_for({"UInt4Spec", 32}, "UInt8Spec")).size(), 1U);
  EXPECT_NE(note(words_for({"UInt4Spec", 32}, "UInt8Spec"))[0].find("their bits or blocks differ"), std::string::npos);
  EXPECT_NE(note(words_for({"UInt4Spec", 64}, "UInt4Spec"))[0].find("rows do not end with a block"), std::string::npos);
  Json rounded = words_for({"UInt4Spec", 32}, "UInt4Spec");
  rounded["algorithms"] = "gptq";
  EXPECT_NE(note(rounded)[0].find("optimized rounding"), std::string::npos);
  EXPECT_GT(stored_bytes(apply(model, plan_for(model, words_for({"UInt4Spec", 64}, "UInt4Spec")))), 60U * 96U);
}

TEST(BlockTables, WhyOthersStayInFloat) {
  const auto why = [](const graph::Model& model, const std::string& type) {
    return plan_for(model, words_for({type, 16}, "UInt8Spec")).skipped.at("Gather_0");
  };
  EXPECT_NE(why(with_table(97, false), "UInt4Spec").find("do not end with a byte"), std::string::npos);
  Json by_type{{"activation", nullptr},
               {"weight", "UInt4Spec"},
               {"layer_type_config", {{{"weight", "UInt8Spec"}, {"op_types", {"Gather"}}}}}};
  Builder b;
  const auto columns = b.node("Gather", {b.weights({60, 96}), b.input("ids", {3}, DataType::int64)}, {{"axis", int64_t{1}}});
  const graph::Model model = b.finish({b.node("MatMul", {columns, b.weights({3, 8})})});
  EXPECT_NE(plan_for(model, by_type).skipped.at("Gather_0").find("takes whole rows"), std::string::npos);
  // Without a rule tables are floats, and the reason says how to ask.
  Json plain = words_for({"UInt8Spec", 16}, "UInt8Spec");
  plain.erase("layer_kinds");
  EXPECT_NE(plan_for(with_table(96, false), plain).skipped.at("Gather_0").find("layer_kinds: {table: UInt8Spec}"),
            std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
