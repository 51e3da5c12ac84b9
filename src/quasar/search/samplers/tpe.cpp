// Tree-structured Parzen estimator: of points drawn near the best ones, that which is least like the others.
//
//   next = argmax over candidates x ~ l of l(x)/g(x),  l from the best ⌈0.15 n⌉ (at most 25) trials, g from the latest of the
//   rest
//
// Bergstra et al. 2011, 2013. Running trials count as bad ones (constant liar), so that parallel trials spread; failed ones too,
// pruned ones by their last intermediate value after all complete ones. Of several objectives the best are those of the first
// fronts, the least crowded first, all with equal weight (Ozaki et al. 2020 weigh them by hypervolume); trials that violate
// constraints come after those that do not.
#include <algorithm>
#include <cmath>
#include <set>

#include "quasar/search/models/parzen.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr double good_share = 0.15;
constexpr size_t most_good = 25;
constexpr size_t most_bad = 300;   // the latest ones: keeps an ask in a long study as cheap as in a short one
constexpr size_t most_kept = 100;  // of the best ones, so that the 25 of several objectives are chosen among more

// The best trials with a value, the best first.
class Best {
 public:
  struct Entry {
    size_t position;
    bool pruned;
    Losses losses;
  };

  void enter(Entry entry) {
    ++seen_;
    kept_.push_back(std::move(entry));
    const bool several = kept_.front().losses.values.size() > 1;
    if (several) by_fronts();
    std::ranges::stable_sort(kept_, [several](const Entry& a, const Entry& b) {
      if (a.pruned != b.pruned || several) return a.pruned < b.pruned;
      return dominates(a.losses, b.losses);
    });
    if (kept_.size() > most_kept) kept_.pop_back();
  }

  size_t seen() const { return seen_; }
  std::span<const Entry> kept() const { return kept_; }

 private:
  void by_fronts() {
    std::vector<Losses> all;
    for (const Entry& entry : kept_) all.push_back(entry.losses);
    std::vector<Entry> sorted;
    for (const size_t i : by_rank(all)) sorted.push_back(std::move(kept_[i]));
    kept_ = std::move(sorted);
  }

  std::vector<Entry> kept_;
  size_t seen_ = 0;
};

class Tpe final : public Sampler {
 public:
  explicit Tpe(const Options& options)
      : startup_(static_cast<size_t>(options.integer("n_startup_trials"))),
        candidates_(static_cast<size_t>(options.integer("n_candidates"))) {}

  std::optional<Point> next(const History& history, Rng& rng) override {
    const auto size = history.space.size();
    if (size && taken_.update(history).size() >= *size) return std::nullopt;
    observe(history);
    if (best_.seen() == 0 || best_.seen() < startup_) return draw_free(history.space, rng);
    std::vector<const Coordinates*> good;
    std::set<size_t> chosen;
    const auto share = static_cast<size_t>(std::ceil(good_share * static_cast<double>(best_.seen())));
    for (const auto& entry : best_.kept().first(std::min(share, most_good))) {
      good.push_back(&coordinates_[entry.position]);
      chosen.insert(entry.position);
    }
    std::vector<const Coordinates*> bad;
    for (size_t i = coordinates_.size(); i-- > 0 && bad.size() < most_bad;) {
      const Trial& trial = history.trials[i];
      const bool counts = known(i) && trial.state != State::waiting;
      if (counts && !chosen.contains(i)) bad.push_back(&coordinates_[i]);
    }
    return choose(history.space, Parzen(history.space, good), Parzen(history.space, bad), rng);
  }

 private:
  Point draw_free(const Space& space, Rng& rng) const {
    if (space.size()) return space.at(taken_.draw_free(*space.size(), rng));
    constexpr int tries = 20;
    Point point = space.sample(rng);
    for (int i = 0; i < tries && drawn_.contains(bytes_of(coordinates(space, point))); ++i) point = space.sample(rng);
    return point;
  }

  static std::string bytes_of(const Coordinates& x) {
    return {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double)};
  }

  // Some parameter of the trial is one of the space's.
  bool known(size_t position) const {
    return std::ranges::any_of(coordinates_[position], [](double x) { return !std::isnan(x); });
  }

  // Reads what came since the last call.
  void observe(const History& history) {
    for (size_t i = coordinates_.size(); i < history.trials.size(); ++i) {
      coordinates_.push_back(coordinates(history.space, history.trials[i].point));
      drawn_.insert(bytes_of(coordinates_.back()));
      if (known(i)) unfinished_.push_back(i);
    }
    std::vector<size_t> still;
    for (const size_t i : unfinished_) {
      const Trial& trial = history.trials[i];
      if (!trial.finished()) {
        still.push_back(i);
      } else if (auto value = known_losses(trial, history.directions)) {
        best_.enter({i, trial.state == State::pruned, std::move(*value)});
      }
    }
    unfinished_ = std::move(still);
  }

  // The best of the candidates that are free. Where none of those near the good points is, of others.
  Point choose(const Space& space, const Parzen& good, const Parzen& bad, Rng& rng) const {
    std::optional<Point> best;
    double highest = 0;
    const auto consider = [&](Point point, bool again = false) {
      const Coordinates x = coordinates(space, point);
      if (!again && drawn_.contains(bytes_of(x))) return;  // a branch of choices alone may be exhausted
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
    if (!best) consider(draw_free(space, rng), true);
    return *best;
  }

  size_t startup_, candidates_;
  Taken taken_;
  std::vector<Coordinates> coordinates_;  // by trial
  std::set<std::string> drawn_;           // the same, as bytes: NaN equals NaN
  std::vector<size_t> unfinished_;
  Best best_;
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
