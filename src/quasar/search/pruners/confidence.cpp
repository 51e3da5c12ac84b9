// Gives up a trial once it is certain enough, by the samples seen, that it is worse than the incumbent on all samples
// (betting.hpp; m = 0, or what still makes a candidate).
//
// ε = α / rivals. Whoever has the best mean is tested against a trial that became the incumbent by luck of the same order of
// samples; it is one of `rivals`, so over all of them the winner is lost with probability α at most.
#include <algorithm>
#include <cmath>

#include "quasar/search/models/betting.hpp"
#include "quasar/search/pruner.hpp"

namespace quasar::search::pruners {
namespace {

class Confidence final : public Pruner {
 public:
  explicit Confidence(const Options& options) : alpha_(options.real("alpha")) {}

  bool gives_up(const Race& race) const override {
    if (race.incumbent.empty()) return false;
    const double incumbent = mean_of(race.incumbent);
    const double margin = race.good_enough ? std::max(0.0, *race.good_enough - incumbent) : 0.0;
    const double needed = std::log(static_cast<double>(std::max<size_t>(race.rivals, 1)) / alpha_);
    return refuted(race.losses, race.incumbent, race.floor, margin, needed);
  }

 private:
  double alpha_;
};

}  // namespace

Entry<Pruner> confidence() {
  return {
      .help =
          "Gives up what is worse than the best trial so far with confidence; loses the winner with probability alpha at most.",
      .make = make_as<Confidence, Pruner>,
      .options = {{.name = "alpha", .fallback = 0.05, .help = "probability of losing the winner", .low = 1e-12, .high = 0.5}},
      .aliases = {"racing"}};
}

}  // namespace quasar::search::pruners
