#include "quasar/quant/half/beyond_half.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"
#include "quasar/quant/half/half_operators.hpp"
#include "quasar/quant/node_schemes.hpp"

namespace quasar::quant {
namespace {

constexpr double hides = 1e30;

// The largest magnitude that does not hide anything; 0: there is none.
double most_of(const Tensor& constant) {
  if (constant.type() != DataType::float32) return 0;
  double out = 0;
  for (const float value : constant.as<float>()) {
    const double size = std::abs(static_cast<double>(value));
    if (size < hides) out = std::max(out, size);
  }
  return out;
}

double most_of(const stats::Range& range) {
  double out = 0;
  for (const double end : {range.low, range.high}) {
    if (std::abs(end) < hides) out = std::max(out, std::abs(end));
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> beyond_half(const Ground& ground) {
  std::map<std::string, std::string> out;
  const auto most = [&](const std::string& value) {
    if (const Tensor* constant = ground.index.model().initializer(value)) return most_of(*constant);
    const auto seen = ground.seen.find(value);
    return seen == ground.seen.end() ? 0.0 : most_of(seen->second.range);
  };
  for (const auto& [name, roles] : ground.placement.nodes) {
    if (ground.schemes.of(name).weight->type != DataType::float16) continue;
    const graph::Node& node = *ground.index.node(name);
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const auto& value : *values) {
        const double size = value.empty() ? 0 : most(value);
        if (size > largest_half)
          out.emplace(name, "float16 ends at 65504, and '" + value + "' goes to " + in_digits(size, 3) + " there");
      }
    }
  }
  return out;
}

}  // namespace quasar::quant
