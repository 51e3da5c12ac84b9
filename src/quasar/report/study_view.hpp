// A search as its study shows it while it runs, to whoever has the study's address: from any machine, without its output folder.
#pragma once

#include <filesystem>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::report {

// The study of this name; "": the one whose search is led now, else the only one, else the last one made. Throws Error, which
// names those that there are.
search::StudyRecord study_in(search::Storage& storage, const std::string& name);

// {study, state, reason, trials: {complete, pruned, failed, duplicates, running, waiting}, total, rate, left_s, deaths, best,
// workers:
//  [{name, alive, running: [trial], finished, busy_s, share, lost}], running: [{trial, worker, silent_s}]}.
//   state: preparing, running, ended, or left (nobody leads it, and nobody has said why); "" where it was never led,
//   and in a file, where running is all that can be known
//   total: trials that the search will have at most; null: not said       rate: trials ended per second of the last minute, or of
//   twice a trial's time where that is longer left_s: seconds until total at that rate; null: unknown               deaths: how
//   often a worker died under a trial alive: the process is connected to the database now      busy_s: seconds in which some
//   trial ran; share: of those between the first and the last      lost: runs of trials that ended with it silent_s: seconds
//   since the trial's last heartbeat, by the server's clock; null: no heartbeats are kept
Json study_status(search::Storage& storage, const search::StudyRecord& study);

// As contents_of(): what is known so far. Metrics of the float model are not in a study. result.status: running, interrupted,
// ended (its leader has the result), or `if_unsaid` (of a study in a file, in which no search runs).
Json study_contents(search::Storage& storage, const search::StudyRecord& study, const std::string& if_unsaid = "unknown");

// Whether a search has this output folder now, so that report.html there is its own to write.
bool is_searched_now(const std::filesystem::path& output_dir);

// The database of a search: that in the folder where `place` is one, else `place`. Throws Error for a folder that has none.
std::string study_address(const std::string& place);

// Whether it is a study's database: a URL, or a file.
bool is_study_address(const std::string& place);

// The contents (contents.hpp) of a search: `place` is the address of a database with `study` ("": as study_in()), or an output
// folder. Of that the study alone is read, in the folder or at the address `storage`, where its search runs, where it has no
// result.json, and where `study` is another one. Throws Error. `log` hears what is to be known of the database meanwhile, as that
// its server does not answer.
Json contents_at(const std::string& place, const std::string& storage, const std::string& study, const Log& log = {});

// study_status() for people, at most 100 columns wide.
std::string status_table(const Json& status);

}  // namespace quasar::report
