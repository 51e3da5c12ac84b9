#include "quasar/search/trial.hpp"

#include <algorithm>

namespace quasar::search {

std::optional<double> Trial::seconds() const {
  if (!start || !complete) return std::nullopt;
  return std::chrono::duration<double>(*complete - *start).count();
}

double Trial::violation() const {
  const auto constraints = system_attributes.find(constraints_attribute);
  if (constraints == system_attributes.end() || !constraints->is_array()) return 0;
  double sum = 0;
  for (const Json& c : *constraints) sum += c.is_number() ? std::max(0.0, c.get<double>()) : 0.0;
  return sum;
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

Time now() {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace quasar::search
