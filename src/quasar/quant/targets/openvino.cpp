// OpenVINO's CPU plugin (2026.4), as found by experiment: for each operator a model of Q/DQ pairs, and what its runtime model
// says of that node (get_runtime_model(), "runtimePrecision"), on x86-64 with AVX2. NNCF's list of what OpenVINO's CPU quantizes
// (src/nncf/common/hardware/setups/cpu.py) has more, which ran in float here (Mul, MVN, NormalizeL2, Resize but to the nearest),
// or in floats that a kernel makes of the codes that it reads (Div, as functions do between pairs).
//
//   values    uint8 or int8 with one scale, with or without zero point; wider and narrower codes run in float
//   weights   int8 without zero points, one scale or one per output channel; uint8 and zero points run in float
//   pairs     on what these operators read and on what they write, but not between a layer and the activation behind it, nor
//             before functions (Sigmoid, Gelu …): the layer's kernel computes them on its float sums, and writes codes
//   codes     operators on codes (QLinearConv, MatMulInteger) run in float
//   LSTM      in 8 bits (RNNSeq) where what it reads and its weights are int8 without zero points, and nothing gives it a state
//   or
//             lengths, and the number of samples is fixed in the model; otherwise compiling fails ("expects Constant for port").
//             0.23 ms instead of 0.75 (64 steps of 256, one thread, with VNNI)
//             The state, between -1 and 1, has the grid of what is read: a finer one clips it (distance 1.2 at ±0.4), and one of
//             ±4 costs 0.045, of ±40 0.5
//             W and R have one scale each: with scales per gate and unit the distance was 0.09 instead of 0.045
//   GRU       alike, without linear_before_reset (which PyTorch's have): with it compiling fails. 0.26 ms instead of 1.6
//   AveragePool  that counts its border (count_include_pad, PyTorch's default) pads with code 0: with zero points the distance
//   was
//             1.3 instead of 0.013
//   Slice     that takes everything, with a pair of its own behind it: compiling crashes (Concat, such a Slice and Add in a row)
//   Concat    joins values of different scales in 8 bits; NNCF gives them one, which AlignConcat: true does here
//
// oneDNN's kernels for processors without VNNI add two products in 16 bits (ops/sum_order.hpp), and what does not fit is lost.
// uint8 weights would be no cure, so that scales are raised instead.
#include <algorithm>
#include <array>

#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

// Weighted sums: Convolution, Deconvolution, FullyConnected and MatMul there.
constexpr std::array<std::string_view, 4> sums_in_integers = {"Conv", "ConvTranspose", "Gemm", "MatMul"};

// What reads and writes 8 bits besides. There they are Eltwise, or a part of the Convolution before them; Pooling; Reduce;
// Concatenation, Split, StridedSlice, Gather and Broadcast; Reshape, Transpose and DepthToSpace.
constexpr std::array<std::string_view, 24> others_in_integers = {
    "Add",        "Sub",       "Min",       "Max",     "Relu",    "Clip",      "AveragePool",       "MaxPool",
    "ReduceMean", "ReduceMax", "ReduceMin", "Concat",  "Split",   "Slice",     "GlobalAveragePool", "GlobalMaxPool",
    "Gather",     "Expand",    "Reshape",   "Flatten", "Squeeze", "Unsqueeze", "Transpose",         "DepthToSpace"};

// Of these, what takes next to no time beside the layer that feeds it.
constexpr std::array<std::string_view, 16> cheap = {"Add",    "Sub",       "Min",       "Max",         "Relu",    "Clip",
                                                    "Concat", "Slice",     "Expand",    "Reshape",     "Flatten", "Squeeze",
                                                    "Resize", "Unsqueeze", "Transpose", "DepthToSpace"};

// Why it has no integer kernel for such a node, whatever its types; "": it has.
std::string obstacle_to_recurrent(const graph::Node& node) {
  constexpr size_t lengths = 4, peepholes = 7;
  for (size_t input = lengths; input <= peepholes && input < node.inputs.size(); ++input) {
    if (!node.inputs[input].empty())
      return "OpenVINO's CPU has integer kernels for it only without lengths, states and peepholes from outside";
  }
  for (const auto* own : {"activations", "activation_alpha", "activation_beta", "clip"}) {
    if (node.find(own) != nullptr) return std::string("OpenVINO's CPU has no integer kernel for it with ") + own;
  }
  if (node.integer("layout", 0) != 0 || node.integer("input_forget", 0) != 0)
    return "OpenVINO's CPU has integer kernels for its usual form only";
  if (node.integer("linear_before_reset", 0) != 0)
    return "OpenVINO's CPU has no integer GRU with linear_before_reset, which PyTorch's have";
  return "";
}

bool is_sum(const graph::Node& node) {
  return std::ranges::find(sums_in_integers, node.op_type) != sums_in_integers.end();
}

// Activations in float are not quantized at all.
bool is_simulated(const Config& config) {
  return config.activation.type != DataType::float32 && !config.activation.dynamic &&
         (!is_byte(config.activation.type) || !is_byte(config.weight.type));
}

constexpr const char* other_weights = "OpenVINO's CPU runs weights in integers only where they are int8 without zero points";
constexpr const char* two_values =
    "OpenVINO's CPU multiplies two values in integers only where both are without zero points and the second is int8";
constexpr const char* shifted_input = "OpenVINO's CPU has an integer ConvTranspose only for values without zero points";
constexpr const char* shifted_border = "OpenVINO's CPU pads codes only where they have no zero point";

constexpr const char* only_centred_recurrent =
    "OpenVINO's CPU has integer kernels for it only where what it reads is symmetric int8 (a rule for its type with Int8Spec)";
constexpr const char* recurrent_zero_points =
    "OpenVINO's CPU compiles it only where what it reads and its weights are int8 without zero points";
constexpr const char* only_rounded = " runs in float: the pairs around it only round what it reads and writes";

constexpr const char* takes_all_and_crashes =
    "it takes all of its input, and has a pair of its own behind it: OpenVINO (2026.4) may crash when it compiles such a model; "
    "exclude: [{op_type: Slice}] leaves it in float";

class OpenVino final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles& roles, const Config& config, std::string& why) const override {
    why.clear();
    if (is_simulated(config)) return true;
    const bool centred = config.activation.symmetric && config.activation.type == DataType::int8;
    if (is_sum(node)) {
      if (node.is("ConvTranspose") && !centred) why = shifted_input;
      if (node.is("MatMul") && !roles.weight && roles.activations.size() > 1 && !centred) why = two_values;
      if (roles.weight && !takes(config.weight)) why = other_weights;
    } else if (node.is("Pad") || node.is("Resize")) {
      why = node.is("Pad") && centred ? "" : node.is("Pad") ? shifted_border : obstacle_to_resize(node, roles);
    } else if (ops::is_recurrent(node)) {
      why = !centred ? only_centred_recurrent : takes(config.weight) ? obstacle_to_recurrent(node) : other_weights;
    } else if (!is_in_integers(node)) {
      why = "OpenVINO's CPU computes it in float";
    }
    return why.empty();
  }

  std::string remark(const Config& config) const override {
    if (!is_simulated(config)) return "";
    return "OpenVINO's CPU has integer kernels for 8 bits only: what has other codes runs there in float, as a simulation";
  }

  // Where some layers have types that run, the others are a simulation beside them.
  std::string refuses_types(const Config& config) const override {
    if (!is_integer(config.activation.type)) return "";  // nothing is meant to run in integers
    const auto run = [](const LayerRule& rule) { return !rule.in_float && run_in_integers(rule.activation, rule.weight); };
    const auto of_kind = [&](const KindRule& kind) { return run(kind.rule); };
    if (run_in_integers(config.activation, config.weight) || std::ranges::any_of(config.layers, run) ||
        std::ranges::any_of(config.kinds, of_kind))
      return "";
    const bool values = !is_byte(config.activation.type);
    const Scheme& wrong = values ? config.activation : config.weight;
    return std::string(values ? "activation is " : "weight is ") + spec_name(wrong) +
           (values || wrong.symmetric ? "" : " with symmetric: false") +
           ", but target openvino runs layers in integers only with " +
           (values ? "values of 8 bits" : "int8 weights without zero points, with one scale or one per channel") +
           "; the nearest that does is the scheme u8s8_channel";
  }

  // Values of other types are a simulation, as a note says.
  std::string obstacle_to_tensor(const Scheme& scheme, bool weights, const Config&) const override {
    if (!weights || !is_byte(scheme.type) || takes(scheme)) return "";
    return "weight is " + spec_name(scheme) + (scheme.symmetric ? "" : " with symmetric: false") + ", but " + other_weights;
  }

  std::string obstacle_to_run_time_scales() const override {
    return "OpenVINO's CPU runs operators that find them (DynamicQuantizeLinear, MatMulInteger) in float";
  }

  std::string refuses(Format format) const override {
    return format == Format::qdq ? ""
                                 : "OpenVINO's CPU runs operators on codes in float, and makes integer kernels of Q/DQ pairs";
  }

  bool absorbs(const ops::Bounds&, const QuantParams&) const override { return true; }
  bool fuses_bias() const override { return true; }

  // Where only nodes in float read it, a grid before it would only round: the layer that feeds it writes floats as well.
  bool cheap_in_float(const graph::Node& node, const Config& config) const override {
    return !is_simulated(config) && std::ranges::find(cheap, node.op_type) != cheap.end();
  }

  bool writes_float(const graph::Node& node, const Config& config) const override {
    return !is_simulated(config) && (is_sum(node) || ops::is_recurrent(node));
  }

  bool holds_state_on_grid(const graph::Node& node) const override { return ops::is_recurrent(node); }
  bool wants_fixed_batch(const graph::Node& node) const override { return ops::is_recurrent(node); }

  bool pads_with_code_zero(const graph::Node& node) const override { return counts_border(node); }

  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
  std::string usual_scheme() const override { return "u8s8_channel"; }
  std::string usual_preset() const override { return "openvino_search"; }
  std::string runtime() const override { return "openvino"; }
  // A part of the kernel of the layer before it. Apart its two operators take longer than 8 bits save.
  bool has_hard_swish() const override { return true; }
  bool smooths_behind_functions() const override { return true; }

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

  std::vector<NodeFault> faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const override {
    std::vector<NodeFault> out = Target::faults(model, values);
    for (const auto& at : nodes_in_pairs(model)) {
      if (at.node.is("Slice") && at.inputs.front() && at.output && takes_everything(at.node, values) &&
          !goes_backwards(at.node, model))
        out.push_back({at.node.name, {"slice", takes_all_and_crashes}});
    }
    return out;
  }

  PairFault fault(const NodeInPairs& at) const override {
    const graph::Node& node = at.node;
    if (has_own_codes(node))
      return is_compressed(node)
                 ? PairFault()
                 : PairFault{"pairs", node.op_type + " computes on codes by itself, which OpenVINO's CPU does in float"};
    for (const auto& input : at.inputs) {
      if (input && !is_byte(input->type) && !(input->constant && input->type == DataType::int32)) return wrong_type(*input);
    }
    if (at.output && !is_byte(at.output->type)) return wrong_type(*at.output);
    if (PairFault scales = fault_of_scales(at); !scales.rule.empty()) return scales;
    if (is_sum(node)) return fault_of_sum(at);
    if (ops::is_recurrent(node)) return fault_of_recurrent(at);
    if (node.is("Pad") && at.inputs.front() && !at.inputs.front()->zero_based) return {"pad", shifted_border};
    if (counts_border(node) && at.output && at.inputs.front() && !at.inputs.front()->zero_based)
      return {"pad", counted_border_is_lost};
    if (node.is("Pad") || is_in_integers(node) || is_nearest(node)) return {};
    return only_rounds(at) ? PairFault{"float", node.op_type + only_rounded} : PairFault();
  }

 private:
  static bool is_in_integers(const graph::Node& node) {
    return node.domain.empty() && std::ranges::find(others_in_integers, node.op_type) != others_in_integers.end();
  }

  // As far as shapes are known.
  static bool takes_everything(const graph::Node& slice, const std::map<std::string, graph::Value>& values) {
    const auto from = values.find(slice.inputs.front()), to = values.find(slice.outputs.front());
    if (from == values.end() || to == values.end() || !from->second.shape || !to->second.shape) return false;
    const auto known = [](int64_t size) { return size >= 0; };
    return *from->second.shape == *to->second.shape && std::ranges::all_of(*from->second.shape, known);
  }

  // Or nobody knows its steps.
  static bool goes_backwards(const graph::Node& slice, const graph::Model& model) {
    const Tensor* const steps = slice.inputs.size() < 5 ? nullptr : model.initializer(slice.inputs[4]);
    if (steps == nullptr) return slice.inputs.size() > 4 && !slice.inputs[4].empty();
    return steps->type() != DataType::int64 || std::ranges::any_of(steps->as<int64_t>(), [](int64_t step) { return step < 0; });
  }

  static bool is_nearest(const graph::Node& node) { return node.is("Resize") && node.text("mode", "nearest") == "nearest"; }

  static std::string obstacle_to_resize(const graph::Node& node, const ops::Roles& roles) {
    const bool moves = is_nearest(node) && roles.kind == ops::Kind::movement;
    return moves ? "" : "OpenVINO's CPU has an integer Resize to the nearest value only";
  }

  static bool takes(const Scheme& weight) {
    return weight.type == DataType::int8 && weight.symmetric && weight.granularity != Granularity::group;
  }

  static bool run_in_integers(const Scheme& activation, const Scheme& weight) {
    return is_byte(activation.type) && takes(weight);
  }

  // Weights in 4 or 8 bits that are made floats as they are read: nothing else is meant by them.
  static bool is_compressed(const graph::Node& node) {
    return node.op_type == "MatMulNBits" || node.op_type == "MatMulBnb4" || node.op_type == "GatherBlockQuantized";
  }

  static PairFault wrong_type(const Pair& pair) {
    return {"types",
            "'" + pair.value + "' has codes of " + std::string(name_of(pair.type)) + ": what reads or writes it runs in float"};
  }

  static PairFault fault_of_recurrent(const NodeInPairs& at) {
    const auto centred = [&](size_t input) {
      return at.inputs.size() > input && at.inputs[input] && at.inputs[input]->type == DataType::int8 &&
             at.inputs[input]->zero_based;
    };
    const bool weights = at.inputs.size() > 2 && (at.inputs[1] || at.inputs[2]);
    if (!weights) return only_rounds(at) ? PairFault{"float", at.node.op_type + only_rounded} : PairFault();
    if (!at.inputs[0]) return {"values", "its weights are quantized, but what it reads is not: it runs in float"};
    if (!centred(0) || !centred(1) || !centred(2)) return {"zero_points", recurrent_zero_points};
    if (std::string why = obstacle_to_recurrent(at.node); !why.empty()) return {"recurrent", why};
    return {};
  }

  static PairFault fault_of_sum(const NodeInPairs& at) {
    const auto& values = at.inputs.front();
    if (at.inputs.size() < 2 || !at.inputs[1]) return {};
    const Pair& factor = *at.inputs[1];
    if (!factor.constant && !values) return {};
    if (!values) return {"values", "its weights are quantized, but what it reads is not: it runs in float"};
    if (!factor.constant)
      return factor.type == DataType::int8 && factor.zero_based && values->zero_based ? PairFault()
                                                                                      : PairFault{"two_values", two_values};
    if (factor.type != DataType::int8 || !factor.zero_based) return {"weights", other_weights};
    if (at.node.is("ConvTranspose") && !values->zero_based) return {"zero_points", shifted_input};
    return {};
  }
};

}  // namespace

Entry<Target> openvino() {
  return {.help = "OpenVINO on CPUs: 8 bits between pairs, int8 weights without zero points, functions in float",
          .make = make_as<OpenVino, Target>,
          .aliases = {"openvino_cpu"}};
}

}  // namespace quasar::quant::targets
