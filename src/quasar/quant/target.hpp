// What a runtime or processor executes: which (operator, scheme) pairs run in integer kernels there, and where Q/DQ stand.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/pairs.hpp"

namespace quasar::quant {

// What a target may ask of a weighted sum's sizes; empty shapes are not known.
struct Sizes {
  Shape weights = {}, output = {};
  bool first = false;  // it reads an input of the model
};

// What keeps ONNX Runtime's optimizer from quantizing what a plan leaves in float (write/keep_in_float.hpp).
enum class FloatGuard {
  for_cpu,  // scales per channel, and copies that its CPU has kernels for
  for_npu,  // what the QNN provider runs, too: doubled inputs, and copies that it has in float
  none  // others read the file; whoever opens it in ONNX Runtime keeps its pairs as they are (graph/rewrites/plain_scales.hpp)
};

class Target {
 public:
  virtual ~Target() = default;
  // Whether the target runs this node quantized under this configuration; `why` says why not.
  virtual bool runs(const graph::Node& node, const ops::Roles& roles, const Config& config, std::string& why) const = 0;
  // What the user should know about such a configuration on this target, in a sentence; "" when there is nothing.
  virtual std::string remark(const Config& config) const = 0;
  // Why the target cannot take models in this format; "" when it can.
  virtual std::string refuses(Format) const { return ""; }
  // Why no model of this configuration runs there as it is meant, with what comes nearest and does; "" when it does.
  virtual std::string refuses_types(const Config&) const { return ""; }
  // Why it has no operators that find the scales of what they read at run time (scheme DYNAMIC); "" when it has.
  virtual std::string obstacle_to_run_time_scales() const { return ""; }
  // Whether its compiler takes only models whose inputs have fixed shapes.
  virtual bool wants_fixed_shapes() const { return false; }
  // Why this scheme is none that TensorQuantOverrides may give one tensor there, of weights or of a value; "" when it may.
  virtual std::string obstacle_to_tensor(const Scheme&, bool /*weights*/, const Config&) const { return ""; }
  // The most axes that a value may have which this operator reads or writes; 0: any number. `weighted`: it has constant weights.
  virtual size_t most_axes(const graph::Node&, bool /*weighted*/) const { return 0; }
  // Why the node is left in float for what the nodes before it compute; "" when it is not.
  virtual std::string obstacle_before(const graph::Node&, const graph::Index&) const { return ""; }
  // Whether the operator's border on codes is code 0, whatever the zero point of what it reads.
  virtual bool pads_with_code_zero(const graph::Node&) const { return false; }
  // Why a weighted sum of these sizes is left in float; "" when it is not.
  virtual std::string obstacle_to_sizes(const graph::Node&, const Sizes&) const { return ""; }
  // Whether a weighted sum and the Add of another value that alone reads it run as one kernel: no pair stands between them, and
  // other sums of two values are left in float.
  virtual bool adds_residual() const { return false; }
  // Whether all values that the operator joins (Concat, Add …) must have one grid; constants keep their own but in Concat.
  virtual bool unifies(const graph::Node&) const { return false; }
  // The grid that its kernel for this operator always writes in codes of this type; nullopt: any.
  virtual std::optional<QuantParams> grid_written_by(const graph::Node&, DataType) const { return std::nullopt; }
  // The type of 16-bit codes of values, symmetric if it is signed.
  virtual DataType wide_type() const { return DataType::int16; }
  // Whether quantization of an activation's output to `output` makes the target drop the activation, so that its producer's
  // integer kernel writes that output. false: Q/DQ (with the same parameters) must stand between producer and activation.
  virtual bool absorbs(const ops::Bounds& bounds, const QuantParams& output) const = 0;
  // Whether a matrix product with the sum of a constant vector behind it runs as one kernel with a wide bias, so that no Q/DQ
  // stand between them and the vector is not quantized to 8 bits.
  virtual bool fuses_bias() const = 0;
  // Whether it shifts instead of multiplying (NPUs): power-of-two scales, 8-bit biases, the rules of rules/.
  virtual bool shifts() const { return false; }
  // Whether a producer and the activation that alone reads it may run as one operation, so that no pair stands between them.
  virtual bool fuses(const graph::Node& /*producer*/, const graph::Node& /*activation*/) const { return true; }
  // Whether an operator of this kind computes as fast in float: it is left so where only float nodes read its result.
  virtual bool cheap_in_float(const graph::Node& /*node*/, const Config& /*config*/) const { return false; }
  // Whether the integer kernel of a weighted sum can write floats: no pair stands behind it where only float nodes read its
  // result.
  virtual bool writes_float(const graph::Node& /*node*/, const Config& /*config*/) const { return false; }
  // Whether no pair stands on the model's outputs where the node that writes one can write floats.
  virtual bool outputs_in_float() const { return false; }
  // Whether its integer kernel for the operator (LSTM, GRU) holds its own state, between -1 and 1, on the grid of what it reads,
  // which reaches as far then.
  virtual bool holds_state_on_grid(const graph::Node& /*node*/) const { return false; }
  // Whether its integer kernel for the operator (LSTM, GRU) takes a number of samples that is fixed in the model only.
  virtual bool wants_fixed_batch(const graph::Node& /*node*/) const { return false; }
  // The type in which a value is stored that `readers` inputs read, in a model of this opset; of the wanted width, the zero point
  // moves with it.
  virtual DataType activation_type(DataType wanted, size_t readers, int64_t opset) const = 0;
  // How operators of this type can be quantized: {activation: {dtype, scheme, granularity, algorithm}, weight: likewise}, lists
  // in Intel Neural Compressor's words, the usual choice first. Asked for types that the target runs quantized.
  virtual Json capability(const std::string& op_type) const;
  // A capability with what the target runs besides, for those who ask for it: uint8 and asymmetric weights.
  virtual Json all_of(Json capability) const;
  // Whether an operator that it runs in integers takes longer so than in float, with the conversions before and behind it.
  virtual bool is_slower_in_codes(const graph::Node& /*node*/, const graph::Model& /*model*/) const { return false; }
  // Whether its models are for CPUs as this machine has one: times measured here tell how fast they are.
  virtual bool timed_here() const { return false; }
  // What is done about sums of 16 bits where the configuration does not say; nullopt: all of its sums are wider, and there is
  // nothing to be done.
  virtual std::optional<Saturation> saturation() const { return std::nullopt; }
  // Whose kernels add those sums, which decides what two products share one.
  virtual ops::Kernels kernels() const { return ops::Kernels::onnxruntime; }
  // Whether weights of uint8 run in integers, which Saturation::unsigned_weights and, for sums of few products, avoid make.
  virtual bool takes_unsigned_weights() const { return true; }
  // Whether what is not in codes may be float16 in the file (high_precision_dtype), as its compiler takes types from there; or
  // products in float with what stands beside them, as it has kernels for it.
  virtual bool takes_half() const { return false; }
  virtual bool takes_half_in_islands() const { return false; }
  // The named configuration that suits it, and the named search (job/presets).
  virtual std::string usual_scheme() const { return "a8w8"; }
  virtual std::string usual_preset() const { return "cpu_int8_search"; }
  // Whether it has a kernel for HardSwish: ONNX Runtime has none, and its clean-up of the float graph takes it apart.
  virtual bool has_hard_swish() const { return false; }
  // Whether it computes functions (Gelu …) in float whatever is quantized around them, so that SmoothQuant behind them may help
  // (quant/transforms/smooth_quant.cpp). Strategy repair tries it first there.
  virtual bool smooths_behind_functions() const { return false; }
  // Whether it has a kernel for HardSigmoid on codes. Where it has none, a quantized one is written as WrittenAs::clipped_sum.
  virtual bool has_hard_sigmoid() const { return true; }
  // Whether it has a kernel for Gelu and none for its parts: x · (1 + erf(x / √2)) / 2 is written as one operator.
  virtual bool has_gelu_only() const { return false; }
  // Whether a choice between two constants, as of attention masks, must be between pairs, and a bound of 10⁴ is enough for it.
  virtual bool chooses_on_codes_only() const { return false; }
  // Whether its compiler may skip a Clip between pairs, so that only the grid behind it clips.
  virtual bool skips_clips() const { return false; }
  // Whether it divides codes by computed values, wherever these come from.
  virtual bool divides_by_computed() const { return true; }
  // What its files hold to keep ONNX Runtime's optimizer from quantizing what was left in float.
  virtual FloatGuard float_guard() const { return FloatGuard::for_cpu; }
  // Whether a product and a maximum take less time there than its kernel of PRelu.
  virtual bool has_slow_prelu() const { return false; }
  // The library that runs its models, as the key runtime names it: there candidates are judged where it can be had.
  virtual std::string runtime() const { return "onnxruntime"; }
  // What runs them there in place of the processor, in a sentence for the user; "": it is the processor itself, or a simulator.
  // `on_cpu`: the library runs on this machine's CPU.
  virtual std::string stand_in(bool /*on_cpu*/) const { return ""; }
  // Whether fault() knows rules, so that finished models can be checked.
  virtual bool checks_pairs() const { return false; }
  // Whether ONNX Runtime here says of a finished model what runs in integers there: what fault() knows are reasons then.
  virtual bool is_told_by_onnxruntime() const { return false; }
  // What holds there of every finished model, in a sentence; "": nothing.
  virtual std::string told_of_all() const { return ""; }
  // Why a node of a finished model, whoever made it, does not run in the integers that the pairs around it ask for; no words: it
  // does, or nobody asked for it.
  virtual PairFault fault(const NodeInPairs& /*node*/) const { return {}; }
  // All that a finished model breaks of the target's rules, in the model's order. `values`: types and shapes, as far as known.
  virtual std::vector<NodeFault> faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const;
  // The type of a constant that takes part as an activation (one side of Add, an input of Concat).
  virtual DataType constant_type(DataType wanted) const = 0;
};

inline bool is_byte(DataType type) {
  return type == DataType::int8 || type == DataType::uint8;
}

// Whether the ends of the grid lie within the bounds to which an activation clips, so that saturation does the clipping. Types of
// floating point have no such ends.
bool keeps_within(const QuantParams& grid, const ops::Bounds& bounds);

// The first reason that `unfit` gives for the values and weights of a configuration, or of layers with types of their own; "":
// none.
using Unfit = std::function<std::string(const Scheme& activation, const Scheme& weight)>;
std::string first_unfit(const Config& config, const Unfit& unfit);

// Whether an AveragePool counts a border of its own.
bool counts_border(const graph::Node& node);

// What goes wrong where pads_with_code_zero() holds of such a pool.
inline constexpr const char* counted_border_is_lost =
    "it counts its border (count_include_pad), which OpenVINO fills with code 0 instead of the zero point: its values come out "
    "wrong";

// Throws Error where the target has no use for the configuration: its format, scales that are found at run time, its types.
void check_taken(const Target& target, const Config& config);

// Throws Error for FixShapes that do not fit the inputs. Where the target takes fixed shapes only, also one that names all inputs
// of open shape, and how to fix them.
void check_shapes(const Target& target, const Config& config, const std::vector<graph::Value>& inputs);

// Throws Error for a sample, in the order of the inputs, that a model of these FixShapes does not take: no trial could be scored.
void check_sample(const FixedShapes& shapes, const std::vector<graph::Value>& inputs, std::span<const Tensor> sample);

// Throws Error for a type, symmetry or zero point that TensorQuantOverrides gives a tensor of the model and the target does not
// take.
void check_tensors(const Target& target, const Config& config, const graph::Model& model);

// What is done about sums of 16 bits on a target: what the configuration says, else the target's choice. Throws Error where the
// configuration says something and the target has no use for it.
std::optional<Saturation> saturation_on(const Target& target, const std::optional<Saturation>& wanted);

}  // namespace quasar::quant

namespace quasar::quant::targets {
const Table<Target>& table();
}
