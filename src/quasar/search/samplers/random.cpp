// Independent draws; from a finite space without replacement, cheap points first: each with a chance in proportion to
// 1/(expected cost) where costs are known.
#include <algorithm>

#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

class Random final : public Sampler {
 public:
  explicit Random(const Options& options) : uniform_(options.flag("uniform")) {}

  std::optional<Point> next(const History& history, Rng& rng) override {
    const auto size = history.space.size();
    if (!size) return history.space.sample(rng);
    const auto& taken = taken_.update(history);
    if (taken.size() >= *size) return std::nullopt;
    if (uniform_ || !history.cost) return history.space.at(taken_.draw_free(*size, rng));
    return history.space.at(draw_weighted(history, *size, rng));
  }

 private:
  uint64_t draw_weighted(const History& history, uint64_t size, Rng& rng) {
    for (uint64_t i = weights_.size(); i < size; ++i) weights_.push_back(1 / std::max(1e-3, history.cost(history.space.at(i))));
    double total = 0;
    for (uint64_t i = 0; i < size; ++i) total += taken_.contains(i) ? 0 : weights_[i];
    double left = rng.uniform(0, total);
    uint64_t last = 0;
    for (uint64_t i = 0; i < size; ++i) {
      if (taken_.contains(i)) continue;
      last = i;
      left -= weights_[i];
      if (left < 0) break;
    }
    return last;
  }

  bool uniform_;
  Taken taken_;
  std::vector<double> weights_;  // by index
};

}  // namespace

Entry<Sampler> random() {
  return {.help = "Random draws, cheap configurations more often, without repetition where the space is finite.",
          .make = make_as<Random, Sampler>,
          .options = {{.name = "uniform", .fallback = false, .help = "all configurations alike, whatever they cost"}},
          .aliases = {"random_search"}};
}

}  // namespace quasar::search::samplers
