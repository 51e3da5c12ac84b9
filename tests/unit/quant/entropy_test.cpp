// Entropy calibration keeps the bulk of what was observed, whatever the distribution's form.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "quasar/base/rng.hpp"
#include "quasar/quant/codes/central_range.hpp"
#include "quasar/quant/codes/quantization_error.hpp"
#include "quasar/quant/codes/range.hpp"

namespace quasar::quant {
namespace {

using stats::Range;

// From a normal value g and a uniform one u of 0…1.
using Form = std::function<double(double g, double u)>;

// Without tails: clipping can only lose.
const std::map<std::string, Form> compact{
    {"uniform", [](double, double u) { return u; }},
    {"sigmoid", [](double g, double) { return 1 / (1 + std::exp(-g)); }},
    {"steep sigmoid", [](double g, double) { return 1 / (1 + std::exp(-4 * g)); }},
    {"relu6", [](double g, double) { return std::clamp(5 * g, 0.0, 6.0); }},
    {"away from zero", [](double g, double) { return g + 5; }},
    {"below zero", [](double g, double) { return g - 5; }},
    {"far from zero", [](double g, double) { return g + 100; }},
    {"narrow and far", [](double, double u) { return 3 + 1e-3 * u; }},
    {"two modes", [](double g, double u) { return 0.2 * g + (u < 0.5 ? 1 : 6); }},
    {"two modes, two signs", [](double g, double u) { return 0.2 * g + (u < 0.5 ? -1 : 6); }},
    {"one value", [](double, double) { return 2.5; }},
    {"two values", [](double, double u) { return u < 0.5 ? 0 : 1; }},
    {"rare ones", [](double, double u) { return u < 0.998 ? 0 : 1; }},
    {"seven values", [](double, double u) { return std::floor(u * 7) / 7; }},
    {"hundred values", [](double, double u) { return std::floor(u * u * 100); }},
    {"few uneven values", [](double, double u) { return u < 0.9    ? 1
                                                        : u < 0.95 ? 2
                                                                   : 1000; }},
    {"pixels", [](double g, double) { return std::floor(std::clamp(128 + 60 * g, 0.0, 255.0)) / 127.5 - 1; }}};

const std::map<std::string, Form> tailed{
    {"normal", [](double g, double) { return g; }},
    {"relu", [](double g, double) { return std::max(0.0, g); }},
    {"square", [](double g, double) { return g * g; }},
    {"exponential", [](double g, double) { return std::exp(g); }},
    {"long tail", [](double g, double) { return std::exp(2 * g); }},
    {"laplace", [](double g, double u) { return std::copysign(-std::log(1 - u), g); }},
    {"cauchy", [](double, double u) { return std::tan(std::numbers::pi * (u - 0.5)); }},
    {"fourth power", [](double g, double) { return std::copysign(std::pow(g, 4), g); }},
    {"spike before a tail", [](double g, double u) { return u < 0.5    ? 1
                                                            : u < 0.55 ? 1 + std::abs(g)
                                                                       : 0.3 * std::abs(g); }},
    {"rare second mode", [](double g, double u) { return 0.2 * g + (u < 0.99 ? 1 : 30); }}};

const std::vector<Scheme> schemes{{.type = DataType::int8, .symmetric = true},
                                  {.type = DataType::uint8, .symmetric = false},
                                  {.type = DataType::int8, .symmetric = false},
                                  {.type = DataType::int4, .symmetric = true}};

std::vector<float> drawn(const Form& form, size_t count) {
  Rng rng(5);
  std::vector<float> values(count);
  for (float& x : values) {
    const double normal = rng.normal();
    x = static_cast<float>(form(normal, rng.uniform()));
  }
  return values;
}

Range pick(const stats::TensorStats& seen, const Scheme& scheme) {
  return ranges::table().make("entropy")->pick(seen, scheme);
}

void for_each_case(const std::map<std::string, Form>& forms,
                   const std::function<void(const std::vector<float>&, const Scheme&)>& check) {
  for (const auto& [name, form] : forms) {
    for (const size_t count : {200, 3000, 20000, 200000}) {
      const auto values = drawn(form, count);
      for (const Scheme& scheme : schemes) {
        SCOPED_TRACE(name + ", " + std::to_string(count) + " values, " + std::string(name_of(scheme.type)) +
                     (scheme.symmetric ? " symmetric" : ""));
        check(values, scheme);
      }
    }
  }
}

// Clipped: a step and more beyond the outermost code, so that bins may straddle it.
TEST(Entropy, ClipsNoMoreThanACodeHoldsOnAverage) {
  for (const auto& forms : {compact, tailed}) {
    for_each_case(forms, [](const std::vector<float>& values, const Scheme& scheme) {
      const auto seen = stats::of_values(values, {.histogram = true});
      const ScaleAndZero made = scale_for(pick(seen, scheme), scheme.type, scheme.symmetric, scheme.scale_type);
      const Grid grid = grid_of(scheme.type, scheme.symmetric);
      const auto clipped = std::ranges::count_if(values, [&](double x) {
        const double code = x / made.scale + made.zero_point;
        return code < static_cast<double>(grid.low) - 1 || code > static_cast<double>(grid.high) + 1;
      });
      const auto nonzero = std::ranges::count_if(values, [](float x) { return x != 0; });
      EXPECT_LE(clipped * std::max<int64_t>(grid.high - grid.low, 100), nonzero);
    });
  }
}

// Of 8 bits nothing is lost; of 4 bits, modes may be cut at their edges.
TEST(Entropy, NotWorseThanMinMaxWhereThereIsNoTail) {
  for_each_case(compact, [](const std::vector<float>& values, const Scheme& scheme) {
    const auto seen = stats::of_values(values, {.histogram = true});
    const QuantizationError error(seen.histogram);
    const double most = bits_of(scheme.type) == 8 ? 1.01 : 1.5;
    EXPECT_LE(error.squared(pick(seen, scheme), scheme), most * error.squared(with_zero(seen.histogram.range()), scheme));
  });
}

// The other way round: a long tail is still cut.
TEST(Entropy, CutsLongTails) {
  for (const char* name : {"long tail", "cauchy", "fourth power"}) {
    const auto seen = stats::of_values(drawn(tailed.at(name), 200000), {.histogram = true});
    for (const Scheme& scheme : schemes) {
      const Range range = pick(seen, scheme), full = with_zero(seen.histogram.range());
      EXPECT_LT(range.high - range.low, 0.3 * (full.high - full.low)) << name;
    }
  }
}

}  // namespace
}  // namespace quasar::quant
