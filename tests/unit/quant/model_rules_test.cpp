// Types of a pipeline's models: what the key says, and which nodes get them.
#include "quasar/quant/config/model_rules.hpp"

#include <gtest/gtest.h>

#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/quant/node_names.hpp"
#include "sample_models.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

Config config_with(const std::string& models, const std::string& more = "") {
  return parse_config(parse_json("{\"models\": " + models + more + "}", "test"));
}

const LayerRule* of_model(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.layers, name, &LayerRule::model);
  return found == config.layers.end() ? nullptr : &*found;
}

// ids -> Gather -> states -> two products: the same model twice, as encoder and decoder.
graph::Model pipeline() {
  Builder b;
  const auto x = b.node("Gather", {b.weights({2000, 16}), b.input("ids", {1, 6}, DataType::int64)});
  const graph::Model first = b.finish({b.node("MatMul", {x, b.weights({16, 16})})});
  graph::Model second = first;
  return graph::join({{.name = "encoder", .file = "e.onnx", .model = first, .inputs = {}},
                      {.name = "decoder", .file = "d.onnx", .model = second, .inputs = {}}});
}

TEST(ModelRules, ASchemeIsTheSameWhereverItStands) {
  const Config config =
      config_with(R"({"encoder": "U8S8_CHANNEL", "decoder": "W4"})", R"(, "weight_params": {"group_size": 16}, "scheme": "W8")");
  const Config alone = parse_config({{"scheme", "W4"}}), other = parse_config({{"scheme", "U8S8_CHANNEL"}});
  EXPECT_EQ(of_model(config, "decoder")->weight, alone.weight);
  EXPECT_EQ(of_model(config, "decoder")->activation, alone.activation);
  EXPECT_EQ(of_model(config, "encoder")->weight, other.weight);
  EXPECT_EQ(of_model(config, "encoder")->activation, other.activation);
  EXPECT_EQ(config.switches, other.switches);  // BiasCorrection is for all
}

TEST(ModelRules, FloatAndNothingSaid) {
  const Config config = config_with(R"({"encoder": "Float32Spec", "decoder": null})");
  EXPECT_TRUE(of_model(config, "encoder")->in_float);
  EXPECT_EQ(of_model(config, "decoder"), nullptr);
}

TEST(ModelRules, WordsGoThereAndBack) {
  const Config config =
      config_with(R"({"encoder": "DYNAMIC", "decoder": {"scheme": "W4", "weight_params": {"group_size": 64}}})");
  EXPECT_EQ(of_model(config, "decoder")->weight.group_size, 64);
  EXPECT_TRUE(parse_config(to_json(config)) == config) << to_json(config).dump();
}

TEST(ModelRules, NodesOfAModelAndKindsInIt) {
  const graph::Model model = pipeline();
  const NodeNames names(model, model);
  const Config config =
      names.resolved(config_with(R"({"decoder": "W4", "encoder": "Float32Spec"})", R"(, "layer_kinds": {"table": "UInt8Spec"})"));
  const auto rule_of = [&](const std::string& type, const std::string& part) {
    for (const auto& node : model.nodes) {
      if (node.op_type == type && node.name.starts_with(part)) return rule_for(node, config);
    }
    return static_cast<const LayerRule*>(nullptr);
  };
  EXPECT_EQ(rule_of("MatMul", "decoder/")->model, "decoder");
  EXPECT_TRUE(rule_of("MatMul", "encoder/")->in_float);
  EXPECT_TRUE(rule_of("Gather", "encoder/")->in_float);
  // What the kind leaves open is as in the model.
  EXPECT_EQ(rule_of("Gather", "decoder/")->kind, "table");
  EXPECT_EQ(rule_of("Gather", "decoder/")->weight.type, DataType::uint8);
  EXPECT_EQ(rule_of("Gather", "decoder/")->weight.granularity, Granularity::group);
}

TEST(ModelRules, SayWhatIsWrong) {
  using test::error_of;
  EXPECT_EQ(error_of([] { config_with("[]"); }),
            "models is [], but must be a mapping such as {encoder: U8S8_CHANNEL, decoder: W4}");
  EXPECT_EQ(error_of([] { config_with(R"({"decoder": "GPTQ_G32ASYM"})"); }),
            "models.decoder: scheme GPTQ_G32ASYM says algorithms, which holds for no single model; give this scheme as "
            "search_space.scheme, and the other models their own");
  EXPECT_EQ(error_of([] { config_with(R"({"decoder": {"weight_params": {}}})"); }),
            R"(models.decoder is {"weight_params":{}}, but names no types)");
  EXPECT_EQ(error_of([] { config_with(R"({"decoder": "W9"})"); })
                .find("models.decoder is 'W9', but must be a scheme (`quasar list "
                      "schemes`; did you mean 'w"),
            0u);
  const graph::Model model = pipeline();
  const NodeNames names(model, model);
  EXPECT_NE(error_of([&] { names.resolved(config_with(R"({"decodr": "W4"})")); }).find("did you mean 'decoder'"),
            std::string::npos);
}

}  // namespace
}  // namespace quasar::quant
