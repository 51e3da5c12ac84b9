// One trial: what was tried and what came of it. As in Optuna.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/direction.hpp"
#include "quasar/search/space.hpp"

namespace quasar::search {

using quasar::Direction;

enum class State { running, complete, pruned, failed, waiting };  // waiting: ended from outside, to be tried again

using Time = std::chrono::sys_time<std::chrono::microseconds>;

// User attributes that Quasar itself writes.
namespace attribute {
inline constexpr const char* plan_hash = "plan_hash";        // what was claimed: equal hash, equal result
inline constexpr const char* duplicate_of = "duplicate_of";  // number of the trial whose result was copied
inline constexpr const char* stage = "stage";                // the run() that it belongs to
inline constexpr const char* step = "step";                  // what it was tried for, in words
inline constexpr const char* candidate = "candidate";        // true: good enough for the user
inline constexpr const char* error = "error";                // why it failed
inline constexpr const char* pruned = "pruned";              // how far it was scored before it was given up
}  // namespace attribute

// A system attribute, as Optuna's samplers write it: one number per constraint, kept where it is at most 0.
inline constexpr const char* constraints_attribute = "constraints";

struct QUASAR_API Trial {
  int64_t id = -1;      // the storage's own
  int64_t number = -1;  // 0, 1, 2 … within the study
  State state = State::running;
  Point point;
  std::vector<DistributionPtr> distributions;  // of point.values(), in the same order
  std::vector<double> values;                  // one per objective; empty unless complete (or pruned with a value)
  std::map<int64_t, double> intermediate;      // step → value
  Json user_attributes = Json::object();
  Json system_attributes = Json::object();
  std::optional<Time> start, complete;

  bool finished() const { return state == State::complete || state == State::pruned || state == State::failed; }
  bool is_prior() const { return number < 0; }  // of an earlier study: samplers learn from it, its point is tried again
  bool is_candidate() const { return user_attributes.value(attribute::candidate, false); }
  bool is_duplicate() const { return user_attributes.contains(attribute::duplicate_of); }
  std::optional<double> seconds() const;    // from start to complete
  double violation() const;                 // sum of the constraints that are above 0; 0: feasible, or without constraints
  std::vector<double> constraints() const;  // 0 where one is not known
  // Infinite ones as the largest numbers, since JSON knows none.
  void set_constraints(std::vector<double> all);
};

// Throws Error that begins with `what` for what no trial can be worth: NaN and infinite numbers.
void check_value(double value, const std::string& what);

// Trials by what became of them. requested = executed + duplicates; executed = complete + pruned + failed. Waiting trials are in
// none of them; running ones only in `running`.
struct Counts {
  size_t running = 0, duplicates = 0, complete = 0, pruned = 0, failed = 0;
  size_t executed() const { return complete + pruned + failed; }
  size_t finished() const { return executed() + duplicates; }
};

// Adds the trial to where it belongs.
QUASAR_API void count(Counts& counts, const Trial& trial);
QUASAR_API Counts sum(const Counts& a, const Counts& b);

// a is better than b in this direction.
inline bool better(double a, double b, Direction direction) {
  return direction == Direction::minimize ? a < b : a > b;
}

QUASAR_API Time now();

}  // namespace quasar::search
