// Stops after a number of seconds, and cancels what is still running then.
#include <cmath>

#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class TimeLimit final : public StopCondition {
 public:
  explicit TimeLimit(const Options& options) : seconds_(options.real("value")) {}

  std::optional<std::string> met(const Progress& progress) const override {
    if (progress.seconds < seconds_) return std::nullopt;
    constexpr double hundredths = 100;  // of a share of what the user said, say
    return "time_limit of " + Json(std::round(seconds_ * hundredths) / hundredths).dump() + " s reached";
  }
  std::optional<double> deadline() const override { return seconds_; }

 private:
  double seconds_;
};

}  // namespace

Entry<StopCondition> time_limit() {
  return {.help = "Seconds of this run; running trials are cancelled.",
          .make = make_as<TimeLimit, StopCondition>,
          .options = {{.name = "value", .fallback = 2592000.0, .help = "seconds", .low = 0}}};
}

}  // namespace quasar::search::stop
