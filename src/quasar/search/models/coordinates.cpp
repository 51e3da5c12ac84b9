#include "quasar/search/models/coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quasar::search {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// Ends of the logarithmic axis; whole numbers own half a unit to either side.
std::pair<double, double> log_ends(const Distribution& distribution) {
  if (const auto* d = std::get_if<Integer>(&distribution)) {
    return {std::log(static_cast<double>(d->low) - 0.5), std::log(static_cast<double>(d->high) + 0.5)};
  }
  const Real& d = std::get<Real>(distribution);
  return {std::log(d.low), std::log(d.high)};
}

bool logarithmic(const Distribution& distribution) {
  if (const auto* d = std::get_if<Integer>(&distribution)) return d->log;
  const auto* d = std::get_if<Real>(&distribution);
  return d != nullptr && d->log && d->low < d->high;
}

}  // namespace

double to_unit(const Distribution& distribution, const Json& value) {
  if (!contains(distribution, value)) return missing;
  if (std::holds_alternative<Categorical>(distribution)) return static_cast<double>(*position_of(distribution, value));
  if (logarithmic(distribution)) {
    const auto [low, high] = log_ends(distribution);
    return (std::log(value.get<double>()) - low) / (high - low);
  }
  if (const auto n = cardinality(distribution)) {
    return (static_cast<double>(*position_of(distribution, value)) + 0.5) / static_cast<double>(*n);
  }
  const Real& d = std::get<Real>(distribution);
  return (value.get<double>() - d.low) / (d.high - d.low);
}

Json from_unit(const Distribution& distribution, double x) {
  if (std::holds_alternative<Categorical>(distribution)) return value_at(distribution, static_cast<uint64_t>(x));
  if (logarithmic(distribution)) {
    const auto [low, high] = log_ends(distribution);
    const double value = std::exp(low + x * (high - low));
    if (const auto* d = std::get_if<Integer>(&distribution)) {
      return std::clamp(static_cast<int64_t>(std::llround(value)), d->low, d->high);
    }
    const Real& d = std::get<Real>(distribution);
    return std::clamp(value, d.low, d.high);
  }
  if (const auto n = cardinality(distribution)) {
    return value_at(distribution, std::min(static_cast<uint64_t>(x * static_cast<double>(*n)), *n - 1));
  }
  const Real& d = std::get<Real>(distribution);
  return std::clamp(d.low + x * (d.high - d.low), d.low, d.high);
}

Json from_uniform(const Distribution& distribution, double u) {
  if (!std::holds_alternative<Categorical>(distribution)) return from_unit(distribution, u);
  const uint64_t n = *cardinality(distribution);
  return value_at(distribution, std::min(static_cast<uint64_t>(u * static_cast<double>(n)), n - 1));
}

namespace {

// Whether no point of the space has the parameter: a parent is held at a value that rules it out, or has no values itself.
bool is_ruled_out(const Space& space, const Parameter& parameter) {
  return std::ranges::any_of(parameter.conditions, [&](const Condition& condition) {
    const Parameter* parent = space.find(condition.parent);
    if (parent == nullptr) return false;
    return (parent->pinned && !condition.allows(*parent->pinned)) || is_ruled_out(space, *parent);
  });
}

}  // namespace

Coordinates coordinates(const Space& space, const Point& point) {
  Coordinates out;
  for (const Parameter& p : space.parameters()) {
    const Json* value = p.pinned ? nullptr : point.find(p.name);
    out.push_back(value == nullptr || is_ruled_out(space, p) ? missing : to_unit(*p.distribution, *value));
  }
  return out;
}

std::optional<std::pair<double, double>> cell(const Distribution& distribution, double x) {
  if (std::holds_alternative<Categorical>(distribution)) return std::nullopt;
  if (const auto* d = std::get_if<Integer>(&distribution); d && d->log) {
    const auto [low, high] = log_ends(distribution);
    const double value = from_unit(distribution, x).get<double>();
    return std::pair{(std::log(value - 0.5) - low) / (high - low), (std::log(value + 0.5) - low) / (high - low)};
  }
  const auto cells = cardinality(distribution);
  if (!cells) return std::nullopt;
  const double n = static_cast<double>(*cells);
  const double i = std::min(std::floor(std::clamp(x, 0.0, 1.0) * n), n - 1);
  return std::pair{i / n, (i + 1) / n};
}

}  // namespace quasar::search
