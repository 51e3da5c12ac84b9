// What one parameter may be: choices, whole numbers or real numbers. The three kinds that Optuna's schema knows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"

namespace quasar::search {

// One of a list of distinct values of any kind: texts, numbers, null, lists, mappings.
struct Categorical {
  std::vector<Json> choices;
  bool operator==(const Categorical&) const = default;
};

// low, low + step, … high. `high` is reached exactly; log: uniform in the logarithm, then step is 1 and low ≥ 1.
struct Integer {
  int64_t low = 0, high = 0, step = 1;
  bool log = false;
  bool operator==(const Integer&) const = default;
};

// [low, high]; with a step the values low, low + step, … high; log: uniform in the logarithm, then low > 0 and no step.
struct Real {
  double low = 0, high = 0;
  std::optional<double> step = {};
  bool log = false;
  bool operator==(const Real&) const = default;
};

using Distribution = std::variant<Categorical, Integer, Real>;

// Shared, never changed, by the space that made it and by all trials that drew from it.
using DistributionPtr = std::shared_ptr<const Distribution>;

// How many different values there are; nullopt: a continuum.
QUASAR_API std::optional<uint64_t> cardinality(const Distribution& distribution);

// The i-th value, i below cardinality(); a continuum has none.
QUASAR_API Json value_at(const Distribution& distribution, uint64_t i);

// The inverse of value_at; nullopt when `value` is not one of them.
QUASAR_API std::optional<uint64_t> position_of(const Distribution& distribution, const Json& value);

// Whether the distribution can give this value.
QUASAR_API bool contains(const Distribution& distribution, const Json& value);

}  // namespace quasar::search
