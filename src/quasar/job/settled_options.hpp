// Options of rounding that cannot make another model get one value before a search begins, so that its trials go to models that
// differ.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// Each such option of the space has its first choice, or the low end of its range; of numbers of iterations that do the same the
// first stays. Options that a condition (only_if) names stay as they are. -> names of the options that had several values:
// "adaround_params.learning_rate".
std::vector<std::string> settle_options(Json& space);

// A configuration that is tried first (enqueue), with the values that the settled space has in place of those that it had.
void settle_configuration(Json& configuration, const Json& space, const Json& settled);

}  // namespace quasar::tune
