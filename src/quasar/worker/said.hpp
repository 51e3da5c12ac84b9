// What the leader of a shared search has said last in its study.
#pragma once

#include <string>

#include "quasar/search/study.hpp"

namespace quasar::tune {

// Each part may be missing: "".
struct Said {
  std::string state, reason, run, launch;
  explicit Said(const search::StudyRecord& study) {
    const Json all = study.user_attributes.value(search::search_attribute, Json());
    const auto part = [&](const char* key) {
      const Json value = all.is_object() ? all.value(key, Json()) : Json();
      return value.is_string() ? value.get<std::string>() : std::string();
    };
    state = part("state");
    reason = part("reason");
    run = study.name + " " + part("run");
    launch = part("launch");
  }
};

}  // namespace quasar::tune
