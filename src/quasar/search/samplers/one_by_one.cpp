// Coordinate descent: the best point so far with one parameter changed, the parameters in turn; a change that is better stays.
//
// The turn goes on with the parameter that gave the last improvement, so that those before it come again only when all others
// were tried beside it. Once no single change is left, the untried point that differs in the fewest parameters is next. Every
// point is tried at most once, and what was tried decides, not when it was: a search that is continued goes the same way.
#include <algorithm>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/search/pareto.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr uint64_t most_compared = 1 << 17;  // points of larger spaces are drawn when no single change is left

// Parameters that differ, those that only one point has included.
size_t differences(const Point& a, const Point& b) {
  size_t same = 0;
  for (const auto& [name, value] : a.values()) {
    const Json* other = b.find(name);
    same += other != nullptr && *other == value ? 1 : 0;
  }
  return std::max(a.values().size(), b.values().size()) - same;
}

class OneByOne final : public Sampler {
 public:
  bool takes_several_objectives() const override { return false; }

  void check(const Space& space) const override {
    if (const auto ranges = space.ranges(); !ranges.empty())
      throw Error("the one_by_one sampler needs lists of choices, but these parameters are ranges: " + joined(ranges) +
                  "; write their values as lists, or use another search_algo");
    if (!space.size()) throw Error("the search space has too many points for the one_by_one sampler; use another search_algo");
  }

  std::optional<Point> next(const History& history, Rng& rng) override {
    check(history.space);
    const uint64_t size = *history.space.size();
    if (taken_.update(history).size() >= size) return std::nullopt;
    const Incumbent best = incumbent(history);
    if (best.point == nullptr) return first_free(history.space, size);
    if (auto point = changed(history.space, best)) return point;
    if (size > most_compared) return history.space.at(taken_.draw_free(size, rng));
    return nearest(history.space, *best.point, size);
  }

 private:
  struct Incumbent {
    const Point* point = nullptr;
    size_t turn = 0;  // the parameter whose change made it the best
  };

  static Incumbent incumbent(const History& history) {
    Incumbent best;
    std::optional<Losses> least;
    for (const Trial& trial : history.trials) {
      if (trial.state != State::complete || !history.space.index_of(trial.point)) continue;
      const auto losses = known_losses(trial, history.directions);
      if (!losses || (least && !dominates(*losses, *least))) continue;
      const auto& parameters = history.space.parameters();
      const auto differs = [&](const Parameter& p) {
        const Json *before = best.point->find(p.name), *now = trial.point.find(p.name);
        return (before == nullptr) != (now == nullptr) || (before != nullptr && *before != *now);
      };
      if (best.point != nullptr) best.turn = static_cast<size_t>(std::ranges::find_if(parameters, differs) - parameters.begin());
      best.point = &trial.point;
      least = losses;
    }
    return best;
  }

  // Of large spaces nobody knows before which points are refused.
  bool is_free(const Space& space, uint64_t index) const {
    return !taken_.contains(index) && space.refused(space.at(index)).empty();
  }

  std::optional<Point> first_free(const Space& space, uint64_t size) const {
    for (uint64_t index = 0; index < size; ++index) {
      if (is_free(space, index)) return space.at(index);
    }
    return std::nullopt;
  }

  // The first single change that is free. Parameters that depend on the changed one get their first choices.
  std::optional<Point> changed(const Space& space, const Incumbent& best) const {
    const auto& parameters = space.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Parameter& p = parameters[(best.turn + i) % parameters.size()];
      const auto* choices = std::get_if<Categorical>(p.distribution.get());
      if (p.pinned || choices == nullptr || best.point->find(p.name) == nullptr) continue;
      for (const Json& choice : choices->choices) {
        Json words = Json::object();
        for (const auto& [name, value] : best.point->values()) words[name] = name == p.name ? choice : value;
        Point point = space.nearest_to(words);
        if (!taken_.contains(*space.index_of(point)) && space.refused(point).empty()) return point;
      }
    }
    return std::nullopt;
  }

  std::optional<Point> nearest(const Space& space, const Point& best, uint64_t size) const {
    std::optional<Point> found;
    size_t least = std::numeric_limits<size_t>::max();
    for (uint64_t index = 0; index < size; ++index) {
      if (taken_.contains(index)) continue;
      Point point = space.at(index);
      if (const size_t count = differences(point, best); count < least && space.refused(point).empty()) {
        least = count;
        found = std::move(point);
      }
    }
    return found;
  }

  Taken taken_;
};

}  // namespace

Entry<Sampler> one_by_one() {
  return {.help = "The best point with one parameter changed, the parameters in turn; a change that is better stays.",
          .make = make_as<OneByOne, Sampler>,
          .aliases = {"coordinate_descent"}};
}

}  // namespace quasar::search::samplers
