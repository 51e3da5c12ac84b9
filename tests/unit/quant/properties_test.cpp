// What holds of finished models, read from nothing but the file: the demo under every scheme, in both formats.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::quant {
namespace {

struct Case {
  std::string name;
  Json words;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& [name, entry] : schemes::table().items()) {
    const Json words = entry.make({})->words();
    out.push_back({name, words});
    Json other = words;
    other["quant_format"] = "QOperator";
    if (contradiction(other).empty()) out.push_back({name + " QOperator", other});
  }
  return out;
}

const graph::Model& demo() {
  static const graph::Model model = runtime::prepare(graph::load(QUASAR_SOURCE_DIR "/examples/digits/digits.onnx"));
  return model;
}

const stats::Statistics& seen() {
  static const stats::Statistics all = observe(demo(), random_samples(demo(), 4));
  return all;
}

Plan plan_for(const Json& words, const std::string& target = "ort_cpu") {
  return resolve(demo(), seen(), parse_config(words), *targets::table().make(target));
}

bool quantizes(const graph::Node& node) {
  return node.op_type == "QuantizeLinear";
}
bool dequantizes(const graph::Node& node) {
  return node.op_type == "DequantizeLinear";
}

// The codes that feed an input of a node, with their scales and zero points; nothing for floats.
struct Stored {
  const Tensor *codes = nullptr, *scales = nullptr, *zero_points = nullptr;
  int64_t axis = 1;
};

Stored stored(const std::string& value, const graph::Index& index) {
  const graph::Node* pair = index.producer(value);
  if (pair == nullptr || !dequantizes(*pair)) return {};
  const auto constant = [&](size_t input) { return index.model().initializer(pair->inputs[input]); };
  return {constant(0), constant(1), constant(2), pair->integer("axis", 1)};
}

// Every stored weight, bias and constant against the float value that it stands for: half a step, or the end of its type.
size_t check_constants(const graph::Model& quantized, const std::string& what) {
  const graph::Index index(quantized), before(demo());
  size_t checked = 0;
  for (const auto& node : quantized.nodes) {
    const graph::Node* original = before.node(node.name);
    if (original == nullptr || original->op_type != node.op_type) continue;
    for (size_t input = 0; input < std::min(original->inputs.size(), node.inputs.size()); input++) {
      const Tensor* floats = demo().initializer(original->inputs[input]);
      const Stored now = stored(node.inputs[input], index);
      if (floats == nullptr || now.codes == nullptr) continue;
      EXPECT_EQ(now.codes->shape(), floats->shape()) << what;
      const auto codes = plain_codes(*now.codes), zeros = plain_codes(*now.zero_points);
      const auto scales = now.scales->as<float>();
      const Grid grid = grid_of(now.codes->type(), false);
      const Shape& shape = floats->shape();
      size_t inner = 1;
      for (size_t k = static_cast<size_t>(now.axis) + 1; scales.size() > 1 && k < shape.size(); k++)
        inner *= static_cast<size_t>(shape[k]);
      // Of two codes at the limit of their sum of 16 bits neither needs to be the nearest.
      std::set<size_t> limited;
      if (const auto order = ops::sum_order(*original, shape); order && input == 1) {
        ops::for_pairs(*order, [&](size_t i, size_t j) {
          if (std::abs(codes[i] + codes[j]) == 128) limited.insert({i, j});
        });
      }
      for (size_t i = 0; i < codes.size(); i++) {
        if (limited.contains(i)) continue;
        const size_t s = scales.size() == 1 ? 0 : i / inner % scales.size();
        const double value = double{scales[s]} * static_cast<double>(codes[i] - zeros[s]);
        const bool at_end = codes[i] <= std::max<int64_t>(grid.low, -127) || codes[i] == grid.high;
        EXPECT_TRUE(at_end || std::abs(value - floats->as<float>()[i]) <= 0.5001 * scales[s]) << what << " " << node.name;
      }
      checked++;
    }
  }
  return checked;
}

// Pairs stand where they must: no Q without a reader, no DQ for nobody, no Q right behind a DQ on the same grid, and no two
// alike.
void check_pairs(const graph::Model& quantized, const std::string& what) {
  const graph::Index index(quantized);
  std::set<std::tuple<std::string, std::string, std::string>> known;
  for (const auto& node : quantized.nodes) {
    if (!quantizes(node) && !dequantizes(node)) continue;
    const std::string& output = node.outputs[0];
    EXPECT_TRUE(!index.consumers(output).empty() || index.is_output(output)) << what << ": " << node.name << " is read by nobody";
    const Tensor *scale = quantized.initializer(node.inputs[1]), *zero_point = quantized.initializer(node.inputs[2]);
    ASSERT_TRUE(scale != nullptr && zero_point != nullptr) << what;
    EXPECT_EQ(scale->count(), zero_point->count()) << what;
    const auto text = [](const Tensor& tensor) {
      const auto bytes = tensor.bytes();
      return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    };
    const bool fresh = known.insert({node.op_type + node.inputs[0], text(*scale), text(*zero_point)}).second;
    EXPECT_TRUE(fresh) << what << ": " << node.name << " is there twice";
    const graph::Node* source = index.producer(node.inputs[0]);
    if (quantizes(node) && source != nullptr && dequantizes(*source)) {
      EXPECT_NE(text(*quantized.initializer(source->inputs[1])), text(*scale)) << what << ": " << node.name << " repeats a pair";
    }
    if (dequantizes(node) && source != nullptr && quantizes(*source)) {
      EXPECT_EQ(source->inputs[1], node.inputs[1]) << what << ": the halves of a pair differ";
      EXPECT_EQ(source->inputs[2], node.inputs[2]) << what << ": the halves of a pair differ";
    }
  }
}

TEST(Properties, OfEverySchemeOnTheDemo) {
  for (const auto& [name, words] : cases()) {
    const Plan plan = plan_for(words);
    const graph::Model quantized = written(demo(), plan);
    check_pairs(quantized, name);
    const size_t checked = check_constants(quantized, name);
    const Config config = parse_config(words);
    const bool pairs = config.format == Format::qdq && !config.activation.dynamic && config.activation.type != DataType::float32;
    EXPECT_TRUE(checked > 5 || !pairs || is_half(config.weight.type)) << name << ": " << checked;
    if (config.activation.scale_type != ScaleType::power_of_two) continue;
    int exponent = 0;
    for (const auto& node : quantized.nodes) {
      if (!quantizes(node) && !dequantizes(node)) continue;
      for (const float scale : quantized.initializer(node.inputs[1])->as<float>())
        EXPECT_EQ(std::frexp(scale, &exponent), 0.5F) << name << " " << node.name;
    }
  }
}

// Whatever the configurations look like: one hash is one model, byte by byte.
TEST(Properties, EqualHashesAreEqualModels) {
  std::vector<Json> all;
  for (const auto& item : cases()) all.push_back(item.words);
  const Json usual{{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}};
  const std::vector<Json> changes{Json::object(),
                                  {{"activation_params", {{"calibration_method", "MinMax"}}}},
                                  {{"activation_params", {{"calibration_method", "NonOverflow"}}}},  // MinMax with float scales
                                  {{"PercentileCandidates", {99.0, 99.9}}},                          // of another method
                                  {{"OpTypesToExclude", {"LSTM"}}},
                                  {{"exclude", Json::array({{{"op_type", "Softmax"}}})}},
                                  {{"NodesToExclude", Json::array()}},
                                  {{"OpTypesToExclude", {"Softmax"}}},
                                  {{"quant_format", "QDQ"}},
                                  {{"use_external_data_format", true}}};
  for (const auto& change : changes) {
    Json words = usual;
    words.update(change);
    if (contradiction(words).empty()) all.push_back(words);
  }
  std::map<std::string, std::string> models;  // by hash
  size_t repeated = 0;
  for (const auto& words : all) {
    Plan plan;
    try {
      plan = plan_for(words);
    } catch (const Error&) {
      continue;  // a name that the demo does not have
    }
    const graph::Model model = written(demo(), plan);
    const std::string bytes = graph::to_bytes(model);
    const auto [known, fresh] = models.try_emplace(hash_of(plan), bytes);
    EXPECT_EQ(known->second, bytes) << words.dump();
    repeated += fresh ? 0 : 1;
    EXPECT_EQ(model.metadata.at("quasar.plan_hash"), hash_of(plan));
  }
  EXPECT_GE(repeated, 4U);
  EXPECT_GE(models.size(), 8U);
}

}  // namespace
}  // namespace quasar::quant
