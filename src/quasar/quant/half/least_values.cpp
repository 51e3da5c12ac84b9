#include "quasar/quant/half/least_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "quasar/quant/half/half_operators.hpp"

namespace quasar::quant {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

// Lower bounds of values, by the operators that write them.
class LeastValues {
 public:
  LeastValues(const graph::Model& model, const stats::Statistics& seen) : model_(model), seen_(seen) {}

  std::map<std::string, double> run() {
    std::map<std::string, double> out;
    const auto add = [&](const std::string& value, double bound) {
      const auto [low, magnitude] = observed(value);
      lows_[value] = std::max(bound, low);
      if (const double least = std::max(bound, magnitude); least > 0) out[value] = least;
    };
    for (const auto& input : model_.inputs) add(input.name, nothing);
    for (const auto& node : model_.nodes) {
      const double bound = guaranteed(node);
      for (const auto& output : node.outputs) add(output, bound);
    }
    for (const auto& [name, constant] : model_.initializers) {
      if (const double least = smallest(constant); least > 0) out[name] = least;
    }
    return out;
  }

 private:
  static double smallest(const Tensor& constant) {
    if (constant.type() != DataType::float32 || constant.count() == 0) return 0;
    double least = std::numeric_limits<double>::infinity();
    for (const float number : constant.as<float>()) least = std::min(least, std::abs(static_cast<double>(number)));
    return least;
  }

  struct Seen {
    double low = nothing;  // the value is not below
    double magnitude = 0;
  };

  // Calibration samples are not all samples: half of it.
  Seen observed(const std::string& value) const {
    const auto found = seen_.find(value);
    if (found == seen_.end() || found->second.count == 0 || found->second.not_finite > 0) return {};
    const stats::Range& range = found->second.range;
    return {range.low > 0 ? range.low / 2 : nothing, std::max({0.0, range.low, -range.high}) / 2};
  }

  double low(const graph::Node& node, size_t input) const {
    if (input >= node.inputs.size() || node.inputs[input].empty()) return nothing;
    if (const Tensor* const constant = model_.initializer(node.inputs[input])) {
      if (constant->type() != DataType::float32 || constant->count() == 0) return nothing;
      return static_cast<double>(*std::ranges::min_element(constant->as<float>()));
    }
    const auto found = lows_.find(node.inputs[input]);
    return found == lows_.end() ? nothing : found->second;
  }

  bool squares(const graph::Node& node) const {
    if (node.is("Mul")) return node.inputs[0] == node.inputs[1];
    const Tensor* const exponent = node.is("Pow") ? model_.initializer(node.inputs[1]) : nullptr;
    return exponent != nullptr && exponent->count() == 1 && std::fmod(to_doubles(*exponent)[0], 2) == 0;
  }

  // What the node writes is not below.
  double guaranteed(const graph::Node& node) const {
    if (!node.domain.empty()) return nothing;
    const auto any = [&](std::initializer_list<const char*> types) {
      return std::ranges::any_of(types, [&](const char* type) { return node.is(type); });
    };
    if (any({"Abs", "Exp", "Sigmoid", "HardSigmoid", "Softmax", "Softplus", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) ||
        squares(node))
      return 0;
    if (node.is("Sqrt")) return std::sqrt(std::max(0.0, low(node, 0)));
    if (node.is("Clip")) {
      const double least = std::max(low(node, 0), low(node, 1));
      return node.inputs.size() > 2 && !node.inputs[2].empty() ? std::min(least, low(node, 2)) : least;
    }
    if (node.is("Relu")) return std::max(0.0, low(node, 0));
    std::vector<double> lows;
    for (const size_t input : half_inputs(node)) lows.push_back(low(node, input));
    if (lows.empty()) return nothing;
    if (node.is("Max")) return *std::ranges::max_element(lows);
    const double least = *std::ranges::min_element(lows);
    if (node.is("AveragePool") && node.integer("count_include_pad", 0) != 0) return least >= 0 ? 0 : nothing;
    if (any({"Add", "Sum"})) return lows.size() == 1 || least > nothing ? sum_of(lows) : nothing;
    if (any({"Min", "Where", "Mean", "ReduceMean", "ReduceMax", "ReduceMin", "AveragePool", "GlobalAveragePool", "MaxPool",
             "GlobalMaxPool"}))
      return least;
    if (any({"ReduceSum", "Mul", "Div"})) return least >= 0 ? 0 : nothing;
    return moves_or_joins(node) && !node.is("Pad") ? least : nothing;
  }

  static double sum_of(const std::vector<double>& lows) {
    double sum = 0;
    for (const double one : lows) sum += one;
    return sum;
  }

  const graph::Model& model_;
  const stats::Statistics& seen_;
  std::map<std::string, double> lows_;
};

}  // namespace

std::map<std::string, double> least_magnitudes(const graph::Model& model, const stats::Statistics& seen) {
  return LeastValues(model, seen).run();
}

}  // namespace quasar::quant
