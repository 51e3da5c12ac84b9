// Qualcomm's NPU (HTP) behind ONNX Runtime's QNN provider, as found by experiment with onnxruntime-qnn 2.7.0 and ONNX Runtime
// 1.32 in the simulator of the wheel: for each operator and type a model of Q/DQ pairs, whether the provider takes the node, and
// how far its values are from ONNX Runtime's own (docs/targets.md has the table). Rules that it cannot show come from ONNX
// Runtime's get_qnn_qdq_config and the provider's documentation.
//
//   values    uint8 or uint16, asymmetric. int16 and int8 without zero point do not compile, fall out or come out wrong
//   weights   int8 or uint8, one scale or one per output channel; 16 bits do not compile
//   pairs     on all that these operators read and write. A layer without a pair behind it is taken for float, and its bias
//             stays with the CPU
//   Clip      behind a Conv with a pair between is skipped, and its values come out unclipped: the pair behind must clip instead
//   Sigmoid   in 16 bits has scale 1/65536, Tanh 1/32768 about the middle; others come out wrong
//   shapes    fixed, of at most 5 axes
//
// What is left in float runs in float16 on the NPU, beside the codes.
#include <algorithm>
#include <array>
#include <set>

#include "quasar/ops/constants.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

constexpr std::array<std::string_view, 4> htp_sums = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

// Between pairs, in both widths.
constexpr std::array<std::string_view, 45> on_htp_codes = {
    "Conv",      "ConvTranspose", "Gemm",        "MatMul",  "Add",         "Sub",
    "Mul",       "Div",           "Min",         "Max",     "Where",       "Relu",
    "Clip",      "LeakyRelu",     "PRelu",       "Sigmoid", "HardSigmoid", "HardSwish",
    "Tanh",      "Elu",           "Gelu",        "Softmax", "MaxPool",     "LayerNormalization",
    "Concat",    "Reshape",       "Flatten",     "Squeeze", "AveragePool", "LpNormalization",
    "Transpose", "Slice",         "Split",       "Gather",  "Unsqueeze",   "GlobalAveragePool",
    "Expand",    "Tile",          "Pad",         "Resize",  "ReduceMean",  "GlobalMaxPool",
    "ReduceMax", "ReduceMin",     "DepthToSpace"};

// Besides, what runs there in float beside codes, or between pairs of others.
constexpr std::array<std::string_view, 28> runs_besides = {
    "SpaceToDepth", "Exp",      "Log",      "Sqrt",    "Abs",      "Neg",       "Softplus",
    "LogSoftmax",   "Pow",      "Identity", "Dropout", "Constant", "ReduceSum", "Cast",
    "Shape",        "Floor",    "Ceil",     "Sign",    "Sin",      "Cos",       "Reciprocal",
    "Mish",         "ReduceL2", "ArgMax",   "TopK",    "Einsum",   "LRN",       "BatchNormalization"};

// In float the compiler gives up on the whole model.
constexpr std::array<std::string_view, 16> never_in_float = {
    "Where",           "HardSigmoid", "Elu",   "Gelu", "InstanceNormalization",
    "LpNormalization", "Gather",      "Round", "Selu", "ThresholdedRelu",
    "ReduceLogSumExp", "CumSum",      "LSTM",  "GRU",  "ScatterND",
    "GridSample"};

constexpr std::array<std::string_view, 3> with_branches = {"If", "Loop", "Scan"};

// Gelu of ONNX Runtime's own domain runs as ONNX's does.
bool is_in(const auto& names, const graph::Node& node) {
  const bool known = node.domain.empty() || (node.domain == "com.microsoft" && node.op_type == "Gelu");
  return known && std::ranges::find(names, node.op_type) != names.end();
}

bool is_unsigned(DataType type) {
  return type == DataType::uint8 || type == DataType::uint16;
}

constexpr const char* nearest_for_htp =
    "the nearest that does are the schemes w8a16 (UInt16Spec) and w8a8 (UInt8Spec), with symmetric: false";

// Why values and weights of these schemes do not run; "": they do.
std::string unfit_for_htp(const Scheme& activation, const Scheme& weight) {
  const auto no = [&](const char* key, const Scheme& scheme, const std::string& what) {
    return std::string(key) + " is " + spec_name(scheme) + ", but target qnn_htp " + what + "; " + nearest_for_htp;
  };
  if (!is_integer(activation.type)) return no("activation", activation, "runs codes whose scales are known before the run");
  if (!is_unsigned(activation.type)) return no("activation", activation, "runs values of 8 or 16 bits without sign");
  if (activation.symmetric)
    return no("activation", activation, "does not run symmetric values rightly: it skips a Clip that no pair behind it does");
  if (activation.scale_type == ScaleType::int16 || activation.granularity != Granularity::tensor)
    return no("activation", activation, "has one float scale per value");
  if (!is_integer(weight.type) || !is_byte(weight.type)) return no("weight", weight, "runs weights of 8 bits");
  if (weight.granularity == Granularity::group) return no("weight", weight, "has no scales per group of weights");
  return "";
}

// Of two values with five axes in uint8 the product came out wrong.
size_t most_axes_there(const graph::Node& node, bool weighted) {
  return node.is("MatMul") && !weighted ? 4 : 5;
}

constexpr const char* without_its_own_scale =
    "its scale and shift stay in float, and then the compiler gives up on the whole model (QNN_COMMON_ERROR_MEM_ALLOC)";

class QnnHtp final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles& roles, const Config& config, std::string& why) const override {
    why.clear();
    const DataType type = config.activation.type;
    if (!is_byte(type) && type != DataType::uint16) {
      why = "QNN HTP has no codes of " + std::string(name_of(type)) + " for values; what is in float runs in float16 by itself";
    } else if (roles.weight && !is_byte(config.weight.type)) {
      why = "QNN HTP has weights of 8 bits only";
    } else if (node.is("InstanceNormalization")) {
      why = without_its_own_scale;
    } else if (!is_in(on_htp_codes, node) && !node.is("SpaceToDepth")) {
      why = "QNN HTP does not run it on codes";
    }
    return why.empty();
  }

  std::string remark(const Config&) const override { return ""; }

  std::string refuses(Format format) const override { return format == Format::qdq ? "" : "the QNN provider reads Q/DQ pairs"; }

  std::string refuses_types(const Config& config) const override {
    if (std::string why = first_unfit(config, unfit_for_htp); !why.empty()) return why;
    if (!is_on(config.switches, "AlignConcat", false)) return "";
    return "AlignConcat is true, but target qnn_htp joins values of different scales, and its Sigmoid, Tanh and Clip need scales "
           "of "
           "their own: with those of a Concat their values come out wrong; leave it out";
  }

  // A value of another width than its layers have would be no pair that converts (specific_layer_config makes these).
  std::string obstacle_to_tensor(const Scheme& scheme, bool weights, const Config& config) const override {
    if (weights) return unfit_for_htp(config.activation, scheme);
    if (std::string why = unfit_for_htp(scheme, config.weight); !why.empty()) return why;
    const auto has_type = [&](const LayerRule& rule) { return !rule.in_float && rule.activation.type == scheme.type; };
    const auto is_of_kind = [&](const KindRule& kind) { return has_type(kind.rule); };
    if (scheme.type == config.activation.type || std::ranges::any_of(config.layers, has_type) ||
        std::ranges::any_of(config.kinds, is_of_kind) || (config.mixed && config.mixed->activation.type == scheme.type))
      return "";
    return "a layer that reads and writes values of different widths runs in float16 on target qnn_htp, with its bias on the "
           "CPU; "
           "specific_layer_config gives a layer " +
           spec_name(scheme) + ", with pairs that convert";
  }

  std::string obstacle_to_run_time_scales() const override {
    return "the QNN provider leaves operators that find them (DynamicQuantizeLinear) to the CPU";
  }

  bool wants_fixed_shapes() const override { return true; }
  size_t most_axes(const graph::Node& node, bool weighted) const override { return most_axes_there(node, weighted); }

  std::optional<QuantParams> grid_written_by(const graph::Node& node, DataType type) const override {
    if (type != DataType::uint16) return std::nullopt;
    if (node.is("Sigmoid")) return QuantParams{.type = type, .scales = {1.0F / 65536}, .zero_points = {0}};
    if (node.is("Tanh")) return QuantParams{.type = type, .scales = {1.0F / 32768}, .zero_points = {32768}};
    return std::nullopt;
  }

  DataType wide_type() const override { return DataType::uint16; }
  // ONNX Runtime takes the activation out where the pair behind it clips alike.
  bool absorbs(const ops::Bounds& bounds, const QuantParams& output) const override { return keeps_within(output, bounds); }
  bool fuses_bias() const override { return false; }
  // Erf is not there, nor Gelu in float. Nor is Where in float.
  bool has_gelu_only() const override { return true; }
  bool chooses_on_codes_only() const override { return true; }
  // Where a node in float computes one of both, and its codes are made there, the compiler gives up on the whole model.
  bool divides_by_computed() const override { return false; }
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
  std::string usual_scheme() const override { return "w8a16"; }
  std::string usual_preset() const override { return "qnn_htp_search"; }
  std::string runtime() const override { return "qnn_htp"; }

  Json capability(const std::string& op_type) const override {
    Json out = Target::capability(op_type);
    out["activation"]["dtype"] = {"uint8", "uint16"};
    return out;
  }

  // Its provider reads what ONNX Runtime's optimizer makes of the file. It has neither Sum of one input nor scales per channel of
  // values: with them on the CPU the model falls into parts.
  FloatGuard float_guard() const override { return FloatGuard::for_npu; }
  bool checks_pairs() const override { return true; }

  std::vector<NodeFault> faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const override;
};

// What a finished model breaks of the rules.
class HtpCheck {
 public:
  HtpCheck(const graph::Model& model, const std::map<std::string, graph::Value>& values)
      : model_(model), index_(model), values_(values), in_pairs_(nodes_in_pairs(model)) {
    for (const auto& one : in_pairs_) pairs_[one.node.name] = &one;
  }

  std::vector<NodeFault> run() {
    for (const auto& input : model_.inputs) {
      if (model_.initializer(input.name) == nullptr && is_open(input))
        add(input.name, "shapes", "input '" + input.name + "' has no fixed shape, and the provider takes no node of the model");
    }
    for (const auto& node : model_.nodes) {
      if (!quantizes(&node) && !dequantizes(&node)) look_at(node);
    }
    return std::move(out_);
  }

 private:
  void add(const std::string& node, const char* rule, const std::string& what) { out_.push_back({node, {rule, what}}); }

  static bool is_open(const graph::Value& value) {
    return !value.shape || std::ranges::any_of(*value.shape, [](int64_t size) { return size < 0; });
  }

  void look_at(const graph::Node& node) {
    const auto found = pairs_.find(node.name);
    const NodeInPairs* const at = found == pairs_.end() ? nullptr : found->second;
    if (is_in(with_branches, node)) return add(node.name, "branches", node.op_type + " runs on the CPU, with all that it holds");
    if (has_own_codes(node))
      return add(node.name, "pairs", node.op_type + " computes on codes by itself, which the QNN provider leaves to the CPU");
    if (!computes_floats(node)) return;
    const bool named = is_in(on_htp_codes, node) || is_in(runs_besides, node) || is_in(never_in_float, node);
    if (!named) return add(node.name, "operator", node.op_type + " is in no list of what runs there: it falls to the CPU");
    if (node.is("InstanceNormalization") && !has_quantized_scale(at)) return add(node.name, "operator", without_its_own_scale);
    if ((at == nullptr || !at->output) && is_in(never_in_float, node))
      return add(node.name, "float", "the compiler has no " + node.op_type + " in float, and gives up on the whole model");
    if (const size_t most = axes_of(node); most > most_axes_of(node, at))
      return add(node.name, "axes",
                 "it has values of " + std::to_string(most) + " axes, of which " + node.op_type + " has at most " +
                     std::to_string(most_axes_of(node, at)) + " there");
    if (node.is("ReduceL2") && at == nullptr)
      return add(node.name, "float",
                 "the compiler gives up on the whole model where it computes in float on a value that was computed in float; "
                 "FuseL2Norm: true makes one operator of a division by it");
    if (at == nullptr) return;
    if (node.is("Pad") && is_pool_padded_to_codes(*at))
      return add(node.name, "float",
                 "the compiler gives up on the whole model where a MaxPool in float, this Pad and a pair follow each other; what "
                 "comes before must be quantized (ConvertBNToConv: true where that is a BatchNormalization)");
    if (node.is("Div") && at->output && divides_what_floats_gave(*at))
      return add(
          node.name, "division",
          "it divides codes that are made there of a value computed in float, and the compiler gives up on the whole model; "
          "exclude: [{op_type: Div}] leaves it in float");
    if (!look_at_types(*at)) return;
    if (PairFault scales = fault_of_scales(*at); !scales.rule.empty()) return out_.push_back({node.name, std::move(scales)});
    if (is_in(htp_sums, node)) look_at_sum(*at);
    look_at_grid(*at);
    if (node.is("Clip")) look_at_clip(*at);
  }

  bool is_pool_padded_to_codes(const NodeInPairs& pad) const {
    const graph::Node* const pool = index_.producer(pad.node.inputs.front());
    return pad.output && !pad.inputs.front() && pool != nullptr && pool->is("MaxPool");
  }

  // Whether a node in float writes what a pair before it reads.
  bool divides_what_floats_gave(const NodeInPairs& at) const {
    return std::ranges::any_of(at.node.inputs, [&](const std::string& input) {
      const graph::Node* const dequantize = index_.producer(input);
      const graph::Node* const quantize = dequantizes(dequantize) ? index_.producer(dequantize->inputs.front()) : nullptr;
      const graph::Node* const before = quantizes(quantize) ? index_.producer(quantize->inputs.front()) : nullptr;
      const auto found = before == nullptr ? pairs_.end() : pairs_.find(before->name);
      return before != nullptr && (found == pairs_.end() || !in_codes(*found->second));
    });
  }

  static bool in_codes(const NodeInPairs& at) {
    return is_in(on_htp_codes, at.node) && std::ranges::any_of(at.inputs, [](const auto& input) { return input.has_value(); });
  }

  // Whether it writes floats, or nobody knows.
  bool computes_floats(const graph::Node& node) const {
    if (node.outputs.empty()) return false;
    const auto found = values_.find(node.outputs.front());
    return found == values_.end() || found->second.type == DataType::float32 || found->second.type == DataType::undefined;
  }

  static bool has_quantized_scale(const NodeInPairs* at) { return at != nullptr && at->inputs.size() > 1 && at->inputs[1]; }

  size_t axes_of(const graph::Node& node) const {
    size_t most = 0;
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const auto& value : *list) {
        const auto found = values_.find(value);
        if (found != values_.end() && found->second.shape) most = std::max(most, found->second.shape->size());
      }
    }
    return most;
  }

  static size_t most_axes_of(const graph::Node& node, const NodeInPairs* at) {
    const bool of_values = at != nullptr && at->inputs.size() > 1 && at->inputs[1] && !at->inputs[1]->constant;
    return most_axes_there(node, !of_values);
  }

  bool look_at_types(const NodeInPairs& at) {
    const auto wrong = [&](const Pair& pair) {
      add(at.node.name, "types",
          "'" + pair.value + "' has codes of " + std::string(name_of(pair.type)) +
              ": as values they fall to the CPU, do not compile or come out wrong; uint8 and uint16 run");
      return false;
    };
    for (const auto& input : at.inputs) {
      if (input && !input->constant && !is_unsigned(input->type)) return wrong(*input);
    }
    return !at.output || is_unsigned(at.output->type) || wrong(*at.output);
  }

  void look_at_sum(const NodeInPairs& at) {
    const auto& values = at.inputs.front();
    const auto& factor = at.inputs.size() < 2 ? std::nullopt : at.inputs[1];
    if (!values && !factor) return;
    const Pair* const weights = factor && factor->constant ? &*factor : nullptr;
    if (weights != nullptr && !is_byte(weights->type))
      return add(at.node.name, "weights", "its weights are of " + std::string(name_of(weights->type)) + ": only 8 bits compile");
    if (!values || !factor)
      return add(at.node.name, "values",
                 std::string(values ? "what it is multiplied with" : "what it reads") + " is not quantized: it runs in float16");
    const Pair* const output = output_of(at);
    if (output == nullptr)
      return add(at.node.name, "values", "no pair stands behind it: it runs in float16, and its bias on the CPU");
    if (weights != nullptr && output->type != values->type)
      add(at.node.name, "types",
          "it reads codes of " + std::string(name_of(values->type)) + " and writes " + std::string(name_of(output->type)) +
              ": it runs in float16, and its bias on the CPU");
  }

  // The pair behind the node, or behind the activation that ONNX Runtime takes out since that pair clips alike; nullptr: none.
  const Pair* output_of(const NodeInPairs& at) const {
    if (at.output) return &*at.output;
    const auto& readers = index_.consumers(at.node.outputs.front());
    if (readers.size() != 1 || index_.is_output(at.node.outputs.front())) return nullptr;
    const auto found = pairs_.find(readers.front()->name);
    return found != pairs_.end() && found->second->output && clips_alike(*readers.front(), *found->second->output)
               ? &*found->second->output
               : nullptr;
  }

  bool clips_alike(const graph::Node& node, const Pair& pair) const {
    std::string why;
    const auto roles = ops::roles_of(node, model_, why);
    if (!roles || roles->kind != ops::Kind::activation || !roles->bounds) return false;
    const QuantParams grid{.type = pair.type, .scales = {static_cast<float>(pair.scale)}, .zero_points = {pair.zero_point}};
    return keeps_within(grid, *roles->bounds);
  }

  void look_at_grid(const NodeInPairs& at) {
    if (!at.output || at.output->type != DataType::uint16) return;
    const bool sigmoid = at.node.is("Sigmoid");
    if (!sigmoid && !at.node.is("Tanh")) return;
    const double scale = sigmoid ? 1.0 / 65536 : 1.0 / 32768;
    if (at.output->scale == scale && at.output->zero_point == (sigmoid ? 0 : 32768)) return;
    add(at.node.name, "scale",
        at.node.op_type + " in 16 bits writes codes of scale " +
            (sigmoid ? "1/65536 and zero point 0" : "1/32768 and zero point 32768") + "; with others its values come out wrong");
  }

  // Behind a Conv, and a pair between: what the pair behind does not clip is not clipped at all.
  void look_at_clip(const NodeInPairs& at) {
    if (!at.inputs.front() || !at.output || clips_alike(at.node, *at.output)) return;
    const graph::Node* const dequantize = index_.producer(at.node.inputs.front());
    const graph::Node* const quantize = dequantize == nullptr ? nullptr : index_.producer(dequantize->inputs.front());
    const graph::Node* const conv = quantizes(quantize) ? index_.producer(quantize->inputs.front()) : nullptr;
    if (conv == nullptr || !is_in(htp_sums, *conv)) return;
    add(at.node.name, "clip",
        "the compiler skips a Clip behind a " + conv->op_type +
            ", and the pair behind it does not end at the bounds: values beyond them come out unclipped");
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::map<std::string, graph::Value>& values_;
  const std::vector<NodeInPairs> in_pairs_;
  std::map<std::string, const NodeInPairs*> pairs_;
  std::vector<NodeFault> out_;
};

std::vector<NodeFault> QnnHtp::faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const {
  return HtpCheck(model, values).run();
}

}  // namespace

Entry<Target> qnn_htp() {
  return {
      .help = "Qualcomm's NPU (HTP) through ONNX Runtime's QNN provider: uint8 or uint16 values, weights of 8 bits, fixed shapes",
      .make = make_as<QnnHtp, Target>,
      .aliases = {"qnn", "htp"}};
}

}  // namespace quasar::quant::targets
