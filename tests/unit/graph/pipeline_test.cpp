#include "quasar/graph/pipeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "quasar/graph/load.hpp"
#include "unit/error_of.hpp"
#include "unit/graph/small_models.hpp"

namespace quasar::graph {
namespace {

using test::error_of;

std::vector<float> ramp(size_t count, float from) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = from + static_cast<float>(i) * 0.01F;
  return out;
}

// features [batch,4] -> MatMul -> Relu -> states [batch,8]
Member encoder() {
  Model model;
  model.opsets = {{"", 13}};
  model.inputs = {tensor_value("features", {-1, 4})};
  model.inputs[0].symbols[0] = "batch";
  model.outputs = {tensor_value("states", {-1, 8})};
  model.initializers = {{"w", Tensor::of({4, 8}, ramp(32, -0.1F))}, {"shared", Tensor::of({8, 64}, ramp(512, 0))}};
  model.nodes = {{"product", "MatMul", "", {"features", "w"}, {"h"}},
                 {"relu", "Relu", "", {"h"}, {"states"}},
                 {"wide", "MatMul", "", {"states", "shared"}, {"unused"}}};
  return {.name = "encoder", .file = "in/encoder_model.onnx", .model = model};
}

// ids [batch,8], encoder_states [batch,8] -> Add -> MatMul -> logits [batch,64]
Member decoder() {
  Model model;
  model.opsets = {{"", 13}};
  model.inputs = {tensor_value("ids", {-1, 8}), tensor_value("encoder_states", {-1, 8})};
  model.outputs = {tensor_value("logits", {-1, 64})};
  model.initializers = {{"w", Tensor::of({8, 64}, ramp(512, 0))}};
  model.nodes = {{"add", "Add", "", {"ids", "encoder_states"}, {"h"}}, {"product", "MatMul", "", {"h", "w"}, {"logits"}}};
  return {.name = "decoder", .file = "in/decoder_model.onnx", .model = model, .inputs = {{"encoder_states", "encoder.states"}}};
}

std::vector<std::string> names(const std::vector<Value>& values) {
  std::vector<std::string> out;
  for (const auto& value : values) out.push_back(value.name);
  return out;
}

using Names_ = std::vector<std::string>;

TEST(Pipeline, JoinsByConnections) {
  const Model joined = join({encoder(), decoder()});
  EXPECT_EQ(names(joined.inputs), (Names_{"features", "ids"}));
  EXPECT_EQ(names(joined.outputs), (Names_{"logits", "states"}));
  EXPECT_NE(Index(joined).node("encoder/product"), nullptr);
  EXPECT_EQ(Index(joined).node("decoder/add")->inputs, (Names_{"ids", "states"}));
  const Pipeline pipeline = *pipeline_of(joined);
  EXPECT_EQ(pipeline.crossing(), Names_{"states"});
  EXPECT_EQ(part_of_node("decoder/add", pipeline), "decoder");
  EXPECT_EQ(part_of_node("other/add", pipeline), "");
}

TEST(Pipeline, EqualWeightsAreStoredOnce) {
  const Model joined = join({encoder(), decoder()});
  EXPECT_EQ(Index(joined).node("decoder/product")->inputs[1], "encoder/shared");
  EXPECT_FALSE(joined.initializers.contains("decoder/w"));
  EXPECT_TRUE(joined.initializers.contains("encoder/w"));
}

TEST(Pipeline, SplitsIntoWhatItWasMadeOf) {
  const auto pieces = split(join({encoder(), decoder()}));
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(pieces[0].file, "encoder_model.onnx");
  EXPECT_EQ(pieces[1].name, "decoder");
  const Model &first = pieces[0].model, &second = pieces[1].model;
  EXPECT_EQ(names(first.inputs), Names_{"features"});
  EXPECT_EQ(names(first.outputs), Names_{"states"});
  EXPECT_EQ(names(second.inputs), (Names_{"ids", "encoder_states"}));
  EXPECT_EQ(names(second.outputs), Names_{"logits"});
  ASSERT_EQ(first.nodes.size(), 2U);  // what nobody reads is gone
  EXPECT_EQ(first.nodes[0].name, "product");
  EXPECT_EQ(second.nodes[1].name, "product");
  EXPECT_EQ(first.initializers.size(), 1U);
  EXPECT_EQ(second.initializers.size(), 1U);
  EXPECT_FALSE(pipeline_of(first));
}

TEST(Pipeline, SurvivesAFile) {
  const Model joined = from_bytes(to_bytes(join({encoder(), decoder()})), "memory");
  EXPECT_EQ(pipeline_of(joined)->parts[1].inputs[1].own.name, "encoder_states");
  EXPECT_EQ(split(joined)[1].model.nodes.size(), 2U);
}

TEST(Pipeline, PiecesHaveTheTypesThatValuesHaveNow) {
  Model joined = join({encoder(), decoder()});
  for (auto* values : {&joined.inputs, &joined.outputs}) {
    for (auto& value : *values) value.type = DataType::float64;
  }
  for (const auto& piece : split(joined)) {
    for (const auto* values : {&piece.model.inputs, &piece.model.outputs}) {
      for (const auto& value : *values) EXPECT_EQ(value.type, DataType::float64) << value.name;
    }
  }
}

TEST(Pipeline, InputsOfOneNameAreOneWhereTheyAgree) {
  Member second = decoder();
  second.model.inputs[0] = tensor_value("features", {-1, 4});
  second.model.nodes[0] = {"add", "Identity", "", {"encoder_states"}, {"h"}};
  EXPECT_EQ(names(join({encoder(), second}).inputs), (Names_{"encoder.features", "decoder.features"}));  // symbols differ
  second.model.inputs[0].symbols[0] = "batch";
  EXPECT_EQ(names(join({encoder(), second}).inputs), Names_{"features"});
  second.inputs["features"] = std::nullopt;
  EXPECT_EQ(names(join({encoder(), second}).inputs), (Names_{"encoder.features", "decoder.features"}));
  second.inputs["features"] = "encoder.features";
  EXPECT_EQ(names(join({encoder(), second}).inputs), Names_{"features"});
}

TEST(Pipeline, CachesAreConnectedByName) {
  Member first = decoder(), second = decoder();
  first.inputs.clear();
  first.model.outputs.push_back(tensor_value("present.0.key", {-1, 8}));
  first.model.nodes.push_back({"key", "Relu", "", {"ids"}, {"present.0.key"}});
  second.name = "decoder_with_past";
  second.inputs.clear();
  second.model.inputs[1].name = "past_key_values.0.key";
  second.model.nodes[0].inputs[1] = "past_key_values.0.key";
  const Model joined = join({first, second});
  EXPECT_EQ(pipeline_of(joined)->crossing(), Names_{"present.0.key"});
  EXPECT_EQ(names(joined.outputs), (Names_{"decoder.logits", "decoder_with_past.logits", "present.0.key"}));
}

TEST(Pipeline, RaisesOperatorSets) {
  Member first = encoder();
  first.model.opsets[""] = 11;
  EXPECT_EQ(join({first, decoder()}).opset(), 13);
  first.model.opsets[""] = 21;
  EXPECT_EQ(error_of([&] {
              join({first, decoder()});
            }),
            "models.decoder has ONNX's operator set 13, another has 21, and one model has one: opset 13 cannot be raised to 21; "
            "conversion goes up to 19; export both with the same one");
}

// A value that crosses in codes: h ─Q─DQ─▶ states, and the later model's product reads it between pairs.
Model with_codes(bool codes_are_read) {
  Model joined = join({encoder(), decoder()});
  joined.initializers["scale"] = Tensor::scalar(0.01F);
  joined.initializers["zero"] = Tensor::scalar(uint8_t{3});
  joined.initializers["codes"] = Tensor::of({8, 64}, std::vector<int8_t>(512, 1));
  joined.initializers["weight_zero"] = Tensor::scalar(int8_t{0});
  const std::string input = "states";
  joined.nodes = {{"encoder/product", "MatMul", "", {"features", "encoder/w"}, {"encoder/h"}},
                  {"encoder/relu", "Relu", "", {"encoder/h"}, {"states_float"}},
                  {"q", "QuantizeLinear", "", {"states_float", "scale", "zero"}, {"states_quantized"}},
                  {"dq", "DequantizeLinear", "", {"states_quantized", "scale", "zero"}, {"states"}}};
  if (codes_are_read) {
    joined.nodes.push_back({"decoder/add", "DequantizeLinear", "", {"states_quantized", "scale", "zero"}, {"decoder/h"}});
    joined.nodes.push_back({"decoder/product", "MatMul", "", {"decoder/h", "encoder/shared"}, {"logits"}});
  } else {
    joined.nodes.push_back({"weights", "DequantizeLinear", "", {"codes", "scale", "weight_zero"}, {"decoder/w"}});
    joined.nodes.push_back({"decoder/product", "MatMul", "", {"states", "decoder/w"}, {"logits"}});
  }
  return joined;
}

TEST(Pipeline, AnOperatorBetweenPairsFindsCodesBeforeIt) {
  const Model later = split(with_codes(false))[1].model;
  const Index index(later);
  const Node& product = *index.node("product");
  const Node* back = index.producer(product.inputs[0]);
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->op_type, "DequantizeLinear");
  const Node* codes = index.producer(back->inputs[0]);
  ASSERT_NE(codes, nullptr);
  EXPECT_EQ(codes->op_type, "QuantizeLinear");
  EXPECT_EQ(codes->inputs, (Names_{"encoder_states", "scale", "zero"}));
}

TEST(Pipeline, CodesThatCrossAreMadeOfTheValueAgain) {
  const Model later = split(with_codes(true))[1].model;
  const Index index(later);
  const Node& add = *index.node("add");
  ASSERT_NE(index.producer(add.inputs[0]), nullptr);
  EXPECT_EQ(index.producer(add.inputs[0])->inputs[0], "encoder_states");
}

TEST(Pipeline, WhatNoEarlierModelGivesOutCannotBeSplit) {
  Model joined = join({encoder(), decoder()});
  for (auto& node : joined.nodes) {
    if (node.name == "decoder/add") node.inputs[1] = "encoder/h";
  }
  EXPECT_EQ(error_of([&] { split(joined); }),
            "the pipeline cannot be split: model 'decoder' needs 'features', which no earlier model gives out; 'OptimizeModel: "
            "false' keeps what crosses as it came");
  EXPECT_EQ(error_of([] { split(encoder().model); }), "the model cannot be split: it is not one that was joined of several");
}

TEST(Pipeline, FilesOfOneNameAreCalledAfterTheirModels) {
  Member first = encoder(), second = decoder();
  first.file = "encoder/model.onnx";
  second.file = "decoder/model.onnx";
  const auto pieces = split(join({first, second}));
  EXPECT_EQ(pieces[0].file, "encoder.onnx");
  EXPECT_EQ(pieces[1].file, "decoder.onnx");
}

TEST(Pipeline, SaysWhatIsWrong) {
  const auto with = [](const std::string& input, const std::string& from) {
    Member second = decoder();
    second.inputs = {{input, from}};
    return error_of([&] { join({encoder(), second}); });
  };
  EXPECT_EQ(
      with("encoder_states", "encoder.state"),
      "models.decoder.inputs.encoder_states is 'encoder.state', but 'encoder' has no output 'state'; did you mean 'states'?; "
      "known: states");
  EXPECT_EQ(with("encoder_states", "encodr.states"),
            "models.decoder.inputs.encoder_states is 'encodr.states', but there is no model 'encodr'; did you mean 'encoder'?; "
            "known: encoder, decoder; write MODEL.OUTPUT, such as encoder.last_hidden_state");
  EXPECT_EQ(with("encoder_state", "encoder.states"),
            "models.decoder.inputs: the model has no input 'encoder_state'; did you mean 'encoder_states'?; known: ids, "
            "encoder_states");
  EXPECT_EQ(
      with("encoder_states", "decoder.logits"),
      "models.decoder.inputs.encoder_states is 'decoder.logits', but a model cannot read itself: models run in the order in "
      "which they are written, and none may wait for a later one (a cycle)");
  EXPECT_EQ(
      error_of([] {
        join({decoder(), encoder()});
      }),
      "models.decoder.inputs.encoder_states is 'encoder.states', but 'encoder' runs after 'decoder': models run in the order "
      "in which they are written, and none may wait for a later one (a cycle)");
  Member other = decoder();
  other.model.inputs[1] = tensor_value("encoder_states", {-1, 9});
  EXPECT_EQ(
      error_of([&] {
        join({encoder(), other});
      }),
      "models.decoder.inputs.encoder_states comes from encoder.states, which is float32 [?,8], but the input is float32 [?,9]; "
      "connect it to another output, or write null where samples hold it");
  EXPECT_EQ(error_of([] { join({encoder()}); }), "a pipeline has two models and more; give a single one as model_input");
  Member named = encoder();
  named.name = "en/coder";
  EXPECT_EQ(error_of([&] {
              join({named, decoder()});
            }),
            "models: 'en/coder' is no name for a model; letters, digits, _ and - are allowed, such as 'encoder'");
  EXPECT_EQ(error_of([] { join({encoder(), encoder()}); }), "models: 'encoder' is named twice");
}

// TensorFlow's scopes write such names: the decoder's own weight is called as the one that both models share.
TEST(Pipeline, NamesThatWouldMeetStayApart) {
  Member second = decoder();
  second.model.initializers["encoder/shared"] = Tensor::of({64, 2}, ramp(128, 3));
  second.model.nodes.push_back({"last", "MatMul", "", {"logits", "encoder/shared"}, {"few"}});
  second.model.outputs.push_back(tensor_value("few", {-1, 2}));
  const std::vector<Piece> pieces = split(join({encoder(), second}));
  const Model& model = pieces[1].model;
  const Index index(model);
  const auto weights = [&](const char* node) { return model.initializer(index.node(node)->inputs[1])->as<float>(); };
  EXPECT_FLOAT_EQ(weights("product").front(), 0);
  EXPECT_FLOAT_EQ(weights("last").front(), 3);
}

TEST(Pipeline, SizesThatWereFixedAreThoseOfTheModels) {
  Model joined = join({encoder(), decoder()});
  for (auto& input : joined.inputs) input.shape->front() = 1;
  const auto pieces = split(joined);
  EXPECT_EQ(*pieces[0].model.inputs.front().shape, (Shape{1, 4}));
  EXPECT_EQ(*pieces[1].model.inputs.front().shape, (Shape{1, 8}));
}

TEST(Pipeline, FilesHaveNamesThatAreToldApart) {
  const auto files = [](std::vector<std::pair<std::string, std::string>> given) {
    std::vector<Part> parts;
    for (auto& [name, file] : given) parts.push_back({.name = name, .file = file, .inputs = {}, .outputs = {}});
    return files_of(parts);
  };
  EXPECT_EQ(files({{"a", "x.onnx"}, {"b", "y.onnx"}}), (Names_{"x.onnx", "y.onnx"}));
  EXPECT_EQ(files({{"a", "model.onnx"}, {"b", "Model.onnx"}, {"c", "y.onnx"}}), (Names_{"a.onnx", "b.onnx", "y.onnx"}));
  EXPECT_EQ(files({{"a", "model.onnx"}, {"b", "model.onnx"}, {"c", "a.onnx"}}), (Names_{"a.onnx", "b.onnx", "c.onnx"}));
}

TEST(Pipeline, MetadataNamesNoFolder) {
  for (const char* file : {"../escaped.onnx", "/escaped.onnx", "..", ""}) {
    Model joined = join({encoder(), decoder()});
    std::string& words = joined.metadata.at("quasar.pipeline");
    words.replace(words.find("encoder_model.onnx"), std::string("encoder_model.onnx").size(), file);
    EXPECT_NE(error_of([&] { split(joined); }).find("must name no folder"), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace quasar::graph
