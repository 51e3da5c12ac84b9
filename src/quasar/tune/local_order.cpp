#include "quasar/tune/local_order.hpp"

#include <algorithm>
#include <cmath>

namespace quasar::tune {

bool outputs_compare(std::span<const UnitError> units) {
  return std::ranges::all_of(units, [](const UnitError& unit) { return std::isfinite(unit.output_error); });
}

bool ranked_locally_if_need_be(std::vector<UnitError>& units) {
  if (outputs_compare(units)) return true;
  std::ranges::stable_sort(units, std::ranges::greater(), &UnitError::noise_to_signal);
  return false;
}

}  // namespace quasar::tune
