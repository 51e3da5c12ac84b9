// The median stopping rule on running means (Golovin et al. 2017, Google Vizier): a trial is given up whose mean so far is worse
// than the median of the complete trials' means after as many samples. It may lose the winner.
#include <algorithm>

#include "quasar/search/pruner.hpp"

namespace quasar::search::pruners {
namespace {

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

class Median final : public Pruner {
 public:
  explicit Median(const Options& options)
      : startup_(static_cast<size_t>(options.integer("n_startup_trials"))),
        warmup_(static_cast<size_t>(options.integer("n_warmup_samples"))) {}

  bool gives_up(const Race& race) const override {
    if (race.losses.size() < warmup_ || race.completed.size() < std::max<size_t>(startup_, 1)) return false;
    const double mean = mean_of(race.losses);
    if (race.good_enough && mean <= *race.good_enough) return false;
    return mean > middle_of({race.completed.begin(), race.completed.end()});
  }

 private:
  size_t startup_, warmup_;
};

}  // namespace

Entry<Pruner> median() {
  return {.help = "Gives up what is worse than the median of the complete trials after as many samples.",
          .make = make_as<Median, Pruner>,
          .options = {{.name = "n_startup_trials", .fallback = 5, .help = "complete trials before it acts", .low = 0},
                      {.name = "n_warmup_samples", .fallback = 0, .help = "samples that every trial gets", .low = 0}},
          .aliases = {"MedianPruner"}};
}

}  // namespace quasar::search::pruners
