// The search that a worker joins: found among the studies of its storage, and waited for when nobody leads it (yet).
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "quasar/base/log.hpp"
#include "quasar/job/job.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {

// The process that leads this launch has ended, and will never say so in the study.
class LaunchGone : public Error {
 public:
  using Error::Error;
};

// Nobody leads a search that could be joined.
class NoSearch : public Error {
 public:
  using Error::Error;
};

class SearchToJoin {
 public:
  struct Which {
    std::string launch = {};  // of processes that were started together: the search of the one which leads them; "": anybody's
    std::string run = {};     // as Said has it, of a search that ran when this worker came, and may have ended since; "": none
  };
  // Looks for the first time. `storage` must outlive it. Throws Error for a study that is there and damaged.
  SearchToJoin(Job asked, search::Storage& storage, const Which& which);

  // The job with the study as it is now, which may be another one when the leader has come.
  Job guess() const;

  // Says, before the work that would be in vain, what there is to be waited for; nothing where a search may be joined.
  void tell_what_is_missing(double patience, const Log& log) const;

  struct Found {
    Job job;
    std::optional<std::string> ended = {};  // why there is nothing to join
    bool before = false;                    // it had ended before this process came, and nobody went on
  };
  // Waits up to `patience` seconds for a leader that says "running"; what earlier runs have left in the study does not count.
  // Throws NoSearch when none comes, unless the last one has said why it ended; and Cancelled.
  Found wait(double patience, const Log& log) const;

  // For a thread beside one that prepares: why there is nothing to be joined any more, since the search has ended meanwhile;
  // nullopt: there may be. Throws LaunchGone when the first process of the launch was there, and is not any more.
  std::optional<std::string> over();

 private:
  struct Look;
  Look look() const;
  void expect_launch();
  // Whether some process leads the search, and has said nothing else than this since.
  enum class Led { yes, no, otherwise };
  Led led(const search::StudyRecord& study, std::string& trouble) const;
  bool may_be_joined(const search::StudyRecord& study, std::string& trouble) const;

  Job asked_;
  search::Storage& storage_;
  std::string launch_;
  std::set<std::string> over_;          // runs that had ended at the first look
  std::optional<std::string> leaders_;  // what over() has seen
  bool launch_seen_ = false;
  std::optional<std::chrono::steady_clock::time_point> launch_missed_;  // since when it is not held any more
};

}  // namespace quasar::tune
