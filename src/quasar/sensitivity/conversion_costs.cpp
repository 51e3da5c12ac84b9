#include "quasar/sensitivity/conversion_costs.hpp"

#include <algorithm>

namespace quasar::tune {
namespace {

// Of one value: what calling a kernel takes, and what each element takes. Measured where a model has changes of form of its own.
constexpr double microseconds_per_call = 3, microseconds_per_element = 2e-4;

double elements(const std::string& value, const stats::Statistics& seen) {
  const auto found = seen.find(value);
  if (found == seen.end()) return 0;
  double out = 1;
  for (const auto size : found->second.shape) out *= static_cast<double>(std::max<int64_t>(size, 1));
  return out;
}

// Of changes of form in the quantized model; a model that has none tells nothing.
double price_per_element(const std::map<std::string, double>& conversions, const stats::Statistics& seen) {
  double time = 0, count = 0;
  for (const auto& [value, took] : conversions) {
    const double size = elements(value, seen);
    if (size < 10000) continue;
    time += std::max(took - microseconds_per_call, 0.0);
    count += size;
  }
  return count > 0 ? time / count : microseconds_per_element;
}

}  // namespace

ConversionCosts::ConversionCosts(const OperatorCosts& costs, const stats::Statistics& seen)
    : seen_(seen), entering_(price_per_element(costs.entering, seen)), leaving_(price_per_element(costs.leaving, seen)) {}

double ConversionCosts::entering(const std::string& value) const {
  return microseconds_per_call + entering_ * elements(value, seen_);
}

double ConversionCosts::leaving(const std::string& value) const {
  return microseconds_per_call + leaving_ * elements(value, seen_);
}

}  // namespace quasar::tune
