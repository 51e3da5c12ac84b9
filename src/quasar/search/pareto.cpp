#include "quasar/search/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace quasar::search {
namespace {

// Ranks of one objective are an order; no comparison of all with all is needed.
std::vector<size_t> fronts_of_one(std::span<const Losses> all) {
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) { return dominates(all[a], all[b]); });
  std::vector<size_t> out(all.size(), 0);
  for (size_t i = 1; i < order.size(); ++i) {
    out[order[i]] = out[order[i - 1]] + (dominates(all[order[i - 1]], all[order[i]]) ? 1 : 0);
  }
  return out;
}

}  // namespace

Losses losses(const Trial& trial, std::span<const Direction> directions) {
  Losses out{.values = {}, .violation = trial.violation()};
  for (size_t i = 0; i < directions.size(); ++i) {
    out.values.push_back(directions[i] == Direction::minimize ? trial.values.at(i) : -trial.values.at(i));
  }
  return out;
}

std::optional<Losses> known_losses(const Trial& trial, std::span<const Direction> directions) {
  if (trial.state != State::complete && trial.state != State::pruned) return std::nullopt;
  Trial seen;
  seen.system_attributes = trial.system_attributes;
  seen.values = trial.values;
  if (trial.state == State::pruned && !trial.intermediate.empty())
    seen.values.assign(directions.size(), trial.intermediate.rbegin()->second);
  const bool bad = std::ranges::any_of(seen.values, [](double v) { return std::isnan(v); });
  if (seen.values.size() != directions.size() || bad) return std::nullopt;
  Losses out = losses(seen, directions);
  if (trial.state == State::pruned) out.violation = std::max(out.violation, std::numeric_limits<double>::min());
  return out;
}

bool dominates(const Losses& a, const Losses& b) {
  if (a.violation != b.violation) return a.violation < b.violation;
  bool somewhere = false;
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (a.values[i] > b.values[i]) return false;
    somewhere = somewhere || a.values[i] < b.values[i];
  }
  return somewhere;
}

std::vector<size_t> fronts(std::span<const Losses> all) {
  if (all.empty()) return {};
  if (all.front().values.size() == 1) return fronts_of_one(all);
  std::vector<size_t> out(all.size(), 0), above(all.size(), 0), now;
  std::vector<std::vector<size_t>> below(all.size());
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = 0; b < all.size(); ++b) {
      if (!dominates(all[a], all[b])) continue;
      below[a].push_back(b);
      ++above[b];
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (above[i] == 0) now.push_back(i);
  }
  for (size_t rank = 0; !now.empty(); ++rank) {
    std::vector<size_t> next;
    for (const size_t a : now) {
      out[a] = rank;
      for (const size_t b : below[a]) {
        if (--above[b] == 0) next.push_back(b);
      }
    }
    now = std::move(next);
  }
  return out;
}

std::vector<double> crowding(std::span<const Losses> all, std::span<const size_t> rank) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> out(all.size(), 0);
  if (all.empty()) return out;
  const size_t worst = *std::ranges::max_element(rank);
  std::vector<std::vector<size_t>> members(worst + 1);
  for (size_t i = 0; i < all.size(); ++i) members[rank[i]].push_back(i);
  for (auto& front : members) {
    for (size_t k = 0; k < all.front().values.size(); ++k) {
      const auto loss = [&](size_t i) { return all[i].values[k]; };
      std::ranges::stable_sort(front, {}, loss);
      const double range = loss(front.back()) - loss(front.front());
      out[front.front()] = out[front.back()] = infinity;
      for (size_t i = 1; i + 1 < front.size() && range > 0; ++i)
        out[front[i]] += (loss(front[i + 1]) - loss(front[i - 1])) / range;
    }
  }
  return out;
}

std::vector<size_t> by_rank(std::span<const Losses> all) {
  const auto rank = fronts(all);
  const auto space = crowding(all, rank);
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order,
                    [&](size_t a, size_t b) { return std::tuple(rank[a], -space[a], a) < std::tuple(rank[b], -space[b], b); });
  return order;
}

double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& corner) {
  const size_t last = corner.size() - 1;
  std::erase_if(points, [&](const auto& p) {
    for (size_t k = 0; k <= last; ++k) {
      if (!(p[k] < corner[k])) return true;
    }
    return false;
  });
  if (points.empty()) return 0;
  if (last == 0) return corner[0] - std::ranges::min(points, {}, [](const auto& p) { return p[0]; })[0];
  std::ranges::sort(points, {}, [&](const auto& p) { return p[last]; });
  double volume = 0;
  std::vector<std::vector<double>> slice;
  const std::vector<double> base(corner.begin(), corner.end() - 1);
  for (size_t i = 0; i < points.size(); ++i) {
    const double top = i + 1 < points.size() ? points[i + 1][last] : corner[last];
    slice.emplace_back(points[i].begin(), points[i].end() - 1);
    if (top > points[i][last]) volume += hypervolume(slice, base) * (top - points[i][last]);
  }
  return volume;
}

std::vector<int64_t> pareto_front(std::span<const Trial> trials, std::span<const Direction> directions) {
  std::vector<Losses> seen;
  std::vector<int64_t> numbers;
  for (const Trial& trial : trials) {
    if (trial.state != State::complete || trial.is_duplicate() || trial.violation() > 0) continue;
    Losses mine = losses(trial, directions);
    if (std::ranges::any_of(seen, [&](const Losses& other) { return dominates(other, mine); })) continue;
    for (size_t i = seen.size(); i-- > 0;) {
      if (!dominates(mine, seen[i])) continue;
      seen.erase(seen.begin() + static_cast<ptrdiff_t>(i));
      numbers.erase(numbers.begin() + static_cast<ptrdiff_t>(i));
    }
    seen.push_back(std::move(mine));
    numbers.push_back(trial.number);
  }
  return numbers;
}

}  // namespace quasar::search
