// NVIDIA's TensorRT (8.6 to 11), which makes an engine of a model between Q/DQ pairs. No engine was built for these rules: they
// are those of its documentation ("Working with Quantized Types": explicit quantization, recommendations for placing Q/DQ) and
// of ModelOpt 0.47's quantization of ONNX models (modelopt/onnx/quantization), with which bench/tensorrt.py compares nodes.
//
//   codes      int8 without zero points: values with one scale, weights with one or one per output channel. Biases stay float
//   pairs      on every input of a weighted sum; none between it and what it runs as one with: an activation behind it, and the
//              Add of a residual branch, of which the other branch has the pair. None that only nodes in float read
//   Concat     inputs and output of one scale, so that pairs pass through it
//   movements  none: pairs pass by (Reshape, Transpose, Slice …)
//   sizes      no product with fewer than 16 inputs or outputs, or of one row; of convolutions with fewer than 16 channels those
//              of a multiple of 8 only
//   the rest   in float32, or by high_precision_dtype in float16, as TensorRT's own pointwise kernels: functions,
//              normalizations, products of two values (attention). Networks are strongly typed (the only ones in TensorRT 11):
//              the file has these types, and no Cast stands between codes and a sum
#include <algorithm>
#include <array>
#include <set>

#include "quasar/ops/constants.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant::targets {
namespace {

constexpr std::array<std::string_view, 4> trt_sums = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
constexpr std::array<std::string_view, 7> trt_others = {"Add",   "Relu", "Clip", "MaxPool", "AveragePool", "GlobalAveragePool",
                                                        "Concat"};
// A sum's kernel computes them.
constexpr std::array<std::string_view, 3> trt_fused = {"Relu", "Clip", "BatchNormalization"};

constexpr const char* nearest_for_tensorrt = "the nearest that does is the scheme s8s8_tensorrt";

bool is_one_of(const auto& names, const graph::Node& node) {
  return node.domain.empty() && std::ranges::find(names, node.op_type) != names.end();
}

// Why values and weights of these schemes do not run; "": they do.
std::string unfit_for_tensorrt(const Scheme& activation, const Scheme& weight) {
  const auto no = [&](const char* key, const Scheme& scheme, const std::string& what) {
    return std::string(key) + " is " + spec_name(scheme) + (scheme.symmetric ? "" : " with symmetric: false") +
           ", but target tensorrt runs " + what + "; " + nearest_for_tensorrt;
  };
  const auto centred = [](const Scheme& scheme) {
    return scheme.type == DataType::int8 && scheme.symmetric && scheme.scale_type != ScaleType::int16;
  };
  if (!centred(activation) || activation.granularity != Granularity::tensor)
    return no("activation", activation, "int8 values without zero points, with one scale that is known before the run");
  if (!centred(weight) || weight.granularity == Granularity::group)
    return no("weight", weight, "int8 weights without zero points, with one scale or one per channel");
  return "";
}

// "": large enough for Tensor Cores. `inputs`, `outputs`: of one product, or of one group of a convolution.
std::string too_small(const graph::Node& node, const Sizes& sizes) {
  constexpr int64_t least = 16;
  if (sizes.weights.size() < 2) return "";
  if (node.is("Gemm") || node.is("MatMul")) {
    const auto& [k, n] = std::pair{sizes.weights.end()[-2], sizes.weights.end()[-1]};
    if (k < least || n < least)
      return "a product with fewer than 16 inputs or outputs is slower in int8 on TensorRT (K or N below 16)";
    const bool one_row = sizes.output.size() > 1 && sizes.output.end()[-2] == 1;
    return one_row ? "a product of one row is slower in int8 on TensorRT" : "";
  }
  if (!node.is("Conv")) return "";
  const int64_t out = sizes.weights[0], in = sizes.weights[1];
  if (out >= least && in >= least) return "";
  const auto kernel = std::span(sizes.weights).subspan(2);
  const bool even = std::ranges::all_of(kernel, [&](int64_t k) { return k == kernel.front(); });
  const bool grouped = node.integer("group", 1) > 1;
  const bool runs = grouped ? out % 8 == 0 && std::ranges::all_of(kernel, [](int64_t k) { return k >= 3; })
                            : (out % 8 == 0 || in % 8 == 0) && even && (sizes.first || out >= least || in >= least);
  return runs ? "" : "a convolution of so few channels has no fast int8 kernel in TensorRT";
}

class TensorRt final : public Target {
 public:
  bool runs(const graph::Node& node, const ops::Roles& roles, const Config&, std::string& why) const override {
    why.clear();
    if (is_one_of(trt_sums, node)) {
      if (!roles.weight) why = "TensorRT runs products of two values in float, as a part of attention";
    } else if (roles.kind == ops::Kind::movement && !node.is("MaxPool")) {
      why = "it moves values: TensorRT takes the pairs behind it past it by itself";
    } else if (!is_one_of(trt_others, node)) {
      why = "TensorRT computes it in float";
    }
    return why.empty();
  }

  std::string obstacle_to_sizes(const graph::Node& node, const Sizes& sizes) const override { return too_small(node, sizes); }

  std::string remark(const Config&) const override { return ""; }
  std::string refuses(Format format) const override { return format == Format::qdq ? "" : "TensorRT reads Q/DQ pairs"; }

  std::string refuses_types(const Config& config) const override {
    if (std::string why = first_unfit(config, unfit_for_tensorrt); !why.empty()) return why;
    if (is_on(config.switches, "QuantizeBias", false))
      return "biases would be int32 codes, but TensorRT takes biases in float; say QuantizeBias: false (" +
             std::string(nearest_for_tensorrt) + ")";
    return "";
  }

  std::string obstacle_to_tensor(const Scheme& scheme, bool weights, const Config& config) const override {
    return weights ? unfit_for_tensorrt(config.activation, scheme) : unfit_for_tensorrt(scheme, config.weight);
  }

  // So that pairs pass through it.
  bool unifies(const graph::Node& node) const override { return node.is("Concat"); }

  std::string obstacle_to_run_time_scales() const override { return "TensorRT reads Q/DQ pairs, whose scales are in the file"; }

  bool absorbs(const ops::Bounds&, const QuantParams&) const override { return true; }
  bool fuses_bias() const override { return false; }
  bool adds_residual() const override { return true; }
  bool outputs_in_float() const override { return true; }
  bool cheap_in_float(const graph::Node& node, const Config&) const override { return node.is("Concat") || node.is("MaxPool"); }
  bool writes_float(const graph::Node&, const Config&) const override { return true; }
  DataType activation_type(DataType wanted, size_t, int64_t) const override { return wanted; }
  DataType constant_type(DataType wanted) const override { return wanted; }
  bool takes_unsigned_weights() const override { return false; }
  std::string usual_scheme() const override { return "s8s8_tensorrt"; }
  std::string usual_preset() const override { return "tensorrt_search"; }
  std::string stand_in(bool) const override {
    return "target tensorrt is judged in ONNX Runtime, which computes between pairs in float: scores are those of the codes, "
           "without "
           "what float16 rounds or loses, and times say nothing of a GPU";
  }
  // Its networks are strongly typed: operators compute in the types of the file (TensorRT 11 has no others).
  bool takes_half() const override { return true; }

  Json capability(const std::string& op_type) const override {
    Json out = Target::capability(op_type);
    out["activation"]["dtype"] = {"int8"};
    out["activation"]["scheme"] = {"sym"};
    return out;
  }

  FloatGuard float_guard() const override { return FloatGuard::none; }
  bool checks_pairs() const override { return true; }
  std::vector<NodeFault> faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const override;
};

// What a finished model breaks of the rules.
class TensorRtCheck {
 public:
  TensorRtCheck(const graph::Model& model, const std::map<std::string, graph::Value>& values)
      : model_(model), index_(model), values_(values), in_pairs_(nodes_in_pairs(model)) {}

  std::vector<NodeFault> run() {
    for (const auto& at : in_pairs_) look_at(at);
    for (const auto& node : model_.nodes) {
      if (node.is("Cast")) look_at_cast(node);
    }
    return std::move(out_);
  }

 private:
  void add(const NodeInPairs& at, const char* rule, const std::string& what) { out_.push_back({at.node.name, {rule, what}}); }

  void look_at(const NodeInPairs& at) {
    if (has_own_codes(at.node))
      return add(at, "pairs", at.node.op_type + " computes on codes by itself, which TensorRT does not know");
    for (const auto& pair : at.inputs) {
      if (pair && !look_at_codes(at, *pair)) return;
    }
    if (at.output && !look_at_codes(at, *at.output)) return;
    if (PairFault scales = fault_of_scales(at); !scales.rule.empty()) out_.push_back({at.node.name, std::move(scales)});
    if (is_one_of(trt_sums, at.node)) return look_at_sum(at);
    if (is_one_of(trt_fused, at.node)) return look_at_fused(at);
    if (at.node.is("Add")) return look_at_add(at);
    if (at.node.is("Concat")) return look_at_concat(at);
    if (!is_one_of(trt_others, at.node) && !moves(at.node) && only_rounds(at))
      add(at, "float", at.node.op_type + " runs in float: the pairs around it only round what it reads and writes");
  }

  bool look_at_codes(const NodeInPairs& at, const Pair& pair) {
    if (pair.constant && pair.type == DataType::int32) {
      add(at, "bias", "'" + pair.value + "' is a bias of int32 codes: TensorRT takes biases in float");
      return false;
    }
    if (pair.type != DataType::int8) {
      add(at, "types", "'" + pair.value + "' has codes of " + std::string(name_of(pair.type)) + ": TensorRT has int8");
      return false;
    }
    if (!pair.zero_based) add(at, "zero_points", "'" + pair.value + "' has a zero point that is not 0, which TensorRT refuses");
    return pair.zero_based;
  }

  void look_at_sum(const NodeInPairs& at) {
    const bool values = at.inputs.front().has_value(), factor = at.inputs.size() > 1 && at.inputs[1].has_value();
    if (!values && !factor) return;
    const std::string small = too_small(at.node, sizes_of(at));
    if (values && !factor && !small.empty()) return;  // rightly in float, beside others that read the same codes
    if (!values || !factor)
      return add(at, "inputs",
                 std::string(values ? "what it is multiplied with" : "what it reads") + " has no pair: it runs in float");
    if (!small.empty()) add(at, "sizes", small);
  }

  Sizes sizes_of(const NodeInPairs& at) const {
    const auto& factor = at.inputs.size() > 1 ? at.inputs[1] : std::nullopt;
    const Tensor* const weights = factor ? model_.initializer(factor->value) : ops::constant_input(at.node, 1, model_);
    Sizes out;
    if (weights == nullptr) return out;
    const auto output = values_.find(at.node.outputs.front());
    if (output != values_.end() && output->second.shape) out.output = *output->second.shape;
    out.weights = weights->shape();
    out.first = std::ranges::any_of(
        model_.inputs, [&](const auto& input) { return at.inputs.front() && input.name == at.inputs.front()->value; });
    return out;
  }

  // The node before the pair on this input, where that pair is all that reads it; nullptr: another.
  const graph::Node* before_pair(const graph::Node& node, size_t input) const {
    const graph::Node* const dequantize = index_.producer(node.inputs[input]);
    const graph::Node* const quantize = dequantizes(dequantize) ? index_.producer(dequantize->inputs.front()) : nullptr;
    if (!quantizes(quantize) || index_.consumers(quantize->inputs.front()).size() != 1 ||
        index_.consumers(node.inputs[input]).size() != 1 || index_.is_output(node.inputs[input]))
      return nullptr;
    return index_.producer(quantize->inputs.front());
  }

  // Between float16 and float32, in a strongly typed network.
  void look_at_cast(const graph::Node& cast) {
    const graph::Node* const before = index_.producer(cast.inputs.front());
    const auto is_sum = [](const graph::Node* node) { return is_one_of(trt_sums, *node); };
    for (const graph::Node* reader : index_.consumers(cast.outputs.front())) {
      if (dequantizes(before) && is_sum(reader))
        out_.push_back(
            {reader->name, {"casts", "a Cast stands between codes and this " + reader->op_type + ": it runs in float"}});
      if (before != nullptr && is_sum(before) && quantizes(reader))
        out_.push_back(
            {before->name, {"casts", "a Cast stands between this " + before->op_type + " and codes: it writes floats"}});
    }
  }

  void look_at_fused(const NodeInPairs& at) {
    const graph::Node* const sum = at.inputs.front() ? before_pair(at.node, 0) : nullptr;
    if (sum != nullptr && is_one_of(trt_sums, *sum))
      add(at, "between",
          "a pair stands between " + sum->name + " and this " + at.node.op_type + ", which are one kernel without it");
  }

  void look_at_add(const NodeInPairs& at) {
    if (!at.inputs[0] || !at.inputs[1]) return;
    for (const size_t side : {0, 1}) {
      const graph::Node* const sum = before_pair(at.node, side);
      if (sum == nullptr || !is_one_of(trt_sums, *sum)) continue;
      return add(at, "residual", "a pair stands on both branches: without the one behind " + sum->name + " both are one kernel");
    }
  }

  void look_at_concat(const NodeInPairs& at) {
    const Pair* first = at.output ? &*at.output : nullptr;
    for (const auto& input : at.inputs) {
      if (!input) continue;
      if (first == nullptr) first = &*input;
      if (input->scale == first->scale) continue;
      return add(at, "concat",
                 "'" + first->value + "' and '" + input->value + "' have other scales: TensorRT converts one of them");
    }
  }

  bool moves(const graph::Node& node) const {
    std::string why;
    const auto roles = ops::roles_of(node, model_, why);
    return roles && roles->kind == ops::Kind::movement;
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::map<std::string, graph::Value>& values_;
  const std::vector<NodeInPairs> in_pairs_;
  std::vector<NodeFault> out_;
};

std::vector<NodeFault> TensorRt::faults(const graph::Model& model, const std::map<std::string, graph::Value>& values) const {
  return TensorRtCheck(model, values).run();
}

}  // namespace

Entry<Target> tensorrt() {
  return {.help =
              "NVIDIA's TensorRT: int8 without zero points on what weighted sums read, the rest in float32, or float16 with "
              "high_precision_dtype",
          .make = make_as<TensorRt, Target>,
          .aliases = {"trt"}};
}

}  // namespace quasar::quant::targets
