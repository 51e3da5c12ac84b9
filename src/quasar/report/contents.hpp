// What every report shows of one search, as one JSON value: result.json, the trials, and what follows from them. A part that a
// search does not have is left out, and every writer leaves it out in turn.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "quasar/base/json.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::report {

// {title, running, result, words, objectives: [{name, direction}], metrics: {name: {direction, proportion}},
//  parameters: [{name, kind, choices | low, high, log}], importance: [{name, share}], sureness, advice: [text],
//  pictures: of the worst samples (pictures.hpp), where the output folder has some,
//  timeline: which process ran what (timeline.hpp), where there were several processes or several trials at a time,
//  missing: why there are no trials, where the search had some and its study is gone,
//  trials: [{number, state, values, params, metrics, start_s, seconds, worker, violation, …}]}.
//   result: as in result.json (a running search's has what is known so far)      words: the job's configuration
//   start_s: seconds since the first trial's start                               seconds: how long the trial took
//   violation: by how much the trial exceeds its constraints; left out where it keeps them
Json contents_of(const Json& result, std::span<const search::Trial> trials, const Json& words);

// The contents of a finished or interrupted search, from its result.json and its study. `storage`: where that study is, if not
// where result.json says. Throws Error for a folder that holds no search, for a `storage` without the study, and where
// result.json alone names a server (tune::expect_consent).
Json open_contents(const std::filesystem::path& output_dir, const std::string& storage = "");

}  // namespace quasar::report
