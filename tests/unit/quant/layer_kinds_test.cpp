#include "quasar/quant/layer_kinds.hpp"

#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/quant/node_names.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

// Names of products by what they are, as a reader of the graph knows them.
struct Written {
  std::map<std::string, std::pair<LayerKind, size_t>> places;
  std::string product(Builder& b, const std::string& x, Shape shape, LayerKind kind, size_t layer) {
    const auto out = b.node("MatMul", {x, b.weights(shape)});
    places[b.model().nodes.back().name] = {kind, layer};
    return out;
  }
};

std::string attention_part(Builder& b, Written& w, const std::string& x, const std::string& memory, size_t layer) {
  const Shape square{16, 16};
  const auto sizes = b.node("Shape", {x});  // leads to the layers before, and says nothing
  const auto heads = [&](const std::string& value) { return b.node("Reshape", {value, sizes}); };
  const auto angles = b.node("Cos", {b.node("Cast", {"ids"}, {{"to", int64_t{1}}})});
  const auto q = b.node("Mul", {heads(w.product(b, x, square, LayerKind::query_key_value, layer)), angles});
  const auto k =
      b.node("Concat", {"past", heads(w.product(b, memory, square, LayerKind::query_key_value, layer))}, {{"axis", int64_t{1}}});
  const auto v = heads(b.node("Add", {w.product(b, memory, square, LayerKind::query_key_value, layer), b.weights({16})}));
  const auto keys = b.node("Transpose", {k}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const auto scores = b.node("Add", {b.node("MatMul", {q, keys}), "mask"});
  const auto mixed = heads(b.node("MatMul", {b.node("Softmax", {scores}), v}));
  return b.node("Add", {x, w.product(b, mixed, square, LayerKind::attention_output, layer)});
}

std::string feed_forward_part(Builder& b, Written& w, const std::string& x, size_t layer) {
  const auto gate = b.node("Sigmoid", {w.product(b, x, {16, 32}, LayerKind::feed_forward, layer)});
  const auto up = w.product(b, x, {16, 32}, LayerKind::feed_forward, layer);
  const auto down = w.product(b, b.node("Mul", {gate, up}), {32, 16}, LayerKind::down, layer);
  return b.node("Add", {b.node("Add", {b.weights({16}), down}), x});
}

// `crossed`: each layer reads an encoder's states too.
graph::Model decoder_with(size_t layers, bool crossed, Written& w) {
  Builder b;
  const auto ids = b.input("ids", {1, 6}, DataType::int64);
  b.input("past", {1, 2, 16}), b.input("mask", {6, 8}), b.input("states", {1, 4, 16});
  auto x = b.node("Gather", {b.weights({100, 16}), ids});
  w.places["Gather_0"] = {LayerKind::table, 0};
  const auto positions =
      b.node("Unsqueeze", {b.node("Gather", {b.weights({200, 16}), ids}), b.constant(Tensor::of<int64_t>({1}, {0}))});
  x = b.node("LayerNormalization", {x, b.weights({16})});
  for (size_t layer = 0; layer < layers; layer++) {
    x = attention_part(b, w, b.node("Add", {x, b.node("Mul", {x, positions})}), x, layer);
    if (crossed) x = attention_part(b, w, x, "states", layer);
    x = feed_forward_part(b, w, x, layer);
  }
  return b.finish({w.product(b, x, {16, 100}, LayerKind::last, 0)});
}

void expect_found(const graph::Model& model, const Written& written, size_t layers) {
  const LayerKinds found = find_layer_kinds(graph::Index(model));
  EXPECT_EQ(found.layers, layers);
  std::map<std::string, std::pair<LayerKind, size_t>> places;
  for (const auto& [name, place] : found.nodes) places[name] = {place.kind, place.layer};
  EXPECT_EQ(places, written.places);
}

TEST(LayerKinds, AreFoundInTheGraph) {
  for (const size_t layers : {1U, 3U}) {
    Written own, crossed;
    const graph::Model plain = decoder_with(layers, false, own), with_encoder = decoder_with(layers, true, crossed);
    expect_found(plain, own, layers);
    expect_found(with_encoder, crossed, layers);
  }
}

// Attention and feed-forward parts that read the same states, as in GPT-J and Phi.
TEST(LayerKinds, PartsSideBySideAreOneLayer) {
  Builder b;
  Written w;
  const auto ids = b.input("ids", {1, 6}, DataType::int64);
  b.input("past", {1, 2, 16}), b.input("mask", {6, 8});
  auto x = b.input("x", {1, 6, 16});
  for (size_t layer = 0; layer < 2; layer++) {
    const auto left = attention_part(b, w, x, x, layer);
    const auto hidden = b.node("Relu", {w.product(b, x, {16, 32}, LayerKind::feed_forward, layer)});
    x = b.node("Add", {left, w.product(b, hidden, {32, 16}, LayerKind::down, layer)});
  }
  expect_found(b.finish({x}), w, 2);
}

TEST(LayerKinds, OperatorsThatHoldAWholeAttention) {
  Builder b;
  Written w;
  const auto x = b.input("x", {1, 6, 16});
  const Shape square{16, 16};
  std::vector<std::string> read;
  for (int i = 0; i < 3; i++) read.push_back(w.product(b, x, square, LayerKind::query_key_value, 0));
  const auto mixed = b.node("MultiHeadAttention", read);
  b.model().nodes.back().domain = "com.microsoft";
  const auto sum = b.node("Add", {x, w.product(b, mixed, square, LayerKind::attention_output, 0)});
  expect_found(b.finish({sum}), w, 1);
}

// Sines and cosines of positions are rows of constants too.
TEST(LayerKinds, TablesThatOnlyMultiplyAreNoEmbeddings) {
  Builder b;
  const auto ids = b.input("ids", {1, 6}, DataType::int64);
  const auto x = b.input("x", {1, 6, 16});
  const auto rows =
      b.node("Unsqueeze", {b.node("Gather", {b.weights({100, 16}), ids}), b.constant(Tensor::of<int64_t>({1}, {0}))});
  const auto words = b.node("Gather", {b.weights({100, 16}), ids});
  const graph::Model model = b.finish({b.node("Add", {b.node("Mul", {x, rows}), words})});
  const LayerKinds found = find_layer_kinds(graph::Index(model));
  EXPECT_EQ(found.nodes.size(), 1U);
  EXPECT_TRUE(found.nodes.contains("Gather_1"));
  EXPECT_EQ(found.layers, 0U);
}

// Olive's rule, counted by hand: the first and last eighth, and every third between.
TEST(LayerKinds, LayersWithMoreBits) {
  const auto chosen = [](size_t layers) {
    std::vector<size_t> out;
    for (size_t layer = 0; layer < layers; layer++) {
      if (has_more_bits(layer, layers)) out.push_back(layer);
    }
    return out;
  };
  EXPECT_EQ(chosen(1), (std::vector<size_t>{0}));
  EXPECT_EQ(chosen(4), (std::vector<size_t>{0, 2}));
  EXPECT_EQ(chosen(6), (std::vector<size_t>{0, 2, 5}));
  EXPECT_EQ(chosen(16), (std::vector<size_t>{0, 1, 4, 7, 10, 13, 14, 15}));
}

const Json weights_of_4_bits{
    {"activation", nullptr}, {"weight", "UInt4Spec"}, {"weight_params", {{"quant_granularity", "Group"}, {"group_size", 32}}}};

Json with_kinds_of(const Json& kinds) {
  Json words = weights_of_4_bits;
  words["layer_kinds"] = kinds;
  return words;
}

TEST(LayerKinds, GiveTheirLayersOtherWeights) {
  Written w;
  const graph::Model model = decoder_with(4, false, w);
  const Json some{{"weight", "Int8Spec"}, {"layers", "k_quant"}, {"weight_params", {{"group_size", 16}}}};
  const Config config =
      parse_config(with_kinds_of({{"down", some}, {"last", "Float32Spec"}, {"table", "UInt2Spec"}, {"feed_forward", nullptr}}));
  EXPECT_EQ(parse_config(to_json(config)), config);
  const Plan plan = resolve(model, {}, config, *targets::table().make("ort_cpu"));
  for (const auto& [name, place] : w.places) {
    const auto [kind, layer] = place;
    if (kind == LayerKind::last) {
      EXPECT_EQ(plan.skipped.at(name), "left in float by layer_kinds.last");
      continue;
    }
    const QuantParams& params = plan.nodes.at(name).weight->params;
    const bool more = kind == LayerKind::down && (layer == 0 || layer == 2);
    EXPECT_EQ(params.type, more ? DataType::int8 : kind == LayerKind::table ? DataType::uint2 : DataType::uint4) << name;
    EXPECT_EQ(params.block, more ? 16 : 32) << name;
  }
  EXPECT_FALSE(plan.nodes.contains("Gather_1"));
  // A rule that names a layer comes first.
  Json words = with_kinds_of({{"last", "UInt8Spec"}});
  const std::string last = model.nodes.back().name;
  words["specific_layer_config"] = {{{"weight", "UInt2Spec"}, {"nodes", {last}}}};
  const Plan named = resolve(model, {}, parse_config(words), *targets::table().make("ort_cpu"));
  EXPECT_EQ(named.nodes.at(last).weight->params.type, DataType::uint2);
}

TEST(LayerKinds, NamesResolveThem) {
  Written w;
  const graph::Model model = decoder_with(2, false, w);
  const NodeNames names(model, model);
  const Config config = parse_config(with_kinds_of({{"down", "UInt8Spec"}, {"last", "UInt8Spec"}}));
  const Config resolved = names.resolved(config);
  EXPECT_TRUE(resolved.kinds.empty());
  ASSERT_EQ(resolved.layers.size(), 2U);
  EXPECT_EQ(resolved.layers[0].nodes.size(), 2U);
  EXPECT_EQ(key_of(resolved.layers[1]), "layer_kinds.last");
  EXPECT_TRUE(names.notes(config).empty());
  const graph::Model pictures = separable();
  EXPECT_EQ(NodeNames(pictures, pictures).notes(parse_config(with_kinds_of({{"down", "UInt8Spec"}}))),
            (std::vector<std::string>{"layer_kinds.down has no effect: the model has no such layer"}));
}

// Zero points of HQQ are no integers: 8 bits and tables get others unless that is asked for by name.
TEST(LayerKinds, WithRealZeroPoints) {
  const Json hqq{{"scheme", "HQQ_G32ASYM"},
                 {"layer_kinds", {{"last", "UInt8Spec"}, {"down", "UInt4Spec"}, {"table", "UInt4Spec"}}}};
  const Config config = parse_config(hqq);
  ASSERT_EQ(config.kinds.size(), 3U);
  EXPECT_EQ(config.kinds[0].rule.weight.range_method, "hqq");
  EXPECT_EQ(config.kinds[1].rule.weight.range_method, "min_mse");
  EXPECT_EQ(config.kinds[2].rule.weight.range_method, "min_mse");
}

TEST(LayerKinds, WrongWords) {
  const auto refused = [](const Json& kinds) { return test::error_of([&] { parse_config(with_kinds_of(kinds)); }); };
  EXPECT_NE(refused({{"lst", "UInt8Spec"}}).find("unknown kind 'lst'"), std::string::npos);
  EXPECT_NE(refused({{"lst", "UInt8Spec"}}).find("'last'"), std::string::npos);
  EXPECT_NE(refused({{"last", "UInt9Spec"}}).find("layer_kinds.last: "), std::string::npos);
  EXPECT_NE(refused({{"last", 8}}).find("layer_kinds.last is 8"), std::string::npos);
  EXPECT_NE(refused({{"down", {{"layers", "k_quant"}}}}).find("says nothing of weight"), std::string::npos);
  EXPECT_NE(refused({{"down", {{"weight", "UInt8Spec"}, {"layers", "some"}}}}).find("must be all or k_quant"), std::string::npos);
  EXPECT_NE(refused({{"table", {{"weight", "UInt8Spec"}, {"layers", "k_quant"}}}}).find("no part of the layers"),
            std::string::npos);
  EXPECT_NE(refused({{"down", {{"weigth", "UInt8Spec"}}}}).find("unknown key 'layer_kinds.down.weigth'"), std::string::npos);
  EXPECT_NE(refused({{"table", {{"weight", "UInt4Spec"}, {"weight_params", {{"calibration_method", "HQQ"}}}}}})
                .find("no tables of such codes"),
            std::string::npos);
  EXPECT_NE(refused({{"table", "UInt16Spec"}}).find("layer_kinds.table"), std::string::npos);
  EXPECT_NE(test::error_of([] { parse_config(with_kinds_of({"last"})); }).find("must be a mapping"), std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
