#include "quasar/search/trial.hpp"

namespace quasar::search {

std::optional<double> Trial::seconds() const {
  if (!start || !complete) return std::nullopt;
  return std::chrono::duration<double>(*complete - *start).count();
}

void count(Counts& counts, const Trial& trial) {
  if (trial.state == State::running) {
    ++counts.running;
  } else if (trial.finished() && !trial.interrupted()) {
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
