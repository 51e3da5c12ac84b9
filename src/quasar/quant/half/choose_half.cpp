#include "quasar/quant/half/choose_half.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "quasar/base/names.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/half/half_operators.hpp"

namespace quasar::quant {
namespace {

constexpr double furthest_in_half = largest_half / 2;
constexpr double of_unknown_size = std::numeric_limits<double>::infinity();
// A constant of so few numbers is a bound, a factor or an epsilon, each of which counts; of more, those near zero are weights
// that do little.
constexpr size_t few_numbers = 4;

constexpr std::array<std::string_view, 9> within_one = {"Sigmoid",  "HardSigmoid", "Tanh", "Erf",     "Softmax",
                                                        "Softsign", "Sin",         "Cos",  "HardTanh"};
// What they write is no larger than what they read.
constexpr std::array<std::string_view, 33> no_larger = {
    "Relu",      "Clip",           "Min",        "Max",          "Abs",           "Neg",
    "MaxPool",   "AveragePool",    "Concat",     "Where",        "GlobalMaxPool", "GlobalAveragePool",
    "ReduceMax", "ReduceMin",      "ReduceMean", "Mean",         "Reshape",       "Flatten",
    "Squeeze",   "Unsqueeze",      "Transpose",  "Slice",        "Split",         "Gather",
    "GatherND",  "Expand",         "Tile",       "DepthToSpace", "Identity",      "SpaceToDepth",
    "Pad",       "GatherElements", "HardSwish"};

bool stands_in(const auto& list, const graph::Node& node) {
  return std::ranges::find(list, node.op_type) != list.end();
}

enum class WhyWide { none, large, unknown, constant, scale };

class HalfChoice {
 public:
  HalfChoice(const graph::Model& model, const stats::Statistics& seen, const Plan& plan)
      : model_(model), seen_(seen), plan_(plan), floats_(ops::float_values(model)) {}

  KeptInFloat32 run() {
    for (const auto& input : model_.inputs) sizes_[input.name] = observed(input.name).value_or(of_unknown_size);
    std::map<WhyWide, std::vector<std::string>> by_reason;
    KeptInFloat32 out;
    for (const auto& node : model_.nodes) {
      add_sizes(node);
      const WhyWide why = half_inputs(node).empty() || !floats_.contains(node.outputs.front()) ? WhyWide::none : why_wide(node);
      if (why == WhyWide::none) continue;
      out.nodes.insert(node.name);
      by_reason[why].push_back(node.name);
    }
    for (const auto& [why, nodes] : by_reason) out.notes.push_back(in_words(why, nodes));
    return out;
  }

 private:
  std::optional<double> observed(const std::string& value) const {
    const auto found = seen_.find(value);
    if (found == seen_.end() || (found->second.count == 0 && !found->second.given)) return std::nullopt;
    if (found->second.not_finite > 0) return of_unknown_size;
    const stats::Range& range = found->second.range;
    return std::max(std::abs(range.low), std::abs(range.high));
  }

  // The largest magnitude of a value or constant.
  double size(const std::string& value) {
    if (value.empty()) return 0;
    if (const auto known = sizes_.find(value); known != sizes_.end()) return known->second;
    const Tensor* const constant = model_.initializer(value);
    double most = of_unknown_size;
    if (constant != nullptr && constant->type() == DataType::float32) {
      most = 0;
      for (const float number : constant->as<float>()) most = std::max(most, std::abs(static_cast<double>(number)));
    }
    return sizes_[value] = most;
  }

  void add_sizes(const graph::Node& node) {
    for (const auto& output : node.outputs) {
      if (output.empty() || !floats_.contains(output)) continue;
      const auto told = observed(output);
      sizes_[output] = told ? *told : bound(node);
    }
  }

  double bound(const graph::Node& node) {
    if (!node.domain.empty()) return of_unknown_size;
    if (stands_in(within_one, node)) return 1;
    std::vector<double> read;
    for (const size_t input : half_inputs(node)) read.push_back(size(node.inputs[input]));
    if (read.empty()) return of_unknown_size;
    const double most = *std::ranges::max_element(read);
    if (stands_in(no_larger, node)) return most;
    if (node.is("Sqrt")) return std::sqrt(most);
    if (node.is("Softplus")) return most + 1;
    if (node.is("LeakyRelu") && std::abs(node.real("alpha", 0.01F)) <= 1) return most;
    if (read.size() == 2 && (node.is("Add") || node.is("Sub"))) return read[0] + read[1];
    if (read.size() == 2 && node.is("Mul")) return read[0] == 0 || read[1] == 0 ? 0 : read[0] * read[1];
    return node.is("Pow") ? power(node, read.front()) : of_unknown_size;
  }

  double power(const graph::Node& node, double base) const {
    const Tensor* const exponent = model_.initializer(node.inputs[1]);
    if (exponent == nullptr || exponent->type() != DataType::float32 || exponent->count() != 1) return of_unknown_size;
    const float number = exponent->as<float>()[0];
    return number >= 0 ? std::max(1.0, std::pow(base, static_cast<double>(number))) : of_unknown_size;
  }

  WhyWide why_wide(const graph::Node& node) {
    if (scales_are_lost(node)) return WhyWide::scale;
    WhyWide out = WhyWide::none;
    const auto take = [&](double size) {
      if (size == of_unknown_size) out = std::max(out, WhyWide::unknown);
      if (size > furthest_in_half && size != of_unknown_size) out = WhyWide::large;
    };
    for (const size_t input : half_inputs(node)) {
      const Tensor* const constant = model_.initializer(node.inputs[input]);
      if (constant != nullptr && !holds(*constant)) return WhyWide::constant;
      if (constant == nullptr) take(size(node.inputs[input]));
      if (out == WhyWide::large) return out;
    }
    for (const auto& output : node.outputs) {
      if (floats_.contains(output)) take(size(output));
      if (out == WhyWide::large) return out;
    }
    return out;
  }

  static bool holds(const Tensor& constant) {
    if (constant.type() != DataType::float32) return true;
    const auto numbers = constant.as<float>();
    return constant.count() <= few_numbers
               ? std::ranges::all_of(numbers, fits_half)
               : std::ranges::all_of(numbers, [](float x) { return std::abs(x) <= largest_half || std::isinf(x); });
  }

  static bool fit(const QuantParams& params) { return !is_integer(params.type) || std::ranges::all_of(params.scales, fits_half); }

  // Of the codes that it reads, or that are made of what it writes.
  bool scales_are_lost(const graph::Node& node) const {
    const auto planned = plan_.nodes.find(node.name);
    if (planned != plan_.nodes.end() && planned->second.weight && !fit(planned->second.weight->params)) return true;
    const auto of_value = [&](const std::string& value) {
      const auto found = plan_.values.find(value);
      return found != plan_.values.end() && !fit(plan_.params(value));
    };
    return std::ranges::any_of(node.inputs, of_value) || std::ranges::any_of(node.outputs, of_value);
  }

  static std::string in_words(WhyWide why, const std::vector<std::string>& nodes) {
    constexpr size_t most_named = 6;
    const auto named = std::vector(nodes.begin(), nodes.begin() + static_cast<int64_t>(std::min(nodes.size(), most_named)));
    const std::string more = nodes.size() > most_named ? " and " + std::to_string(nodes.size() - most_named) + " more" : "";
    const bool one = nodes.size() == 1;
    const std::string who =
        std::to_string(nodes.size()) + (one ? " operator stays" : " operators stay") + " float32 in a file of float16, as ";
    const std::string names = ": " + joined(named) + more;
    switch (why) {
      case WhyWide::large:
        return who + "values there come near the largest number of float16, 65504" + names;
      case WhyWide::unknown:
        return who + "nothing was observed of values there, or they were not finite" + names;
      case WhyWide::constant:
        return who + "float16 does not hold a constant there" + names;
      case WhyWide::scale:
        return who + "float16 does not hold a scale of codes there" + names;
      case WhyWide::none:
        return "";
    }
    return "";
  }

  const graph::Model& model_;
  const stats::Statistics& seen_;
  const Plan& plan_;
  const std::set<std::string> floats_;
  std::map<std::string, double> sizes_;
};

}  // namespace

KeptInFloat32 kept_in_float32(const graph::Model& model, const stats::Statistics& seen, const Plan& plan) {
  return HalfChoice(model, seen, plan).run();
}

void raise_lost_scales(Plan& plan) {
  constexpr float least = 0x1p-17F;  // 128 times the smallest number of float16: within 2⁻⁸ of any scale above
  for (auto& [name, node] : plan.nodes) {
    if (!node.weight || !is_integer(node.weight->params.type)) continue;
    std::vector<float>& scales = node.weight->params.scales;
    if (*std::ranges::max_element(scales) < 16 * least) continue;
    for (float& scale : scales) scale = std::max(scale, least);
  }
}

}  // namespace quasar::quant
