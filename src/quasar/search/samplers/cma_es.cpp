// CMA-ES: a normal distribution that moves, stretches and turns towards the better points.
//
// It serves the numbers that exist in every configuration; choices, and parameters that exist under a condition only, are drawn
// independently and uniformly, as Optuna's sampler of this name does. Every finished trial of the space counts, whoever chose it.
// When the distribution has shrunk to a point or nothing better came for long, it starts anew elsewhere with twice the population
// (IPOP, Auger and Hansen 2005). Search distribution and references: search/models/cma.hpp.
#include <algorithm>
#include <cmath>
#include <memory>

#include "quasar/base/hash.hpp"
#include "quasar/search/models/cma.hpp"
#include "quasar/search/new_results.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr int most_attempts = 20;  // at a point that was not tried yet, before a free one is drawn

class CmaEs final : public Sampler {
 public:
  explicit CmaEs(const Options& options)
      : sigma_(options.real("sigma0")), population_(static_cast<size_t>(options.integer("population_size"))) {}

  bool takes_several_objectives() const override { return false; }

  std::optional<Point> next(const History& history, Rng& rng) override {
    const Space& space = history.space;
    const auto size = space.size();
    if (size && taken_.update(history).size() >= *size) return std::nullopt;
    if (dimensions_.empty()) choose_dimensions(space);
    for (const Result& result : news_.update(history)) take(history, result);
    for (int i = 0; i < most_attempts; ++i) {
      Point point = drawn(space, rng);
      if (!size || !taken_.contains(*space.index_of(point))) return point;
    }
    return size ? space.at(taken_.draw_free(*size, rng)) : space.sample(rng);
  }

 private:
  // Its conditions hold whatever is chosen: the parents have one value, and it is the right one.
  static bool always_active(const Space& space, const Parameter& parameter) {
    return std::ranges::all_of(parameter.conditions, [&](const Condition& condition) {
      const Parameter* parent = space.find(condition.parent);
      if (parent == nullptr || !always_active(space, *parent)) return false;
      if (!parent->pinned && cardinality(*parent->distribution) != 1) return false;
      const Json value = parent->pinned ? *parent->pinned : value_at(*parent->distribution, 0);
      return condition.allows(value);
    });
  }

  struct Member {
    Losses losses;
    Eigen::VectorXd x;
  };

  void choose_dimensions(const Space& space) {
    for (size_t j = 0; j < space.parameters().size(); ++j) {
      const Parameter& p = space.parameters()[j];
      const bool number = !std::holds_alternative<Categorical>(*p.distribution) && cardinality(*p.distribution) != 1;
      if (number && !p.pinned && always_active(space, p)) dimensions_.push_back(j);
    }
    if (dimensions_.empty()) return;
    const double d = static_cast<double>(dimensions_.size());
    if (population_ == 0) population_ = static_cast<size_t>(4 + std::floor(3 * std::log(d)));
    population_ = std::max<size_t>(population_, 4);
    start(space, Eigen::VectorXd::Constant(static_cast<Eigen::Index>(dimensions_.size()), 0.5), population_);
  }

  void start(const Space& space, Eigen::VectorXd mean, size_t population) {
    std::vector<Cells> cells;
    for (const size_t j : dimensions_) {
      const DistributionPtr distribution = space.parameters()[j].distribution;
      const bool has_cells = cell(*distribution, 0.5).has_value();
      cells.push_back(has_cells ? Cells([distribution](double x) { return *cell(*distribution, x); }) : Cells());
    }
    cma_ = std::make_unique<Cma>(std::move(mean), sigma_, population, std::move(cells));
    since_best_ = 0;
    best_.reset();
  }

  // Collects finished trials into a generation.
  void take(const History& history, const Result& result) {
    if (!cma_) return;
    Eigen::VectorXd x(static_cast<Eigen::Index>(dimensions_.size()));
    for (size_t k = 0; k < dimensions_.size(); ++k) x[static_cast<Eigen::Index>(k)] = result.x[dimensions_[k]];
    if (!x.allFinite()) return;
    generation_.push_back({result.losses, std::move(x)});
    if (generation_.size() < cma_->population()) return;
    std::ranges::stable_sort(generation_, [](const Member& a, const Member& b) { return dominates(a.losses, b.losses); });
    ++since_best_;
    if (!best_ || dominates(generation_.front().losses, *best_)) {
      best_ = generation_.front().losses;
      since_best_ = 0;
    }
    std::vector<Eigen::VectorXd> sorted;
    for (Member& member : generation_) sorted.push_back(std::move(member.x));
    generation_.clear();
    cma_->update(sorted);
    const size_t patience = 20 + 30 * dimensions_.size() / cma_->population();
    if (cma_->exhausted() || since_best_ > patience) restart(history);
  }

  void restart(const History& history) {
    Rng rng(seed_of(history.seed, ++restarts_));
    Eigen::VectorXd mean(static_cast<Eigen::Index>(dimensions_.size()));
    for (double& x : mean) x = rng.uniform();
    start(history.space, std::move(mean), 2 * cma_->population());
  }

  Point drawn(const Space& space, Rng& rng) const {
    const Eigen::VectorXd x = cma_ ? cma_->draw(rng) : Eigen::VectorXd();
    Point out;
    Eigen::Index k = 0;
    for (size_t j = 0; j < space.parameters().size(); ++j) {
      const Parameter& p = space.parameters()[j];
      const bool mine = k < x.size() && dimensions_[static_cast<size_t>(k)] == j;
      if (mine) {
        out.set(p.name, from_unit(*p.distribution, x[k++]));
      } else if (space.is_active(p, out)) {
        out.set(p.name, p.pinned ? *p.pinned : from_uniform(*p.distribution, rng.uniform()));
      }
    }
    return out;
  }

  double sigma_;
  size_t population_;
  Taken taken_;
  NewResults news_;
  std::vector<size_t> dimensions_;  // parameters that the distribution covers
  std::unique_ptr<Cma> cma_;        // nullptr: there are none
  std::vector<Member> generation_;
  std::optional<Losses> best_;  // since the last start
  size_t since_best_ = 0;       // generations
  uint64_t restarts_ = 0;
};

}  // namespace

Entry<Sampler> cma_es() {
  return {
      .help = "Covariance matrix adaptation for numbers; choices and conditional parameters are drawn independently.",
      .make = make_as<CmaEs, Sampler>,
      .options =
          {{.name = "sigma0", .fallback = 0.13, .help = "first deviation, as a share of each range", .low = 1e-6, .high = 1},
           {.name = "population_size", .fallback = 0, .help = "trials per generation; 0: 4 + 3·log of the dimensions", .low = 0}},
      .aliases = {"CmaEsSampler"}};
}

}  // namespace quasar::search::samplers
