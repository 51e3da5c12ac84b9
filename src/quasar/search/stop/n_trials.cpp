// Stops after a number of trials, whatever became of them.
#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class NTrials final : public StopCondition {
 public:
  explicit NTrials(const Options& options) : most_(static_cast<uint64_t>(options.integer("value"))) {}

  // Running ones count, so that parallel trials do not exceed the number.
  std::optional<std::string> met(const Progress& progress) const override {
    if (progress.counts.finished() + progress.counts.running < most_) return std::nullopt;
    return "n_trials of " + std::to_string(most_) + " reached";
  }
  std::optional<uint64_t> limit() const override { return most_; }

 private:
  uint64_t most_;
};

}  // namespace

Entry<StopCondition> n_trials() {
  return {.help = "A number of trials, counting duplicates and those of the resumed study.",
          .make = make_as<NTrials, StopCondition>,
          .options = {{.name = "value", .fallback = 20, .help = "trials", .low = 0}}};
}

}  // namespace quasar::search::stop
