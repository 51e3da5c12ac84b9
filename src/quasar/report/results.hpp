// The files that a search writes into its folder.
#pragma once

#include <filesystem>

#include "quasar/tune/job.hpp"

namespace quasar::report {

// Throws Error when one of them would replace what the search reads, its configuration (empty: none in a file), model or data, or
// cannot stand where a folder, device or pipe is.
void check_results(const tune::Job& job, const std::filesystem::path& configuration);

}  // namespace quasar::report
