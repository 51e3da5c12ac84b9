// What `--resume` goes on with: the study as it is, or, when the search may choose from other things than before, a new one in
// the same storage that the old one teaches. NAME is succeeded by NAME-2, that by NAME-3, and so on; a study names its
// predecessor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quasar/job/job.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {

// The studies of which `name` is one, each the predecessor of the next; empty: there is none of that name.
std::vector<const search::StudyRecord*> chain_of(std::span<const search::StudyRecord> studies, const std::string& name);

// The study of the chain that a job with these choices goes on with: `name` itself, otherwise the newest with the same choices;
// nullptr: none has them. A study that was cut off before it noted any has these.
const search::StudyRecord* with_choices(std::span<const search::StudyRecord> studies, const std::string& name,
                                        const Json& choices);

// {spaces: [{parameter: {distribution, conditions}}], and what narrows the space of a tuning strategy, and stages}: equal for two
// jobs whose studies hold the same parameters with the same meaning, however their files are ordered.
Json choices_of(const Job& job);

// For whoever says that there is a study to be continued: throws Error, which names those that there are, when the storage holds
// others only. Where there are none at all, the job is warned of a new one.
void expect_study(Job& job);

// The job with the study that it continues, one of its chain with the same choices, or else a successor of the newest, with a
// warning that says what changed. The same job unless it is to continue a study. Nothing is written. Throws Error for a storage
// that cannot be read.
Job continued(Job job);

}  // namespace quasar::tune
