#include "quasar/quant/placement.hpp"

#include <algorithm>
#include <array>

#include "quasar/graph/lookup.hpp"
#include "quasar/quant/config/recipes.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/placement/choices.hpp"
#include "quasar/quant/placement/obstacles.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::quant {
namespace {

class Placing {
 public:
  explicit Placing(const PlacementContext& context)
      : context_(context), index_(context.index), model_(index_.model()), config_(context.config), target_(context.target) {}

  Placement run() {
    const Choices choices(context_);
    place_alone(choices);
    choose_candidates(choices);
    if (!config_.recipes_off.empty()) leave_by_recipes();
    if (target_.adds_residual()) choose_residual_sums();
    for (const auto& node : model_.nodes) {
      const ops::Roles* roles = candidate(node);
      if (roles != nullptr && (roles->kind == ops::Kind::compute || roles->kind == ops::Kind::elementwise)) accept(node, *roles);
    }
    // In topological order, so that chains of them follow.
    for (const auto& node : model_.nodes) {
      const ops::Roles* roles = candidate(node);
      if (roles == nullptr || out_.nodes.contains(node.name)) continue;
      if (follows(node, *roles)) {
        accept(node, *roles);
      } else {
        out_.skipped[node.name] = "its input is not quantized";
      }
    }
    leave_cheap_nodes();
    if (target_.fuses_bias()) find_biases();
    for (const auto& [name, roles] : out_.nodes) write_float(*index_.node(name));
    for (const auto& [name, roles] : out_.nodes) fuse(*index_.node(name));
    for (const auto& [sum, branch] : residual_) out_.values.erase(branch);
    return std::move(out_);
  }

 private:
  NodeForm form_of_node(const graph::Node& node) const {
    const LayerRule* rule = rule_for(node, config_);
    if (rule != nullptr && rule->in_float) return NodeForm::pairs;
    return form_of(rule == nullptr ? config_.activation : rule->activation);
  }

  void place_alone(const Choices& choices) {
    const std::set<std::string> floats = ops::float_values(model_);
    for (const auto& node : model_.nodes) {
      const NodeForm form = form_of_node(node);
      const LayerRule* rule = rule_for(node, config_);
      const bool named_table = form == NodeForm::weights_only && rule != nullptr && is_table(node, model_) && node.is("Gather");
      const bool named_conv = form == NodeForm::dynamic && rule != nullptr && is_worth_conv_integer(node, model_);
      if (!has_weights_for(form, node, model_) && !named_table && !named_conv) continue;
      std::string why = choices.against(node);
      if (why.empty()) why = choices.against_kind(node, ops::Kind::compute);
      if (!why.empty()) {
        leave_by_choice(node.name, why);
      } else if (context_.deciding_sizes.contains(node.name)) {
        out_.skipped[node.name] = decides_sizes;
      } else if (std::string unfit = why_no_float_data(node, floats); !unfit.empty()) {
        out_.skipped[node.name] = unfit;
      } else if (auto plan = plan_alone(node, model_, context_.config_of(node), why)) {
        out_.alone[node.name] = std::move(*plan);
      } else {
        out_.skipped[node.name] = why;
      }
    }
  }

  void choose_candidates(const Choices& choices) {
    ops::Survey survey = ops::survey(model_);
    out_.skipped.merge(survey.declined);
    const std::set<std::string> before = quantized_before(index_);
    std::erase_if(out_.skipped, [&](const auto& node) { return before.contains(node.first); });
    Obstacles obstacles(context_, survey.quantizable);
    for (auto& [name, roles] : survey.quantizable) {
      const graph::Node& node = *index_.node(name);
      if (const NodeForm form = form_of_node(node); form != NodeForm::pairs) {
        if (!out_.alone.contains(name)) out_.skipped.try_emplace(name, why_not_alone(form, node, model_));
        continue;
      }
      if (before.contains(name)) continue;
      std::string why = choices.against(node);
      if (why.empty()) why = choices.against_pairs(node, roles);
      if (!why.empty()) {
        leave_by_choice(name, why);
      } else if (why = obstacles.to(node, roles); !why.empty()) {
        out_.skipped[name] = why;
      } else {
        candidates_[name] = std::move(roles);
      }
    }
    out_.softmaxes = obstacles.softmaxes();
  }

  void leave_by_choice(const std::string& node, const std::string& why) {
    out_.skipped[node] = why;
    out_.chosen.insert(node);
  }

  void leave_by_recipes() {
    std::map<std::string, ops::Roles> all = candidates_;
    for (const auto& [name, plan] : out_.alone) {
      std::string why;
      if (auto roles = ops::roles_of(*index_.node(name), model_, why)) all[name] = std::move(*roles);
    }
    for (const auto& name : left_by_recipes(config_.recipes_off, index_, all)) {
      candidates_.erase(name);
      out_.alone.erase(name);
      leave_by_choice(name, "left in float by a recipe that is switched off");
    }
  }

  // Of two branches that end in weighted sums the longer one runs as one with the Add.
  void choose_residual_sums() {
    const std::map<std::string, size_t> depths = depths_of_values();
    for (auto at = candidates_.begin(); at != candidates_.end();) {
      const graph::Node& sum = *index_.node(at->first);
      if (!sum.is("Add")) {
        ++at;
        continue;
      }
      const std::string* branch = nullptr;
      for (const auto& input : sum.inputs) {
        const bool both = model_.initializer(sum.inputs[0]) == nullptr && model_.initializer(sum.inputs[1]) == nullptr;
        const ops::Roles* const roles = index_.producer(input) == nullptr ? nullptr : candidate(*index_.producer(input));
        if (!both || roles == nullptr || !roles->weight || graph::sole_reader(input, index_) != &sum) continue;
        if (branch == nullptr || depths.at(input) > depths.at(*branch)) branch = &input;
      }
      if (branch == nullptr) {
        out_.skipped[sum.name] = "it adds no second value to a weighted sum that it alone reads: the target computes it in float";
        at = candidates_.erase(at);
      } else {
        residual_[sum.name] = *branch;
        ++at;
      }
    }
  }

  // The most nodes on a way from an input or constant to each value.
  std::map<std::string, size_t> depths_of_values() const {
    std::map<std::string, size_t> out;
    for (const auto& node : model_.nodes) {
      size_t depth = 0;
      for (const auto& input : node.inputs) depth = std::max(depth, out.contains(input) ? out[input] : 0);
      for (const auto& output : node.outputs) out[output] = depth + 1;
    }
    return out;
  }

  bool on(std::string_view key) const { return context_.on(key); }

  const ops::Roles* candidate(const graph::Node& node) const {
    const auto found = candidates_.find(node.name);
    return found == candidates_.end() ? nullptr : &found->second;
  }

  bool follows(const graph::Node& node, const ops::Roles& roles) const {
    const std::string& input = node.inputs[roles.activations.front()];
    if (out_.roles(index_.producer(input)) != nullptr || on("ForceQuantizeNoInputCheck")) return true;
    // Float values that are moved stay float unless both ends are quantized for others.
    const auto carried = [this](const std::string& value) { return out_.values.contains(value); };
    return roles.kind == ops::Kind::movement && carried(input) && std::ranges::any_of(node.outputs, carried);
  }

  void accept(const graph::Node& node, const ops::Roles& roles) {
    out_.nodes[node.name] = roles;
    if (on("WeightsOnly")) return;
    for (const size_t input : roles.activations) {
      if (model_.initializer(node.inputs[input]) == nullptr) out_.values.insert(node.inputs[input]);
    }
    if (config_.selection.open_nodes.contains(node.name) || config_.selection.open_op_types.contains(node.op_type)) return;
    const size_t outputs = roles.kind == ops::Kind::movement ? node.outputs.size() : 1;
    for (size_t k = 0; k < outputs; k++) {
      if (!node.outputs[k].empty()) out_.values.insert(node.outputs[k]);
    }
  }

  // Whether the value has readers, and none of them is quantized.
  bool only_float_reads(const std::string& value) const {
    const auto& nodes = index_.consumers(value);
    const auto in_float = [this](const graph::Node* reader) { return out_.roles(reader) == nullptr; };
    const bool handed_out = index_.is_output(value) && !target_.outputs_in_float();
    return (!nodes.empty() || index_.is_output(value)) && !handed_out && std::ranges::all_of(nodes, in_float);
  }

  // From the end, so that chains of them follow: a sum that only float nodes read would cost accuracy and save nothing.
  void leave_cheap_nodes() {
    bool left = false;
    for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) {
      if (out_.roles(&*node) == nullptr || !target_.cheap_in_float(*node, context_.config_of(*node)) ||
          !only_float_reads(node->outputs.front()) || (target_.fuses_bias() && product_below(*node) != nullptr))
        continue;
      candidates_.erase(node->name);
      out_.nodes.erase(node->name);
      out_.skipped[node->name] = "only nodes in float read its result";
      left = true;
    }
    if (!left) return;
    const std::map<std::string, ops::Roles> kept = std::move(out_.nodes);
    out_.nodes.clear();
    out_.values.clear();
    for (const auto& [name, roles] : kept) accept(*index_.node(name), roles);
  }

  // A product of matrices with a bias keeps its pair: ONNX Runtime turns both into Gemm, whose integer kernel wants one. With
  // more axes it does so too, unless the bias has as many (NodePlans gives it them).
  void write_float(const graph::Node& node) {
    std::string written = node.outputs.front();
    const auto sum = std::ranges::find(
        out_.biased, written, [](const auto& pair) -> const auto& { return pair.second; });
    if (sum != out_.biased.end()) {
      const auto seen = context_.seen.find(written);
      if (seen == context_.seen.end() || seen->second.shape.size() < 3) return;
      written = sum->first;
    }
    if (target_.writes_float(node, context_.config_of(node)) && only_float_reads(written)) out_.values.erase(written);
  }

  // No pair between this node and the one that alone reads it, where they run as one or the configuration says so.
  void fuse(const graph::Node& node) {
    const std::string& value = node.outputs.front();
    const graph::Node* reader = graph::sole_reader(value, index_);
    if (out_.roles(reader) == nullptr) return;
    const bool chosen = config_.selection.fused.contains(node.op_type + " " + reader->op_type) ||
                        (node.is("Mul") && reader->is("Add") && on("RemoveQDQMulAdd"));
    const bool curve = (reader->is("LeakyRelu") && on("RemoveQDQConvLeakyRelu")) ||
                       (reader->is("PRelu") && on("RemoveQDQConvPRelu")) || (reader->is("Gelu") && on("RemoveQDQConvGelu"));
    if (chosen || (curve && has_sums(node))) out_.values.erase(value);
  }

  static bool has_sums(const graph::Node& node) {
    constexpr std::array types = {"Conv", "ConvTranspose", "Gemm",        "MatMul",
                                  "Add",  "MaxPool",       "AveragePool", "GlobalAveragePool"};
    return std::ranges::any_of(types, [&](const char* type) { return node.is(type); });
  }

  void find_biases() {
    for (const auto& [name, roles] : out_.nodes) {
      const graph::Node& sum = *index_.node(name);
      const graph::Node* product = product_below(sum);
      if (product == nullptr) continue;
      out_.biased[sum.outputs.front()] = product->outputs.front();
      out_.values.erase(product->outputs.front());
    }
  }

  // The quantized MatMul with weights to which this sum adds a constant vector [out]; nullptr when it is something else.
  const graph::Node* product_below(const graph::Node& sum) const {
    if (!sum.is("Add")) return nullptr;
    for (const size_t side : {0, 1}) {
      const graph::Node* product = index_.producer(sum.inputs[side]);
      const ops::Roles* roles = out_.roles(product);
      const Tensor* vector = model_.initializer(sum.inputs[1 - side]);
      if (roles == nullptr || vector == nullptr || !product->is("MatMul") || !roles->weight || !roles->weight->axis) continue;
      const Tensor* weights = model_.initializer(product->inputs[roles->weight->input]);
      if (graph::sole_reader(sum.inputs[side], index_) == &sum && vector->shape() == Shape{weights->shape().back()})
        return product;
    }
    return nullptr;
  }

  const PlacementContext& context_;
  const graph::Index& index_;
  const graph::Model& model_;
  const Config& config_;
  const Target& target_;
  std::map<std::string, ops::Roles> candidates_;
  std::map<std::string, std::string> residual_;  // Add -> the weighted sum's value that it runs as one with
  Placement out_;
};

}  // namespace

const ops::Roles* Placement::roles(const graph::Node* node) const {
  if (node == nullptr) return nullptr;
  const auto found = nodes.find(node->name);
  return found == nodes.end() ? nullptr : &found->second;
}

Placement place(const graph::Index& index, const Config& config, const Target& target, const stats::Statistics& seen,
                const std::set<std::string>& barred, WeightMemo* memo, const std::map<std::string, std::string>& left) {
  return Placing({index, config, target, seen, barred, memo, left}).run();
}

std::set<std::string> placeable(const graph::Index& index, const Config& config, const Target& target) {
  const stats::Statistics nothing_seen;
  const std::set<std::string> none_barred;
  const std::map<std::string, std::string> none_left;
  const Placement placement = Placing({.index = index,
                                       .config = config,
                                       .target = target,
                                       .seen = nothing_seen,
                                       .barred = none_barred,
                                       .memo = nullptr,
                                       .left = none_left,
                                       .without_samples = true})
                                  .run();
  std::set<std::string> names;
  for (const auto& [name, roles] : placement.nodes) names.insert(name);
  return names;
}

}  // namespace quasar::quant
