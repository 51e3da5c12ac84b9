// One configuration, instead of a space, in Auto Search's first form (v1).
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

struct PlainWords {
  Json words;                           // a configuration in the hierarchical form, without choices
  std::vector<std::string> notes = {};  // what it was translated to, and what of it has no effect here
};

// calibrate_method, activation_type, include_…, extra_options with single values in the words of a configuration; words in the
// hierarchical form as they are. Throws Error for values that are no types.
PlainWords plain_words(const Json& words);

}  // namespace quasar::tune
