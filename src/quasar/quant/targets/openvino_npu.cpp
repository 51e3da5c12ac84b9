// OpenVINO's NPU plugin. No such processor was at hand: rows and rules are those of NNCF 3.4 for it (its table of the NPU,
// src/nncf/common/hardware/setups/npu.py), and of OpenVINO's list of devices (fixed shapes).
//
//   sums      Conv, ConvTranspose, Gemm, MatMul, of two values too: CONVOLUTION, DEPTHWISE_CONVOLUTION, MAT_MUL
//   pairs     Add, Sub, Mul, Div, Min, Max; AVG_POOL, REDUCE_MEAN; Resize that interpolates (INTERPOLATE, linear)
//   moved     MAX_POOL, REDUCE_MAX, RESHAPE, TRANSPOSE, SPLIT, SLICE, TILE, PAD, BROADCAST, CONCAT …: the codes pass
//   values    8 or 16 bits, one scale, with or without zero point
//   weights   8 bits, with or without zero points, one scale or one per output channel
//   unified   all values that Add, Sub, Mul, Div, Min, Max and Concat read have one scale and zero point ("SCALES: UNIFIED")
//   gates     a Mul by a Sigmoid or HardSigmoid, and Softmax · V, are left in float, as NNCF ignores them
//   floats    functions and normalizations run in float16. MVN, NormalizeL2, LSTM and GRU stand in the table too, and are left in
//             float here: Quasar has no pairs for them that NNCF's rows describe
//
// Where pairs stand is as on OpenVINO's CPU, on which the models are judged; there sums may be of 16 bits, so that scales are
// raised as they are for it.
#include <algorithm>
#include <array>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

constexpr std::array<std::string_view, 4> npu_sums = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
constexpr std::array<std::string_view, 6> npu_joins = {"Add", "Sub", "Mul", "Div", "Min", "Max"};

// Besides, what computes on codes or lets them pass; Relu and Clip are part of the layer before them.
constexpr std::array<std::string_view, 21> npu_others = {
    "Relu",  "Clip",   "AveragePool", "GlobalAveragePool", "ReduceMean", "MaxPool", "GlobalMaxPool", "ReduceMax", "Concat",
    "Split", "Slice",  "Expand",      "Reshape",           "Flatten",    "Squeeze", "Tile",          "Unsqueeze", "Transpose",
    "Pad",   "Resize", "Gather"};

// Of these, what takes next to no time beside the layer that feeds it.
constexpr std::array<std::string_view, 17> npu_cheap = {"Add",     "Sub",       "Mul",    "Div",   "Min",      "Max",
                                                        "Relu",    "Clip",      "Concat", "Slice", "Expand",   "Reshape",
                                                        "Flatten", "Unsqueeze", "Tile",   "Pad",   "Transpose"};

bool is_one_in(const auto& names, const graph::Node& node) {
  return node.domain.empty() && std::ranges::find(names, node.op_type) != names.end();
}

// What writes this value, before it was moved; nullptr: nothing does.
const graph::Node* writer_of_moved(const std::string& value, const graph::Index& index) {
  constexpr std::array<std::string_view, 6> moves = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Expand"};
  const graph::Node* writer = index.producer(value);
  while (writer != nullptr && is_one_in(moves, *writer)) writer = index.producer(writer->inputs.front());
  return writer;
}

bool is_npu_value(DataType type) {
  return is_byte(type) || type == DataType::uint16 || type == DataType::int16;
}

// Why values and weights of these schemes have no rows there; "": they have.
std::string unfit_for_npu(const Scheme& activation, const Scheme& weight) {
  const auto no = [](const char* key, const Scheme& scheme, const std::string& what) {
    return std::string(key) + " is " + spec_name(scheme) + ", but target openvino_npu has " + what +
           "; the nearest that it takes are the schemes u8s8_channel (UInt8Spec) and w8a16 (UInt16Spec)";
  };
  const bool floats = activation.type == DataType::float32;
  if (!floats && !is_npu_value(activation.type)) return no("activation", activation, "values of 8 and 16 bits");
  if (!is_byte(weight.type) || weight.granularity == Granularity::group)
    return no("weight", weight, "weights of 8 bits, with one scale or one per channel");
  return "";
}

class OpenVinoNpu final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles&, const Config&, std::string& why) const override {
    why.clear();
    if (!is_one_in(npu_sums, node) && !is_one_in(npu_joins, node) && !is_one_in(npu_others, node))
      why = "NNCF's table of OpenVINO's NPU has no codes for it: it runs in float16";
    return why.empty();
  }

  // Operators of 16 and of 8 bits side by side would join values of other scales, too.
  std::string remark(const Config& config) const override {
    if (config.activation.type == DataType::float32 || is_byte(config.activation.type)) return "";
    return "values of 16 bits stand in NNCF's table of OpenVINO's NPU, but OpenVINO's CPU, which judges, runs them in float, as "
           "a simulation";
  }

  std::string refuses(Format format) const override { return format == Format::qdq ? "" : "OpenVINO's NPU reads Q/DQ pairs"; }

  std::string refuses_types(const Config& config) const override { return first_unfit(config, unfit_for_npu); }
  std::string obstacle_to_run_time_scales() const override { return "OpenVINO's NPU reads Q/DQ pairs"; }

  bool wants_fixed_shapes() const override { return true; }
  bool unifies(const graph::Node& node) const override { return is_one_in(npu_joins, node) || node.is("Concat"); }
  // NNCF ignores them there too (SE_BLOCK, MULTIHEAD_ATTENTION_OUTPUT in ignored_patterns.py; Swish is one operator): a gate
  // between 0 and 1 has next to no steps on a grid that holds what it multiplies.
  std::string obstacle_before(const graph::Node& node, const graph::Index& index) const override {
    for (const auto& input : node.inputs) {
      const graph::Node* const writer = writer_of_moved(input, index);
      if (writer == nullptr) continue;
      if (node.is("Mul") && (writer->is("Sigmoid") || writer->is("HardSigmoid")))
        return "it multiplies by a gate, which would have next to no steps on one grid with the value";
      if (node.is("MatMul") && writer->is("Softmax")) return "it ends an attention, which NNCF leaves in float16 there";
    }
    return "";
  }

  std::string obstacle_to_tensor(const Scheme& scheme, bool weights, const Config& config) const override {
    return weights ? unfit_for_npu(config.activation, scheme) : unfit_for_npu(scheme, config.weight);
  }

  bool pads_with_code_zero(const graph::Node& node) const override { return counts_border(node); }
  DataType wide_type() const override { return DataType::uint16; }

  bool absorbs(const ops::Bounds&, const QuantParams&) const override { return true; }
  bool fuses_bias() const override { return true; }
  bool cheap_in_float(const graph::Node& node, const Config&) const override { return is_one_in(npu_cheap, node); }
  bool writes_float(const graph::Node& node, const Config&) const override { return is_one_in(npu_sums, node); }
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
  std::string usual_scheme() const override { return "u8s8_channel"; }
  std::string usual_preset() const override { return "openvino_npu_search"; }
  bool has_hard_swish() const override { return true; }

  std::string runtime() const override { return "openvino"; }
  std::string stand_in(bool) const override {
    return "target openvino_npu is judged on OpenVINO's CPU: scores are those of its arithmetic, in float32 where the NPU has "
           "float16, and times say nothing of the NPU";
  }

  Json capability(const std::string& op_type) const override {
    Json out = Target::capability(op_type);
    out["activation"]["dtype"] = {"uint8", "int8"};
    out["activation"]["scheme"] = {"asym", "sym"};
    return out;
  }

  std::optional<Saturation> saturation() const override { return Saturation::raise_scales; }
  ops::Kernels kernels() const override { return ops::Kernels::onednn; }
  bool takes_unsigned_weights() const override { return false; }

  FloatGuard float_guard() const override { return FloatGuard::none; }
  bool checks_pairs() const override { return true; }

  PairFault fault(const NodeInPairs& at) const override {
    const graph::Node& node = at.node;
    if (has_own_codes(node)) return {"pairs", node.op_type + " computes on codes by itself; OpenVINO's NPU reads Q/DQ pairs"};
    for (const auto& input : at.inputs) {
      if (input && !is_npu_value(input->type) && !(input->constant && input->type == DataType::int32)) return unfit(*input);
    }
    if (at.output && !is_npu_value(at.output->type)) return unfit(*at.output);
    if (PairFault scales = fault_of_scales(at); !scales.rule.empty()) return scales;
    if (is_one_in(npu_sums, node)) return fault_of_npu_sum(at);
    if (counts_border(node) && at.output && at.inputs.front() && !at.inputs.front()->zero_based)
      return {"pad", counted_border_is_lost};
    return !is_one_in(npu_others, node) && !is_one_in(npu_joins, node) && only_rounds(at)
               ? PairFault{"float", node.op_type + " runs in float16: the pairs around it only round what it reads and writes"}
               : PairFault();
  }

  std::vector<NodeFault> faults(const graph::Model& model, const std::map<std::string, graph::Value>& /*values*/) const override {
    std::vector<NodeFault> out;
    for (const auto& input : model.inputs) {
      if (model.initializer(input.name) != nullptr) continue;
      if (!input.shape || std::ranges::any_of(*input.shape, [](int64_t size) { return size < 0; }))
        out.push_back({input.name, {"shapes", "input '" + input.name + "' has no fixed shape, which OpenVINO's NPU asks for"}});
    }
    const graph::Index index(model);
    for (const auto& at : nodes_in_pairs(model)) {
      PairFault one = fault(at);
      if (one.rule.empty() && unifies(at.node) && writes_codes(at, index)) one = fault_of_join(at);
      if (!one.rule.empty()) out.push_back({at.node.name, std::move(one)});
    }
    return out;
  }

 private:
  static PairFault unfit(const Pair& pair) {
    return {"types", "'" + pair.value + "' has codes of " + std::string(name_of(pair.type)) + ": 8 and 16 bits have rows there"};
  }

  // Itself, or an activation behind it that runs with it. Otherwise the node is left in float.
  static bool writes_codes(const NodeInPairs& at, const graph::Index& index) {
    const auto quantized = [&](const std::string& value) { return std::ranges::any_of(index.consumers(value), quantizes); };
    const graph::Node* const reader = graph::sole_reader(at.node.outputs.front(), index);
    const bool activation = reader != nullptr && (reader->is("Relu") || reader->is("Clip"));
    return at.output || (activation && quantized(reader->outputs.front()));
  }

  static PairFault fault_of_npu_sum(const NodeInPairs& at) {
    if (at.inputs.size() > 1 && at.inputs[1] && at.inputs[1]->constant && !is_byte(at.inputs[1]->type))
      return {"types", "'" + at.inputs[1]->value + "' has codes of " + std::string(name_of(at.inputs[1]->type)) +
                           ": weights have 8 bits there"};
    const bool values = at.inputs.front().has_value(), factor = at.inputs.size() > 1 && at.inputs[1].has_value();
    if (values || !factor) return {};  // one that is left in float may read what others need on a grid
    return {"values", "what it is multiplied with is quantized, but what it reads is not: it runs in float16"};
  }

  static PairFault fault_of_join(const NodeInPairs& at) {
    const bool concat = at.node.is("Concat");
    const Pair* first = nullptr;
    for (const auto& input : at.inputs) {
      if (!input || (input->constant && !concat)) continue;
      if (first != nullptr && (input->scale != first->scale || input->zero_point != first->zero_point))
        return {"unified", "'" + first->value + "' and '" + input->value + "' have other scales, and one is asked for"};
      first = &*input;
    }
    return {};
  }
};

}  // namespace

Entry<Target> openvino_npu() {
  return {.help = "OpenVINO's NPU: values of 8 or 16 bits, one scale for all that Add, Mul and Concat join, fixed shapes",
          .make = make_as<OpenVinoNpu, Target>};
}

}  // namespace quasar::quant::targets
