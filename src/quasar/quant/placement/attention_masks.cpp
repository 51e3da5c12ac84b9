#include "quasar/quant/placement/attention_masks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace quasar::quant {
namespace {

constexpr double large = 1e3, hidden = -5e3, absurd = 1e30;

template <size_t n>
bool is_one_of(const graph::Node& node, const std::array<const char*, n>& types) {
  return node.domain.empty() && std::ranges::find(types, node.op_type) != types.end();
}

constexpr std::array moves = {"Identity",  "Cast",     "Reshape",        "Flatten",   "Squeeze", "Unsqueeze",
                              "Transpose", "Slice",    "Split",          "Expand",    "Tile",    "Trilu",
                              "Gather",    "GatherND", "GatherElements", "ScatterND", "Neg",     "Clip"};
constexpr std::array joins = {"Add", "Sub", "Sum", "Where", "Concat"};
constexpr std::array bounds = {"Max", "Min"};
constexpr std::array products = {"Mul", "Div"};
// What a mask may begin with besides constants and inputs.
constexpr std::array origins = {"Equal", "Greater", "GreaterOrEqual", "Less",  "LessOrEqual",    "Not", "And",
                                "Or",    "Xor",     "Shape",          "Range", "ConstantOfShape"};

// What a value may be: `large`: it may hold the large numbers of a mask; `computed`: scores, not a mask alone.
struct Trait {
  bool large = false, computed = false;
};

class Masks {
 public:
  explicit Masks(const graph::Index& index) : index_(index) {}

  std::set<std::string> run() {
    const std::vector<const graph::Node*> nodes = before_softmax();
    for (const graph::Node* node : nodes) {
      const Trait trait = trait_of(*node);
      for (const auto& output : node->outputs) traits_[output] = trait;
    }
    std::set<std::string> out;
    for (const auto& value : read_by_softmax()) {
      if (trait(value).large) out.insert(value);
    }
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (std::ranges::any_of((*node)->outputs, [&](const auto& value) { return out.contains(value); })) add_sources(**node, out);
    }
    std::erase_if(out, [&](const auto& value) { return index_.producer(value) == nullptr; });
    return out;
  }

 private:
  std::vector<std::string> read_by_softmax() const {
    std::vector<std::string> out;
    for (const auto& node : index_.model().nodes) {
      if (node.is("Softmax") || node.is("LogSoftmax")) out.push_back(node.inputs.front());
    }
    return out;
  }

  // The nodes from which Softmax can be reached through nothing but steps that a mask may take, in order.
  std::vector<const graph::Node*> before_softmax() const {
    std::set<const graph::Node*> seen;
    std::vector<std::string> open = read_by_softmax();
    while (!open.empty()) {
      const graph::Node* node = index_.producer(open.back());
      open.pop_back();
      if (node == nullptr || !seen.insert(node).second) continue;
      for (const auto& source : sources(*node)) open.push_back(source);
    }
    std::vector<const graph::Node*> out;
    for (const auto& node : index_.model().nodes) {
      if (seen.contains(&node)) out.push_back(&node);
    }
    return out;
  }

  // The inputs of which the node's output holds numbers.
  std::vector<std::string> sources(const graph::Node& node) const {
    if (node.is("Where")) return {node.inputs[1], node.inputs[2]};
    if (is_one_of(node, moves)) return {node.inputs.front()};
    if (is_one_of(node, joins) || is_one_of(node, products)) return node.inputs;
    std::vector<std::string> out;
    if (is_one_of(node, bounds))
      std::ranges::copy_if(node.inputs, std::back_inserter(out), [&](const auto& value) { return !constant(value); });
    return out;
  }

  Trait trait_of(const graph::Node& node) const {
    const auto from = sources(node);
    if (from.empty()) return {.large = fills_with_large(node), .computed = !is_one_of(node, origins)};
    Trait out;
    for (const auto& source : from) out.computed = out.computed || trait(source).computed;
    for (const auto& source : from) {
      const Trait own = trait(source);
      // Scores times a large number are no mask, a bias is none, and what is divided by a large number is small.
      const bool scales = is_one_of(node, products) && !own.computed && out.computed;
      const bool divides = node.is("Div") && source == node.inputs[1];
      const bool bias = (node.is("Add") || node.is("Sub")) && out.computed && constant(source) && !hides(source);
      out.large = out.large || (own.large && !scales && !divides && !bias);
    }
    return out;
  }

  // What makes the mask, down to where it begins.
  void add_sources(const graph::Node& node, std::set<std::string>& out) const {
    const bool scores = traits_.at(node.outputs.front()).computed;
    for (const auto& source : sources(node)) {
      if (!constant(source) && (trait(source).large || !scores)) out.insert(source);
    }
  }

  const Tensor* constant(const std::string& value) const { return index_.model().initializer(value); }

  Trait trait(const std::string& value) const {
    const auto known = traits_.find(value);
    if (known != traits_.end()) return known->second;
    const Tensor* held = constant(value);
    return {.large = held != nullptr && is_large(*held)};
  }

  static bool is_large(const Tensor& constant) {
    constexpr std::array numbers = {DataType::float32, DataType::float16, DataType::bfloat16,
                                    DataType::float64, DataType::int32,   DataType::int64};
    if (std::ranges::find(numbers, constant.type()) == numbers.end()) return false;
    return std::ranges::any_of(to_doubles(constant), [](double x) { return std::abs(x) >= large; });
  }

  bool hides(const std::string& value) const {
    const Tensor& held = *constant(value);
    return held.shape().size() >= 2 && std::ranges::any_of(to_doubles(held), [](double x) { return x <= hidden; });
  }

  static bool fills_with_large(const graph::Node& node) {
    const graph::Attribute* value = node.is("ConstantOfShape") ? node.find("value") : nullptr;
    const Tensor* held = value == nullptr ? nullptr : std::get_if<Tensor>(&value->value);
    return held != nullptr && is_large(*held);
  }

  const graph::Index& index_;
  std::map<std::string, Trait> traits_;
};

}  // namespace

std::set<std::string> mask_values(const graph::Index& index) {
  return Masks(index).run();
}

bool holds_absurd_numbers(const Tensor& constant) {
  if (constant.type() != DataType::float32) return false;
  return std::ranges::any_of(constant.as<float>(), [](float x) { return !(std::abs(x) < absurd); });
}

}  // namespace quasar::quant
