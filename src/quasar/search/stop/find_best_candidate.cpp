// Stops when a candidate's value is at least as good as wanted.
#include "quasar/search/stop.hpp"

namespace quasar::search::stop {
namespace {

class FindBestCandidate final : public StopCondition {
 public:
  explicit FindBestCandidate(const Options& options) : wanted_(options.real("value")) {}

  std::optional<std::string> met(const Progress& progress) const override {
    if (!progress.best_candidate || better(wanted_, *progress.best_candidate, progress.direction)) return std::nullopt;
    return "find_best_candidate of " + Json(wanted_).dump() + " reached by " + Json(*progress.best_candidate).dump();
  }

 private:
  double wanted_;
};

}  // namespace

Entry<StopCondition> find_best_candidate() {
  return {.help = "A candidate whose objective is at least this good.",
          .make = make_as<FindBestCandidate, StopCondition>,
          .options = {{.name = "value", .fallback = 0.0, .help = "value of the objective, which may be negative; -1: off"}}};
}

}  // namespace quasar::search::stop
