#include "quasar/quant/codes/code_limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"

namespace quasar::quant {
namespace {

constexpr std::array saturations{Saturation::avoid, Saturation::raise_scales, Saturation::reduce_range,
                                 Saturation::unsigned_weights, Saturation::ignore};
constexpr int32_t seven_bits = 64;  // −64 … 64, as ONNX Runtime's reduce_range

// By scale: the tensor has one, or one per slice along an axis.
class ScaleOf {
 public:
  ScaleOf(const Shape& shape, const QuantParams& params) {
    if (params.axis < 0) return;
    inner_ = count_of(Shape(shape.begin() + params.axis + 1, shape.end()));
    count_ = static_cast<size_t>(shape[static_cast<size_t>(params.axis)]);
  }
  size_t of(size_t element) const { return count_ == 1 ? 0 : element / inner_ % count_; }

 private:
  size_t inner_ = 1, count_ = 1;
};

// For each scale the least one that leaves room for its pairs.
std::vector<double> least_scales(const QuantParams& params, const Tensor& weights, const CodeLimits& limits) {
  const auto values = weights.as<float>();
  const ScaleOf scale_of(weights.shape(), params);
  std::vector<double> least(params.scales.size(), 0.0);
  ops::for_pairs(limits.order, [&](size_t i, size_t j) {
    const auto a = static_cast<double>(values[i]), b = static_cast<double>(values[j]);
    if (a * b <= 0) return;
    double& one = least[scale_of.of(i)];
    one = std::max(one, std::abs(a + b) / (limits.pair - 1));
  });
  return least;
}

bool is_centred(const QuantParams& params) {
  return std::ranges::all_of(params.zero_points, [](int32_t zero_point) { return zero_point == 0; });
}

// Half as many codes over the same range.
void halve_grid(QuantParams& params, ScaleType scale_type) {
  const double codes = (is_centred(params) ? 127.0 : 128.0) / seven_bits;
  for (size_t k = 0; k < params.scales.size(); k++) {
    params.scales[k] = static_cast<float>(scale_above(static_cast<double>(params.scales[k]) * codes, scale_type));
    params.zero_points[k] = static_cast<int32_t>(std::nearbyint(params.zero_points[k] / codes));
  }
}

// Σ (value − weight)² by scale.
std::vector<double> squared_errors(const Tensor& weights, const QuantParams& params, const CodeLimits& limits) {
  const Tensor rounded = dequantize(quantize_within(weights, params, limits), params);
  const auto exact = weights.as<float>(), used = rounded.as<float>();
  const ScaleOf scale_of(weights.shape(), params);
  std::vector<double> out(params.scales.size(), 0.0);
  for (size_t i = 0; i < exact.size(); i++) {
    const double error = static_cast<double>(exact[i]) - static_cast<double>(used[i]);
    out[scale_of.of(i)] += error * error;
  }
  return out;
}

}  // namespace

Saturation parse_saturation(const Json& value) {
  std::vector<std::string> names;
  for (const Saturation one : saturations) {
    names.push_back(name_of(one));
    if (value.is_string() && normalized(value.get<std::string>()) == normalized(names.back())) return one;
  }
  throw Error("saturation is " + value.dump() + ", but must be one of " + joined(names) +
              (value.is_string() ? did_you_mean(value.get<std::string>(), names) : ""));
}

std::string name_of(Saturation saturation) {
  constexpr std::array names{"avoid", "raise_scales", "reduce_range", "unsigned", "ignore"};
  return names.at(static_cast<size_t>(saturation));
}

CodeLimits limit_codes(QuantParams& params, Saturation saturation, const ops::SumOrder& order, int32_t most_input,
                       ScaleType scale_type) {
  constexpr int32_t most_sum = 32767, all = 127;
  if (params.type != DataType::int8 || params.block > 0 || saturation == Saturation::ignore) return {};
  const bool has_pairs = order.terms > 1;
  if (!has_pairs)
    return {.most = (saturation == Saturation::avoid || saturation == Saturation::raise_scales) && is_centred(params) ? all : 0};
  if (saturation == Saturation::reduce_range) {
    halve_grid(params, scale_type);
    return {.most = seven_bits, .pair = 0, .order = order};
  }
  if (saturation == Saturation::unsigned_weights || !is_centred(params)) {
    params = stored_as(DataType::uint8, std::move(params));
    return {};
  }
  const int32_t pair = most_sum / std::max(most_input, 1);
  return {.most = all, .pair = pair >= 2 * all ? 0 : pair, .order = order};
}

size_t fit_to_pairs(QuantParams& params, const Tensor& weights, const CodeLimits& limits, ScaleType scale_type) {
  if (limits.pair == 0) return 0;
  const std::vector<double> least = least_scales(params, weights, limits);
  QuantParams raised = params;
  for (size_t k = 0; k < least.size(); k++) {
    if (least[k] > static_cast<double>(params.scales[k]))
      raised.scales[k] = static_cast<float>(scale_above(least[k], scale_type));
  }
  if (scale_type == ScaleType::power_of_two) {
    const auto usual = squared_errors(weights, params, limits), coarser = squared_errors(weights, raised, limits);
    for (size_t k = 0; k < least.size(); k++) {
      if (usual[k] <= coarser[k]) raised.scales[k] = params.scales[k];
    }
  }
  size_t changed = 0;
  for (size_t k = 0; k < least.size(); k++) changed += raised.scales[k] != params.scales[k] ? 1 : 0;
  params = std::move(raised);
  return changed;
}

void keep_pair(int32_t& a, int32_t& b, int32_t pair) {
  const bool negative = a < 0;
  if (a == 0 || b == 0 || negative != (b < 0)) return;
  int32_t x = std::abs(a), y = std::abs(b);
  const int32_t excess = x + y - pair;
  if (excess <= 0) return;
  // The larger one gives the odd step.
  int32_t from_x = excess / 2, from_y = excess / 2;
  (x >= y ? from_x : from_y) += excess % 2;
  // None gives more than it has.
  const int32_t short_x = std::max(from_x - x, 0), short_y = std::max(from_y - y, 0);
  x -= from_x - short_x + short_y;
  y -= from_y - short_y + short_x;
  a = negative ? -x : x;
  b = negative ? -y : y;
}

Tensor quantize_within(const Tensor& values, const QuantParams& params, const CodeLimits& limits) {
  Tensor codes = quantize(values, params);
  if (!limits.any()) return codes;
  std::vector<int32_t> plain = plain_codes(codes);
  bool changed = false;
  for (int32_t& code : plain) {
    const int32_t kept = std::clamp(code, -limits.most, limits.most);
    changed = changed || kept != code;
    code = kept;
  }
  if (limits.pair > 0) {
    ops::for_pairs(limits.order, [&](size_t i, size_t j) {
      const int32_t before = plain[i] + plain[j];
      keep_pair(plain[i], plain[j], limits.pair);
      changed = changed || plain[i] + plain[j] != before;
    });
  }
  return changed ? codes_tensor(params.type, values.shape(), plain) : codes;
}

}  // namespace quasar::quant
