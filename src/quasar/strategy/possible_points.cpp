#include "quasar/strategy/possible_points.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "quasar/job/precision.hpp"

namespace quasar::tune {
namespace {

using search::Point;
using search::Trial;

constexpr int most_asked = 20, most_drawn = 200;
constexpr int64_t first_made_up = int64_t{1} << 40;  // number of a trial that never ran

class PossiblePoints final : public search::Sampler {
 public:
  PossiblePoints(search::Sampler& inner, std::function<bool(const Point&)> possible)
      : inner_(inner), possible_(std::move(possible)) {}

  void check(const search::Space& space) const override { inner_.check(space); }
  bool takes_several_objectives() const override { return inner_.takes_several_objectives(); }

  std::optional<Point> next(const search::History& history, Rng& rng) override {
    for (int asked = 0; asked < most_asked; asked++) {
      learn(history);
      auto point = inner_.next({history.space, together_, history.directions, history.cost, history.seed}, rng);
      if (!point || is_possible(*point)) return point;
      if (auto other = with_one_quantized(history, *point, rng)) return other;
      refuse(std::move(*point));
    }
    for (int drawn = 0; drawn < most_drawn; drawn++) {
      Point point = history.space.sample(rng);
      if (!is_tried(history, point) && is_possible(point)) return point;
    }
    return std::nullopt;
  }

 private:
  // Of what `inner` sees, the order never changes.
  void learn(const search::History& history) {
    for (size_t i = 0; i < history.trials.size(); i++) {
      if (i == places_.size()) {
        places_.push_back(together_.size());
        together_.push_back(history.trials[i]);
      } else if (together_[places_[i]].state != history.trials[i].state) {
        together_[places_[i]] = history.trials[i];
      }
    }
  }

  void refuse(Point point) {
    Trial trial;
    trial.number = first_made_up + static_cast<int64_t>(together_.size());
    trial.state = search::State::failed;
    trial.point = std::move(point);
    together_.push_back(std::move(trial));
  }

  std::optional<Point> with_one_quantized(const search::History& history, const Point& point, Rng& rng) {
    std::vector<std::string> nodes = float_nodes(point);
    for (size_t i = nodes.size(); i > 1; i--) std::swap(nodes[i - 1], nodes[rng.below(i)]);
    for (const auto& node : nodes) {
      const std::pair<std::string, Json> change(precision_of(node), quantized);
      Point other = changed(history.space, point, std::span(&change, 1));
      if (!is_tried(history, other) && is_possible(other)) return other;
    }
    return std::nullopt;
  }

  static bool is_tried(const search::History& history, const Point& point) {
    return std::ranges::any_of(history.trials, [&](const Trial& trial) { return trial.point == point; });
  }

  bool is_possible(const Point& point) {
    std::string text;
    for (const auto& [name, value] : point.values()) text += name + "=" + value.dump() + "\n";
    const auto [found, is_new] = known_.try_emplace(std::move(text), false);
    if (is_new) found->second = possible_(point);
    return found->second;
  }

  search::Sampler& inner_;
  const std::function<bool(const Point&)> possible_;
  std::vector<Trial> together_;  // the study's and those that were refused
  std::vector<size_t> places_;   // of the study's
  std::map<std::string, bool> known_;
};

}  // namespace

std::unique_ptr<search::Sampler> possible_points(search::Sampler& inner, std::function<bool(const Point&)> possible) {
  return std::make_unique<PossiblePoints>(inner, std::move(possible));
}

}  // namespace quasar::tune
