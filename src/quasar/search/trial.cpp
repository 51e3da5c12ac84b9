#include "quasar/search/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quasar::search {

std::optional<double> Trial::seconds() const {
  if (!start || !complete) return std::nullopt;
  return std::chrono::duration<double>(*complete - *start).count();
}

double Trial::violation() const {
  double sum = 0;
  for (const double c : constraints()) sum += std::max(0.0, c);
  return sum;
}

std::vector<double> Trial::constraints() const {
  const auto found = system_attributes.find(constraints_attribute);
  std::vector<double> out;
  if (found == system_attributes.end() || !found->is_array()) return out;
  for (const Json& c : *found) out.push_back(c.is_number() ? c.get<double>() : 0.0);
  return out;
}

void Trial::set_constraints(std::vector<double> all) {
  constexpr double largest = std::numeric_limits<double>::max();
  for (double& c : all) c = std::clamp(c, -largest, largest);
  system_attributes[constraints_attribute] = std::move(all);
}

void count(Counts& counts, const Trial& trial) {
  if (trial.state == State::running) {
    ++counts.running;
  } else if (trial.finished()) {
    size_t& executed = trial.state == State::complete ? counts.complete
                       : trial.state == State::pruned ? counts.pruned
                                                      : counts.failed;
    ++(trial.is_duplicate() ? counts.duplicates : executed);
  }
}

Counts sum(const Counts& a, const Counts& b) {
  return {.running = a.running + b.running,
          .duplicates = a.duplicates + b.duplicates,
          .complete = a.complete + b.complete,
          .pruned = a.pruned + b.pruned,
          .failed = a.failed + b.failed};
}

Time now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void check_value(double value, const std::string& what) {
  if (std::isnan(value)) throw Error(what + " is not a number (NaN)");
  if (std::isinf(value)) throw Error(what + " is infinite: a failed trial says what cannot be scored");
}

}  // namespace quasar::search
