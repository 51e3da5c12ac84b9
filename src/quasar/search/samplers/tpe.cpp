// Tree-structured Parzen estimator: of points drawn near the best ones, that which is least like the others.
//
//   next = argmax over candidates x ~ l of l(x)/g(x),  l from the best ⌈n/10⌉ (at most 25) trials, g from the rest
//
// Bergstra et al. 2011, 2013. Running trials count as bad ones (constant liar), so that parallel trials spread; failed ones too,
// pruned ones by their last intermediate value after all complete ones. With several objectives the first one counts.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "quasar/search/parzen.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr size_t most_good = 25;
constexpr size_t most_bad = 300;  // the latest ones: keeps an ask in a long study as cheap as in a short one

struct Observation {
  const Coordinates* x;
  size_t position;
  int rank;      // 0 complete, 1 pruned, 2 no value
  double value;  // smaller is better
};

class Tpe final : public Sampler {
 public:
  explicit Tpe(const Options& options)
      : startup_(static_cast<size_t>(options.integer("n_startup_trials"))),
        candidates_(static_cast<size_t>(options.integer("n_candidates"))) {}

  std::optional<Point> next(const History& history, Rng& rng) override {
    const auto size = history.space.size();
    if (size && taken_.update(history).size() >= *size) return std::nullopt;
    std::vector<Observation> seen = observe(history);
    const auto valued = static_cast<size_t>(std::ranges::count_if(seen, [](const auto& o) { return o.rank < 2; }));
    if (valued == 0 || valued < startup_) return draw_free(history.space, rng);
    std::ranges::sort(seen, [](const auto& a, const auto& b) {
      return std::tie(a.rank, a.value, a.position) < std::tie(b.rank, b.value, b.position);
    });
    const size_t good = std::min((valued + 9) / 10, most_good);
    const auto best = std::span(seen).first(good);
    auto rest = std::span(seen).subspan(good);
    std::ranges::sort(rest, std::ranges::greater(), &Observation::position);
    rest = rest.first(std::min(rest.size(), most_bad));
    return choose(history.space, parzen(history.space, best), parzen(history.space, rest), rng);
  }

 private:
  static Parzen parzen(const Space& space, std::span<const Observation> observations) {
    std::vector<const Coordinates*> points;
    for (const Observation& o : observations) points.push_back(o.x);
    return Parzen(space, points);
  }

  Point draw_free(const Space& space, Rng& rng) const {
    return space.size() ? space.at(taken_.draw_free(*space.size(), rng)) : space.sample(rng);
  }

  std::vector<Observation> observe(const History& history) {
    while (coordinates_.size() < history.trials.size()) {
      coordinates_.push_back(coordinates(history.space, history.trials[coordinates_.size()].point));
    }
    const double sign = history.directions.front() == Direction::minimize ? 1 : -1;
    std::vector<Observation> out;
    for (size_t i = 0; i < coordinates_.size(); ++i) {
      const Trial& trial = history.trials[i];
      const bool known = std::ranges::any_of(coordinates_[i], [](double x) { return !std::isnan(x); });
      if (!known || trial.interrupted() || trial.state == State::waiting) continue;
      double value = std::numeric_limits<double>::quiet_NaN();
      if (trial.state == State::complete && !trial.values.empty()) value = trial.values.front();
      if (trial.state == State::pruned && !trial.intermediate.empty()) value = trial.intermediate.rbegin()->second;
      const bool none = std::isnan(value);
      out.push_back({&coordinates_[i], i, none ? 2 : trial.state == State::pruned ? 1 : 0, none ? 0 : sign * value});
    }
    return out;
  }

  // The best of the candidates that are free. Where none of those near the good points is, of others.
  Point choose(const Space& space, const Parzen& good, const Parzen& bad, Rng& rng) const {
    std::optional<Point> best;
    double highest = 0;
    const auto consider = [&](Point point) {
      const Coordinates x = coordinates(space, point);
      const double score = good.log_density(x) - bad.log_density(x);
      if (best && score <= highest) return;
      best = std::move(point);
      highest = score;
    };
    for (size_t i = 0; i < candidates_; ++i) {
      Point point = good.sample(rng);
      if (!space.size() || !taken_.contains(*space.index_of(point))) consider(std::move(point));
    }
    if (!best) {
      for (size_t i = 0; i < candidates_; ++i) consider(draw_free(space, rng));
    }
    return *best;
  }

  size_t startup_, candidates_;
  Taken taken_;
  std::vector<Coordinates> coordinates_;  // by trial
};

}  // namespace

Entry<Sampler> tpe() {
  return {.help = "Tree-structured Parzen estimator: learns from the finished trials where good points lie.",
          .make = make_as<Tpe, Sampler>,
          .options = {{.name = "n_startup_trials", .fallback = 8, .help = "random trials before it learns", .low = 0},
                      {.name = "n_candidates", .fallback = 24, .help = "points compared for each trial", .low = 1}},
          .aliases = {"TPESampler"}};
}

}  // namespace quasar::search::samplers
