// Gives up a trial once it is certain enough, by the samples seen, that it is worse than the incumbent on all samples.
//
// d_i: the trial's loss of sample i minus the incumbent's; the samples come in random order without replacement. The hypothesis
// "the mean of all N differences is at most m" (m = 0, or what still makes a candidate) is tested by betting against it
// (Waudby-Smith and Ramdas 2024, Estimating means of bounded random variables by betting, section 5):
//
//   K_t = mean over c of Π_{s ≤ t} (1 + c·(d_s − μ_s) / (b_s + μ_s)),   μ_s = (N·m − Σ_{r<s} d_r) / (N − s + 1),   0 < c < 1
//
// μ_s bounds the next difference's conditional mean under the hypothesis, and d_s ≥ −b_s with b_s the greatest loss above the
// floor that the incumbent has on any sample not yet seen (all of them are known). So every factor is ≥ 0 with mean ≤ 1, K is a
// supermartingale, and by Ville's inequality it ever reaches 1/ε with probability ε at most: for any number of looks and any
// distribution, without bounds on how bad a sample may be and without asymptotics. Several c, because the best one depends on
// the differences.
//
// ε = α / rivals. Whoever has the best mean is tested against a trial that became the incumbent by luck of the same order of
// samples; it is one of `rivals`, so over all of them the winner is lost with probability α at most.
#include <algorithm>
#include <array>
#include <cmath>

#include "quasar/search/pruner.hpp"

namespace quasar::search::pruners {
namespace {

constexpr std::array fractions{0.95, 0.57, 0.34, 0.2, 0.12, 0.07, 0.04, 0.025};

// The greatest incumbent's loss above the floor among the samples i, i + 1, …, for every i that has been scored and the next.
std::vector<double> bounds_of(const Race& race) {
  const size_t seen = race.losses.size();
  double greatest = 0;
  std::vector<double> bounds(seen + 1);
  for (size_t i = race.total; i-- > 0;) {
    greatest = std::max(greatest, race.incumbent[i] - race.floor);
    if (i <= seen) bounds[i] = greatest;
  }
  return bounds;
}

// ln of the mean of exp(x).
double log_mean_exp(const std::array<double, fractions.size()>& logs) {
  const double top = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double x : logs) sum += std::exp(x - top);
  return top + std::log(sum / static_cast<double>(logs.size()));
}

class Confidence final : public Pruner {
 public:
  explicit Confidence(const Options& options) : alpha_(options.real("alpha")) {}

  bool gives_up(const Race& race) const override {
    if (race.incumbent.empty()) return false;
    const double incumbent = mean_of(race.incumbent);
    const double margin = race.good_enough ? std::max(0.0, *race.good_enough - incumbent) : 0.0;
    const double needed = std::log(static_cast<double>(std::max<size_t>(race.rivals, 1)) / alpha_);
    const double tiny = 1e-12 * (std::abs(incumbent) + std::abs(race.floor));  // below it, differences are rounding
    const std::vector<double> bounds = bounds_of(race);
    std::array<double, fractions.size()> wealth{};
    double sum = 0;
    for (size_t t = 0; t <= race.losses.size(); ++t) {
      const double mean = (static_cast<double>(race.total) * margin - sum) / static_cast<double>(race.total - t);
      const double room = bounds[t] + mean;
      if (room < -tiny) return true;  // not even the best possible rest would do
      if (t == race.losses.size()) break;
      const double difference = race.losses[t] - race.incumbent[t];
      if (room > tiny) {
        const double gain = std::max(-1.0, (difference - mean) / room);
        for (size_t c = 0; c < wealth.size(); ++c) wealth[c] += std::log1p(fractions[c] * gain);
        if (log_mean_exp(wealth) >= needed) return true;
      }
      sum += difference;
    }
    return false;
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
