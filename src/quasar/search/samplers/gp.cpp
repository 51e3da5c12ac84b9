// Gaussian process with expected improvement: models what is known, and tries where the most may be gained.
//
//   next = argmax over x of log E[max(0, best - f(x))] + Σ log P(constraint k holds at x)
//
// Logarithm: Ament et al. 2023; constraints: Gardner et al. 2014. Running trials count with their expected value (Ginsbourger
// et al. 2010). A finite space is enumerated; elsewhere random points and steps from the best trials are compared, and the
// foremost are improved by descent in the numbers and by steps through choices. Beyond `n_points` trials the model keeps the best
// half and the latest of the others, so that an ask costs the same in a long study. Its parameters are fitted at numbers of
// trials that depend on nothing else, to the trials that there were then: a continued study asks what an undisturbed one asks.
// Model: search/models/gaussian_process.hpp.
#include <algorithm>
#include <cmath>

#include "quasar/search/models/acquisition.hpp"
#include "quasar/search/models/descent.hpp"
#include "quasar/search/new_results.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr uint64_t most_enumerated = 2000;
constexpr size_t random_candidates = 400, near_candidates = 200, improved = 6;
constexpr size_t refits = 12;  // the model's parameters are fitted anew when the trials have grown by 1/12

struct Seen {
  Coordinates x;
  std::vector<double> constraints;
  Losses losses;
  int64_t number;
};

class Gp final : public Sampler {
 public:
  explicit Gp(const Options& options)
      : startup_(static_cast<size_t>(options.integer("n_startup_trials"))),
        most_points_(static_cast<size_t>(options.integer("n_points"))) {}

  bool takes_several_objectives() const override { return false; }

  std::optional<Point> next(const History& history, Rng& rng) override {
    const Space& space = history.space;
    const auto size = space.size();
    if (size && taken_.update(history).size() >= *size) return std::nullopt;
    for (const Result& result : news_.update(history)) {
      if (std::isfinite(result.losses.values.front()))
        seen_.push_back({result.x, constraints_of(*result.trial), result.losses, result.trial->number});
    }
    if (seen_.size() < std::max<size_t>(startup_, 2)) return draw_free(space, rng);
    const Beliefs beliefs = model(history);
    if (size && *size <= most_enumerated) return enumerated(space, beliefs);
    return searched(space, beliefs, rng);
  }

 private:
  Point draw_free(const Space& space, Rng& rng) const {
    return space.size() ? space.at(taken_.draw_free(*space.size(), rng)) : space.sample(rng);
  }

  // With squares that can be summed, whatever another program stored.
  static std::vector<double> constraints_of(const Trial& trial) {
    constexpr double most = 1e100;
    std::vector<double> out = trial.constraints();
    for (double& c : out) c = std::clamp(c, -most, most);
    return out;
  }

  // The trials that the model sees of the first `count`.
  std::vector<const Seen*> subset(size_t count) const {
    std::vector<const Seen*> out;
    for (const Seen& s : std::span(seen_).first(count)) out.push_back(&s);
    if (out.size() <= most_points_) return out;
    std::ranges::stable_sort(out, [](const Seen* a, const Seen* b) { return dominates(a->losses, b->losses); });
    const auto rest = out.begin() + static_cast<ptrdiff_t>(most_points_ / 2);
    std::sort(rest, out.end(), [](const Seen* a, const Seen* b) { return a->number > b->number; });
    out.resize(most_points_);
    return out;
  }

  // The same as the model takes them; values: of the objective, then of each constraint.
  struct Data {
    std::vector<const Seen*> seen;
    std::vector<Coordinates> points;
    std::vector<std::vector<double>> values;
  };

  Data data(size_t count, size_t constraints) const {
    Data out{subset(count), {}, std::vector<std::vector<double>>(1 + constraints)};
    for (const Seen* s : out.seen) {
      out.points.push_back(s->x);
      out.values[0].push_back(s->losses.values.front());
      for (size_t k = 0; k < constraints; ++k) out.values[k + 1].push_back(k < s->constraints.size() ? s->constraints[k] : 0);
    }
    return out;
  }

  Beliefs model(const History& history) {
    std::vector<bool> is_choice;
    for (const Parameter& p : history.space.parameters()) {
      is_choice.push_back(p.pinned || std::holds_alternative<Categorical>(*p.distribution));
    }
    size_t constraints = 0;  // a trial that was given up may have none
    for (const Seen& s : seen_) constraints = std::max(constraints, s.constraints.size());
    const auto [seen, points, values] = data(seen_.size(), constraints);
    fit(is_choice, constraints);
    Beliefs out{{is_choice, points, values[0], parameters_[0]}, {}, {}};
    for (size_t k = 1; k <= constraints; ++k) out.constraints.emplace_back(is_choice, points, values[k], parameters_[k]);
    for (size_t i = 0; i < seen.size(); ++i) {
      const double value = out.objective.standardized(values[0][i]);
      if (seen[i]->losses.violation <= 0 && (!out.best || value < *out.best)) out.best = value;
    }
    for (const Trial& trial : history.trials) {
      if (trial.state != State::running) continue;
      const Coordinates x = coordinates(history.space, trial.point);
      out.objective.believe(x);
      for (GaussianProcess& constraint : out.constraints) constraint.believe(x);
    }
    return out;
  }

  // How many of the trials known now there were when the parameters were last to be fitted.
  size_t last_fit() const {
    size_t count = std::max<size_t>(startup_, 2);
    for (size_t next = count; next <= seen_.size(); next += std::max<size_t>(1, next / refits)) count = next;
    return count;
  }

  void fit(const std::vector<bool>& is_choice, size_t constraints) {
    const size_t count = last_fit();
    if (fitted_at_ == count && parameters_.size() == constraints + 1) return;
    const Data then = data(count, constraints);
    parameters_.clear();
    for (const auto& v : then.values) parameters_.push_back(fitted(is_choice, then.points, v));
    fitted_at_ = count;
  }

  Point enumerated(const Space& space, const Beliefs& beliefs) const {
    std::optional<Point> best;
    double most = 0;
    for (uint64_t i = 0; i < *space.size(); ++i) {
      if (taken_.contains(i)) continue;
      Point point = space.at(i);
      const double g = gain(beliefs, coordinates(space, point));
      if (best && !(g > most)) continue;
      most = g;
      best = std::move(point);
    }
    return *best;
  }

  struct Candidate {
    Point point;
    Coordinates x;
    double gain;
  };

  Point searched(const Space& space, const Beliefs& beliefs, Rng& rng) const {
    std::vector<Candidate> all;
    const auto add = [&](Point point) {
      Coordinates x = coordinates(space, point);
      const double g = gain(beliefs, x);
      all.push_back({std::move(point), std::move(x), g});
    };
    for (size_t i = 0; i < random_candidates; ++i) add(space.sample(rng));
    std::vector<const Seen*> best;
    for (const Seen& s : seen_) best.push_back(&s);
    std::ranges::stable_sort(best, [](const Seen* a, const Seen* b) { return dominates(a->losses, b->losses); });
    best.resize(std::min<size_t>(best.size(), 5));
    for (size_t i = 0; i < near_candidates; ++i) add(neighbour(space, best[i % best.size()]->x, rng));
    const size_t kept = std::min(improved, all.size());
    std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept), all.end(),
                      [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
    for (size_t i = 0; i < kept; ++i) improve(space, beliefs, all[i], rng);
    std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
    for (const Candidate& c : all) {
      if (!space.size() || !taken_.contains(*space.index_of(c.point))) return c.point;
    }
    return draw_free(space, rng);
  }

  // x with about one coordinate changed: a number by a step of random length, a choice at will.
  static Point neighbour(const Space& space, const Coordinates& x, Rng& rng) {
    const double share = 1.5 / static_cast<double>(x.size());
    const double width = std::pow(10, rng.uniform(-3, -0.5));
    Point out;
    for (size_t j = 0; j < x.size(); ++j) {
      const Parameter& p = space.parameters()[j];
      if (!space.is_active(p, out)) continue;
      const bool changes = std::isnan(x[j]) || rng.uniform() < share;
      if (p.pinned) {
        out.set(p.name, *p.pinned);
      } else if (!changes) {
        out.set(p.name, from_unit(*p.distribution, x[j]));
      } else if (std::isnan(x[j]) || std::holds_alternative<Categorical>(*p.distribution)) {
        out.set(p.name, from_uniform(*p.distribution, rng.uniform()));
      } else {
        out.set(p.name, from_unit(*p.distribution, std::clamp(stepped(*p.distribution, x[j], width, rng), 0.0, 1.0)));
      }
    }
    return out;
  }

  static double stepped(const Distribution& distribution, double x, double width, Rng& rng) {
    const double step = width * rng.normal();
    const auto bounds = cell(distribution, x);
    if (!bounds) return x + step;
    const double least = bounds->second - bounds->first;
    return x + std::copysign(std::max(std::abs(step), least), step);
  }

  // Numbers along the gradient, then a few steps through the neighbourhood.
  static void improve(const Space& space, const Beliefs& beliefs, Candidate& candidate, Rng& rng) {
    constexpr int steps = 10;
    consider(space, beliefs, candidate, descended_numbers(space, beliefs, candidate));
    for (int i = 0; i < steps; ++i) consider(space, beliefs, candidate, neighbour(space, candidate.x, rng));
  }

  static void consider(const Space& space, const Beliefs& beliefs, Candidate& candidate, Point point) {
    Coordinates x = coordinates(space, point);
    const double g = gain(beliefs, x);
    if (g > candidate.gain) candidate = {std::move(point), std::move(x), g};
  }

  static Point descended_numbers(const Space& space, const Beliefs& beliefs, const Candidate& candidate) {
    std::vector<size_t> numbers;
    for (size_t j = 0; j < candidate.x.size(); ++j) {
      if (!std::isnan(candidate.x[j]) && !std::holds_alternative<Categorical>(*space.parameters()[j].distribution)) {
        numbers.push_back(j);
      }
    }
    if (numbers.empty()) return candidate.point;
    Coordinates x = candidate.x;
    const auto place = [&](const Eigen::VectorXd& at) {
      for (size_t k = 0; k < numbers.size(); ++k) x[numbers[k]] = at[static_cast<Eigen::Index>(k)];
    };
    Eigen::VectorXd start(static_cast<Eigen::Index>(numbers.size()));
    for (size_t k = 0; k < numbers.size(); ++k) start[static_cast<Eigen::Index>(k)] = x[numbers[k]];
    const auto loss = [&](const Eigen::VectorXd& at, Eigen::VectorXd& gradient) {
      place(at);
      return negative_gain(beliefs, x, numbers, gradient);
    };
    place(descended(loss, start, {.low = 0, .high = 1, .most_steps = 30, .tolerance = 1e-5}));
    Point out;
    for (size_t j = 0; j < x.size(); ++j) {
      const Parameter& p = space.parameters()[j];
      if (!space.is_active(p, out)) continue;
      out.set(p.name, p.pinned ? *p.pinned : from_unit(*p.distribution, x[j]));
    }
    return out;
  }

  size_t startup_, most_points_;
  Taken taken_;
  NewResults news_;
  std::vector<Seen> seen_;
  std::vector<GpParameters> parameters_;  // of the objective, then of each constraint
  size_t fitted_at_ = 0;                  // trials, of last_fit()
};

}  // namespace

Entry<Sampler> gp() {
  return {.help = "Gaussian process with expected improvement: fewest trials, the most time per trial.",
          .make = make_as<Gp, Sampler>,
          .options = {{.name = "n_startup_trials", .fallback = 10, .help = "random trials before it learns", .low = 0},
                      {.name = "n_points", .fallback = 200, .help = "trials that the model sees at most", .low = 10}},
          .aliases = {"GPS", "GPSampler"}};
}

}  // namespace quasar::search::samplers
