// Which process ran which trial, when, and how much of its time that was.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::report {

// Who runs, or ran, the trial of a shared study: "process 7 on host"; "": not known.
std::string worker_of(const search::Trial& trial);

// What one process did. Duplicates are no work: they wait for another trial's result, and the process does something else.
struct Work {
  size_t finished = 0;                      // duplicates too
  double busy = 0;                          // seconds in which at least one trial ran that has ended
  std::optional<search::Time> first, last;  // the start of the first trial, the end of the last one
  std::vector<int64_t> running;             // numbers
  size_t lost = 0;                          // its runs of trials that others took for dead

  // Of the time between first and last; nullopt: nothing has ended.
  std::optional<double> share() const;
};

// By name; what names no process counts for "".
std::map<std::string, Work> work_of(std::span<const search::Trial> trials);

// {workers: [{name, finished, first_s, last_s, busy_s, share, lost}], by their first trial, share, at_once,
//  lost: [{trial, worker, start_s, found_s}], running: [{number, worker, start_s}]}. Seconds are those since `origin`.
//   share: of the time of all workers, each from its first trial to the end of its last one      at_once: trials that ran at a
//   time, on average, of the time in which any ran      lost: runs that ended with their process
// null where one process ran one trial at a time: trials have their durations, and there is nothing beside each other to see.
Json timeline_json(std::span<const search::Trial> trials, search::Time origin);

}  // namespace quasar::report
