// Every specification on every kind of model: what holds for the quantized model, and that ONNX Runtime runs it.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "made_up_statistics.hpp"
#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

std::vector<std::pair<std::string, graph::Model>> sample_models() {
  return {{"separable", separable()},
          {"residual", residual()},
          {"branches", branches()},
          {"attention", attention()},
          {"recurrent", recurrent()}};
}

std::vector<Tensor> sample_of(const graph::Model& model) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 1);
  std::vector<Tensor> out;
  for (const auto& input : model.inputs) {
    std::vector<float> values(count_of(*input.shape));
    for (auto& value : values) value = normal(random);
    out.push_back(Tensor::of(*input.shape, values));
  }
  return out;
}

// The root mean square of the difference, over the float outputs'.
double distance(const graph::Model& model, const graph::Model& quantized) {
  const auto sample = sample_of(model);
  const auto wanted = runtime::Session(model).run(sample), got = runtime::Session(quantized).run(sample);
  double squares = 1e-30, errors = 0;
  for (size_t k = 0; k < wanted.size(); k++) {
    for (size_t i = 0; i < wanted[k].count(); i++) {
      const double x = wanted[k].as<float>()[i], y = got[k].as<float>()[i];
      squares += x * x;
      errors += (x - y) * (x - y);
    }
  }
  return std::sqrt(errors / squares);
}

std::vector<std::pair<std::string, Config>> all_configs() {
  std::vector<std::pair<std::string, Config>> out;
  for (const auto& [name, entry] : schemes::table().items()) out.emplace_back(name, parse_config(entry.make({})->words()));
  for (const char* activation : {"Int8Spec", "UInt8Spec", "Int16Spec", "UInt16Spec", "DynamicSpec"}) {
    for (const char* weight : {"Int8Spec", "UInt8Spec", "Int4Spec", "UInt4Spec"}) {
      for (const char* granularity : {"Tensor", "Channel"}) {
        for (const char* scale_type : {"Float32", "PowerOf2", "Int16"}) {
          Json words{{"activation", activation}, {"weight", weight}};
          words["weight_params"] = {{"quant_granularity", granularity}, {"scale_type", scale_type}};
          if (std::string(activation) != "DynamicSpec") words["activation_params"] = {{"scale_type", scale_type}};
          out.emplace_back(words.dump(), parse_config(words));
        }
      }
    }
  }
  return out;
}

bool is_quantize(const graph::Node& node) {
  return node.op_type == "QuantizeLinear";
}

bool is_dequantize(const graph::Node& node) {
  return node.op_type == "DequantizeLinear";
}

// m · 2^−n with m an int16.
bool is_rational(float scale) {
  int exponent = 0;
  const float m = std::ldexp(std::frexp(scale, &exponent), 15);
  return m == std::nearbyint(m);
}

void check_scales(const QuantParams& params, ScaleType type, const std::string& what) {
  int exponent = 0;
  for (const float scale : params.scales) {
    EXPECT_GT(scale, 0) << what;
    if (type == ScaleType::power_of_two) {
      EXPECT_EQ(std::frexp(scale, &exponent), 0.5F) << what;
    }
    if (type == ScaleType::int16) {
      EXPECT_TRUE(is_rational(scale)) << what;
    }
  }
}

// No Q reads what a DQ gives, every Q has a DQ behind it, and nothing is dequantized for nobody.
void check_pairs(const graph::Model& quantized, const std::string& what) {
  const graph::Index index(quantized);
  for (const auto& node : quantized.nodes) {
    if (is_quantize(node)) {
      const graph::Node* before = index.producer(node.inputs[0]);
      EXPECT_FALSE(before != nullptr && is_dequantize(*before)) << what << " " << node.name;
      const auto& readers = index.consumers(node.outputs[0]);
      EXPECT_FALSE(readers.empty()) << what << " " << node.name;
      for (const graph::Node* reader : readers) EXPECT_TRUE(is_dequantize(*reader)) << what;
    }
    if (is_dequantize(node)) {
      EXPECT_TRUE(!index.consumers(node.outputs[0]).empty() || index.is_output(node.outputs[0])) << what << " " << node.name;
    }
  }
}

// Every dequantized weight lies within half a step of its float value, or at the clipping bound.
void check_weights(const graph::Model& model, const Plan& plan, const std::string& what) {
  const graph::Index index(model);
  for (const auto& [name, node] : plan.nodes) {
    if (!node.weight || is_half(node.weight->params.type) || index.node(name)->is("LSTM")) continue;
    const Tensor& weights = *model.initializer(index.node(name)->inputs[node.weight->input]);
    const QuantParams& params = node.weight->params;
    const Tensor codes = quantize(weights, params);
    const auto plain = plain_codes(codes);
    const Tensor back = dequantize(codes, params);
    const Grid grid = grid_of(params.type, false);
    const float largest = *std::max_element(params.scales.begin(), params.scales.end());
    for (size_t i = 0; i < weights.count(); i++) {
      const bool at_bound = plain[i] == grid.low || plain[i] == grid.high;
      EXPECT_TRUE(at_bound || std::abs(back.as<float>()[i] - weights.as<float>()[i]) <= 0.501F * largest) << what << " " << name;
    }
  }
}

TEST(Specifications, KeepTheirLawsOnEveryModel) {
  for (const auto& [model_name, model] : sample_models()) {
    for (const auto& [name, config] : all_configs()) {
      const std::string what = model_name + " " + name;
      Plan plan = plan_of(model, config);
      for (const auto& [value, params] : plan.values) check_scales(params, config.activation.scale_type, what);
      for (const auto& [node, planned] : plan.nodes) {
        if (planned.weight) check_scales(planned.weight->params, config.weight.scale_type, what);
      }
      check_weights(model, plan, what);
      const graph::Model quantized = apply(model, plan);
      check_pairs(quantized, what);
      const Plan again = plan_of(model, config);
      ASSERT_EQ(hash_of(plan), hash_of(again)) << what;
      EXPECT_EQ(graph::to_bytes(quantized), graph::to_bytes(apply(model, again))) << what;
    }
  }
}

TEST(Specifications, SixteenBitFloatIsExactToItsDigits) {
  for (const auto& [name, model] : sample_models()) {
    for (const auto& [spec, error] :
         std::vector<std::pair<std::string, double>>{{"BFloat16Spec", 0.03}, {"Float16Spec", 0.003}}) {
      const Plan plan = plan_of(model, parse_config({{"activation", spec}, {"weight", spec}}));
      EXPECT_LT(distance(model, apply(model, plan)), error) << name << " " << spec;
    }
  }
}

TEST(Specifications, DynamicQuantizationNeedsNoStatistics) {
  for (const char* name : {"attention", "separable", "recurrent"}) {
    const graph::Model model = std::string(name) == "attention"   ? attention()
                               : std::string(name) == "separable" ? separable()
                                                                  : recurrent();
    for (const char* weight : {"Int8Spec", "UInt8Spec", "Int4Spec"}) {
      for (const char* granularity : {"Tensor", "Channel", "Group"}) {
        const Config config = parse_config(
            {{"activation", "DynamicSpec"}, {"weight", weight}, {"weight_params", {{"quant_granularity", granularity}}}});
        EXPECT_TRUE(needs_no_samples(config));
        const Plan plan = resolve(model, {}, config, *targets::table().make("ort_cpu"));
        EXPECT_FALSE(plan.nodes.empty());
        EXPECT_TRUE(plan.values.empty());
        EXPECT_LT(distance(model, apply(model, plan)), weight[0] == 'I' && weight[3] == '4' ? 0.3 : 0.05)
            << name << " " << weight << " " << granularity;
      }
    }
  }
}

TEST(Specifications, ATableIsGatheredInCodes) {
  Builder b(4);
  const auto indices = b.input("i", {3}, DataType::int64);
  const graph::Model model = b.finish({b.node("Gather", {b.weights({64, 20}), indices})});
  for (const char* granularity : {"Tensor", "Channel"}) {
    const Config config = parse_config(
        {{"activation", "DynamicSpec"}, {"weight", "Int8Spec"}, {"weight_params", {{"quant_granularity", granularity}}}});
    const graph::Model quantized = apply(model, resolve(model, {}, config, *targets::table().make("ort_cpu")));
    const std::vector<Tensor> sample{Tensor::of<int64_t>({3}, {5, 0, 63})};
    const auto wanted = runtime::Session(model).run(sample), got = runtime::Session(quantized).run(sample);
    for (size_t k = 0; k < 60; k++) EXPECT_NEAR(got[0].as<float>()[k], wanted[0].as<float>()[k], 0.01);
  }
}

stats::Statistics with(stats::Statistics seen, const std::map<std::string, stats::Given>& given) {
  for (const auto& [value, range] : given) seen[value].given = range;
  return seen;
}

TEST(GivenRanges, ComeBackExactly) {
  const auto target = targets::table().make("ort_cpu");
  for (const auto& [name, model] : sample_models()) {
    for (const char* scheme : {"A8W8", "U8S8_CHANNEL", "XINT8", "A16W8"}) {
      const Config config = parse_config(schemes::table().make(scheme)->words());
      const auto seen = made_up_statistics(model);
      const Plan plan = resolve(model, seen, config, *target);
      const Json file = Json::parse(ranges_json(plan, config).dump());
      const Plan again = resolve(model, with(seen, parse_ranges(file, model, config.activation)), config, *target);
      EXPECT_EQ(hash_of(again), hash_of(plan)) << name << " " << scheme;
    }
  }
}

// Rounding chose scales again: what the file says is what the model has, and not what was observed.
TEST(GivenRanges, RefinedScalesComeBackExactly) {
  const auto target = targets::table().make("generic");
  for (const auto& [name, model] : sample_models()) {
    for (const char* scheme : {"A8W8", "S8S8_AAWS", "U8S8_CHANNEL", "XINT8"}) {
      const Config config = parse_config(schemes::table().make(scheme)->words());
      const auto seen = made_up_statistics(model);
      const Plan plan = resolve(model, seen, config, *target);
      for (const auto& [value, range] : plan.ranges) {
        if (!plan.values.contains(value)) continue;
        Plan refined = plan;
        QuantParams& params = refined.refined[value] = plan.values.at(value);
        params.scales[0] *= config.activation.scale_type == ScaleType::power_of_two ? 0.5F : 0.7123F;
        if (!config.activation.symmetric) params.zero_points[0] = std::min(params.zero_points[0] + 5, 100);
        const Json file = Json::parse(ranges_json(refined, config).dump());
        EXPECT_FALSE(file.at("tensors").at(value).contains("adjusted"));
        const auto given = parse_ranges(file, model, config.activation);
        const Plan again = resolve(model, with(seen, given), config, *target);
        EXPECT_EQ(again.values.at(value).scales, params.scales) << name << scheme << value;
        EXPECT_EQ(again.values.at(value).zero_points, params.zero_points) << name << scheme << value;
        EXPECT_EQ(notes_on_ranges(file, given, again, config), std::vector<std::string>{}) << name << scheme << value;
      }
    }
  }
}

// Rules, overrides and alignments give single values other schemes and scales than the configuration has: entries are the
// model's, and come back.
TEST(GivenRanges, SayWhatTheModelHas) {
  const Json int16{{"spec", "Int16Spec"}, {"op_types", {"Conv"}}};
  const std::vector<std::tuple<const char*, const char*, Json>> cases{
      {"A8W8", "ort_cpu", {{"AlignConcat", true}}},
      {"A8W8", "ort_cpu", {{"layer_type_config", Json::array({int16})}}},
      {"U8S8_CHANNEL", "generic", {{"layer_type_config", Json::array({int16})}}},
      {"A8W8", "ort_cpu", {{"TensorQuantOverrides", {{"x", {{"quant_type", "QUInt16"}, {"symmetric", false}}}}}}},
      {"A8W8", "ort_cpu", {{"include_auto_mp", true}}},
      {"XINT8", "xint8", Json::object()}};
  for (const auto& [scheme, target, options] : cases) {
    for (const auto& [name, model] : sample_models()) {
      Json words = schemes::table().make(scheme)->words();
      words.update(options);
      if (words.contains("TensorQuantOverrides") && name != "residual") continue;
      const Config config = parse_config(words);
      const auto seen = made_up_statistics(model);
      const auto runtime = targets::table().make(target);
      const Plan plan = resolve(model, seen, config, *runtime);
      const Json file = Json::parse(ranges_json(plan, config).dump());
      for (const auto& [value, entry] : file.at("tensors").items()) {
        if (!plan.values.contains(value)) continue;
        const QuantParams& params = plan.params(value);
        EXPECT_EQ(entry.at("scale").get<float>(), params.scales.front()) << scheme << options << value;
        EXPECT_EQ(entry.at("zero_point"), params.zero_points.front()) << scheme << options << value;
        EXPECT_EQ(entry.at("type"), name_of(params.type)) << scheme << options << value;
      }
      const auto given = parse_ranges(file, model, config.activation);
      const Plan again = resolve(model, with(seen, given), config, *runtime);
      EXPECT_EQ(hash_of(again), hash_of(plan)) << name << scheme << options;
      EXPECT_EQ(notes_on_ranges(file, given, again, config), std::vector<std::string>{}) << name << scheme << options;
    }
  }
}

// A cast has no range; where it is read as codes, they have one.
TEST(GivenRanges, CastsHaveNone) {
  const graph::Model model = residual();
  const auto seen = made_up_statistics(model);
  const auto target = targets::table().make("ort_cpu");
  for (const char* spec : {"BFloat16Spec", "Float16Spec"}) {
    const Json rule{{"spec", spec}, {"op_types", {"Conv"}}};
    const Config config = parse_config({{"scheme", "A8W8"}, {"layer_type_config", Json::array({rule})}});
    const Plan plan = resolve(model, seen, config, *target);
    const Json file = Json::parse(ranges_json(plan, config).dump());
    EXPECT_FALSE(file.at("tensors").empty());
    for (const auto& [value, entry] : file.at("tensors").items())
      EXPECT_EQ(entry.at("type").get<std::string>().find("float"), std::string::npos) << value;
    const auto given = parse_ranges(file, model, config.activation);
    const Plan again = resolve(model, with(seen, given), config, *target);
    EXPECT_EQ(hash_of(again), hash_of(plan)) << spec;
    EXPECT_EQ(notes_on_ranges(file, given, again, config), std::vector<std::string>{}) << spec;
  }
}

TEST(Alignment, CastsHaveNothingToAlign) {
  const graph::Model model = branches();
  const auto target = targets::table().make("ort_cpu");
  for (const char* spec : {"BFloat16Spec", "Float16Spec"}) {
    const Json rule{{"spec", spec}, {"op_types", {"Concat", "AveragePool"}}};
    for (Json words :
         {Json{{"activation", spec}, {"weight", spec}}, Json{{"scheme", "A8W8"}, {"layer_type_config", Json::array({rule})}}}) {
      words["AlignConcat"] = words["AlignPool"] = true;
      const Plan plan = resolve(model, made_up_statistics(model), parse_config(words), *target);
      EXPECT_TRUE(plan.nodes.contains("Concat_0")) << words;
      EXPECT_NO_THROW(apply(model, plan)) << words;
    }
  }
}

// A scale alone from a model whose int8 values are stored as uint8.
TEST(GivenRanges, AScaleOfStoredCodesIsUnderstood) {
  const graph::Model model = residual();
  const Config config = parse_config({{"activation", "Int8Spec"}, {"weight", "Int8Spec"}});
  const auto given =
      parse_ranges({{"tensors", {{"x", {{"scale", 0.5}, {"zero_point", 130}, {"type", "uint8"}}}}}}, model, config.activation);
  EXPECT_EQ(given.at("x").zero_point, 2);
}

// A mask has no range; without samples, the file alone says that it stays in float.
TEST(GivenRanges, MasksComeBackAsFloats) {
  const graph::Model model = residual();
  const Config config = parse_config(schemes::table().make("A8W8")->words());
  const auto target = targets::table().make("ort_cpu");
  for (const bool infinite : {false, true}) {
    auto seen = made_up_statistics(model);
    if (infinite) {
      seen.at("x").not_finite = 3;
    } else {
      seen.at("x").range.low = std::numeric_limits<float>::lowest();
    }
    const Plan plan = resolve(model, seen, config, *target);
    EXPECT_FALSE(plan.values.contains("x"));
    const Json file = ranges_json(plan, config);
    EXPECT_EQ(file.at("tensors").at("x"), (Json{{"float", true}}));
    const auto given = parse_ranges(file, model, config.activation);
    const Plan again = resolve(model, with(made_up_statistics(model), given), config, *target);
    EXPECT_EQ(hash_of(again), hash_of(plan));
    EXPECT_TRUE(notes_on_ranges(file, given, again, config).empty());
  }
}

TEST(GivenRanges, AnEditedOneIsHonoured) {
  const graph::Model model = residual();
  const Config config = parse_config({{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}});
  const auto plan_with = [&](const Json& entry) {
    const Json file{{"tensors", {{"x", entry}}}};
    const auto given = parse_ranges(file, model, config.activation);
    return resolve(model, with(made_up_statistics(model), given), config, *targets::table().make("ort_cpu"));
  };
  EXPECT_FLOAT_EQ(plan_with({{"min", -1.0}, {"max", 1.55}}).values.at("x").scales[0], 0.01F);
  EXPECT_EQ(plan_with({{"min", -1.0}, {"max", 1.55}}).values.at("x").zero_points[0], 100);
  EXPECT_EQ(plan_with({{"scale", 0.5}, {"zero_point", 7}}).values.at("x").scales[0], 0.5F);
  EXPECT_EQ(plan_with({{"scale", 0.5}, {"zero_point", 7}}).values.at("x").zero_points[0], 7);
}

TEST(GivenRanges, MistakesAreNamed) {
  const graph::Model model = residual();
  const Config config = parse_config({{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}});
  const auto message = [&](const std::string& tensors) -> std::string {
    try {
      parse_ranges(Json{{"tensors", Json::parse(tensors)}}, model, config.activation);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(message(R"({"Relu_0_ou": {"min": 0, "max": 1}})").find("did you mean 'Relu_0_out'?"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0}})").find("together"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 2, "max": 1}})").find("greater"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"scale": -1}})").find("positive"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"scale": 1, "zero_point": 300}})").find("uint8"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0, "max": 1, "scale": 7, "type": "uint8", "symmetric": false, "scale_type": "Float32"}})")
                .find("say otherwise"),
            std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0, "max": 1, "adjusted": 1}})").find("true or false"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"minimum": 0}})").find("unknown key"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0, "max": 1, "scale_type": "Foo"}})").find("scale_type is \"Foo\""), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0, "max": 1, "symmetric": "yes"}})").find("true or false"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0, "max": 1, "type": "int9"}})").find("did you mean 'int8'?"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"min": 0, "max": 1e300}})").find("float32"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"scale": 1, "type": "int8"}})").find("type is \"int8\", but activations have"), std::string::npos);
  EXPECT_EQ(message(R"({"x": {"min": 0, "max": 1, "type": "int8"}})"), "");
  EXPECT_NE(message(R"({"x": {"float": false}})").find("float must be true, and alone"), std::string::npos);
  EXPECT_NE(message(R"({"x": {"float": true, "min": 0, "max": 1}})").find("float must be true, and alone"), std::string::npos);
}

TEST(GivenRanges, WhatBecomesOfThemIsSaid) {
  const graph::Model model = residual();
  const Config config = parse_config({{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}});
  const auto notes = [&](const Json& entry) {
    const Json file{{"tensors", {{"x", entry}}}};
    const auto given = parse_ranges(file, model, config.activation);
    const Plan plan = resolve(model, with(made_up_statistics(model), given), config, *targets::table().make("ort_cpu"));
    return notes_on_ranges(file, given, plan, config);
  };
  EXPECT_TRUE(notes({{"min", -1}, {"max", 1}}).empty());
  EXPECT_TRUE(notes({{"scale", 0.5}, {"zero_point", 7}}).empty());
  const auto others = notes({{"min", -1}, {"max", 1}, {"scale", 7}, {"type", "int8"}});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_NE(others.front().find("another scheme ('x': type \"int8\", here \"uint8\")"), std::string::npos) << others.front();
}

}  // namespace
}  // namespace quasar::quant
