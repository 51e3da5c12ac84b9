// Stops after a number of seconds, and cancels what is still running then.
#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class TimeLimit final : public StopCondition {
 public:
  explicit TimeLimit(const Options& options) : seconds_(options.real("value")) {}

  std::optional<std::string> met(const Progress& progress) const override {
    if (progress.seconds < seconds_) return std::nullopt;
    return "time_limit of " + Json(seconds_).dump() + " s reached";
  }
  std::optional<double> deadline() const override { return seconds_; }

 private:
  double seconds_;
};

}  // namespace

Entry<StopCondition> time_limit() {
  return {
      .help =
          "Seconds of this run; running trials are cancelled. Where none is complete by then, one is, within as much time again.",
      .make = make_as<TimeLimit, StopCondition>,
      .options = {{.name = "value", .fallback = 2592000.0, .help = "seconds", .low = 0}}};
}

}  // namespace quasar::search::stop
