// A configuration resolved against a model and its statistics: every scale, zero point, axis and rounding. Two configurations
// with the same plan are the same trial.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/quant/codes/code_limits.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/simulation.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

class WeightMemo;

// What optimized rounding chose for a constant: codes in the constant's shape, and the scales they are meant with.
struct Optimized {
  QuantParams params;
  Tensor codes;
  bool operator==(const Optimized&) const = default;
};

// A constant input of a node and how it is quantized.
struct ConstantPlan {
  size_t input = 1;  // which input of the node
  QuantParams params;
  CodeLimits limits = {};  // of weights
  // nullopt: the nearest codes. Not part of the hash: what decides it is (the parameters and the plan's rounding).
  std::optional<Optimized> optimized = {};
  bool operator==(const ConstantPlan&) const = default;
};

// Puts weights of a node whose kernels may add products in 16 bits in a form that cannot overflow; nothing for other types.
// `saturation`: nullopt as ignore. `most_input`: the largest code that they are multiplied with. `kernels`: whose sums they are.
void limit_sums(ConstantPlan& plan, const graph::Node& node, const Tensor& weights, const std::optional<Saturation>& saturation,
                int32_t most_input, ScaleType scale_type, ops::Kernels kernels = ops::Kernels::onnxruntime);

// How a node is quantized: with Q/DQ pairs around it, or by an operator of its own that takes float activations.
enum class NodeForm { pairs, weights_only, dynamic };

struct NodePlan {
  NodeForm form = NodeForm::pairs;
  std::optional<ConstantPlan> weight = {};
  // int32, zero point 0, scale = s_input · s_weight; 8 and 16 bits: a scale of its own
  std::optional<ConstantPlan> bias = {};
  std::vector<ConstantPlan> constants = {};  // that take part as activations: one side of Add, an input of Concat
  // Constants that stay in float with other values, by input. Not part of the hash: the plan's corrections decide them.
  std::map<size_t, Tensor> replaced = {};
  std::optional<Simulation> simulation = {};  // how the node differs from the float model's
  float least_weight_scale = 0;               // an NPU's limit for rounding that would choose a finer one; not part of the hash
  bool operator==(const NodePlan&) const = default;
};

// Operators that are written as others of the same function, which a target's runtime runs faster.
enum class WrittenAs {
  // Of a Mul: x · HardSigmoid(x) with alpha 1/6 and beta 1/2 is HardSwish(x) (ONNX, opset 14).
  hard_swish,
  // Of a PRelu: the larger of x and slope · x, where no slope is above 1. ONNX Runtime's PRelu (1.30) asks for the sign of one
  // element after the other, which takes up to ten times as long as a product and a maximum of whole vectors.
  larger_of_two,
  // Of a quantized HardSigmoid, min(1, max(0, α·x + β)): the sum of x and β/α. The pair behind it clips, and multiplies by α: its
  // Q has a scale 1/α times that of its DQ.
  clipped_sum,
  // Of the last Mul of x · (1 + erf(x / √2)) / 2: ONNX Runtime's Gelu(x) (com.microsoft), as ONNX has one from opset 20 on only.
  gelu,
  // Of a Where that chooses between 0 and another constant: both as codes, and a pair behind it. What is beyond ±10⁴ is 10⁴,
  // which
  // is as good as infinite behind the Softmax that reads a mask, and finite in 16 bits.
  choice_on_codes,
  // Of a quantized Clip whose bounds do not have 0 between them: the grid behind, which holds 0, clips at the one that is farther
  // from 0. The other one becomes a Max or Min with a code of that grid.
  bound_on_codes
};

struct Plan {
  std::map<std::string, QuantParams> values;         // value name -> Q/DQ pair that stands on it
  std::map<std::string, NodePlan> nodes;             // the nodes that are quantized, by name
  std::set<std::string> folded;                      // Relu and Clip that are removed: the pair behind them clips alike
  std::set<std::string> relus;                       // Clips that become Relu: the pair behind them clips above
  std::map<std::string, WrittenAs> written_as = {};  // by node
  std::map<std::string, std::string> skipped;        // quantizable operators left in float, with the reason
  bool shifts = false;                           // for a processor that shifts: whoever changes scales keeps its rules (npu.hpp)
  FloatGuard float_guard = FloatGuard::for_cpu;  // of what is left in float in the file
  Format format = Format::qdq;                   // how the model is written in the end
  FixedShapes fixed_shapes = {};                 // of inputs of the written model, by name
  // The nodes that keep float32 where all else that is not in codes is written as float16; nullopt: all is float32.
  std::optional<std::set<std::string>> half_but = {};
  bool half_islands = false;  // float16 keeps to operators with has_arm_kernel() that stand with a product; scales are float32
  Rounding rounding;
  // Pairs behind those, for nodes that read a value in a type of their own: value -> node -> parameters.
  std::map<std::string, std::map<std::string, QuantParams>> conversions = {};
  std::string graph = {};                       // digest of the float graph, where transforms changed it
  std::shared_ptr<const Plan> rounded_as = {};  // before rounding: the plan whose layers' codes this one's have; null: its own
  std::vector<TransformUse> corrections = {};   // transforms that correct this plan before it is applied
  // What rounding chose instead for some of the values. Not part of the hash: what decides it is.
  std::map<std::string, QuantParams> refined = {};
  std::map<std::string, stats::Range> ranges = {};  // the values with a range of their own (not part of the hash)
  std::set<std::string> chosen = {};                // of the skipped: by the configuration's own choice (not part of the hash)
  std::set<std::string> in_float = {};              // the values that no grid can hold (not part of the hash)
  std::set<std::string> aligned = {};        // values of one grid with others that no code passes to (not part of the hash)
  std::vector<std::string> notes;            // what was decided on the way, in words (not part of the hash)
  std::vector<std::string> lost_parts = {};  // those of them on parts that one grid would lose (shared_grids.hpp)

  // The parameters that a value gets in the end. Throws std::out_of_range for a value without a pair.
  const QuantParams& params(const std::string& value) const;
};

// The values whose statistics a plan may need (to request them before any configuration is known), in topological order.
std::vector<std::string> observed_values(const graph::Model& model);

// The statistics a configuration needs.
stats::Requests needs_of(const Config& config);

// Throws Error when the configuration cannot be carried out on this model (an exclude that names no node, …).
// `memo`: of this model, shared with its other plans; null: none.
Plan resolve(const graph::Model& model, const stats::Statistics& seen, const Config& config, const Target& target,
             WeightMemo* memo = nullptr);

// JSON of everything that decides the model, numbers as the hexadecimal digits of their bits; equal text <=> equal plan.
Json to_json(const Plan& plan);
std::string hash_of(const Plan& plan);
// The same JSON with long texts as their hashes ("#…"): what a model says of itself.
std::string summary_of(const Plan& plan);

// The quantized model (QDQ format): quantized weights and biases, Q/DQ pairs. Metadata: version, hash, number of nodes. Equal
// plans give models that are equal byte for byte. Throws Error when the plan does not fit the model.
//
// Where the producer of a value v is quantized, it now writes `v_float`, and the pair gives v back: every reader, graph outputs
// and subgraphs included, sees the dequantized value. Otherwise only quantized nodes read it, as `v_dequantized`.
graph::Model apply(const graph::Model& model, const Plan& plan);

// The same in the plan's format, which is what users get: apply() makes QDQ models whatever the format.
graph::Model written(const graph::Model& model, const Plan& plan);

}  // namespace quasar::quant
