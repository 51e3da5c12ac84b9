#include "quasar/quant/placement.hpp"

#include <algorithm>
#include <array>

#include "quasar/graph/lookup.hpp"
#include "quasar/ops/deciding_sizes.hpp"
#include "quasar/ops/parts_of_functions.hpp"
#include "quasar/quant/attention_masks.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/exclude.hpp"
#include "quasar/quant/config/fixed_shapes.hpp"
#include "quasar/quant/config/recipes.hpp"
#include "quasar/quant/dynamic_nodes.hpp"
#include "quasar/quant/four_bit_values.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/integer_softmax.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/quant/weight_memo.hpp"
#include "quasar/quant/written_as.hpp"
#include "quasar/stats/shapes.hpp"

namespace quasar::quant {
namespace {

constexpr const char* no_sample = "no calibration sample comes into its branch or body, or its values are empty in all of them";
constexpr const char* body_off = "EnableSubgraph is false, and it stands in a body of If, Loop or Scan";

constexpr const char* decides_sizes = "how many values the model gives depends on what it computes";

class Placing {
 public:
  Placing(const graph::Index& index, const Config& config, const Target& target, const stats::Statistics& seen,
          const std::set<std::string>& barred, WeightMemo* memo, const std::map<std::string, std::string>& left)
      : index_(index),
        model_(index.model()),
        config_(config),
        target_(target),
        seen_(seen),
        barred_(barred),
        memo_(memo),
        left_(left),
        deciding_sizes_(ops::nodes_deciding_sizes(index)),
        sampled_(std::ranges::any_of(seen, [](const auto& value) { return value.second.count > 0; })) {}

  // Lengths that only samples tell are no obstacle.
  Placement run_without_samples() {
    without_samples_ = true;
    return run();
  }

  Placement run() {
    place_alone();
    choose_candidates();
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
  // Of a function that exporters write as several operators.
  bool is_part_of_gelu(const std::string& node) {
    if (!gelu_parts_) {
      gelu_parts_.emplace();
      for (const auto& [last, parts] : gelus_in_parts(index_)) gelu_parts_->insert(parts.nodes.begin(), parts.nodes.end());
    }
    return gelu_parts_->contains(node);
  }

  bool is_part(const std::string& node) {
    if (!parts_) parts_ = ops::parts_of_functions(index_);
    return parts_->contains(node);
  }

  NodeForm form_of_node(const graph::Node& node) const {
    const LayerRule* rule = rule_for(node, config_);
    if (rule != nullptr && rule->in_float) return NodeForm::pairs;
    return form_of(rule == nullptr ? config_.activation : rule->activation);
  }

  void place_alone() {
    const std::set<std::string> excluded = excluded_nodes(config_.exclude, index_);
    const std::map<std::string, std::string> unselected = left_out(config_.selection, index_);
    const std::set<std::string> floats = ops::float_values(model_);
    for (const auto& node : model_.nodes) {
      const NodeForm form = form_of_node(node);
      const LayerRule* rule = rule_for(node, config_);
      const bool named_table = form == NodeForm::weights_only && rule != nullptr && is_table(node, model_) && node.is("Gather");
      const bool named_conv = form == NodeForm::dynamic && rule != nullptr && is_worth_conv_integer(node, model_);
      if (!has_weights_for(form, node, model_) && !named_table && !named_conv) continue;
      std::string why = "excluded";
      if (is_in_closed_body(node)) {
        leave_by_choice(node.name, body_off);
      } else if (excluded.contains(node.name)) {
        leave_by_choice(node.name, why);
      } else if (const auto left = unselected.find(node.name); left != unselected.end()) {
        leave_by_choice(node.name, left->second);
      } else if (const std::string why_not = products_only(node, ops::Kind::compute); !why_not.empty()) {
        leave_by_choice(node.name, why_not);
      } else if (deciding_sizes_.contains(node.name)) {
        out_.skipped[node.name] = decides_sizes;
      } else if (std::string unfit = why_no_float_data(node, floats); !unfit.empty()) {
        out_.skipped[node.name] = unfit;
      } else if (auto plan = plan_alone(node, model_, rule == nullptr ? config_ : own_config(*rule), why)) {
        out_.alone[node.name] = std::move(*plan);
      } else {
        out_.skipped[node.name] = why;
      }
    }
  }

  void choose_candidates() {
    ops::Survey survey = ops::survey(model_);
    out_.skipped.merge(survey.declined);
    const std::set<std::string> excluded = excluded_nodes(config_.exclude, index_);
    const std::map<std::string, std::string> unselected = left_out(config_.selection, index_);
    const std::map<std::string, std::string> unfit = unfit_for_4_bits(model_, survey.quantizable);
    const std::set<std::string> before = quantized_before(index_);
    std::erase_if(out_.skipped, [&](const auto& node) { return before.contains(node.first); });
    for (auto& [name, roles] : survey.quantizable) {
      std::string why;
      const graph::Node& node = *index_.node(name);
      const LayerRule* rule = rule_for(node, config_);
      if (const NodeForm form = form_of_node(node); form != NodeForm::pairs) {
        if (!out_.alone.contains(name)) out_.skipped.try_emplace(name, why_not_alone(form, node, model_));
        continue;
      }
      if (before.contains(name)) continue;
      if (is_in_closed_body(node)) {
        leave_by_choice(name, body_off);
      } else if (excluded.contains(name)) {
        leave_by_choice(name, "excluded");
      } else if (const auto left = unselected.find(name); left != unselected.end()) {
        leave_by_choice(name, left->second);
      } else if (std::string switched = switched_off(node, roles); !switched.empty()) {
        leave_by_choice(name, switched);
      } else if (rule != nullptr && rule->in_float) {
        leave_by_choice(name, "left in float by " + key_of(*rule));
      } else if (const auto apart = left_.find(name); apart != left_.end()) {
        out_.skipped[name] = apart->second;
      } else if (deciding_sizes_.contains(name)) {
        out_.skipped[name] = decides_sizes;
      } else if (why = unseen(node, roles); !why.empty()) {
        out_.skipped[name] = why;
      } else if (why = barrier(node, roles); !why.empty()) {
        out_.skipped[name] = why;
      } else if (why = too_few_bits(node, roles, rule, unfit); !why.empty()) {
        out_.skipped[name] = why;
      } else if (why = softmax_obstacle(node, rule); !why.empty()) {
        out_.skipped[name] = why;
      } else if (target_.cheap_in_float(node, rule == nullptr ? config_ : own_config(*rule)) && is_part(name)) {
        out_.skipped[name] = "part of a Gelu or LayerNormalization, which the target computes in float as one operator";
      } else if (target_.has_gelu_only() && is_part_of_gelu(name)) {
        out_.skipped[name] = "part of a Gelu, which is written as one operator for the target";
      } else if (!target_.divides_by_computed() && node.is("Div") && model_.initializer(node.inputs[1]) == nullptr) {
        out_.skipped[name] = "the target divides codes by constants only";
      } else if (why = too_many_axes(node, roles); !why.empty()) {
        out_.skipped[name] = why;
      } else if (why = unfit_sizes(node, roles); !why.empty()) {
        out_.skipped[name] = why;
      } else if (why = open_batch(node); !why.empty()) {
        out_.skipped[name] = why;
      } else if (why = target_.obstacle_before(node, index_); !why.empty()) {
        out_.skipped[name] = why;
      } else if (!target_.runs(node, roles, rule == nullptr ? config_ : own_config(*rule), why)) {
        out_.skipped[name] = why;
      } else {
        candidates_[name] = std::move(roles);
      }
    }
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

  bool on(std::string_view key) const { return is_on(config_.switches, key, target_.shifts()); }

  // "": the configuration quantizes operators of this kind.
  std::string products_only(const graph::Node& node, ops::Kind kind) const {
    const bool on_products = on("EnableNPUTransformer") && config_.selection.op_types.empty();
    if (on_products && !node.is("Gemm") && !node.is("MatMul")) return "EnableNPUTransformer quantizes Gemm and MatMul only";
    const bool product = kind == ops::Kind::compute || kind == ops::Kind::activation || is_table(node, model_);
    return config_.form == ModelForm::all || product ? "" : "form " + name_of(config_.form) + " leaves it in float";
  }

  // Why the configuration's switches leave the node in float; may change its roles.
  std::string switched_off(const graph::Node& node, ops::Roles& roles) const {
    if (std::string why = products_only(node, roles.kind); !why.empty()) return why;
    if (on("MatMulConstBOnly") && node.is("MatMul") && !roles.weight) return "MatMulConstBOnly";
    if (on("WeightsOnly") && !roles.weight) return "WeightsOnly";
    if (node.is("Slice") && !on("AlignSlice")) roles.kind = ops::Kind::elementwise;
    return "";
  }

  bool is_in_closed_body(const graph::Node& node) const { return !node.inside.empty() && !on("EnableSubgraph"); }

  // "": samples, or ranges that are given, say what its values are. Of the model's own graph each sample says so.
  std::string unseen(const graph::Node& node, const ops::Roles& roles) const {
    if (node.inside.empty() || without_samples_ || on("WeightsOnly") || !sampled_) return "";
    std::vector<std::string> values{node.outputs.front()};
    for (const size_t input : roles.activations) values.push_back(node.inputs[input]);
    const bool all = std::ranges::all_of(values, [this](const std::string& value) {
      const auto seen = seen_.find(value);
      if (model_.initializer(value) != nullptr || index_.producer(value) == nullptr) return true;
      return seen != seen_.end() && (seen->second.count > 0 || seen->second.given);
    });
    return all ? "" : no_sample;
  }

  // "": no grid is refused to what it reads and writes.
  std::string barrier(const graph::Node& node, const ops::Roles& roles) const {
    std::vector<std::string> values = node.outputs;
    for (const size_t input : roles.activations) values.push_back(node.inputs[input]);
    const auto found = std::ranges::find_if(values, [this](const std::string& value) { return barred_.contains(value); });
    if (found == values.end()) return absurd_constant(node, roles);
    if (const auto seen = seen_.find(*found); seen != seen_.end() && seen->second.given && stays_in_float(*seen->second.given))
      return "the ranges say that '" + *found + "' stays in float";
    return "its values hide others behind huge or infinite numbers, as an attention mask does or may do: no grid holds both";
  }

  // "": a grid holds its constants, or they are cast.
  std::string absurd_constant(const graph::Node& node, const ops::Roles& roles) const {
    const LayerRule* rule = rule_for(node, config_);
    if (!is_integer((rule == nullptr ? config_.activation : rule->activation).type)) return "";
    for (const size_t input : roles.activations) {
      const Tensor* held = model_.initializer(node.inputs[input]);
      if (held != nullptr && holds_absurd_numbers(*held))
        return "its constant '" + node.inputs[input] + "' holds huge or infinite numbers: no grid does";
    }
    return "";
  }

  // "": its values have more bits, or can have so few.
  std::string too_few_bits(const graph::Node& node, const ops::Roles& roles, const LayerRule* rule,
                           const std::map<std::string, std::string>& unfit) const {
    const Scheme& values = rule == nullptr ? config_.activation : rule->activation;
    const Scheme& weights = rule == nullptr ? config_.weight : rule->weight;
    return bits_of(values.type) == 4 ? obstacle_to_4_bits(node, roles, weights.type, unfit) : "";
  }

  // "": the target has such values, or nobody knows their shapes.
  std::string too_many_axes(const graph::Node& node, const ops::Roles& roles) const {
    const size_t most = target_.most_axes(node, roles.weight.has_value());
    if (most == 0) return "";
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const auto& value : *list) {
        const auto seen = seen_.find(value);
        if (seen != seen_.end() && seen->second.shape.size() > most)
          return "'" + value + "' has " + std::to_string(seen->second.shape.size()) + " axes, and the target has at most " +
                 std::to_string(most) + " for it";
      }
    }
    return "";
  }

  // "": the target runs weighted sums of such sizes.
  std::string unfit_sizes(const graph::Node& node, const ops::Roles& roles) const {
    if (!roles.weight) return "";
    Sizes sizes{.weights = model_.initializer(node.inputs[roles.weight->input])->shape()};
    if (const auto seen = seen_.find(node.outputs.front()); seen != seen_.end()) sizes.output = seen->second.shape;
    sizes.first = std::ranges::any_of(model_.inputs, [&](const auto& input) { return input.name == node.inputs.front(); });
    return target_.obstacle_to_sizes(node, sizes);
  }

  // "": the model says how many samples the operator reads, or the target need not know.
  std::string open_batch(const graph::Node& node) {
    if (without_samples_ || !target_.wants_fixed_batch(node)) return "";
    if (!declared_) {
      graph::Model fixed = model_;
      fix_shapes(fixed, config_.fixed_shapes);
      declared_ = memo_ != nullptr && config_.fixed_shapes.empty() ? memo_->shapes(model_) : stats::known_shapes(fixed);
    }
    const size_t batch = node.integer("layout", 0) != 0 ? 0 : 1;
    const auto shape = declared_->find(node.inputs.front());
    const bool known = shape != declared_->end() && shape->second.size() > batch && shape->second[batch] >= 0;
    return known ? ""
                 : "the model leaves the number of its samples open, which the target's kernel does not take (FixShapes sets it)";
  }

  // "": no Softmax of 8 bits, or one that ONNX Runtime's integer kernel computes.
  std::string softmax_obstacle(const graph::Node& node, const LayerRule* rule) {
    const DataType type = (rule == nullptr ? config_.activation : rule->activation).type;
    if (!node.is("Softmax") || !is_integer(type) || bits_of(type) != 8) return "";
    if (out_.softmaxes.empty()) out_.softmaxes = softmax_lengths(model_, seen_, memo_);
    const int64_t length = out_.softmaxes.at(node.name);
    return target_.shifts() || (without_samples_ && length == 0) ? "" : obstacle_to_integer_softmax(length);
  }

  // What a target asks about.
  Config own_config(const LayerRule& rule) const {
    Config config;
    config.saturation = config_.saturation;
    config.activation = rule.activation;
    config.weight = rule.weight;
    return config;
  }

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

  // What a target asks about the node.
  Config config_of(const graph::Node& node) const {
    const LayerRule* rule = rule_for(node, config_);
    return rule == nullptr ? config_ : own_config(*rule);
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
      if (out_.roles(&*node) == nullptr || !target_.cheap_in_float(*node, config_of(*node)) ||
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
    const auto sum = std::ranges::find(out_.biased, written, [](const auto& pair) { return pair.second; });
    if (sum != out_.biased.end()) {
      const auto seen = seen_.find(written);
      if (seen == seen_.end() || seen->second.shape.size() < 3) return;
      written = sum->first;
    }
    if (target_.writes_float(node, config_of(node)) && only_float_reads(written)) out_.values.erase(written);
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

  const graph::Index& index_;
  const graph::Model& model_;
  const Config& config_;
  const Target& target_;
  const stats::Statistics& seen_;
  const std::set<std::string>& barred_;
  WeightMemo* const memo_;  // may be null
  const std::map<std::string, std::string>& left_;
  const std::set<std::string> deciding_sizes_;
  std::optional<std::set<std::string>> parts_;            // of functions; nullopt: nobody asked for them
  std::optional<std::set<std::string>> gelu_parts_;       // asked for once, if at all
  std::optional<std::map<std::string, Shape>> declared_;  // what the model says of its shapes; asked for once, if at all
  bool without_samples_ = false;
  const bool sampled_;  // whether values were observed, not only shapes known or ranges given
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
  return Placing(index, config, target, seen, barred, memo, left).run();
}

std::set<std::string> placeable(const graph::Index& index, const Config& config, const Target& target) {
  const stats::Statistics nothing_seen;
  const std::set<std::string> none_barred;
  const std::map<std::string, std::string> none_left;
  const Placement placement = Placing(index, config, target, nothing_seen, none_barred, nullptr, none_left).run_without_samples();
  std::set<std::string> names;
  for (const auto& [name, roles] : placement.nodes) names.insert(name);
  return names;
}

}  // namespace quasar::quant
