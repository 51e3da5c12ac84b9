#include "quasar/worker/waiting.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include "quasar/base/cancellation.hpp"

namespace quasar::tune {

void Waiting::say(const std::string& what, const Log& log) {
  constexpr double often = 10, seldom = 60, short_while = 55;  // seconds
  if (told_ == what && watch_.seconds() < next_) return;
  told_ = what;
  next_ = watch_.seconds() + (watch_.seconds() < short_while ? often : seldom);
  tell(log, Level::info, words_on_waiting(what, left()));
}

void Waiting::for_news(search::Storage& storage) const {
  constexpr double longest = 5, second = 1;  // seconds: of a leader that has died nobody tells
  throw_if_cancelled();
  try {
    storage.sharing()->wait_for_news(-1, std::clamp(left(), 0.1, longest), current_cancellation());
  } catch (const search::ConnectionLost&) {  // whoever asks next waits for it
    std::this_thread::sleep_for(std::chrono::duration<double>(second));
  }
  throw_if_cancelled();
}

std::string words_on_waiting(const std::string& what, double left) {
  return "waiting for " + what + " (up to " + std::to_string(std::lround(std::max(0.0, left))) + " s: --wait)";
}

}  // namespace quasar::tune
