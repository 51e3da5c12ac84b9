#include "quasar/quant/write/write_half.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/graph/half_to_float.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/half/half_operators.hpp"
#include "quasar/quant/pairs.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_half_scales = 19, first_opset_of_half_sums = 14;  // ONNX Runtime's Add on Arm

class HalfWriting {
 public:
  HalfWriting(const graph::Model& model, const std::set<std::string>& wide, bool in_islands)
      : before_(model),
        in_islands_(in_islands),
        index_(before_),
        names_(before_),
        floats_(ops::float_values(before_)),
        out_(model) {
    choose(wide);
  }

  graph::Model run() {
    for (const auto& node : before_.nodes) {
      for (const auto& value : node.captures) kept_.insert(value);
    }
    out_.nodes.clear();
    for (const auto& node : before_.nodes) {
      if (is_plain_pair(node)) {
        add_pair(node);
      } else {
        add(node);
      }
    }
    graph::forget_types(out_, half_values_);
    graph::remove_unused(out_);
    return std::move(out_);
  }

 private:
  static bool is_plain_pair(const graph::Node& node) { return node.is("QuantizeLinear") || node.is("DequantizeLinear"); }

  bool is_float(const std::string& value) const {
    if (const Tensor* const constant = before_.initializer(value)) return constant->type() == DataType::float32;
    return floats_.contains(value);
  }

  // Nodes in float16, and the values that they write: forward, so that the type of what a node reads is known.
  void choose(const std::set<std::string>& wide) {
    for (const auto& node : before_.nodes) {
      const std::vector<size_t> inputs = half_inputs(node);
      const bool fits = !inputs.empty() && !wide.contains(node.name) && floats_.contains(node.outputs.front()) &&
                        std::ranges::all_of(inputs, [&](size_t k) { return is_float(node.inputs[k]); }) && codes_fit(node);
      if (fits && (!in_islands_ || has_arm_kernel(node, before_))) halves_.insert(node.name);
    }
    if (in_islands_) drop_small_islands();
    for (const auto& node : before_.nodes) {
      if (halves_.contains(node.name) && moves_in_vain(node)) halves_.erase(node.name);
      if (node.is("DequantizeLinear") && scale_fits(node) && feeds_half(node)) halves_.insert(node.name);
      if (!halves_.contains(node.name)) continue;
      for (const auto& output : node.outputs) {
        if (floats_.contains(output)) half_values_.insert(output);
      }
    }
  }

  // Those without a product: nodes belong together that read each other's values.
  void drop_small_islands() {
    std::map<std::string, std::string> first;  // node -> one of its island, up to that which stands for itself
    const auto island_of = [&](std::string name) {
      while (first.at(name) != name) {
        std::string& above = first.at(name);
        above = first.at(above);  // halves the way for whoever asks next
        name = above;
      }
      return name;
    };
    for (const auto& node : before_.nodes) {
      if (!halves_.contains(node.name)) continue;
      first[node.name] = node.name;
      for (const size_t input : half_inputs(node)) {
        const graph::Node* const writer = index_.producer(node.inputs[input]);
        if (writer != nullptr && first.contains(writer->name)) first[island_of(writer->name)] = node.name;
      }
    }
    std::set<std::string> large;
    for (const auto& node : before_.nodes) {
      const bool is_product = node.is("Conv") || node.is("Gemm") || node.is("MatMul");
      if (is_product && first.contains(node.name)) large.insert(island_of(node.name));
    }
    std::erase_if(halves_, [&](const auto& name) { return !large.contains(island_of(name)); });
  }

  // Optimized rounding may have chosen scales that float16 does not hold: then no Cast is to stand between the node and codes.
  bool codes_fit(const graph::Node& node) const {
    if (in_islands_) return true;
    const auto fits = [&](const graph::Node* pair) { return pair == nullptr || !is_plain_pair(*pair) || scale_fits(*pair); };
    return std::ranges::all_of(node.inputs, [&](const auto& input) { return fits(index_.producer(input)); }) &&
           std::ranges::all_of(node.outputs,
                               [&](const auto& output) { return std::ranges::all_of(index_.consumers(output), fits); });
  }

  bool moves_in_vain(const graph::Node& node) const {
    const auto is_half = [&](size_t k) { return half_values_.contains(node.inputs[k]); };
    return moves_or_joins(node) && std::ranges::none_of(half_inputs(node), is_half) && !feeds_half(node);
  }

  bool feeds_half(const graph::Node& node) const {
    const auto is_half = [&](const graph::Node* reader) { return halves_.contains(reader->name); };
    return std::ranges::any_of(node.outputs,
                               [&](const auto& output) { return std::ranges::any_of(index_.consumers(output), is_half); });
  }

  bool scale_fits(const graph::Node& pair) const {
    const Tensor* const scale = before_.initializer(pair.inputs[1]);
    return !in_islands_ && scale != nullptr && scale->type() == DataType::float32 &&
           std::ranges::all_of(scale->as<float>(), fits_half);
  }

  // What the value is called where it has its float32 type, and where it has float16. Values that are half by themselves keep
  // their names, but those that must stay as they are.
  std::string half_name(const std::string& value) {
    const graph::Node* const writer = in_islands_ ? index_.producer(value) : nullptr;
    // That kept ONNX Runtime from taking the operator onto codes (keep_in_float.hpp); a Cast does, too.
    if (writer != nullptr && writer->is("Sum") && writer->inputs.size() == 1) return half_name(writer->inputs[0]);
    if (!half_values_.contains(value)) return cast(value, value, "_float16", DataType::float16);
    return kept(value) ? renamed(value) : value;
  }
  std::string wide_name(const std::string& value) {
    if (!half_values_.contains(value) || kept(value)) return value;
    const graph::Node* const writer = index_.producer(value);
    return writer->is("DequantizeLinear") ? second_pair(*writer) : cast(value, value, "_float32", DataType::float32);
  }

  // Of codes, for those that read them as float32: a Cast would stand between codes and what computes on them.
  std::string second_pair(const graph::Node& dequantize) {
    auto [place, fresh] = casts_.try_emplace(dequantize.outputs[0] + "_float32");
    if (!fresh) return place->second;
    const std::string name = place->second = names_.fresh(dequantize.outputs[0] + "_float32");
    graph::Node node = dequantize;
    node.name = names_.fresh(node.name + "_float32");
    node.inputs[1] = scale_name(node, false);
    node.outputs[0] = name;
    out_.nodes.push_back(std::move(node));
    return name;
  }

  bool kept(const std::string& value) const { return kept_.contains(value) || index_.is_output(value); }

  const std::string& renamed(const std::string& value) {
    auto [place, fresh] = renamed_.try_emplace(value);
    if (fresh) place->second = names_.fresh(value + "_float16");
    return place->second;
  }

  std::string cast(const std::string& value, const std::string& from, const char* ending, DataType type) {
    const std::string wish = value + ending;
    const auto known = casts_.find(wish);
    if (known != casts_.end()) return known->second;
    const std::string to = names_.fresh(wish);
    casts_[wish] = to;
    if (const Tensor* const constant = before_.initializer(from)) {
      out_.initializers[to] = narrowed(*constant);
    } else {
      add_cast(from, to, type);
    }
    return to;
  }

  // Beyond furthest_in_half are only numbers that masks hide by: others are read as float32.
  static Tensor narrowed(const Tensor& constant) {
    std::vector<float> numbers(constant.as<float>().begin(), constant.as<float>().end());
    for (float& number : numbers) {
      if (number < -furthest_in_half) number = hidden_in_half;
    }
    return converted(Tensor::of(constant.shape(), numbers), DataType::float16);
  }

  void add_cast(const std::string& from, const std::string& to, DataType type) {
    graph::Node node{.name = names_.fresh(to + "_Cast"), .op_type = "Cast", .domain = "", .inputs = {from}, .outputs = {to}};
    node.set({"to", static_cast<int64_t>(type)});
    out_.nodes.push_back(std::move(node));
  }

  // A scale as both sides of a pair have it.
  std::string scale_name(const graph::Node& pair, bool half) {
    const std::string& scale = pair.inputs[1];
    if (!scale_fits(pair)) return scale;
    if (half) return half_name(scale);
    const std::string wish = scale + "_rounded";
    const auto known = casts_.find(wish);
    if (known != casts_.end()) return known->second;
    const std::string name = casts_[wish] = names_.fresh(wish);
    out_.initializers[name] = converted(converted(*before_.initializer(scale), DataType::float16), DataType::float32);
    return name;
  }

  void add_pair(graph::Node node) {
    const bool quantizes = node.is("QuantizeLinear");
    const bool half = scale_fits(node) && (quantizes ? half_values_.contains(node.inputs[0]) : halves_.contains(node.name));
    if (quantizes) node.inputs[0] = half ? half_name(node.inputs[0]) : wide_name(node.inputs[0]);
    node.inputs[1] = scale_name(node, half);
    push(std::move(node));
  }

  void add(graph::Node node) {
    const bool half = halves_.contains(node.name);
    const bool any_type = node.is("Shape") || node.is("Size");
    const std::vector<size_t> inputs = half ? half_inputs(node) : std::vector<size_t>();
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      std::string& input = node.inputs[k];
      if (input.empty()) continue;
      if (std::ranges::find(inputs, k) != inputs.end()) {
        input = half_name(input);
      } else if (!any_type || kept(input)) {
        input = wide_name(input);
      }
    }
    push(std::move(node));
  }

  // Values that must stay as they are get their float32 from a Cast behind the node.
  void push(graph::Node node) {
    std::vector<std::string> given;
    for (auto& output : node.outputs) {
      if (!half_values_.contains(output) || !kept(output)) continue;
      given.push_back(output);
      output = renamed(output);
    }
    out_.nodes.push_back(std::move(node));
    for (const auto& value : given) add_cast(renamed(value), value, DataType::float32);
  }

  const graph::Model before_;
  const bool in_islands_;
  const graph::Index index_;
  graph::Names names_;
  const std::set<std::string> floats_;
  graph::Model out_;
  std::set<std::string> halves_, half_values_;            // nodes, values
  std::set<std::string> kept_;                            // values that subgraphs read
  std::unordered_map<std::string, std::string> renamed_;  // of kept values in float16
  std::unordered_map<std::string, std::string> casts_;    // what was asked for -> its name
};

}  // namespace

void write_half(graph::Model& model, const std::set<std::string>& wide, bool in_islands) {
  const int64_t opset = in_islands ? first_opset_of_half_sums : first_opset_of_half_scales;
  try {
    model = graph::raise_opset(std::move(model), opset);
  } catch (const Error& e) {
    throw Error("high_precision_dtype: fp16 is written in opset " + std::to_string(opset) + ", but " + std::string(e.what()) +
                "; export the model with opset " + std::to_string(opset) + " or newer, or say high_precision_dtype: fp32");
  }
  model = HalfWriting(model, wide, in_islands).run();
  graph::verify(model, "writing float16");
}

}  // namespace quasar::quant
