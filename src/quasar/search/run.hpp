// The search loop: ask, try, tell, until a stop condition holds, the space is exhausted or someone stops it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/search/study.hpp"

namespace quasar::search {

// A trial as its objective sees it; used by the objective's thread only.
class Job {
 public:
  virtual ~Job() = default;
  virtual const Point& point() const = 0;
  virtual int64_t number() const = 0;
  virtual uint64_t seed() const = 0;         // hash of the study's seed and the trial's number
  virtual std::stop_token stop() const = 0;  // requested: end early by throwing Cancelled; the objective's CancelScope

  // Says that the result depends on `hash` alone; once per trial, before the work. nullopt: nobody has it, do the work. A
  // number: that trial has done it or is doing it; return Outcome{.duplicate_of = number} at once, without waiting.
  virtual std::optional<int64_t> claim(const std::string& hash) = 0;

  // The objective so far, after `step` blocks of samples.
  virtual void report(int64_t step, double value) = 0;
};

struct Outcome {
  std::vector<double> values = {};           // one per objective
  std::vector<double> constraints = {};      // each kept where it is at most 0
  std::optional<int64_t> duplicate_of = {};  // from claim(); what the others do not say is copied from that trial
  bool pruned = false;                       // given up early; values may be empty
  bool candidate = false;                    // good enough for the user
  Json user_attributes = Json::object();
};

// A failure that the trial remembers more of than its message: what a program wrote before it failed, for example.
class TrialFailed : public Error {
 public:
  TrialFailed(const std::string& what, Json attributes) : Error(what), user_attributes(std::move(attributes)) {}
  Json user_attributes;
};

// Throws Cancelled when stopped, and an Error of Blame::world when the machine failed (a full disk): the trial waits then, and
// the run ends with that error. Any other exception makes a failed trial with its message.
using Objective = std::function<Outcome(Job&)>;

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

// What is known of a point's result beforehand: points with the same text give the same. Takes all points of the study. An empty
// function: nothing is known.
using Likeness = std::function<std::string(const Point&)>;

struct RunOptions {
  uint64_t seed = 0;
  size_t n_jobs = 1;
  std::vector<Point> first = {};  // tried before the sampler is asked; those already tried are skipped
  std::string stage = "";         // names the trials of this run, if one study holds several runs
  std::vector<Trial> prior = {};  // of an earlier study (number < 0, from as_prior): the sampler learns from them
  Cost cost = {};
  Likeness likeness = {};  // a sampler that proposes what is known is asked again, a few times
  Listener listener = {};
  std::stop_token stop = {};
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();  // time limits count from here
};

struct RunResult {
  enum class End { exhausted, condition, interrupted } end;
  std::string reason;  // "n_trials of 20 reached"
  Counts counts;       // of this stage
};

// In a shared study other processes run the same stage at the same time, and each ends when it has nothing left to do: what
// others run is waited for when the space is exhausted, so that all of them see the same trials at the end of a stage.
//
// With n_jobs = 1 the study is the same every time but for times. A failing trial is recorded and the search goes on; an error of
// the storage or of the machine ends it. Conditions are not copied: they outlive the run.
RunResult run(const RunOptions& options, Study& study, const Space& space, Sampler& sampler, const StopConditions& conditions,
              const Objective& objective);

}  // namespace quasar::search
