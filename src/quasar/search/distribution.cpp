#include "quasar/search/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::search {
namespace {

// Equal as values: the order of a mapping's keys does not count. Samplers ask this for every point that they look at.
bool same(const Json& a, const Json& b) {
  if (!a.is_structured() || !b.is_structured()) return a == b;
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_array()) return std::ranges::equal(a, b, same);
  return std::ranges::all_of(a.items(), [&](const auto& item) {
    const auto other = b.find(item.key());
    return other != b.end() && same(item.value(), *other);
  });
}

std::optional<uint64_t> position(const Categorical& d, const Json& value) {
  for (size_t i = 0; i < d.choices.size(); ++i) {
    if (same(d.choices[i], value)) return i;
  }
  return std::nullopt;
}

std::optional<uint64_t> position(const Integer& d, const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.get<double>();
  if (std::floor(number) != number || number < static_cast<double>(d.low) || number > static_cast<double>(d.high))
    return std::nullopt;
  const int64_t offset = static_cast<int64_t>(number) - d.low;
  return offset % d.step == 0 ? std::optional<uint64_t>(offset / d.step) : std::nullopt;
}

std::optional<uint64_t> position(const Real& d, const Json& value) {
  if (!value.is_number() || !d.step) return std::nullopt;
  const double steps = (value.get<double>() - d.low) / *d.step;
  const double nearest = std::round(steps);
  if (std::abs(steps - nearest) > 1e-8 || nearest < 0 || nearest > std::round((d.high - d.low) / *d.step)) return std::nullopt;
  return static_cast<uint64_t>(nearest);
}

}  // namespace

std::optional<uint64_t> cardinality(const Distribution& distribution) {
  if (const auto* d = std::get_if<Categorical>(&distribution)) return d->choices.size();
  if (const auto* d = std::get_if<Integer>(&distribution)) return static_cast<uint64_t>((d->high - d->low) / d->step) + 1;
  const Real& d = std::get<Real>(distribution);
  if (d.low == d.high) return 1;
  return d.step ? std::optional<uint64_t>(static_cast<uint64_t>(std::llround((d.high - d.low) / *d.step)) + 1) : std::nullopt;
}

Json value_at(const Distribution& distribution, uint64_t i) {
  if (const auto* d = std::get_if<Categorical>(&distribution)) return d->choices.at(i);
  if (const auto* d = std::get_if<Integer>(&distribution)) return d->low + static_cast<int64_t>(i) * d->step;
  const Real& d = std::get<Real>(distribution);
  return i == 0 ? d.low : std::min(d.high, d.low + static_cast<double>(i) * d.step.value());
}

std::optional<uint64_t> position_of(const Distribution& distribution, const Json& value) {
  if (const auto* d = std::get_if<Real>(&distribution); d && d->low == d->high) {
    return value.is_number() && value.get<double>() == d->low ? std::optional<uint64_t>(0) : std::nullopt;
  }
  return std::visit([&](const auto& d) { return position(d, value); }, distribution);
}

bool contains(const Distribution& distribution, const Json& value) {
  const auto* d = std::get_if<Real>(&distribution);
  if (d == nullptr || d->step) return position_of(distribution, value).has_value();
  return value.is_number() && value.get<double>() >= d->low && value.get<double>() <= d->high;
}

}  // namespace quasar::search
