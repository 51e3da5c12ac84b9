// Presets: whole searches by name. A preset fills only the top-level keys that the user left out.
#pragma once

#include "quasar/base/plugin.hpp"

namespace quasar::tune {

class Preset {
 public:
  explicit Preset(Json words, bool is_rescued = false) : words_(std::move(words)), is_rescued_(is_rescued) {}
  const Json& words() const { return words_; }
  // Whether the search goes on with strategy repair by itself when its result is poor.
  bool is_rescued() const { return is_rescued_; }

 private:
  Json words_;
  bool is_rescued_;
};

// What presets for one target differ in.
struct TargetSearch {
  std::string target;
  std::vector<std::string> activations;  // specifications
  bool symmetric = false;                // activations
  std::vector<std::string> methods;      // calibration methods of activations
  Json more = Json::object();            // parameters of the space besides
};

// A search in two stages: all of these calibrations with int8 weights per channel, then optimized rounding of the best.
Preset search_for(const TargetSearch& target);

// The user's words over the preset's: top-level keys that the user gave win; `search_space` is merged key by key at its first
// level, and groups of the preset whose only_if can no longer hold go. A strategy of the user's takes the place of the preset's
// two_stage_search.
Json over_preset(const Json& words, const Json& preset);

// Takes out groups that `before`, the search space as it was, had with a condition that could hold there and cannot here.
void forget_unreachable(Json& space, const Json& before);

// The words with the preset that they name filled in; without one, as they are. Keys must be canonical.
Json with_preset(const Json& words);

}  // namespace quasar::tune

namespace quasar::tune::presets {
const Table<Preset>& table();
}
