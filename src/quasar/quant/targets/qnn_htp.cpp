// Qualcomm's NPU (HTP) behind ONNX Runtime's QNN provider, as found by experiment with onnxruntime-qnn 2.7.0 and ONNX Runtime
// 1.32 in the simulator of the wheel: for each operator and type a model of Q/DQ pairs, whether the provider takes the node, and
// how far its values are from ONNX Runtime's own (docs/targets.md has the table). Rules that it cannot show come from ONNX
// Runtime's get_qnn_qdq_config and the provider's documentation.
//
//   values    uint8 or uint16, asymmetric. int16 and int8 without zero point do not compile, fall out or come out wrong
//   weights   int8 or uint8, one scale or one per output channel; 16 bits do not compile
//   pairs     on all that these operators read and write. A layer without a pair behind it is taken for float, and its bias
//             stays with the CPU
//   Clip      behind a layer, Add, Sub, Mul or Clip with a pair between is skipped, and its values come out unclipped: the pair
//             behind must clip instead, or a Max or Min with a constant
//   Pad       with a constant beyond the grid before it comes out wrong; not where it runs in float behind two Neg
//   Sigmoid   and HardSigmoid in 16 bits have scale 1/65536, Tanh 1/32768 about the middle; others come out wrong
//   shapes    fixed, of at most 5 axes
//
// What is left in float runs in float16 on the NPU, beside the codes.
#include <algorithm>

#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/qnn/htp_check.hpp"
#include "quasar/quant/qnn/htp_operators.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

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
    if (node.is("Sigmoid") || node.is("HardSigmoid"))
      return QuantParams{.type = type, .scales = {1.0F / 65536}, .zero_points = {0}};
    // Others run too, but one that ended before its values came out wrong (docs/targets.md).
    if (node.is("LpNormalization")) return QuantParams{.type = type, .scales = {2.0F / 65535}, .zero_points = {32768}};
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
  bool skips_clips() const override { return true; }
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

  std::vector<NodeFault> faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const override {
    return faults_on_htp(model, values);
  }
};

}  // namespace

Entry<Target> qnn_htp() {
  return {
      .help = "Qualcomm's NPU (HTP) through ONNX Runtime's QNN provider: uint8 or uint16 values, weights of 8 bits, fixed shapes",
      .make = make_as<QnnHtp, Target>,
      .aliases = {"qnn", "htp"}};
}

}  // namespace quasar::quant::targets
