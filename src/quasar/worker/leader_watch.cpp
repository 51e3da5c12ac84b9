#include "quasar/worker/leader_watch.hpp"

#include <algorithm>

namespace quasar::tune {
namespace {

std::function<bool()> nobody_has_led_for(double seconds, const search::Study& study) {
  return [&study, seconds, seen = Deadline::Clock::now()]() mutable {
    bool led = true;
    try {
      led = study.sharing()->is_locked(study.id());
    } catch (const std::exception&) {  // the storage is gone: nobody knows
    }
    const auto now = Deadline::Clock::now();
    if (led) seen = now;
    return now >= Deadline::after(seconds, seen);
  };
}

}  // namespace

LeaderWatch::LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer)
    : Watch(seconds ? nobody_has_led_for(*seconds, study) : nullptr,
            std::min({study.heartbeat().interval, seconds.value_or(1), 1.0}), std::move(outer)) {}

}  // namespace quasar::tune
