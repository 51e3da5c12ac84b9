// Independent draws; from a finite space without replacement, cheap points first: each with a chance in proportion to
// 1/(expected cost) where costs are known. Of a large space, each among some that are drawn alike.
#include <algorithm>
#include <array>

#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr uint64_t most_weighed = 1 << 14;  // points whose costs are all known
constexpr size_t drawn = 64;                // of a larger space, at a time

class Random final : public Sampler {
 public:
  explicit Random(const Options& options) : uniform_(options.flag("uniform")) {}

  std::optional<Point> next(const History& history, Rng& rng) override {
    const auto size = history.space.size();
    if (!size) return history.space.sample(rng);
    const auto& taken = taken_.update(history);
    if (taken.size() >= *size) return std::nullopt;
    if (uniform_ || !history.cost) return history.space.at(taken_.draw_free(*size, rng));
    return history.space.at(*size > most_weighed ? draw_among_some(history, *size, rng) : draw_weighted(history, *size, rng));
  }

 private:
  static double weight(const History& history, uint64_t index) {
    return 1 / std::max(1e-3, history.cost(history.space.at(index)));
  }

  uint64_t draw_among_some(const History& history, uint64_t size, Rng& rng) const {
    std::array<uint64_t, drawn> some{};
    std::array<double, drawn> sums{};
    double total = 0;
    for (size_t i = 0; i < drawn; ++i) {
      some[i] = taken_.draw_free(size, rng);
      sums[i] = total += weight(history, some[i]);
    }
    const double at = rng.uniform(0, total);
    return some[std::min<size_t>(static_cast<size_t>(std::ranges::upper_bound(sums, at) - sums.begin()), drawn - 1)];
  }

  uint64_t draw_weighted(const History& history, uint64_t size, Rng& rng) {
    for (uint64_t i = weights_.size(); i < size; ++i) weights_.push_back(weight(history, i));
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
