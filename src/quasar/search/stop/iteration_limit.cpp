// Stops after a number of executed trials; duplicates, which cost nothing, do not count.
#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class IterationLimit final : public StopCondition {
 public:
  explicit IterationLimit(const Options& options) : most_(static_cast<uint64_t>(options.integer("value"))) {}

  std::optional<std::string> met(const Progress& progress) const override {
    if (progress.counts.executed() + progress.counts.running < most_) return std::nullopt;
    return "iteration_limit of " + std::to_string(most_) + " executed trials reached";
  }

 private:
  uint64_t most_;
};

}  // namespace

Entry<StopCondition> iteration_limit() {
  return {.help = "A number of executed trials; duplicates do not count.",
          .make = make_as<IterationLimit, StopCondition>,
          .options = {{.name = "value", .fallback = 100000, .help = "executed trials", .low = 0}}};
}

}  // namespace quasar::search::stop
