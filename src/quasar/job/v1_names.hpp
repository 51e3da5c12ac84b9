// The names that Auto Search's first form (v1) gives to things, and what users hear about names that are none.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// Whether a space (or a base configuration) is written in v1's form.
bool is_v1(const Json& space);

}  // namespace quasar::tune

namespace quasar::tune::v1 {

// Keys of a space in this form that the hierarchical form lacks.
const std::vector<std::string>& own_keys();

// Throws Error, with a key of each, for a space that has keys of v1 only and keys of the hierarchical form only.
void refuse_mixture(const Json& space);

// Throws Error, with the nearest valid name, for a key of a space or base configuration that neither form has.
void check_key(const std::string& key);

// The same for a key of extra_options.FastFinetune.
void check_fine_tuning_key(const std::string& key);

// The same for a value of OptimAlgorithm there.
void check_fine_tuning_method(const Json& method);

}  // namespace quasar::tune::v1
