// What a trial is to whoever tries it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"
#include "quasar/search/space.hpp"

namespace quasar::search {

// A trial as its objective sees it; used by the objective's thread only.
class RunningTrial {
 public:
  virtual ~RunningTrial() = default;
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
using Objective = std::function<Outcome(RunningTrial&)>;

}  // namespace quasar::search
