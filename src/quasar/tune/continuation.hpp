// What `--resume` goes on with: the study as it is, or, when the search may choose from other things than before, a new one in
// the same storage that the old one teaches. NAME is succeeded by NAME-2, that by NAME-3, and so on; a study names its
// predecessor.
#pragma once

#include <span>
#include <string>

#include "quasar/search/storage.hpp"
#include "quasar/tune/job.hpp"

namespace quasar::tune {

// User attributes of a study: the name of the one before it, and what its search may choose.
inline constexpr const char* predecessor_attribute = "predecessor";
inline constexpr const char* choices_attribute = "choices";

// The newest among the study `name` and those that succeed it; nullptr: there is none of that name.
const search::StudyRecord* newest(std::span<const search::StudyRecord> studies, const std::string& name);

// {spaces: [{parameter: {distribution, conditions}}], and what narrows the space of a tuning strategy}: equal for two jobs whose
// studies hold the same parameters with the same meaning, however their files are ordered.
Json choices_of(const Job& job);

// The job with the study that it continues: its newest, or with other choices a successor of that, with a warning that says what
// changed. The same job unless it is to continue a study. Nothing is written. Throws Error for a storage that cannot be read.
Job continued(Job job);

}  // namespace quasar::tune
