// The files that a search, or a worker, writes into its folder.
#pragma once

#include <filesystem>

#include "quasar/job/job.hpp"

namespace quasar::report {

// Throws Error when one of them would replace what the search reads, its configuration (empty: none in a file), model or data, or
// cannot stand where a folder, device or pipe is.
void check_results(const tune::Job& job, const std::filesystem::path& configuration);

// The same for a worker's own output_dir, which takes its log and the models that keep_models asks for.
void check_worker_results(const tune::Job& job, const std::filesystem::path& configuration);

inline constexpr const char* worker_log = "worker.log";

}  // namespace quasar::report
