// Stops when a number of executed trials in a row brought nothing better in any objective: all are dominated or equalled.
#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class Patience final : public StopCondition {
 public:
  explicit Patience(const Options& options) : most_(static_cast<uint64_t>(options.integer("value"))) {}

  std::optional<std::string> met(const Progress& progress) const override {
    if (progress.since_best < most_) return std::nullopt;
    return "patience: " + std::to_string(progress.since_best) + " trials without improvement";
  }

 private:
  uint64_t most_;
};

}  // namespace

Entry<StopCondition> patience() {
  return {.help = "Executed trials in a row without improvement in any objective.",
          .make = make_as<Patience, StopCondition>,
          .options = {{.name = "value", .fallback = 10, .help = "trials", .low = 1}}};
}

}  // namespace quasar::search::stop
