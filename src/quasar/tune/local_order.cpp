#include "quasar/tune/local_order.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quasar::tune {

bool outputs_compare(std::span<const UnitError> units) {
  return std::ranges::all_of(units, [](const UnitError& unit) { return std::isfinite(unit.output_error); });
}

bool ranked_locally_if_need_be(std::vector<UnitError>& units) {
  if (outputs_compare(units)) return true;
  std::ranges::stable_sort(units, std::ranges::greater(), &UnitError::noise_to_signal);
  return false;
}

std::vector<std::string> by_least_harm(std::vector<UnitError> units) {
  const bool compare = outputs_compare(units);
  const auto harm = [&](const UnitError& unit) {
    const double error = compare ? unit.output_error : unit.noise_to_signal;
    return std::pair(unit.work == 0, error);
  };
  std::ranges::stable_sort(units, {}, harm);
  std::vector<std::string> nodes;
  for (const auto& unit : units) nodes.push_back(unit.unit.node);
  return nodes;
}

}  // namespace quasar::tune
