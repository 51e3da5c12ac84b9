#include "quasar/quant/placement/obstacles.hpp"

#include <algorithm>

#include "quasar/ops/parts_of_functions.hpp"
#include "quasar/quant/config/fixed_shapes.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/quant/placement/attention_masks.hpp"
#include "quasar/quant/placement/four_bit_values.hpp"
#include "quasar/quant/placement/integer_softmax.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/quant/weight_memo.hpp"
#include "quasar/quant/written_as.hpp"
#include "quasar/stats/shapes.hpp"

namespace quasar::quant {

Obstacles::Obstacles(const PlacementContext& context, const std::map<std::string, ops::Roles>& quantizable)
    : context_(context),
      unfit_(unfit_for_4_bits(context.model(), quantizable)),
      sampled_(std::ranges::any_of(context.seen, [](const auto& value) { return value.second.count > 0; })) {}

std::string Obstacles::to(const graph::Node& node, const ops::Roles& roles) {
  if (const auto apart = context_.left.find(node.name); apart != context_.left.end()) return apart->second;
  if (context_.deciding_sizes.contains(node.name)) return decides_sizes;
  if (std::string why = of_values(node, roles); !why.empty()) return why;
  if (std::string why = of_functions(node); !why.empty()) return why;
  if (std::string why = of_sizes(node, roles); !why.empty()) return why;
  if (std::string why = context_.target.obstacle_before(node, context_.index); !why.empty()) return why;
  std::string why = "the target does not run it";
  return context_.target.runs(node, roles, context_.config_of(node), why) ? "" : why;
}

std::string Obstacles::of_values(const graph::Node& node, const ops::Roles& roles) {
  if (std::string why = unseen(node, roles); !why.empty()) return why;
  if (std::string why = barrier(node, roles); !why.empty()) return why;
  if (std::string why = shifted_border(node, roles); !why.empty()) return why;
  if (std::string why = too_few_bits(node, roles); !why.empty()) return why;
  return softmax_obstacle(node);
}

std::string Obstacles::of_functions(const graph::Node& node) {
  const Target& target = context_.target;
  if (target.cheap_in_float(node, context_.config_of(node)) && is_part(node.name))
    return "part of a Gelu or LayerNormalization, which the target computes in float as one operator";
  if (target.has_gelu_only() && is_part_of_gelu(node.name))
    return "part of a Gelu, which is written as one operator for the target";
  if (!target.divides_by_computed() && node.is("Div") && context_.model().initializer(node.inputs[1]) == nullptr)
    return "the target divides codes by constants only";
  return "";
}

std::string Obstacles::of_sizes(const graph::Node& node, const ops::Roles& roles) {
  if (std::string why = too_many_axes(node, roles); !why.empty()) return why;
  if (std::string why = unfit_sizes(node, roles); !why.empty()) return why;
  return open_batch(node);
}

// "": samples, or ranges that are given, say what its values are. Of the model's own graph each sample says so.
std::string Obstacles::unseen(const graph::Node& node, const ops::Roles& roles) const {
  if (node.inside.empty() || context_.without_samples || context_.on("WeightsOnly") || !sampled_) return "";
  std::vector<std::string> values{node.outputs.front()};
  for (const size_t input : roles.activations) values.push_back(node.inputs[input]);
  const bool all = std::ranges::all_of(values, [this](const std::string& value) {
    const auto seen = context_.seen.find(value);
    if (context_.model().initializer(value) != nullptr || context_.index.producer(value) == nullptr) return true;
    return seen != context_.seen.end() && (seen->second.count > 0 || seen->second.given);
  });
  return all ? "" : "no calibration sample comes into its branch or body, or its values are empty in all of them";
}

// "": no grid is refused to what it reads and writes.
std::string Obstacles::barrier(const graph::Node& node, const ops::Roles& roles) const {
  std::vector<std::string> values = node.outputs;
  for (const size_t input : roles.activations) values.push_back(node.inputs[input]);
  const auto found = std::ranges::find_if(values, [this](const std::string& value) { return context_.barred.contains(value); });
  if (found == values.end()) return absurd_constant(node, roles);
  const auto seen = context_.seen.find(*found);
  if (seen != context_.seen.end() && seen->second.given && stays_in_float(*seen->second.given))
    return "the ranges say that '" + *found + "' stays in float";
  return "its values hide others behind huge or infinite numbers, as an attention mask does or may do: no grid holds both";
}

// "": a grid holds its constants, or they are cast.
std::string Obstacles::absurd_constant(const graph::Node& node, const ops::Roles& roles) const {
  if (!is_integer(context_.activation_of(node).type)) return "";
  for (const size_t input : roles.activations) {
    const Tensor* held = context_.model().initializer(node.inputs[input]);
    if (held != nullptr && holds_absurd_numbers(*held))
      return "its constant '" + node.inputs[input] + "' holds huge or infinite numbers: no grid does";
  }
  return "";
}

// "": code 0 is the zero point of what it reads, for certain, or its border has that code.
std::string Obstacles::shifted_border(const graph::Node& node, const ops::Roles& roles) const {
  const Scheme& scheme = context_.activation_of(node);
  if (!is_integer(scheme.type) || !context_.target.pads_with_code_zero(node)) return "";
  const bool has_sign = scheme.type == DataType::int8 || scheme.type == DataType::int16;
  const auto joins = [this](const graph::Node& one) { return context_.target.unifies(one); };
  const bool apart = !context_.on("AlignConcat") && std::ranges::none_of(context_.model().nodes, joins);
  if (scheme.symmetric ? has_sign : !has_sign && apart && is_never_negative(node.inputs[roles.activations.front()])) return "";
  return "it counts its border (count_include_pad), which the target pads with code 0 instead of the zero point";
}

// Whether Relu or the like wrote it, or what moves or joins such values, and no other values have its grid.
bool Obstacles::is_never_negative(const std::string& value) const {
  const graph::Node* const writer = context_.index.producer(value);
  if (writer == nullptr || context_.config.tensors.contains(value) || pair_of(value, context_.index)) return false;
  const auto seen = context_.seen.find(value);
  if (seen != context_.seen.end() && seen->second.given) return false;
  if (writer->is("Relu") || writer->is("Sigmoid") || writer->is("Softmax")) return true;
  std::string why;
  const auto roles = ops::roles_of(*writer, context_.model(), why);
  if (roles && roles->bounds) return roles->bounds->low >= 0;
  const bool moved = roles && roles->kind == ops::Kind::movement && !writer->is("Pad");
  if (!moved && !writer->is("Concat")) return false;
  const size_t sources = moved ? 1 : writer->inputs.size();
  return std::all_of(writer->inputs.begin(), writer->inputs.begin() + static_cast<std::ptrdiff_t>(sources),
                     [this](const std::string& input) { return is_never_negative(input); });
}

// "": its values have more bits, or can have so few.
std::string Obstacles::too_few_bits(const graph::Node& node, const ops::Roles& roles) const {
  if (bits_of(context_.activation_of(node).type) != 4) return "";
  return obstacle_to_4_bits(node, roles, context_.weight_of(node).type, unfit_);
}

// "": no Softmax of 8 bits, or one that ONNX Runtime's integer kernel computes.
std::string Obstacles::softmax_obstacle(const graph::Node& node) {
  const DataType type = context_.activation_of(node).type;
  if (!node.is("Softmax") || !is_integer(type) || bits_of(type) != 8) return "";
  if (softmaxes_.empty()) softmaxes_ = softmax_lengths(context_.model(), context_.seen, context_.memo);
  const int64_t length = softmaxes_.at(node.name);
  return context_.target.shifts() || (context_.without_samples && length == 0) ? "" : obstacle_to_integer_softmax(length);
}

// "": the target has such values, or nobody knows their shapes.
std::string Obstacles::too_many_axes(const graph::Node& node, const ops::Roles& roles) const {
  const size_t most = context_.target.most_axes(node, roles.weight.has_value());
  if (most == 0) return "";
  for (const auto* list : {&node.inputs, &node.outputs}) {
    for (const auto& value : *list) {
      const auto seen = context_.seen.find(value);
      if (seen != context_.seen.end() && seen->second.shape.size() > most)
        return "'" + value + "' has " + std::to_string(seen->second.shape.size()) + " axes, and the target has at most " +
               std::to_string(most) + " for it";
    }
  }
  return "";
}

// "": the target runs weighted sums of such sizes.
std::string Obstacles::unfit_sizes(const graph::Node& node, const ops::Roles& roles) const {
  if (!roles.weight) return "";
  const graph::Model& model = context_.model();
  Sizes sizes{.weights = model.initializer(node.inputs[roles.weight->input])->shape()};
  if (const auto seen = context_.seen.find(node.outputs.front()); seen != context_.seen.end()) sizes.output = seen->second.shape;
  sizes.first = std::ranges::any_of(model.inputs, [&](const auto& input) { return input.name == node.inputs.front(); });
  return context_.target.obstacle_to_sizes(node, sizes);
}

// "": the model says how many samples the operator reads, or the target need not know.
std::string Obstacles::open_batch(const graph::Node& node) {
  if (context_.without_samples || !context_.target.wants_fixed_batch(node)) return "";
  if (!declared_) {
    const auto& fixed_shapes = context_.config.fixed_shapes;
    graph::Model fixed = context_.model();
    fix_shapes(fixed, fixed_shapes);
    const bool as_it_is = context_.memo != nullptr && fixed_shapes.empty();
    declared_ = as_it_is ? context_.memo->shapes(context_.model()) : stats::known_shapes(fixed);
  }
  const size_t batch = node.integer("layout", 0) != 0 ? 0 : 1;
  const auto shape = declared_->find(node.inputs.front());
  const bool known = shape != declared_->end() && shape->second.size() > batch && shape->second[batch] >= 0;
  return known ? ""
               : "the model leaves the number of its samples open, which the target's kernel does not take (FixShapes sets it)";
}

bool Obstacles::is_part(const std::string& node) {
  if (!parts_) parts_ = ops::parts_of_functions(context_.index);
  return parts_->contains(node);
}

// Of a function that exporters write as several operators.
bool Obstacles::is_part_of_gelu(const std::string& node) {
  if (!gelu_parts_) {
    gelu_parts_.emplace();
    for (const auto& [last, parts] : gelus_in_parts(context_.index)) gelu_parts_->insert(parts.nodes.begin(), parts.nodes.end());
  }
  return gelu_parts_->contains(node);
}

}  // namespace quasar::quant
