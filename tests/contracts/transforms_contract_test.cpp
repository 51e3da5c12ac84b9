// What every transform must keep.
#include <gtest/gtest.h>

#include <cmath>

#include "quasar/graph/load.hpp"
#include "quasar/quant/config/transform.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/quant/random_dataset.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::quant {
namespace {

// Convolutions through everything that equalization passes, with weights that two layers share.
graph::Model long_chain(uint32_t seed) {
  Builder b(seed);
  const auto stem = b.node("Relu", {b.conv(b.input("x", {1, 3, 9, 9}), 3, 8, 3)});
  const auto depthwise = b.node("LeakyRelu", {b.conv(stem, 8, 8, 3, 8)}, {{"alpha", 0.1F}});
  const auto again = b.node("PRelu", {b.conv(depthwise, 8, 8, 3, 8), b.weights({8, 1, 1})});
  const auto padded = b.node("Pad", {again, b.constant(Tensor::of<int64_t>({8}, {0, 0, 1, 2, 0, 0, 0, 1}))});
  const auto grouped = b.node("AveragePool", {b.conv(padded, 8, 6, 3, 2)}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const auto shared = b.weights({6, 6, 1, 1});
  const auto first = b.node("Relu", {b.node("Conv", {grouped, shared})}), second = b.node("Conv", {first, shared});
  const auto up = b.node("ConvTranspose", {second, b.weights({6, 4, 2, 2}), b.weights({4})});
  const auto small =
      b.node("MaxPool", {up}, {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"strides", std::vector<int64_t>{3, 3}}});
  const auto flat = b.node("Flatten", {small});
  const auto hidden = b.node("Relu", {b.node("Gemm", {flat, b.weights({7, 48}), b.weights({7})}, {{"transB", int64_t{1}}})});
  return b.finish({b.node("Gemm", {hidden, b.weights({7, 5}), b.weights({1, 5})}, {{"alpha", 0.5F}})});
}

// Normalization whose output the layers read alone (folded) and with a sum (a Mul), and layers behind layers.
graph::Model transformer(uint32_t seed) {
  Builder b(seed);
  b.model().opsets[""] = 17;
  const auto x = b.input("x", {2, 5, 12});
  const auto norm = [&](const std::string& value) {
    return b.node("LayerNormalization", {value, b.weights({12}, 0.5F, 1), b.weights({12})});
  };
  const auto normal = norm(x);
  const auto query = b.node("Add", {b.node("MatMul", {normal, b.weights({12, 12})}), b.weights({12})});
  const auto key = b.node("Add", {b.weights({12}), b.node("MatMul", {normal, b.weights({12, 12})})});
  const auto sum = norm(b.node("Add", {b.node("MatMul", {b.node("Relu", {query}), b.weights({12, 12})}), key}));
  const auto wide = b.node("Relu", {b.node("Add", {b.node("MatMul", {sum, b.weights({12, 20})}), b.weights({20})})});
  return b.finish({b.node("Add", {b.node("MatMul", {wide, b.weights({20, 12})}), sum})});
}

// What rewrites of the graph look for: normalizations in parts, BatchNormalization behind Concat, means over images, a large
// GlobalAveragePool, Split.
graph::Model in_parts(uint32_t seed) {
  Builder b(seed);
  const auto scalar = [&](float value) { return b.constant(Tensor::scalar(value)); };
  const auto x = b.input("x", {1, 6, 30, 30});
  const std::vector<graph::Attribute> spatial{{"axes", std::vector<int64_t>{2, 3}}};
  const auto centred = b.node("Sub", {x, b.node("ReduceMean", {x}, spatial)});
  const auto square = seed % 2 == 0 ? b.node("Mul", {centred, centred}) : b.node("Pow", {centred, scalar(2)});
  const auto deviation = b.node("Sqrt", {b.node("Add", {b.node("ReduceMean", {square}, spatial), scalar(1e-5F)})});
  const auto scaled = b.node("Mul", {b.node("Div", {centred, deviation}), b.weights({1, 6, 1, 1}, 0.3F, 1)});
  const auto normal = b.node("Add", {scaled, b.weights({6, 1, 1})});
  const auto length = b.node("ReduceL2", {normal}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{1}}});
  const auto bounded = b.node("Clip", {length, scalar(1e-12F)});
  const auto unit = b.node("Div", {normal, b.node("Expand", {bounded, b.node("Shape", {normal})})});
  const auto both = b.node("Concat", {unit, x}, {{"axis", int64_t{1}}});
  const auto batch = b.node("BatchNormalization", {both, b.weights({12}, 0.2F, 1), b.weights({12}), b.weights({12}),
                                                   b.constant(Tensor::of({12}, std::vector<float>(12, 0.7F)))});
  b.node("Split", {b.node("Relu", {batch})}, {{"axis", int64_t{1}}}, 3);
  b.node("Split", {"Split_0_out2", b.constant(Tensor::of<int64_t>({2}, {1, 3}))}, {{"axis", int64_t{-3}}}, 2);
  const auto pooled = b.node("GlobalAveragePool", {"Split_0_out1"});
  const auto mean = b.node("ReduceMean", {"Split_0_out"}, {{"axes", std::vector<int64_t>{-1, 2}}, {"keepdims", int64_t{0}}});
  const auto first = b.node("Gemm", {mean, b.weights({4, 3})}), second = b.node("Conv", {pooled, b.weights({2, 4, 1, 1})});
  return b.finish({first, second, "Split_1_out1", b.node("ReduceMean", {"Split_1_out"}, spatial)});
}

std::vector<std::pair<std::string, graph::Model>> models() {
  std::vector<std::pair<std::string, graph::Model>> out{{"separable", separable()},
                                                        {"residual", residual()},
                                                        {"branches", branches()},
                                                        {"attention", attention()},
                                                        {"recurrent", recurrent()}};
  for (uint32_t seed = 1; seed < 6; seed++) {
    out.emplace_back("long chain " + std::to_string(seed), long_chain(seed));
    out.emplace_back("transformer " + std::to_string(seed), transformer(seed));
    out.emplace_back("in parts " + std::to_string(seed), in_parts(seed));
  }
  out.emplace_back("digits", runtime::prepare(graph::load(std::string(QUASAR_SOURCE_DIR) + "/examples/digits/digits.onnx")));
  return out;
}

Transformed transformed(const graph::Model& model, const Transform& transform) {
  const RandomSamples samples(model);
  return transform.rewrite(model,
                           stats::collect_channels(model, samples, transform.needs(model), {.block = transform.product_block()}));
}

// The largest difference of the outputs, over their largest value.
double difference(const graph::Model& a, const graph::Model& b) {
  const RandomSamples samples(a);
  const runtime::Session before(a), after(b);
  double largest = 0;
  for (size_t i = 0; i < samples.size(); i++) {
    const auto x = before.run(samples.at(i)), y = after.run(samples.at(i));
    for (size_t k = 0; k < x.size(); k++) {
      double scale = 1e-6;
      for (const float value : x[k].as<float>()) scale = std::max<double>(scale, std::abs(value));
      for (size_t j = 0; j < x[k].count(); j++)
        largest = std::max<double>(largest, std::abs(double{x[k].as<float>()[j]} - y[k].as<float>()[j]) / scale);
    }
  }
  return largest;
}

TEST(TransformsContract, TheFunctionStays) {
  for (const auto& [name, entry] : transforms::table().items()) {
    const auto transform = entry.make(Options(entry.options, Json::object(), name));
    if (!transform->equivalent()) continue;
    for (const auto& [which, model] : models()) {
      const Transformed result = transformed(model, *transform);
      graph::verify(result.model, name);
      EXPECT_LT(difference(model, result.model), 2e-5) << name << " on " << which;
    }
  }
}

TEST(TransformsContract, NoChangeMeansTheSameModel) {
  for (const auto& [name, entry] : transforms::table().items()) {
    const auto transform = entry.make(Options(entry.options, Json::object(), name));
    for (const auto& [which, model] : models()) {
      const Transformed result = transformed(model, *transform);
      bool same = result.model.initializers == model.initializers && result.model.nodes.size() == model.nodes.size();
      for (size_t i = 0; same && i < model.nodes.size(); i++)
        same = result.model.nodes[i].op_type == model.nodes[i].op_type && result.model.nodes[i].inputs == model.nodes[i].inputs;
      EXPECT_EQ(result.changes == 0, same) << name << " on " << which;
    }
  }
}

// Nodes that are gone have successors, which are there: users' names stay good.
TEST(TransformsContract, SuccessorsAreThere) {
  for (const auto& [name, entry] : transforms::table().items()) {
    const auto transform = entry.make(Options(entry.options, Json::object(), name));
    for (const auto& [which, model] : models()) {
      const Transformed result = transformed(model, *transform);
      const graph::Index index(result.model);
      for (const auto& node : model.nodes) {
        const auto became = result.became.find(node.name);
        if (became == result.became.end()) {
          EXPECT_TRUE(index.node(node.name) != nullptr || node.is("Shape")) << name << " on " << which << ": " << node.name;
          continue;
        }
        for (const auto& successor : became->second) EXPECT_NE(index.node(successor), nullptr) << name << ": " << successor;
      }
    }
  }
}

// What a transform does not name among the changed values has the values it had.
TEST(TransformsContract, ChangedValuesAreNamed) {
  for (const auto& [name, entry] : transforms::table().items()) {
    const auto transform = entry.make(Options(entry.options, Json::object(), name));
    if (!transform->equivalent()) continue;
    for (const auto& [which, model] : models()) {
      const Transformed result = transformed(model, *transform);
      std::vector<std::string> kept;
      for (const auto& node : model.nodes) {
        if (node.is("Shape")) continue;
        for (const auto& value : node.outputs) {
          if (!value.empty() && !result.values.contains(value) && graph::Index(result.model).producer(value) != nullptr)
            kept.push_back(value);
        }
      }
      EXPECT_LT(difference(runtime::tapped(model, kept), runtime::tapped(result.model, kept)), 2e-5) << name << " on " << which;
    }
  }
}

TEST(TransformsContract, EveryOneHasWork) {
  for (const auto& [name, entry] : transforms::table().items()) {
    EXPECT_FALSE(entry.help.empty()) << name;
    const auto transform = entry.make(Options(entry.options, Json::object(), name));
    size_t changes = 0;
    for (const auto& [which, model] : models()) changes += transformed(model, *transform).changes;
    EXPECT_GT(changes, 0U) << name;
  }
}

}  // namespace
}  // namespace quasar::quant
