#include "quasar/rounding/scale_candidates.hpp"

#include <cmath>

namespace quasar::tune {
namespace {

bool is_power_of_two(float scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5F;
}

// The parameters for a range of codes low … high of the present grid (as real numbers).
quant::QuantParams clipped(const quant::QuantParams& params, double low, double high) {
  const auto grid = quant::grid_of(params.type, false);
  const double scale = static_cast<double>(params.scales[0]);
  const double from = scale * low * static_cast<double>(grid.low - params.zero_points[0]);
  const double to = scale * high * static_cast<double>(grid.high - params.zero_points[0]);
  const auto fresh = quant::scale_for({from, to}, params.type, false);
  quant::QuantParams out = params;
  out.scales[0] = fresh.scale;
  out.zero_points[0] = fresh.zero_point;
  return out;
}

quant::QuantParams scaled(const quant::QuantParams& params, double factor) {
  quant::QuantParams out = params;
  out.scales[0] = static_cast<float>(static_cast<double>(params.scales[0]) * factor);
  return out;
}

}  // namespace

std::vector<quant::QuantParams> scale_candidates(const quant::QuantParams& params) {
  const auto grid = quant::grid_of(params.type, false);
  const auto symmetric = quant::grid_of(params.type, true);
  const bool centred = params.zero_points[0] == (symmetric.low + symmetric.high) / 2;
  std::vector<quant::QuantParams> out{params};
  if (is_power_of_two(params.scales[0])) {
    if (!centred && params.zero_points[0] != grid.low && params.zero_points[0] != grid.high) return out;
    for (const double factor : {2.0, 0.5}) out.push_back(scaled(params, factor));
  } else if (centred || params.zero_points[0] == grid.low || params.zero_points[0] == grid.high) {
    for (const double factor : {0.9, 0.8, 0.65}) out.push_back(scaled(params, factor));
  } else {
    for (const double factor : {0.9, 0.75}) {
      out.push_back(clipped(params, 1, factor));
      out.push_back(clipped(params, factor, 1));
      out.push_back(clipped(params, factor, factor));
    }
  }
  std::erase_if(out, [](const quant::QuantParams& p) { return !std::isnormal(p.scales[0]); });
  return out;
}

}  // namespace quasar::tune
