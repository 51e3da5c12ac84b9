// Every point of a finite space once, the cheapest first.
#include <algorithm>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/search/taken.hpp"

namespace quasar::search::samplers {
namespace {

constexpr uint64_t most_refused = 1 << 17;  // one after the other, which takes about a second
constexpr uint64_t most_sorted = 1 << 17;   // larger spaces are walked in product order: nobody reaches their end

class Grid final : public Sampler {
 public:
  bool enumerates() const override { return true; }
  void check(const Space& space) const override {
    const auto ranges = space.ranges();
    if (!ranges.empty()) {
      throw Error("the grid sampler needs lists of choices, but these parameters are ranges: " + joined(ranges) +
                  "; write their values as lists, or use another search_algo");
    }
    if (!space.size()) throw Error("the search space has too many points for the grid sampler; use another search_algo");
  }

  std::optional<Point> next(const History& history, Rng&) override {
    check(history.space);
    const uint64_t size = *history.space.size();
    if (position_ == 0) sort(history, size);
    const auto& taken = taken_.update(history);
    for (uint64_t refused = 0; position_ < size; ++position_) {
      const uint64_t index = order_.empty() ? position_ : order_[position_];
      if (taken.contains(index)) continue;
      Point point = history.space.at(index);
      if (history.space.refused(point).empty()) return point;  // of large spaces nobody knows before
      if (++refused == most_refused)
        throw Error("of " + std::to_string(most_refused) +
                    " points in a row of the search space none is possible; the last: " + history.space.refused(point));
    }
    return std::nullopt;
  }

 private:
  // By expected cost; equal ones stay in product order.
  void sort(const History& history, uint64_t size) {
    if (!history.cost || size > most_sorted) return;
    std::vector<double> cost(size);
    for (uint64_t i = 0; i < size; ++i) cost[i] = history.cost(history.space.at(i));
    order_.resize(size);
    std::iota(order_.begin(), order_.end(), uint64_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](uint64_t a, uint64_t b) { return cost[a] < cost[b]; });
  }

  Taken taken_;
  std::vector<uint64_t> order_;
  uint64_t position_ = 0;
};

}  // namespace

Entry<Sampler> grid() {
  return {.help = "Every combination once, those of least expected cost first.",
          .make = make_as<Grid, Sampler>,
          .aliases = {"grid_search"}};
}

}  // namespace quasar::search::samplers
