#include "quasar/tune/preset.hpp"

namespace quasar::tune {

Json over_preset(const Json& words, const Json& preset) {
  Json merged = preset;
  for (const auto& [key, value] : words.items()) {
    const bool both = key == "search_space" && value.is_object() && merged.contains(key);
    if (!both) {
      merged[key] = value;
      continue;
    }
    for (const auto& [name, choices] : value.items()) merged[key][name] = choices;
  }
  return merged;
}

}  // namespace quasar::tune
