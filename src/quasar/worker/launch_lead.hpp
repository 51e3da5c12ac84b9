// The first of the processes that mpirun or srun started together: when it has gone, the others do not wait for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "quasar/job/job.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {

// A launch is held in the storage as a study is, under an id that no study has.
int64_t id_of_launch(const std::string& launch);

// Seconds for which a launch that was held is not held any more until its first process is taken to be gone: longer than one that
// lives needs to come back to a server that was restarted.
inline constexpr double launch_grace = 12;

// Holds the launch for as long as it lives.
class LaunchLead {
 public:
  // Of a storage that is not shared, and without a launch (""), there is nobody to be led. Throws Error when the storage cannot
  // be opened.
  LaunchLead(const Job& job, const std::string& launch);

  // For a process that fails, perhaps at once: returns when those that began with it have had the time to see that it was there,
  // or when `stop` stops.
  void let_others_see(const std::stop_token& stop) const;

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::unique_ptr<search::Storage> storage_;
  std::unique_ptr<search::StudyLock> lock_;
  std::optional<Watch> keeper_;  // the last member: it ends first
};

}  // namespace quasar::tune
