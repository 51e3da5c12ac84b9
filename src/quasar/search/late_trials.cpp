#include "quasar/search/late_trials.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "quasar/base/deadline.hpp"

namespace quasar::search {

LateTrials late_trials(Study& study, double patience) {
  const auto end = Deadline::after(patience, Deadline::Clock::now());
  LateTrials out;
  for (;;) {
    for (const Change& change : study.refresh()) {
      if (study.at(change.number).finished()) count(out.counts, study.at(change.number));
    }
    out.running = static_cast<size_t>(std::ranges::count(study.trials(), State::running, &Trial::state));
    if (out.running == 0 || Deadline::Clock::now() >= end) return out;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace quasar::search
