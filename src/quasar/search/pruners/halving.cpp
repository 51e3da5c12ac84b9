// Asynchronous successive halving (Li et al. 2020): rungs at r, r·η, r·η² … samples; at each one a trial goes on only when it is
// among the best 1/η of the trials that have reached that rung so far, or the best of them. It may lose the winner.
#include <algorithm>
#include <cmath>

#include "quasar/search/pruner.hpp"

namespace quasar::search::pruners {
namespace {

constexpr int64_t default_rungs = 3;
constexpr int64_t fewest_samples = 16;

class Halving final : public Pruner {
 public:
  explicit Halving(const Options& options)
      : factor_(options.integer("reduction_factor")), first_(options.integer("min_samples")) {}

  bool gives_up(const Race& race) const override {
    if (rung(race.losses.size(), race.total) == rung(race.before, race.total)) return false;
    const double mean = mean_of(race.losses);
    if (race.good_enough && mean <= *race.good_enough) return false;
    const auto better = std::ranges::count_if(race.reached, [&](double other) { return other < mean; });
    const auto promoted = std::max<int64_t>(1, static_cast<int64_t>(race.reached.size() + 1) / factor_);
    return better >= promoted;
  }

 private:
  // Rungs passed with this number of samples.
  int rung(size_t samples, size_t total) const {
    int64_t next = first_;
    if (next == 0) next = std::max(fewest_samples, static_cast<int64_t>(total / std::pow(factor_, default_rungs)));
    int passed = 0;
    for (; next <= static_cast<int64_t>(samples); next *= factor_) ++passed;
    return passed;
  }

  int64_t factor_, first_;
};

}  // namespace

Entry<Pruner> halving() {
  return {.help = "Successive halving: at growing numbers of samples only the best share of the trials goes on.",
          .make = make_as<Halving, Pruner>,
          .options = {{.name = "reduction_factor", .fallback = 4, .help = "one in so many goes on", .low = 2, .high = 1000},
                      {.name = "min_samples", .fallback = 0, .help = "samples of the first rung; 0: total / factor³", .low = 0}},
          .aliases = {"SuccessiveHalving", "SuccessiveHalvingPruner"}};
}

}  // namespace quasar::search::pruners
