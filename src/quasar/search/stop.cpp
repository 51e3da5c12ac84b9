#include "quasar/search/stop.hpp"

#include "quasar/base/error.hpp"

namespace quasar::search {

StopConditions stop_conditions(const Json& words) {
  if (words.is_null()) return {};
  if (!words.is_object()) throw Error("stop conditions must be a mapping of names to values, not " + words.dump());
  StopConditions out;
  for (const auto& [name, value] : words.items()) {
    const auto& [canonical_name, entry] = stop::table().find(name);
    if (value.is_null() || value == -1) continue;
    out.push_back(stop::table().make(canonical_name, Json{{entry.options.front().name, value}}));
  }
  return out;
}

}  // namespace quasar::search
