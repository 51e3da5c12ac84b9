// What the keys of a configuration must know of strategies, which themselves stand on the job that these keys make.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

struct Job;

class StrategyFacts {
 public:
  virtual ~StrategyFacts() = default;
  // What it searches when the user gives no space; null: a space is required. `target` and `tuning` of the job are read already.
  virtual Json default_space(const Job& job) const = 0;
  // The factor of the speed gate when the user gives neither that key nor a space; nullopt: off.
  virtual std::optional<double> speed_gate() const { return std::nullopt; }
  // What it optimizes when the user gives no objectives, in their words; null: the first of search_metric.
  virtual Json objectives() const { return nullptr; }
  // Metrics that it needs besides the user's.
  virtual std::vector<std::string> metrics() const { return {}; }
  // Whether trials of earlier studies (warm_start) change what it tries.
  virtual bool learns_from_earlier() const { return true; }
  // Whether it tries the configurations of `enqueue`.
  virtual bool tries_enqueued() const { return true; }
  // Whether calibration is searched first, by a grid, and what is fine-tuned of its winner then.
  virtual bool in_stages() const { return false; }
  // Whether it works towards accuracy_criterion.
  virtual bool has_goal() const { return false; }
  // Its own options, in tuning_criterion.strategy_kwargs.
  virtual std::vector<std::string> kwargs() const { return {}; }
  // What the user should know of it before it runs; "": nothing.
  virtual std::string note(const Job& /*job*/) const { return ""; }
};

// All strategies, by their names.
struct KnownStrategies {
  std::vector<std::string> names;
  std::function<std::string(const std::string& name)> resolve;                      // throws Error for a name that is none
  std::function<std::unique_ptr<const StrategyFacts>(const std::string& name)> of;  // likewise
};

}  // namespace quasar::tune
