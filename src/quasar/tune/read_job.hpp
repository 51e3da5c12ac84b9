// The keys of a configuration become a job.
#pragma once

#include <filesystem>

#include "quasar/tune/job.hpp"
#include "quasar/tune/strategy_facts.hpp"

namespace quasar::tune {

// Checks a configuration, as parse_job() (parse_job.hpp), which knows the strategies.
Job read_job(const Json& words, const std::filesystem::path& base, const KnownStrategies& strategies);

}  // namespace quasar::tune
