#include "quasar/quant/codes/weights.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/quant/codes/block_scales.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant {
namespace {

constexpr double largest_bias_code = 1 << 30;

// The values of slice `index` along `axis`, in memory order.
std::vector<float> slice(const Tensor& tensor, size_t axis, size_t index) {
  const auto& shape = tensor.shape();
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const size_t count = static_cast<size_t>(*at), inner = count_of(Shape(at + 1, shape.end()));
  const auto values = tensor.as<float>();
  std::vector<float> out;
  out.reserve(values.size() / count);
  for (size_t from = index * inner; from < values.size(); from += count * inner) {
    out.insert(out.end(), values.begin() + static_cast<std::ptrdiff_t>(from),
               values.begin() + static_cast<std::ptrdiff_t>(from + inner));
  }
  return out;
}

bool only_zeros(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

}  // namespace

QuantParams weight_params(const Tensor& weights, std::optional<int> axis, const Scheme& scheme) {
  if (scheme.granularity == Granularity::group && axis && weights.shape().size() == 2)
    return block_params(weights, 1 - *axis, scheme);
  if (is_half(scheme.type)) return {.type = scheme.type, .scales = {1}, .zero_points = {0}};
  const auto method = ranges::table().make(scheme.range_method, scheme.range_options);
  QuantParams params{.type = scheme.type, .scales = {}, .zero_points = {}};
  const auto add = [&](std::span<const float> values) {
    const auto range = method->pick(stats::of_values(values, method->needs()), scheme);
    const auto [scale, zero_point] = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
    params.scales.push_back(scale);
    params.zero_points.push_back(zero_point);
  };
  if (scheme.granularity != Granularity::tensor && axis) {
    params.axis = *axis;
    const auto channels = static_cast<size_t>(weights.shape().at(static_cast<size_t>(*axis)));
    for (size_t k = 0; k < channels; k++) add(slice(weights, static_cast<size_t>(*axis), k));
  } else {
    add(weights.as<float>());
  }
  return params;
}

size_t fit_to_bias(QuantParams& params, const Tensor& weights, const Tensor& bias, float input_scale, ScaleType scale_type) {
  const auto values = bias.as<float>();
  const bool per_channel = params.axis >= 0;
  size_t changed = 0;
  for (size_t k = 0; k < params.scales.size(); k++) {
    double largest = per_channel ? std::abs(values[k]) : 0;
    for (size_t i = 0; !per_channel && i < values.size(); i++) largest = std::max<double>(largest, std::abs(values[i]));
    if (largest == 0) continue;
    // Scales so small that their product with the input's vanishes are no good either.
    const double tiny = std::numeric_limits<float>::min();
    double wanted = std::max({largest / (largest_bias_code * input_scale), 2 * tiny / input_scale, 2 * tiny});
    wanted = scale_above(wanted, scale_type);
    const auto least = static_cast<float>(wanted);
    const bool zeros =
        per_channel ? only_zeros(slice(weights, static_cast<size_t>(params.axis), k)) : only_zeros(weights.as<float>());
    if (params.scales[k] >= least && !zeros) continue;
    params.scales[k] = least;
    changed++;
  }
  return changed;
}

QuantParams bias_params(const QuantParams& weight, const Tensor& bias, float input_scale) {
  QuantParams params{.type = DataType::int32, .scales = {}, .zero_points = std::vector<int32_t>(weight.scales.size(), 0)};
  if (weight.axis >= 0) params.axis = static_cast<int>(bias.shape().size()) - 1;
  for (const float scale : weight.scales) params.scales.push_back(input_scale * scale);
  return params;
}

}  // namespace quasar::quant
