#include "quasar/quant/codes/scheme.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"

namespace quasar::quant {
namespace {

bool is_unsigned(DataType type) {
  return type == DataType::uint2 || type == DataType::uint4 || type == DataType::uint8 || type == DataType::uint16;
}

// The zero point of symmetric quantization: the middle of the type.
int32_t middle(DataType type) {
  if (type == DataType::uint2) return 2;
  if (type == DataType::uint4) return 8;
  if (type == DataType::uint8) return 128;
  return type == DataType::uint16 ? 32768 : 0;
}

// m · 2^−n with m of 15 bits, rounded to a whole number as asked.
template <class Round>
double rational(double scale, const Round& round) {
  int exponent = 0;
  const double mantissa = std::frexp(scale, &exponent);  // from ½ to 1
  return std::ldexp(round(std::ldexp(mantissa, 15)), exponent - 15);
}

}  // namespace

Grid grid_of(DataType type, bool symmetric) {
  const auto limits = [&]<class Code>(Code) -> Grid {
    const int64_t low = std::numeric_limits<Code>::min();
    return {symmetric ? low + 1 : low, std::numeric_limits<Code>::max(), symmetric};
  };
  switch (type) {
    case DataType::int2:
      return {symmetric ? -1 : -2, 1, symmetric};
    case DataType::uint2:
      return {symmetric ? 1 : 0, 3, symmetric};
    case DataType::int4:
      return {symmetric ? -7 : -8, 7, symmetric};
    case DataType::uint4:
      return {symmetric ? 1 : 0, 15, symmetric};
    case DataType::int8:
      return limits(int8_t{});
    case DataType::uint8:
      return limits(uint8_t{});
    case DataType::int16:
      return limits(int16_t{});
    case DataType::uint16:
      return limits(uint16_t{});
    case DataType::int32:
      return limits(int32_t{});
    default:
      throw Error("there are no codes of type " + std::string(name_of(type)) + "; integers of 2, 4, 8, 16 and 32 bits are");
  }
}

bool is_zero(const stats::Range& range) {
  constexpr double least = 65535.0 * static_cast<double>(std::numeric_limits<float>::min());
  return range.low > -least && range.high < least;
}

bool is_zero(const Tensor& constant) {
  if (constant.type() != DataType::float32) return false;
  return std::ranges::all_of(constant.as<float>(), [](float value) { return is_zero(stats::Range{value, value}); });
}

ScaleAndZero scale_for(const stats::Range& range, DataType type, bool symmetric, ScaleType scale_type) {
  const Grid grid = grid_of(type, symmetric);
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  const double steps = static_cast<double>(symmetric ? grid.high - middle(type) : grid.high - grid.low);
  double scale = (symmetric ? std::max(-low, high) : high - low) / steps;
  if (scale_type == ScaleType::power_of_two && scale > 0) scale = std::exp2(-std::nearbyint(-std::log2(scale)));
  if (scale_type == ScaleType::int16) scale = rational(scale, [](double m) { return std::nearbyint(m); });
  const float rounded = static_cast<float>(scale);
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || !std::isnormal(rounded)) {
    return {1, is_unsigned(type) && !symmetric ? 0 : middle(type)};
  }
  if (symmetric) return {rounded, middle(type)};
  // Not from the rounded scale: [−1, 1] is a tie, and gets the even zero point.
  const double places = scale_type == ScaleType::power_of_two ? low / scale : low * steps / (high - low);
  const double zero = std::nearbyint(static_cast<double>(grid.low) - places);
  return {rounded, static_cast<int32_t>(std::clamp(zero, static_cast<double>(grid.low), static_cast<double>(grid.high)))};
}

double scale_above(double scale, ScaleType scale_type) {
  if (scale_type == ScaleType::power_of_two) return power_of_two_above(scale);
  return scale_type == ScaleType::int16 ? rational(scale, [](double m) { return std::ceil(m); }) : scale;
}

bool is_half(DataType type) {
  return type == DataType::float16 || type == DataType::bfloat16;
}

double power_of_two_above(double scale) {
  int exponent = 0;
  const double mantissa = std::frexp(scale, &exponent);  // from ½ to 1
  return std::ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

}  // namespace quasar::quant
