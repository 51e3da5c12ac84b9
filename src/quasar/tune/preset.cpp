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

Json with_preset(const Json& words) {
  static const std::vector<std::string> later{"XINT8_SEARCH", "A8W8_SEARCH", "A16W8_SEARCH", "ADVANCED_SEARCH",
                                              "search_space_XINT8"};
  const Json name = words.value("preset", Json());
  if (name.is_null()) return words;
  if (!name.is_string()) throw Error("preset is " + name.dump() + ", but must be a name: " + joined(presets::table().names()));
  return over_preset(words, presets::table().find(name.get<std::string>(), later).second.make({})->words());
}

}  // namespace quasar::tune
