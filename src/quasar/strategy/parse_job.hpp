// A job from the user's words.
#pragma once

#include <filesystem>

#include "quasar/job/job.hpp"

namespace quasar::tune {

// Checks a configuration. Relative paths start from `base`, also those of sqlite:/// URLs. Throws Error: unknown keys (nearest
// valid name), wrong types, keys that a later version brings ("not yet supported"), required keys missing.
Job parse_job(const Json& words, const std::filesystem::path& base);

}  // namespace quasar::tune
