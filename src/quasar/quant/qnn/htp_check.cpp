#include "quasar/quant/qnn/htp_check.hpp"

#include <algorithm>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/qnn/before_codes.hpp"
#include "quasar/quant/qnn/htp_operators.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant {
namespace {

std::optional<float> only_number(const Tensor& values) {
  if (values.count() != 1) return std::nullopt;
  if (values.type() == DataType::float32) return values.as<float>()[0];
  if (values.type() == DataType::uint8) return values.as<uint8_t>()[0];
  if (values.type() == DataType::int8) return values.as<int8_t>()[0];
  if (values.type() == DataType::uint16) return values.as<uint16_t>()[0];
  return std::nullopt;
}

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
    if (is_in(never_compile, node))
      return add(node.name, "float", "the compiler has no " + node.op_type + ", and gives up on the whole model");
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
    if (at == nullptr && axes_of(node) > 4 && (node.is("Conv") || node.is("ConvTranspose")))
      return add(node.name, "float",
                 "the compiler has no " + node.op_type + " of volumes in float, and gives up on the whole model");
    if (node.is("AveragePool") && cuts_windows(node))
      return add(node.name, "windows",
                 "its last windows reach beyond what it reads (ceil_mode), and come out wrong there, on codes and in float");
    if (is_in(never_before_codes, node) && !runs_on_codes(at) && leads_to_codes(node, index_))
      return add(node.name, "float",
                 "it computes in float, what it writes becomes codes further on, and the compiler gives up on the whole model");
    if (node.is("Resize")) {
      if (const std::string why = fault_of_nearest(node); !why.empty()) return add(node.name, "resize", why);
    }
    if (at == nullptr) return;
    if (node.is("Pad") && is_pool_padded_to_codes(*at))
      return add(node.name, "float",
                 "the compiler gives up on the whole model where a MaxPool in float, this Pad and a pair follow each other; what "
                 "comes before must be quantized (ConvertBNToConv: true where that is a BatchNormalization)");
    if (node.is("Div") && at->output && !ends_the_model(node) && divides_what_floats_gave(*at))
      return add(
          node.name, "division",
          "it divides codes that are made there of a value computed in float, and the compiler gives up on the whole model; "
          "exclude: [{op_type: Div}] leaves it in float");
    if (node.is("Div") && at->output && is_constant_over_value(*at))
      return add(node.name, "division",
                 "it divides a constant in float by a value, and the compiler gives up on the whole model; Reciprocal between "
                 "pairs runs");
    if (node.is("Where") && chooses_by_floats(node))
      return add(node.name, "condition",
                 "its condition compares values in float, and the compiler gives up on the whole model; a comparison between "
                 "pairs runs");
    if (node.is("Log") && at->inputs.front() && at->output && at->output->type == DataType::uint16)
      return add(node.name, "types", "Log in 16 bits comes out wrong; in 8 bits it is right");
    if (!look_at_types(*at)) return;
    if (PairFault scales = fault_of_scales(*at); !scales.rule.empty()) return out_.push_back({node.name, std::move(scales)});
    if (is_in(htp_sums, node)) look_at_sum(*at);
    look_at_grid(*at);
    look_at_ratio(*at);
    if (node.is("Clip")) look_at_clip(*at);
    look_at_min_and_max(*at);
    if (node.is("Pad")) look_at_pad(*at);
  }

  // Between pairs on both sides, or with an activation before the one behind it, which ONNX Runtime takes out.
  bool runs_on_codes(const NodeInPairs* at) const {
    return at != nullptr && std::ranges::any_of(at->inputs, [](const auto& input) { return input.has_value(); }) &&
           output_of(*at) != nullptr;
  }

  // Whether nobody but the model's user reads the codes.
  bool gives_outputs_only(const graph::Node& quantize) const {
    const graph::Node* const dequantize = graph::sole_reader(quantize.outputs.front(), index_);
    return dequantizes(dequantize) && index_.is_output(dequantize->outputs.front()) &&
           index_.consumers(dequantize->outputs.front()).empty();
  }

  // Whether its pair gives an output of the model, and nothing else.
  bool ends_the_model(const graph::Node& node) const {
    const graph::Node* const quantize = graph::sole_reader(node.outputs.front(), index_);
    return quantizes(quantize) && gives_outputs_only(*quantize);
  }

  // Which neighbour the provider takes, as measured: for each way of coordinates one nearest_mode, but where no place lies in the
  // middle between two.
  std::string fault_of_nearest(const graph::Node& node) const {
    if (node.text("mode", "nearest") != "nearest") return "";
    const std::string way = node.text("coordinate_transformation_mode", "half_pixel");
    const std::string nearest = node.text("nearest_mode", "round_prefer_floor");
    const bool centred = way == "half_pixel" || way == "pytorch_half_pixel";
    if (way == "asymmetric" && nearest != "floor" && nearest != "round_prefer_ceil") return "its nearest_mode falls to the CPU";
    const std::string right = way == "asymmetric"           ? "floor"
                              : way == "pytorch_half_pixel" ? "round_prefer_floor"
                                                            : "round_prefer_ceil";
    if (nearest == right || (centred && nearest.starts_with("round_") && grows_by_whole_factors(node))) return "";
    return "it takes neighbours as with nearest_mode " + right + ", and not " + nearest + ": values come out in wrong places";
  }

  bool cuts_windows(const graph::Node& node) const {
    if (node.integer("ceil_mode", 0) == 0 || node.text("auto_pad", "NOTSET").starts_with("SAME")) return false;
    const auto from = values_.find(node.inputs.front());
    const std::vector<int64_t> kernel = node.integers("kernel_shape"), strides = node.integers("strides");
    const std::vector<int64_t> pads = node.integers("pads"), dilations = node.integers("dilations");
    if (from == values_.end() || !from->second.shape || from->second.shape->size() != kernel.size() + 2) return true;
    for (size_t k = 0; k < kernel.size(); k++) {
      const int64_t size = (*from->second.shape)[k + 2], stride = k < strides.size() ? strides[k] : 1;
      const int64_t border = k + kernel.size() < pads.size() ? pads[k] + pads[k + kernel.size()] : 0;
      const int64_t reach = (k < dilations.size() ? dilations[k] : 1) * (kernel[k] - 1) + 1;
      if (size < 0 || (size + border - reach) % stride != 0) return true;
    }
    return false;
  }

  bool grows_by_whole_factors(const graph::Node& node) const {
    const auto from = values_.find(node.inputs.front()), to = values_.find(node.outputs.front());
    if (from == values_.end() || to == values_.end() || !from->second.shape || !to->second.shape) return true;  // nobody knows
    const auto is_whole = [](int64_t large, int64_t small) { return small > 0 && large % small == 0; };
    return std::ranges::equal(*to->second.shape, *from->second.shape, is_whole);
  }

  bool is_pool_padded_to_codes(const NodeInPairs& pad) const {
    const graph::Node* const pool = index_.producer(pad.node.inputs.front());
    return pad.output && !pad.inputs.front() && pool != nullptr && pool->is("MaxPool");
  }

  bool is_constant_over_value(const NodeInPairs& at) const {
    const auto& inputs = at.node.inputs;
    return model_.initializer(inputs[0]) != nullptr && model_.initializer(inputs[1]) == nullptr && !at.inputs[0];
  }

  bool chooses_by_floats(const graph::Node& where) const {
    const graph::Node* const condition = index_.producer(where.inputs.front());
    if (condition == nullptr || !is_in(compares_values, *condition)) return false;
    return std::ranges::any_of(condition->inputs, [&](const std::string& input) {
      const Tensor* const constant = model_.initializer(input);
      const auto found = values_.find(input);
      const bool floats = constant != nullptr ? constant->type() == DataType::float32
                                              : found != values_.end() && found->second.type == DataType::float32;
      return floats && !dequantizes(index_.producer(input));
    });
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

  // `slack`: how far beyond the bounds the ends may lie, as rounding of a zero point carries them.
  bool clips_alike(const graph::Node& node, const Pair& pair, double slack = 0) const {
    std::string why;
    const auto roles = ops::roles_of(node, model_, why);
    if (!roles || roles->kind != ops::Kind::activation || !roles->bounds) return false;
    const QuantParams grid{.type = pair.type, .scales = {static_cast<float>(pair.scale)}, .zero_points = {pair.zero_point}};
    const auto far = static_cast<float>(slack);
    return keeps_within(grid, {roles->bounds->low - far, roles->bounds->high + far});
  }

  void look_at_grid(const NodeInPairs& at) {
    if (!at.output || at.output->type != DataType::uint16) return;
    const bool sigmoid = at.node.is("Sigmoid") || at.node.is("HardSigmoid");
    if (!sigmoid && !at.node.is("Tanh")) return;
    const double scale = sigmoid ? 1.0 / 65536 : 1.0 / 32768;
    if (at.output->scale == scale && at.output->zero_point == (sigmoid ? 0 : 32768)) return;
    add(at.node.name, "scale",
        at.node.op_type + " in 16 bits writes codes of scale " +
            (sigmoid ? "1/65536 and zero point 0" : "1/32768 and zero point 32768") + "; with others its values come out wrong");
  }

  // Scales this far apart come out wrong: right at 35 000 times, wrong at 89 000 (2026-11-29).
  void look_at_ratio(const NodeInPairs& at) {
    constexpr double most = 65536;
    if (!at.output || !(at.node.is("Max") || at.node.is("Min") || at.node.is("Concat"))) return;
    for (const auto& input : at.inputs) {
      if (!input || input->scale <= most * at.output->scale) continue;
      return add(
          at.node.name, "scale",
          "'" + input->value + "' has codes whose scale is more than 65536 times that of the result, which comes out wrong");
    }
  }

  // Behind what is in the list, and a pair between: what the pair behind does not clip is not clipped at all.
  void look_at_min_and_max(const NodeInPairs& at) {
    const char* const other = at.node.is("Min") ? "Max" : "Min";
    if (!at.output || !(at.node.is("Min") || at.node.is("Max"))) return;
    ops::Bounds bounds;
    for (size_t k = 0; k < at.inputs.size() && k < 2; k++) {
      if (!at.inputs[k] || at.inputs[k]->constant) continue;
      const graph::Node* const before = writer_before_pair(at.node.inputs[k]);
      if (before == nullptr || !before->is(other)) continue;
      for (const auto* node : {before, &at.node}) {
        const std::optional<float> bound = constant_of(*node);
        if (!bound) return;
        (node->is("Min") ? bounds.high : bounds.low) = *bound;
      }
      const QuantParams grid{
          .type = at.output->type, .scales = {static_cast<float>(at.output->scale)}, .zero_points = {at.output->zero_point}};
      const auto slack = static_cast<float>(at.output->scale);
      if (keeps_within(grid, {bounds.low - slack, bounds.high + slack})) return;
      return add(
          at.node.name, "clip",
          "the compiler skips a Min and a Max with constants, one behind the other, and the pair behind them does not end at "
          "their bounds: values beyond them come out unclipped");
    }
  }

  // The one number that a Min or Max compares with, in float or in codes.
  std::optional<float> constant_of(const graph::Node& node) const {
    const auto found = pairs_.find(node.name);
    for (size_t k = 0; k < node.inputs.size(); k++) {
      if (const Tensor* constant = model_.initializer(node.inputs[k])) return only_number(*constant);
      const auto* const pair = found == pairs_.end() || k >= found->second->inputs.size() ? nullptr : &found->second->inputs[k];
      if (pair == nullptr || !*pair || !(*pair)->constant) continue;
      const Tensor* const codes = model_.initializer((*pair)->value);
      const auto code = codes == nullptr ? std::nullopt : only_number(*codes);
      if (!code) return std::nullopt;
      return static_cast<float>((*pair)->scale * (double{*code} - (*pair)->zero_point));
    }
    return std::nullopt;
  }

  void look_at_clip(const NodeInPairs& at) {
    if (!at.inputs.front() || !at.output || clips_alike(at.node, *at.output, at.output->scale)) return;
    const graph::Node* const before = writer_before_pair(at.node.inputs.front());
    if (before == nullptr || !is_in(skip_clips, *before)) return;
    add(at.node.name, "clip",
        "the compiler skips a Clip behind a " + before->op_type +
            ", and the pair behind it does not end at the bounds: values beyond them come out unclipped");
  }

  // What computes the value that a pair gives here, or several do with moves between; nullptr: no pair does, or an input.
  const graph::Node* writer_before_pair(const std::string& value) const {
    const graph::Node* const dequantize = index_.producer(value);
    const graph::Node* const quantize = dequantizes(dequantize) ? index_.producer(dequantize->inputs.front()) : nullptr;
    const graph::Node* const before = quantizes(quantize) ? index_.producer(quantize->inputs.front()) : nullptr;
    const bool moved = before != nullptr && before->is("Transpose");
    return moved ? writer_before_pair(before->inputs.front()) : before;
  }

  // A border between codes, of a number that the codes before it do not have.
  void look_at_pad(const NodeInPairs& at) {
    if (!at.inputs.front() || !at.output || !pads_beyond(at.node, *at.inputs.front(), model_)) return;
    add(at.node.name, "pad",
        "it pads with a number that the pair before it has no code for: its border comes out wrong; a pair that reaches so far, "
        "or two Neg before it, mend it");
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::map<std::string, graph::Value>& values_;
  const std::vector<NodeInPairs> in_pairs_;
  std::map<std::string, const NodeInPairs*> pairs_;
  std::vector<NodeFault> out_;
};

}  // namespace

std::vector<NodeFault> faults_on_htp(const graph::Model& model, const std::map<std::string, graph::Value>& values) {
  return HtpCheck(model, values).run();
}

}  // namespace quasar::quant
