// NSGA-II: a population of the best points under several objectives, and children of two of them.
//
// Deb et al. 2002: non-dominated sorting, crowding distance, constrained domination, binary tournaments, simulated binary
// crossover (Deb and Agrawal 1995) and polynomial mutation for numbers, uniform crossover and uniform mutation for choices.
// Steady state: every finished trial enters the population at once and the last one by rank leaves it, so that results count as
// soon as they are known and any number of trials may run in parallel. A child takes what neither parent has from the uniform
// distribution, so that conditional parameters are no obstacle.
#include <algorithm>
#include <cmath>

#include "quasar/search/new_results.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr int most_children = 20;  // at a child that was not tried yet, before a free point is drawn

class NsgaII final : public Sampler {
 public:
  explicit NsgaII(const Options& options)
      : size_(static_cast<size_t>(options.integer("population_size"))),
        crossover_(options.real("crossover_prob")),
        spread_(options.real("crossover_eta")),
        mutation_(options.given("mutation_prob") ? std::optional(options.real("mutation_prob")) : std::nullopt) {}

  std::optional<Point> next(const History& history, Rng& rng) override {
    const Space& space = history.space;
    const auto size = space.size();
    if (size && taken_.update(history).size() >= *size) return std::nullopt;
    for (const Result& result : news_.update(history)) enter(result);
    for (int i = 0; i < most_children && population_.size() >= size_; ++i) {
      Point point = child(space, rng);
      if (!size || !taken_.contains(*space.index_of(point))) return point;
    }
    return size ? space.at(taken_.draw_free(*size, rng)) : space.sample(rng);
  }

 private:
  // Sorted from best to worst after every entry.
  void enter(const Result& result) {
    population_.push_back(result.x);
    losses_.push_back(result.losses);
    const auto order = by_rank(losses_);
    std::vector<Coordinates> points;
    std::vector<Losses> values;
    for (const size_t i : std::span(order).first(std::min(order.size(), size_))) {
      points.push_back(std::move(population_[i]));
      values.push_back(std::move(losses_[i]));
    }
    population_ = std::move(points);
    losses_ = std::move(values);
  }

  // The better one of two.
  const Coordinates& parent(Rng& rng) const {
    return population_[std::min(rng.below(population_.size()), rng.below(population_.size()))];
  }

  Point child(const Space& space, Rng& rng) const {
    const Coordinates& a = parent(rng);
    const Coordinates& b = parent(rng);
    const bool crosses = rng.uniform() < crossover_;
    size_t active = 0;
    for (const double x : a) active += std::isnan(x) ? 0 : 1;
    const double mutation = mutation_.value_or(1 / static_cast<double>(std::max<size_t>(active, 1)));
    Point out;
    for (size_t j = 0; j < space.parameters().size(); ++j) {
      const Parameter& p = space.parameters()[j];
      if (!space.is_active(p, out)) continue;
      if (p.pinned) {
        out.set(p.name, *p.pinned);
      } else {
        out.set(p.name, gene(*p.distribution, a[j], crosses ? b[j] : a[j], mutation, rng));
      }
    }
    return out;
  }

  Json gene(const Distribution& distribution, double a, double b, double mutation, Rng& rng) const {
    if (std::isnan(a)) std::swap(a, b);
    const bool mutates = rng.uniform() < mutation;
    if (std::isnan(a)) return from_uniform(distribution, rng.uniform());
    const double other = std::isnan(b) ? a : b;
    if (std::holds_alternative<Categorical>(distribution)) {
      return mutates ? from_uniform(distribution, rng.uniform()) : from_unit(distribution, rng.uniform() < 0.5 ? a : other);
    }
    double x = crossed(a, other, rng);
    if (mutates) x = mutated(distribution, x, rng);
    return from_unit(distribution, std::clamp(x, 0.0, 1.0));
  }

  // Simulated binary crossover: as far from a and b as one-point crossover of binary numbers would be; every other time a or b.
  double crossed(double a, double b, Rng& rng) const {
    if (rng.uniform() < 0.5) std::swap(a, b);
    if (rng.uniform() < 0.5) return a;
    const double u = rng.uniform();
    const double beta = u < 0.5 ? std::pow(2 * u, 1 / (spread_ + 1)) : std::pow(1 / (2 * (1 - u)), 1 / (spread_ + 1));
    return 0.5 * ((1 + beta) * a + (1 - beta) * b);
  }

  // Polynomial mutation; a whole number leaves its cell at least.
  static double mutated(const Distribution& distribution, double x, Rng& rng) {
    constexpr double eta = 20;
    const double u = rng.uniform();
    const double step = u < 0.5 ? std::pow(2 * u, 1 / (eta + 1)) - 1 : 1 - std::pow(2 * (1 - u), 1 / (eta + 1));
    const auto bounds = cell(distribution, x);
    if (!bounds) return x + step;
    const double width = bounds->second - bounds->first;
    return x + (step < 0 ? std::min(step, -width) : std::max(step, width));
  }

  size_t size_;
  double crossover_, spread_;
  std::optional<double> mutation_;
  Taken taken_;
  NewResults news_;
  std::vector<Coordinates> population_;  // from best to worst
  std::vector<Losses> losses_;           // of the population
};

}  // namespace

Entry<Sampler> nsga_ii() {
  return {
      .help = "Genetic search by non-dominated sorting, for several objectives.",
      .make = make_as<NsgaII, Sampler>,
      .options = {{.name = "population_size", .fallback = 20, .help = "points that children come from", .low = 2},
                  {.name = "crossover_prob", .fallback = 0.9, .help = "share of children with two parents", .low = 0, .high = 1},
                  {.name = "crossover_eta", .fallback = 5.0, .help = "larger: children nearer to their parents", .low = 0},
                  {.name = "mutation_prob",
                   .fallback = 0.0,
                   .help = "per parameter; when not given, 1 by the number of parameters",
                   .low = 0,
                   .high = 1}},
      .aliases = {"NSGAIISampler", "NSGA2"}};
}

}  // namespace quasar::search::samplers
