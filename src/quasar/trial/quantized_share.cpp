#include "quasar/trial/quantized_share.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "quasar/base/digits.hpp"

namespace quasar::tune {
namespace {

constexpr double least_work = 0.05, most_bytes = 0.95;

// Nodes by the reason why they stay in float.
using Reasons = std::map<std::string, std::vector<std::string>>;

Reasons reasons_of(const quant::Plan& plan) {
  Reasons out;
  for (const auto& [node, why] : plan.skipped) out[why].push_back(node);
  return out;
}

std::string listed(const Reasons& reasons) {
  std::string text;
  for (const auto& [why, names] : reasons)
    text += (text.empty() ? ": " : "; ") + names.front() +
            (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "") + ": " + why;
  return text;
}

bool has_sums(const graph::Node& node) {
  constexpr std::array types = {"Conv", "ConvTranspose", "Gemm", "MatMul", "LSTM", "GRU", "RNN"};
  return std::ranges::any_of(types, [&](const char* type) { return node.is(type); });
}

// The elements of the value without the axis; nullopt: its shape is not known.
std::optional<double> count_without(const std::string& value, int axis, const stats::Statistics& seen) {
  const auto found = seen.find(value);
  if (found == seen.end() || found->second.shape.empty()) return std::nullopt;
  const Shape& shape = found->second.shape;
  const auto rank = static_cast<int>(shape.size());
  double out = 1;
  for (int i = 0; i < rank; i++) {
    if (shape[static_cast<size_t>(i)] < 0) return std::nullopt;
    if (i != (axis < 0 ? rank + axis : axis)) out *= static_cast<double>(shape[static_cast<size_t>(i)]);
  }
  return out;
}

// How often each of the node's weights is multiplied: once for every place of the output, of the input where that is the larger
// one's part (ConvTranspose), or for every step.
std::optional<double> places(const graph::Node& node, const stats::Statistics& seen) {
  if (node.is("Conv")) return count_without(node.outputs.front(), 1, seen);
  if (node.is("ConvTranspose")) return count_without(node.inputs.front(), 1, seen);
  if (node.is("Gemm") || node.is("MatMul")) return count_without(node.outputs.front(), -1, seen);
  return count_without(node.inputs.front(), -1, seen);
}

class Counting {
 public:
  Counting(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen, ChosenFloat chosen)
      : plan_(plan), model_(model), seen_(seen), chosen_(chosen) {
    const auto known = [&](const graph::Node& node) { return !has_sums(node) || weights_of(node) == 0 || places(node, seen); };
    shapes_known_ = std::ranges::all_of(model.nodes, known);
  }

  QuantizedShare share() const {
    double all = 0, quantized = 0;
    for (const auto& node : model_.nodes) {
      if (!has_sums(node) || is_left_out(node)) continue;
      const double work = weights_of(node) * (shapes_known_ ? places(node, seen_).value_or(1) : 1);
      all += work;
      if (plan_.nodes.contains(node.name)) quantized += work;
    }
    return {.work = all > 0 ? quantized / all : 1, .bytes = bytes(), .by_work = shapes_known_};
  }

 private:
  bool is_left_out(const graph::Node& node) const { return chosen_ == ChosenFloat::ignored && plan_.chosen.contains(node.name); }

  double weights_of(const graph::Node& node) const {
    double out = 0;
    for (const auto& input : node.inputs) {
      const Tensor* weights = model_.initializer(input);
      if (weights != nullptr && weights->shape().size() > 1) out += static_cast<double>(weights->count());
    }
    return out;
  }

  double bytes() const {
    std::map<std::string, double> is;
    for (const auto& node : model_.nodes) {
      if (is_left_out(node)) continue;
      for (const auto& input : node.inputs) {
        if (const Tensor* constant = model_.initializer(input)) is.try_emplace(input, constant->bytes().size());
      }
    }
    double was = 0, now = 0;
    for (const auto& [name, size] : is) was += size;
    for (const auto& node : model_.nodes) {
      const auto planned = plan_.nodes.find(node.name);
      if (planned == plan_.nodes.end()) continue;
      const auto shrink = [&](const quant::ConstantPlan& constant) {
        const auto found = is.find(node.inputs.at(constant.input));
        if (found == is.end()) return;
        const Tensor* values = model_.initializer(found->first);
        found->second = static_cast<double>(values->count()) * bits_of(constant.params.type) / 8;
      };
      if (planned->second.weight) shrink(*planned->second.weight);
      for (const auto& constant : planned->second.constants) shrink(constant);
    }
    for (const auto& [name, size] : is) now += size;
    return was > 0 ? now / was : 1;
  }

  const quant::Plan& plan_;
  const graph::Model& model_;
  const stats::Statistics& seen_;
  ChosenFloat chosen_;
  bool shapes_known_ = false;
};

}  // namespace

QuantizedShare share_of(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen, ChosenFloat chosen) {
  return Counting(plan, model, seen, chosen).share();
}

std::string hardly_quantized(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen,
                             ChosenFloat chosen) {
  const QuantizedShare share = share_of(plan, model, seen, chosen);
  if (share.work >= least_work || share.bytes < most_bytes) return "";
  Reasons reasons = reasons_of(plan);
  if (chosen == ChosenFloat::ignored)
    std::erase_if(reasons, [&](const auto& reason) { return plan.chosen.contains(reason.second.front()); });
  return "hardly anything in this model is quantized under this configuration (" + std::to_string(plan.nodes.size()) + " of " +
         std::to_string(plan.nodes.size() + plan.skipped.size()) + " operators, with " + in_digits(100 * share.work) +
         " % of the " + share.unit() + ")" + listed(reasons);
}

}  // namespace quasar::tune
