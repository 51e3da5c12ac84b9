#include "quasar/quant/codes/block_scales.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/cpu_dispatch.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/half_quadratic.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant {
namespace {

constexpr int shrinking_steps = 32;    // of 1/64 each: down to half the range
constexpr int power_of_two_steps = 3;  // exponents below min_max's

constexpr size_t lanes = 8;

// Σ (clamp(round(u)) − u)², u = x / scale. `count` is a multiple of the lanes.
QUASAR_CLONES("avx2", "default") double squared_steps(const float* x, size_t count, float per_scale, float low, float high) {
  float sum[lanes] = {};
  for (size_t i = 0; i < count; i += lanes) {
    for (size_t j = 0; j < lanes; ++j) {
      const float steps = x[i + j] * per_scale;
      float code = std::nearbyintf(steps);
      code = code > low ? code : low;
      code = code < high ? code : high;
      sum[j] += (code - steps) * (code - steps);
    }
  }
  double total = 0;
  for (const float part : sum) total += static_cast<double>(part);
  return total;
}

// Of values that zeros (free of error) pad to a multiple of the lanes.
double squared_error(std::span<const float> padded, const ScaleAndZero& params, const Grid& whole) {
  const auto low = static_cast<float>(whole.low - params.zero_point), high = static_cast<float>(whole.high - params.zero_point);
  const auto scale = static_cast<double>(params.scale);
  return squared_steps(padded.data(), padded.size(), 1 / params.scale, low, high) * scale * scale;
}

class BlockScale {
 public:
  explicit BlockScale(const Scheme& scheme)
      : scheme_(scheme),
        whole_(grid_of(scheme.type, false)),
        method_(ranges::table().make(scheme.range_method, scheme.range_options)) {}

  bool has_real_zeros() const { return method_->of_blocks() == BlockRange::half_quadratic; }

  ScaleAndRealZero with_real_zero(const std::vector<float>& values) const {
    return half_quadratic(values, range_of(values), scheme_.type);
  }

  ScaleAndZero of(std::vector<float>& values) const {
    const stats::Range range = range_of(values);
    switch (method_->of_blocks()) {
      case BlockRange::extremes:
        return scale_of(range);
      case BlockRange::least_error:
        values.resize((values.size() + lanes - 1) / lanes * lanes);
        return least_error(values, range);
      case BlockRange::by_histogram:
      case BlockRange::half_quadratic:
        break;
    }
    return scale_of(method_->pick(stats::of_values(values, method_->needs()), scheme_));
  }

 private:
  static stats::Range range_of(const std::vector<float>& values) {
    stats::Range range;
    for (const float value : values) {
      range.low = std::min<double>(range.low, value);
      range.high = std::max<double>(range.high, value);
    }
    return range;
  }

  ScaleAndZero scale_of(const stats::Range& range) const {
    return scale_for(range, scheme_.type, scheme_.symmetric, scheme_.scale_type);
  }

  ScaleAndZero least_error(std::span<const float> values, const stats::Range& range) const {
    const bool powers = scheme_.scale_type == ScaleType::power_of_two;
    ScaleAndZero best = scale_of(range);
    double least = squared_error(values, best, whole_);
    const auto consider = [&](double factor) {
      const ScaleAndZero tried = scale_of({range.low * factor, range.high * factor});
      const double error = squared_error(values, tried, whole_);
      if (error < least) least = error, best = tried;
    };
    if (powers) consider(2);
    for (int step = 1; step <= (powers ? power_of_two_steps : shrinking_steps); ++step)
      consider(powers ? std::exp2(-step) : 1 - step / 64.0);
    return best;
  }

  const Scheme& scheme_;
  const Grid whole_;
  const std::unique_ptr<RangeMethod> method_;
};

int32_t nearest_code(float zero_point, DataType type) {
  const Grid grid = grid_of(type, false);
  return std::clamp(static_cast<int32_t>(std::nearbyintf(zero_point)), static_cast<int32_t>(grid.low),
                    static_cast<int32_t>(grid.high));
}

}  // namespace

QuantParams block_params(const Tensor& weights, int axis, const Scheme& scheme) {
  QuantParams params{
      .type = scheme.type, .scales = {}, .zero_points = {}, .axis = axis, .block = static_cast<int>(scheme.group_size)};
  const Shape& shape = weights.shape();
  const Shape scales = scales_shape(shape, params);
  params.scales.resize(count_of(scales));
  params.zero_points.resize(params.scales.size());
  const auto length = static_cast<size_t>(shape.at(static_cast<size_t>(axis))), block = scheme.group_size;
  const auto other = static_cast<size_t>(shape.at(static_cast<size_t>(1 - axis)));
  const size_t blocks = (length + block - 1) / block;
  const auto values = weights.as<float>();
  const BlockScale scale(scheme);
  if (scale.has_real_zeros()) params.real_zero_points.resize(params.scales.size());
  parallel_for(other, 0, [&](size_t row) {
    std::vector<float> line;
    for (size_t b = 0; b < blocks; ++b) {
      line.clear();
      for (size_t i = b * block; i < std::min(length, (b + 1) * block); ++i)
        line.push_back(values[axis == 0 ? i * other + row : row * length + i]);
      const size_t place = axis == 0 ? b * other + row : row * blocks + b;
      if (scale.has_real_zeros()) {
        const ScaleAndRealZero real = scale.with_real_zero(line);
        params.scales[place] = real.scale;
        params.real_zero_points[place] = real.zero_point;
        params.zero_points[place] = nearest_code(real.zero_point, scheme.type);
        continue;
      }
      const ScaleAndZero found = scale.of(line);
      params.scales[place] = found.scale;
      params.zero_points[place] = found.zero_point;
    }
  });
  return params;
}

}  // namespace quasar::quant
