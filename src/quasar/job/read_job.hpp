// The keys of a configuration become a job.
#pragma once

#include <filesystem>

#include "quasar/job/job.hpp"
#include "quasar/job/strategy_facts.hpp"

namespace quasar::tune {

// Checks a configuration, as parse_job() (parse_job.hpp), which knows the strategies.
Job read_job(const Json& words, const std::filesystem::path& base, const KnownStrategies& strategies);

}  // namespace quasar::tune
