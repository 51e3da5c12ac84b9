// Processes that mpirun or srun started together: the first leads the search, the others work for it. Nothing of MPI is needed
// but the number of each, and a storage that all share.
#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "quasar/job/job.hpp"

namespace quasar::tune {

// Which process this is of those that were started together (Open MPI, PMIx, MPICH and Intel MPI, Slurm); 0: the first, or the
// only one.
int64_t rank();

// What those processes have in common, and no others; "": this one was started by itself, or by MPICH's mpirun, which says no
// such thing: its processes find their search by the study alone.
std::string launch();

// The name of this process in what it says where others may work on the study, as `quasar status` shows it; "" elsewhere.
std::string name_among_others(const StudyKeys& study);

// Throws Error for a process that is not the first, where the job's storage is not one that all share.
void require_shared(const StudyKeys& study);

// The job of a worker that leaves no files behind: what it writes all the same goes into `scratch`.
Job in_scratch(Job job, const std::filesystem::path& scratch);

// Returns when the first process holds the launch no more (LaunchLead), or the study where there is no name of a launch, or when
// `stop` stops. A server that is away for a moment
// is no end.
void wait_for_first(const StudyKeys& study, const std::string& launch, const std::stop_token& stop);

}  // namespace quasar::tune
