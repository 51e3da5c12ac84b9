// Stops when enough trials are good enough for the user.
#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class FindNCandidates final : public StopCondition {
 public:
  explicit FindNCandidates(const Options& options) : enough_(static_cast<uint64_t>(options.integer("value"))) {}

  std::optional<std::string> met(const Progress& progress) const override {
    if (progress.candidates < enough_) return std::nullopt;
    return "find_n_candidates of " + std::to_string(enough_) + " reached";
  }

 private:
  uint64_t enough_;
};

}  // namespace

Entry<StopCondition> find_n_candidates() {
  return {.help = "A number of different candidates: trials within the tolerance.",
          .make = make_as<FindNCandidates, StopCondition>,
          .options = {{.name = "value", .fallback = 1, .help = "candidates", .low = 1}}};
}

}  // namespace quasar::search::stop
