// Auto Search's first form (v1), translated into the hierarchical one: calibrate_method, activation_type, weight_type, include_…,
// extra_options with FastFinetune.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

struct Translation {
  Json space;                      // hierarchical
  std::vector<std::string> notes;  // what has no effect here, and why
};

// A space over the base configuration (quant_config: what holds where the space says nothing; v1's words, single values). Keys
// that v1 does not have pass through. Throws Error for words of both forms in one space, and for values that are no types.
Translation from_v1(const Json& space, const Json& base);

// v1's base configuration in words: a mapping as it stands, the name of a scheme (S8S8_AAWS) as what v1 calls its settings.
Json base_of(const Json& quant_config);

// A whole job: spaces, search_algo, metrics and defaults of v1 where it is written in that form; otherwise as it is. Keys must
// be canonical. The translated job holds no v1 keys any more.
struct JobTranslation {
  Json words;
  bool translated = false;
  std::vector<std::string> notes;
};
JobTranslation job_from_v1(const Json& words);

}  // namespace quasar::tune
