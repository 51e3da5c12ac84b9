#include "quasar/trial/nothing_quantized.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/inner_operators.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/standalone.hpp"

namespace quasar::tune {
namespace {

// Whether something of the plan is held in codes, whatever the rest.
bool has_codes(const quant::Plan& plan) {
  const auto in_codes = [](const quant::QuantParams& params) { return !quant::is_half(params.type); };
  const auto node_has = [&](const quant::NodePlan& node) {
    return node.form != quant::NodeForm::pairs || (node.weight && in_codes(node.weight->params)) ||
           std::ranges::any_of(node.constants, [&](const auto& constant) { return in_codes(constant.params); });
  };
  return std::ranges::any_of(plan.values, [&](const auto& value) { return in_codes(value.second); }) ||
         std::ranges::any_of(plan.nodes, [&](const auto& node) { return node_has(node.second); });
}

// "3 Conv, 2 MatMul"
std::string counted(const std::map<std::string, size_t>& types) {
  std::vector<std::string> out;
  for (const auto& [type, count] : types) out.push_back(std::to_string(count) + " " + type);
  return joined(out);
}

// What a form quantizes, in the model: the operators of its types, outside and inside of If, Loop and Scan.
class Supply {
 public:
  // `bodies`: whether operators in open ones are quantized.
  Supply(const graph::Model& model, quant::NodeForm form, bool bodies) : model_(model), form_(form), bodies_(bodies) {
    for (const auto& node : model.nodes) {
      const bool left = is_left(node);
      if (node.domain.empty() && fits(node.op_type)) ++(left ? inside_ : outside_)[node.op_type];
      if (left && node.domain.empty() && fits(node.op_type)) {
        const std::string holder = "'" + node.inside + "'";
        if (std::ranges::find(holders_, holder) == holders_.end()) holders_.push_back(holder);
      }
      bool holds = false;
      for (const auto& [type, count] : graph::inner_operators(node)) {
        if (!fits(type)) continue;
        inside_[type] += count;
        holds = true;
      }
      if (holds) holders_.push_back(node.op_type + " '" + node.name + "'");
    }
  }

  // Why the form finds nothing; "": it finds something, and other reasons keep that in float.
  std::string why_empty() const {
    if (form_ == quant::NodeForm::pairs) {
      const auto products = [](const std::map<std::string, size_t>& types) {
        return std::ranges::any_of(types, [](const auto& one) { return is_product(one.first); });
      };
      if (products(outside_)) return "";
      if (products(inside_)) return "this model has no Conv, MatMul or Gemm but inside " + place();
      if (!outside_.empty()) return "";
      return inside_.empty() ? "this model has no operator that Quasar quantizes"
                             : "all of this model's operators that could be quantized stand inside " + place();
    }
    const auto fed = [&](const graph::Node& node) { return !is_left(node) && quant::has_weights_for(form_, node, model_); };
    if (std::ranges::any_of(model_.nodes, fed)) return "";
    const std::string products = form_ == quant::NodeForm::dynamic ? "MatMul, Gemm or LSTM" : "MatMul, Gemm, LSTM or GRU";
    std::string text = "this model has no " + products + (outside_.empty() ? "" : " with constant weights");
    if (!inside_.empty()) return text + " but inside " + place();
    const size_t convs = static_cast<size_t>(std::ranges::count(model_.nodes, "Conv", &graph::Node::op_type));
    if (convs > 0)
      text += "; its " + counted({{"Conv", convs}}) + " need a scheme with calibration samples, such as U8S8_CHANNEL" +
              (form_ == quant::NodeForm::dynamic ? ", or DYNAMIC_CONV, which makes them smaller and seldom faster" : "");
    return text;
  }

 private:
  bool fits(const std::string& type) const {
    if (form_ == quant::NodeForm::pairs) return is_served(type);
    const bool gru = type == "GRU" && form_ == quant::NodeForm::weights_only;
    return type == "MatMul" || type == "Gemm" || type == "LSTM" || gru;
  }

  static bool is_product(const std::string& type) {
    return type == "Conv" || type == "ConvTranspose" || type == "MatMul" || type == "Gemm";
  }

  static bool is_served(const std::string& type) {
    static const std::set<std::string, std::less<>> all = [] {
      std::set<std::string, std::less<>> out;
      for (const auto& [name, entry] : ops::types::table().items()) {
        for (const auto one : entry.make({})->types()) out.emplace(one);
      }
      return out;
    }();
    return all.contains(type);
  }

  // "If 'If_0' (3 Conv, 1 LSTM), whose graphs Quasar does not quantize"
  std::string place() const {
    const std::string more = holders_.size() > 1 ? " and " + std::to_string(holders_.size() - 1) + " more" : "";
    const std::string why =
        bodies_ ? ", and Quasar does not quantize the graphs in there" : ", which EnableSubgraph: false leaves in float";
    return holders_.front() + more + " (" + counted(inside_) + ")" + why;
  }

  bool is_left(const graph::Node& node) const { return !bodies_ && !node.inside.empty(); }

  const graph::Model& model_;
  const quant::NodeForm form_;
  const bool bodies_;
  std::map<std::string, size_t> outside_, inside_;
  std::vector<std::string> holders_;
};

Supply supply_of(const PlanOrigin& origin) {
  const bool bodies = quant::is_on(origin.config.switches, "EnableSubgraph", false);
  return {origin.model, quant::form_of(origin.config.activation), bodies};
}

// The reasons node by node.
std::string each_reason(const quant::Plan& plan) {
  std::map<std::string, std::vector<std::string>> nodes;  // by the reason
  for (const auto& [node, why] : plan.skipped) nodes[why].push_back(node);
  for (const auto& [node, planned] : plan.nodes) nodes["16-bit floats to fall back to are no quantization"].push_back(node);
  std::string text;
  for (const auto& [why, names] : nodes)
    text += (text.empty() ? "" : "; ") + names.front() +
            (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "") + ": " + why;
  return text;
}

}  // namespace

std::string why_nothing(const graph::Model& model, quant::NodeForm form) {
  return Supply(model, form, true).why_empty();
}

void require_quantized(const quant::Plan& plan, const PlanOrigin& origin) {
  const bool only_casts = origin.halves == Halves::fallback && !has_codes(plan);
  if (!plan.nodes.empty() && !only_casts) return;
  std::string why = only_casts && !plan.nodes.empty() ? "" : supply_of(origin).why_empty();
  if (why.empty()) why = each_reason(plan);
  throw Error("nothing in this model is quantized under this configuration" + (why.empty() ? "" : ": " + why));
}

}  // namespace quasar::tune
