#include "quasar/quant/half/fine_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "quasar/quant/half/half_operators.hpp"

namespace quasar::quant {
namespace {

constexpr double largest_angle = 8, largest_whole = 2048;  // float16 counts by ones up to the latter

// Operators whose result is small, or a position, where what they read is.
constexpr std::array<std::string_view, 26> carrying = {
    "Add",        "Sub",       "Mul",        "Div",       "Pow",         "Sqrt",
    "Reciprocal", "Neg",       "Abs",        "Sum",       "Mean",        "Min",
    "Max",        "Clip",      "Relu",       "Where",     "AveragePool", "GlobalAveragePool",
    "ReduceSum",  "ReduceMax", "ReduceMean", "ReduceMin", "ReduceL1",    "ReduceSumSquare",
    "Log",        "Exp"};

bool is_any(const graph::Node& node, std::initializer_list<std::string_view> types) {
  return node.domain.empty() && std::ranges::find(types, node.op_type) != types.end();
}

bool carries(const graph::Node& node) {
  return moves_or_joins(node) || (node.domain.empty() && std::ranges::find(carrying, node.op_type) != carrying.end());
}

class FineSearch {
 public:
  FineSearch(const graph::Model& model, const std::set<std::string>& floats, const KnownSizes& known)
      : model_(model), index_(model), floats_(floats), known_(known) {}

  std::map<std::string, Fine> run() {
    for (const auto& node : model_.nodes) {
      if (reads_small(node)) keep_with_its_sources(node, small_input(node), Fine::small);
      if (is_any(node, {"Sin", "Cos"}) && known_.most(node.inputs[0]) > largest_angle)
        keep_with_its_sources(node, 0, Fine::position);
      if (is_any(node, {"Floor", "Ceil", "Round"}) || casts_to_integers(node)) lead_to(node.inputs[0], Fine::position);
      if (is_any(node, {"GridSample", "RoiAlign", "MaxRoiPool", "Upsample"}) && node.inputs.size() > 1)
        lead_to(node.inputs[1], Fine::position);
      const bool reads_sizes = is_any(node, {"Resize"}), counts = is_any(node, {"Range"});
      if (counts) keep(node, Fine::position);
      for (size_t k = counts ? 0 : 1; (counts || reads_sizes) && k < node.inputs.size(); ++k)
        lead_to(node.inputs[k], Fine::position);
    }
    add_whole_numbers();
    return std::move(out_);
  }

 private:
  static size_t small_input(const graph::Node& node) { return node.is("Div") ? 1 : 0; }

  bool reads_small(const graph::Node& node) const {
    const bool asks = is_any(node, {"Log", "Sqrt", "Reciprocal", "Div"}) || (is_any(node, {"Pow"}) && !grows(node));
    return asks && floats_.contains(node.outputs[0]) && known_.least(node.inputs[small_input(node)]) < least_in_half;
  }

  bool grows(const graph::Node& power) const {
    const Tensor* const exponent = model_.initializer(power.inputs[1]);
    return exponent != nullptr && std::ranges::all_of(to_doubles(*exponent), [](double number) { return number >= 1; });
  }

  bool casts_to_integers(const graph::Node& node) const {
    return is_any(node, {"Cast"}) && floats_.contains(node.inputs[0]) && !floats_.contains(node.outputs[0]) &&
           node.integer("to", 0) != static_cast<int64_t>(DataType::boolean);
  }

  void keep_with_its_sources(const graph::Node& node, size_t input, Fine why) {
    keep(node, why);
    lead_to(node.inputs[input], why);
  }

  // A position is one whatever else it is.
  void keep(const graph::Node& node, Fine why) {
    Fine& known = out_.emplace(node.name, why).first->second;
    if (why == Fine::position) known = why;
  }

  // The operators that the value comes from, up to the first that does not carry on what it reads.
  void lead_to(const std::string& value, Fine why) {
    std::vector<std::string> open{value};
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      const graph::Node* const writer = index_.producer(next);
      const bool enough = why == Fine::small && known_.least(next) >= least_in_half;
      if (writer == nullptr || !floats_.contains(next) || enough || known_.in_codes(next) || !seen.insert(next).second) continue;
      keep(*writer, why);
      if (!carries(*writer)) continue;
      for (const size_t input : half_inputs(*writer)) open.push_back(writer->inputs[input]);
    }
  }

  // Behind casts from integers, and what rounds to them, and what computes with such numbers alone: what reads them beyond 2048,
  // and what joins them and positions, as a position less its whole part.
  void add_whole_numbers() {
    std::set<std::string> wholes, positions;
    for (const auto& node : model_.nodes) {
      if (node.outputs.empty() || !floats_.contains(node.outputs[0])) continue;
      const bool makes_them =
          is_any(node, {"Floor", "Ceil", "Round", "Range"}) || (is_any(node, {"Cast"}) && !floats_.contains(node.inputs[0]));
      const std::vector<size_t> inputs = half_inputs(node);
      const auto is_whole = [&](size_t k) { return wholes.contains(node.inputs[k]); };
      const auto is_whole_or_constant = [&](size_t k) { return is_whole(k) || model_.initializer(node.inputs[k]) != nullptr; };
      const bool reads_large =
          std::ranges::any_of(inputs, [&](size_t k) { return is_whole(k) && known_.most(node.inputs[k]) > largest_whole; });
      if (reads_large) keep(node, Fine::position);
      const bool reads_any = std::ranges::any_of(inputs, is_whole);
      const bool reads_position = std::ranges::any_of(inputs, [&](size_t k) { return positions.contains(node.inputs[k]); });
      if (reads_any && carries(node) && reads_position) keep(node, Fine::position);
      const bool of_them = reads_any && carries(node) && std::ranges::all_of(inputs, is_whole_or_constant);
      const auto found = out_.find(node.name);
      const bool is_position = (found != out_.end() && found->second == Fine::position) || (reads_position && carries(node));
      if (makes_them || of_them) {
        wholes.insert(node.outputs.begin(), node.outputs.end());
      } else if (is_position) {
        positions.insert(node.outputs.begin(), node.outputs.end());
      }
    }
  }

  const graph::Model& model_;
  const graph::Index index_;
  const std::set<std::string>& floats_;
  const KnownSizes& known_;
  std::map<std::string, Fine> out_;
};

}  // namespace

std::map<std::string, Fine> fine_operators(const graph::Model& model, const std::set<std::string>& floats,
                                           const KnownSizes& known) {
  return FineSearch(model, floats, known).run();
}

}  // namespace quasar::quant
