// What run() is told and what it tells.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/search/study.hpp"

namespace quasar::search {

// What a listener hears, one call at a time; the references hold during the call. A trial that was interrupted has "finished" in
// state waiting.
struct Event {
  enum class Kind { started, finished } kind;
  const Trial& trial;
  const Trial* best;              // of this study so far; nullptr: none
  const Counts& counts;           // of this stage
  std::optional<uint64_t> total;  // finished trials that the stage will have at most: from n_trials and the size of the space
  bool elsewhere = false;         // another process of a shared study ran it; only its end is heard
};
using Listener = std::function<void(const Event&)>;

// What a point is tried for, in words; "": there is nothing to say.
using Purpose = std::function<std::string(const Point&)>;

// What is known of a point's result beforehand: points with the same text give the same. Takes all points of the study. An empty
// function: nothing is known.
using Likeness = std::function<std::string(const Point&)>;

// What this process does while other processes run what it waits for. Only where n_jobs is 1.
struct Ahead {
  // Does a piece of work for what comes next; called again and again. `waits`: whether points of `RunOptions::first` are still
  // without a result, which may be asked often. false: there is nothing to do. An Error says that nothing came of it.
  std::function<bool(const std::function<bool()>& waits)> work = {};
  // Whether another process makes this point ready. It begins the trial when that is done, and nobody else does.
  std::function<bool(const Point&)> is_made_elsewhere = {};
};

struct RunOptions {
  uint64_t seed = 0;
  size_t n_jobs = 1;
  std::vector<Point> first = {};  // tried before the sampler is asked; those already tried are skipped
  bool first_only = false;        // the sampler proposes nothing: the run ends with the last of these
  std::string stage = "";         // names the trials of this run, if one study holds several runs
  std::vector<Trial> prior = {};  // of an earlier study (number < 0, from as_prior): the sampler learns from them
  Cost cost = {};
  Likeness likeness = {};  // a sampler that proposes what is known is asked again, a few times
  Listener listener = {};
  Purpose step = {};  // kept with the trial
  Ahead ahead = {};
  std::stop_token stop = {};
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();  // time limits count from here
};

struct RunResult {
  enum class End { exhausted, condition, interrupted } end;
  std::string reason;  // "n_trials of 20 reached"
  Counts counts;       // of this stage
};

}  // namespace quasar::search
