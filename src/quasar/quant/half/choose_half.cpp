#include "quasar/quant/half/choose_half.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "quasar/base/names.hpp"
#include "quasar/ops/movers.hpp"
#include "quasar/ops/op.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/half/fine_values.hpp"
#include "quasar/quant/half/half_operators.hpp"
#include "quasar/quant/half/least_values.hpp"
#include "quasar/quant/placement/attention_masks.hpp"

namespace quasar::quant {
namespace {

constexpr double most_steps = 255;  // from 0 to the end of a grid of 8 bits
constexpr double of_unknown_size = std::numeric_limits<double>::infinity();
// A constant of so few numbers is a bound, a factor or an epsilon, each of which counts; of more, those near zero are weights
// that do little.
constexpr size_t few_numbers = 4;

constexpr std::array<std::string_view, 9> within_one = {"Sigmoid",  "HardSigmoid", "Tanh", "Erf",     "Softmax",
                                                        "Softsign", "Sin",         "Cos",  "HardTanh"};
// What they write is no larger than what they read; neither is what only moves.
constexpr std::array<std::string_view, 19> no_larger = {"Relu",          "Clip",
                                                        "Min",           "Max",
                                                        "Abs",           "Neg",
                                                        "MaxPool",       "AveragePool",
                                                        "Concat",        "Where",
                                                        "Pad",           "GatherElements",
                                                        "GlobalMaxPool", "GlobalAveragePool",
                                                        "ReduceMax",     "ReduceMin",
                                                        "ReduceMean",    "Mean",
                                                        "HardSwish"};

bool stands_in(const auto& list, const graph::Node& node) {
  return std::ranges::find(list, node.op_type) != list.end();
}

enum class WhyWide { none, large, unknown, constant, scale, small, position };

class HalfChoice {
 public:
  HalfChoice(const graph::Model& model, const stats::Statistics& seen, const Plan& plan)
      : model_(model), index_(model), seen_(seen), plan_(plan), floats_(ops::float_values(model)), masks_(mask_values(index_)) {}

  KeptInFloat32 run() {
    for (const auto& input : model_.inputs) sizes_[input.name] = observed(input.name).value_or(of_unknown_size);
    std::map<WhyWide, std::vector<std::string>> by_reason;
    KeptInFloat32 out;
    for (const auto& node : model_.nodes) add_sizes(node);
    fine_ = found_fine();
    for (const auto& node : model_.nodes) {
      const bool has_row = is_candidate(node);
      if (plan_.half_islands && runs_on_codes(node)) out.nodes.insert(node.name);
      WhyWide why = !has_row ? WhyWide::none : why_wide(node);
      const bool hides_itself = hides(node), reads_real = reads_real_mask(node);
      if (has_row && why == WhyWide::none && reads_real) why = WhyWide::large;
      const bool in_half = has_row && why == WhyWide::none;
      if (!in_half && (hides_itself || reads_real)) real_masks_.insert(node.outputs.begin(), node.outputs.end());
      if (in_half && hides_itself) masking_.push_back(node.name);
      if (why == WhyWide::none) continue;
      out.nodes.insert(node.name);
      by_reason[why].push_back(node.name);
    }
    for (const auto& [why, nodes] : by_reason) out.notes.push_back(in_words(why, nodes));
    if (!masking_.empty())
      out.notes.push_back("attention masks hide by -10000 in a file of float16, as " + joined(masking_) + " had more");
    return out;
  }

 private:
  bool is_candidate(const graph::Node& node) const {
    if (half_inputs(node).empty() || !floats_.contains(node.outputs.front())) return false;
    return !plan_.half_islands || (has_arm_kernel(node, model_) && !runs_on_codes(node));
  }

  // Between pairs, alone or as the activation of a kernel that is.
  bool runs_on_codes(const graph::Node& node) const {
    if (plan_.nodes.contains(node.name)) return true;
    const auto ends_a_kernel = [this](const std::string& input) {
      const graph::Node* const writer = index_.producer(input);
      return writer != nullptr && plan_.nodes.contains(writer->name) && !plan_.values.contains(input);
    };
    return plan_.values.contains(node.outputs.front()) && std::ranges::any_of(node.inputs, ends_a_kernel);
  }

  std::map<std::string, Fine> found_fine() {
    const std::map<std::string, double> least = least_magnitudes(model_, seen_);
    const auto in_codes = [this](const std::string& value) {
      const auto pair = plan_.values.find(value);
      return pair != plan_.values.end() && is_integer(pair->second.type);
    };
    return fine_operators(model_, floats_,
                          {.most = [this](const std::string& value) { return size(value); },
                           .least =
                               [&](const std::string& value) {
                                 const auto found = least.find(value);
                                 return found == least.end() ? 0 : found->second;
                               },
                           .in_codes = in_codes});
  }

  std::optional<double> observed(const std::string& value) const {
    const auto found = seen_.find(value);
    if (found == seen_.end() || (found->second.count == 0 && !found->second.given)) return std::nullopt;
    const bool hides = found->second.not_finite > 0 || found->second.range.low < -furthest_in_half;
    // Other numbers hide in float16. In islands constants stay as they are, and samples may have hidden nothing.
    if (masks_.contains(value) && (hides || plan_.half_islands)) return std::nullopt;
    if (found->second.not_finite > 0) return of_unknown_size;
    if (const auto& given = found->second.given; given && !given->range) return most_steps * given->scale;
    const stats::Range& range = found->second.range;
    return std::max(std::abs(range.low), std::abs(range.high));
  }

  // Of a value as its readers have it: its pair clips.
  double size_read(const graph::Node& node, size_t input) {
    const std::string& value = node.inputs[input];
    const Tensor* const constant = model_.initializer(value);
    if (constant != nullptr && masks(node, *constant)) return -static_cast<double>(hidden_in_half);
    const auto pair = plan_.values.find(value);
    if (pair == plan_.values.end() || !is_integer(pair->second.type)) return size(value);
    return std::min(size(value), most_steps * static_cast<double>(plan_.params(value).scales[0]));
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
    for (const size_t input : half_inputs(node)) read.push_back(size_read(node, input));
    if (read.empty()) return of_unknown_size;
    const double most = *std::ranges::max_element(read);
    if (ops::only_moves(node) || stands_in(no_larger, node)) return most;
    if (node.is("Sqrt")) return std::sqrt(most);
    if (node.is("Softplus")) return most + 1;
    if (node.is("LeakyRelu") && std::abs(node.real("alpha", 0.01F)) <= 1) return most;
    if (read.size() == 2 && (node.is("Add") || node.is("Sub"))) return read[0] + read[1];
    if (node.is("Conv") || node.is("Gemm") || node.is("MatMul")) return largest_sum(node, read);
    if (read.size() == 2 && node.is("Mul")) return read[0] == 0 || read[1] == 0 ? 0 : read[0] * read[1];
    return node.is("Pow") ? power(node, read.front()) : of_unknown_size;
  }

  // |Σ w·x + b| ≤ max |x| · the largest Σ |w| of an output + max |b|; of weights that are constant.
  double largest_sum(const graph::Node& node, const std::vector<double>& read) const {
    std::string why;
    const auto roles = ops::roles_of(node, model_, why);
    const Tensor* const weights = roles && roles->weight ? model_.initializer(node.inputs[roles->weight->input]) : nullptr;
    if (weights == nullptr || !roles->weight->axis || weights->type() != DataType::float32) return of_unknown_size;
    const auto axis = static_cast<size_t>(*roles->weight->axis);
    const Shape& shape = weights->shape();
    size_t inner = 1;
    for (size_t k = axis + 1; k < shape.size(); ++k) inner *= static_cast<size_t>(shape[k]);
    const auto channels = static_cast<size_t>(shape[axis]);
    std::vector<double> sums(channels);
    const auto numbers = weights->as<float>();
    for (size_t i = 0; i < numbers.size(); ++i) sums[i / inner % channels] += std::abs(static_cast<double>(numbers[i]));
    const double bias = read.size() > 2 ? read[2] : 0;
    return read[0] * (sums.empty() ? 0 : *std::ranges::max_element(sums)) + bias;
  }

  double power(const graph::Node& node, double base) const {
    const Tensor* const exponent = model_.initializer(node.inputs[1]);
    if (exponent == nullptr || exponent->type() != DataType::float32 || exponent->count() != 1) return of_unknown_size;
    const float number = exponent->as<float>()[0];
    return number >= 0 ? std::max(1.0, std::pow(base, static_cast<double>(number))) : of_unknown_size;
  }

  WhyWide why_wide(const graph::Node& node) {
    if (!plan_.half_islands && scales_are_lost(node)) return WhyWide::scale;
    if (const auto fine = fine_.find(node.name); fine != fine_.end())
      return fine->second == Fine::small ? WhyWide::small : WhyWide::position;
    WhyWide out = WhyWide::none;
    const auto take = [&](double size) {
      if (size == of_unknown_size) out = std::max(out, WhyWide::unknown);
      if (size > furthest_in_half && size != of_unknown_size) out = WhyWide::large;
    };
    for (const size_t input : half_inputs(node)) {
      const Tensor* const constant = model_.initializer(node.inputs[input]);
      const bool hides = constant != nullptr && masks(node, *constant);
      if (constant != nullptr && !hides && !holds(*constant)) return WhyWide::constant;
      if (constant == nullptr) take(size_read(node, input));
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
    const bool few = constant.count() <= few_numbers;
    return std::ranges::all_of(
        numbers, [few](float number) { return std::abs(number) <= furthest_in_half && (!few || fits_half(number)); });
  }

  // A mask whose numbers were written as they are, since the operator with the constant keeps float32.
  bool reads_real_mask(const graph::Node& node) const {
    return std::ranges::any_of(node.inputs,
                               [&](const auto& input) { return masks_.contains(input) && real_masks_.contains(input); });
  }

  bool hides(const graph::Node& node) const {
    return std::ranges::any_of(node.inputs, [&](const auto& input) {
      const Tensor* const constant = model_.initializer(input);
      return constant != nullptr && masks(node, *constant);
    });
  }

  // Whether it is what a mask hides by: zeros, and numbers that float16 does not reach.
  bool masks(const graph::Node& node, const Tensor& constant) const {
    if (plan_.half_islands || !masks_.contains(node.outputs.front()) || constant.type() != DataType::float32) return false;
    const auto numbers = constant.as<float>();
    const auto hides = [](float x) { return x < -furthest_in_half; };
    return std::ranges::any_of(numbers, hides) && std::ranges::all_of(numbers, [&](float x) { return x == 0 || hides(x); });
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
      case WhyWide::small:
        return who + "values there may be so small that it makes 0 of them before a logarithm, a root or a division" + names;
      case WhyWide::position:
        return who + "whole numbers, positions or angles are computed there, for which it has too few bits" + names;
      case WhyWide::none:
        return "";
    }
    return "";
  }

  const graph::Model& model_;
  const graph::Index index_;
  const stats::Statistics& seen_;
  const Plan& plan_;
  const std::set<std::string> floats_;
  const std::set<std::string> masks_;  // values that attention masks have filled
  std::map<std::string, double> sizes_;
  std::map<std::string, Fine> fine_;  // nodes that must not round to float16
  std::vector<std::string> masking_;  // nodes in float16 whose constants hide
  std::set<std::string> real_masks_;  // values, with numbers beyond float16
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
