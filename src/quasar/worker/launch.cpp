#include "quasar/worker/launch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {

int64_t rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (const char* text = std::getenv(name)) return std::strtoll(text, nullptr, 10);
  }
  return 0;
}

std::string launch() {
  // Open MPI numbers its jobs by its own process, whose number comes again in a container; the key of its transports does not.
  for (const auto& names : {std::vector{"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_precondition_transports"},
                            std::vector{"SLURM_JOB_ID", "SLURM_STEP_ID"}}) {
    std::string out;
    for (const char* name : names) {
      if (const char* text = std::getenv(name)) out += (out.empty() ? "" : " ") + std::string(text);
    }
    if (out.empty()) continue;
    const char* again = std::getenv("SLURM_RESTART_COUNT");  // a job that was put into the queue again has its number again
    return again == nullptr ? out : out + " " + again;
  }
  return "";
}

std::string name_among_others(const StudyKeys& study) {
  return rank() > 0 || search::is_shared_storage(study.storage) ? process_name() : "";
}

void require_shared(const StudyKeys& study) {
  if (rank() == 0 || search::is_shared_storage(study.storage)) return;
  throw Error("this is process " + std::to_string(rank()) +
              " of a search that mpirun or srun started several times: they need a storage that all share, "
              "study_storage_db: postgresql://user@host:port/database");
}

Job in_scratch(Job job, const std::filesystem::path& scratch) {
  job.output.keep_models = "best";
  job.output.dir = job.study.folder = scratch;
  if (job.words.value("temp_dir", std::string()).empty()) job.output.temp_dir = scratch / "tmp";
  return job;
}

void wait_for_first(const StudyKeys& study, const std::string& launch, const std::stop_token& stop) {
  constexpr auto pause = std::chrono::milliseconds(250);
  const auto storage = search::open_storage(storage_url(study));
  const auto is_held = [&] {
    try {
      if (!launch.empty()) return storage->sharing()->is_locked(id_of_launch(launch));
      return std::ranges::any_of(storage->studies(), [&](const search::StudyRecord& one) {
        return one.name == study.name && storage->sharing()->is_locked(one.id);
      });
    } catch (const search::ConnectionLost&) {  // so has the first process
      return true;
    }
  };
  while (!stop.stop_requested() && is_held()) std::this_thread::sleep_for(pause);
}

}  // namespace quasar::tune
