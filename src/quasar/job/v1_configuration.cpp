#include "quasar/job/v1_configuration.hpp"

#include "quasar/job/spaces.hpp"
#include "quasar/job/v1.hpp"
#include "quasar/job/v1_names.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {

// A configuration is a space with one point.
PlainWords plain_words(const Json& words) {
  if (!is_v1(words)) return {.words = words};
  Translation translated = from_v1(Json::object(), words);
  const search::Space space = search::Space::parse(translated.space);
  PlainWords out{.words = words_of(space, space.at(0)), .notes = std::move(translated.notes)};
  out.notes.push_back("the configuration is in Auto Search's first form; translated: " + out.words.dump());
  return out;
}

}  // namespace quasar::tune
