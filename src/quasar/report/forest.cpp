#include "quasar/report/forest.hpp"

#include <algorithm>
#include <cstdint>

#include "quasar/base/rng.hpp"

namespace quasar::report {
namespace {

// A part of one feature's domain: numbers in [low, high), or a set of choices.
struct Side {
  double low = -2, high = 2;
  uint64_t choices = ~uint64_t{0};

  bool holds(const Feature& feature, double x) const {
    return feature.choices > 0 ? (choices >> static_cast<uint64_t>(x) & 1) != 0 : x >= low && x < high;
  }

  double mass(const Feature& feature) const {
    const double there = 1 - feature.missing;
    if (feature.choices == 0) {
      const double length = std::max(0.0, std::min(high, 1.0) - std::max(low, 0.0));
      return there * length + (low <= -1 && high > -1 ? feature.missing : 0);
    }
    double count = 0;
    for (size_t i = 0; i < feature.choices; ++i) count += (choices >> i & 1) != 0 ? 1 : 0;
    const bool none = (choices >> feature.choices & 1) != 0;
    return there * count / static_cast<double>(feature.choices) + (none ? feature.missing : 0);
  }
};

struct Leaf {
  std::vector<Side> box;  // per feature
  double value = 0;
};

struct Split {
  size_t feature = 0;
  Side left, right;
  double gain = 0;
};

// A group of rows that lie at the same place of one feature.
struct Place {
  double x = 0, sum = 0, count = 0;
};

std::vector<Place> places_of(const Samples& samples, const std::vector<size_t>& rows, size_t feature) {
  std::vector<Place> places;
  if (samples.features[feature].choices > 0) {
    places.resize(samples.features[feature].choices + 1);
    for (const size_t row : rows) {
      Place& place = places[static_cast<size_t>(samples.rows[row][feature])];
      place.sum += samples.values[row];
      place.count += 1;
    }
    for (size_t i = 0; i < places.size(); ++i) places[i].x = static_cast<double>(i);
    std::erase_if(places, [](const Place& place) { return place.count == 0; });
    // Ordered by their mean, the best split of choices is one between neighbours (Fisher 1958).
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.sum / a.count < b.sum / b.count; });
    return places;
  }
  std::vector<size_t> order = rows;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return samples.rows[a][feature] < samples.rows[b][feature]; });
  for (const size_t row : order) {
    const double x = samples.rows[row][feature];
    if (places.empty() || places.back().x != x) places.push_back({x, 0, 0});
    places.back().sum += samples.values[row];
    places.back().count += 1;
  }
  return places;
}

Split split_at(const Samples& samples, size_t feature, const std::vector<Place>& places, size_t at) {
  Split split{.feature = feature, .left = {}, .right = {}};
  if (samples.features[feature].choices == 0) {
    split.left.high = split.right.low = (places[at].x + places[at + 1].x) / 2;
    return split;
  }
  uint64_t left = 0;
  for (size_t i = 0; i <= at; ++i) left |= uint64_t{1} << static_cast<uint64_t>(places[i].x);
  split.left.choices = left;
  split.right.choices = ~left;  // choices that no row has go right
  return split;
}

bool is_missing_somewhere(const Samples& samples, const std::vector<size_t>& rows, size_t feature) {
  return std::ranges::any_of(rows, [&](size_t row) { return samples.rows[row][feature] == samples.features[feature].absent(); });
}

// The split that lowers the sum of squares most; gain 0: none does.
Split best_split(const Samples& samples, const std::vector<size_t>& rows) {
  Split best;
  for (size_t feature = 0; feature < samples.features.size(); ++feature) {
    if (samples.features[feature].dependent && is_missing_somewhere(samples, rows, feature)) continue;
    const auto places = places_of(samples, rows, feature);
    double sum = 0, count = 0, left_sum = 0, left_count = 0;
    for (const auto& place : places) {
      sum += place.sum;
      count += place.count;
    }
    for (size_t i = 0; i + 1 < places.size(); ++i) {
      left_sum += places[i].sum;
      left_count += places[i].count;
      const double right_sum = sum - left_sum, right_count = count - left_count;
      const double gain = left_sum * left_sum / left_count + right_sum * right_sum / right_count - sum * sum / count;
      if (gain <= best.gain * (1 + 1e-12)) continue;
      best = split_at(samples, feature, places, i);
      best.gain = gain;
    }
  }
  return best;
}

Side intersection(const Side& a, const Side& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high), a.choices & b.choices};
}

void grow(const Samples& samples, const std::vector<size_t>& rows, std::vector<Side> box, std::vector<Leaf>& leaves) {
  double sum = 0, squares = 0;
  for (const size_t row : rows) {
    sum += samples.values[row];
    squares += samples.values[row] * samples.values[row];
  }
  const double mean = sum / static_cast<double>(rows.size());
  const bool pure = squares - sum * mean <= 1e-12 * squares;
  const Split split = pure ? Split{} : best_split(samples, rows);
  if (split.gain <= 0) {
    leaves.push_back({std::move(box), mean});
    return;
  }
  for (const Side& side : {split.left, split.right}) {
    std::vector<size_t> part;
    for (const size_t row : rows) {
      if (side.holds(samples.features[split.feature], samples.rows[row][split.feature])) part.push_back(row);
    }
    std::vector<Side> inside = box;
    inside[split.feature] = intersection(box[split.feature], side);
    grow(samples, part, std::move(inside), leaves);
  }
}

// The cells of a feature between which no leaf distinguishes: stretches of numbers, or single choices.
std::vector<Side> cells_of(const Feature& feature, const std::vector<Leaf>& leaves, size_t index) {
  std::vector<Side> cells;
  for (size_t i = 0; feature.choices > 0 && i <= feature.choices; ++i) cells.push_back({-2, 2, uint64_t{1} << i});
  if (feature.choices > 0) return cells;
  std::vector<double> edges{-2, 2};
  for (const auto& leaf : leaves) edges.insert(edges.end(), {leaf.box[index].low, leaf.box[index].high});
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (size_t i = 0; i + 1 < edges.size(); ++i) cells.push_back({edges[i], edges[i + 1]});
  return cells;
}

bool within(const Side& cell, const Side& side) {
  return cell.low >= side.low && cell.high <= side.high && (cell.choices & ~side.choices) == 0;
}

// Adds every feature's share of the tree's variance; false: the tree has none.
bool add_shares(const Samples& samples, const std::vector<Leaf>& leaves, std::vector<double>& shares) {
  const size_t count = samples.features.size();
  std::vector<std::vector<double>> masses(leaves.size(), std::vector<double>(count));
  std::vector<double> volumes(leaves.size(), 1);
  double mean = 0, squares = 0;
  for (size_t l = 0; l < leaves.size(); ++l) {
    for (size_t f = 0; f < count; ++f) volumes[l] *= masses[l][f] = leaves[l].box[f].mass(samples.features[f]);
    mean += volumes[l] * leaves[l].value;
  }
  for (size_t l = 0; l < leaves.size(); ++l) squares += volumes[l] * (leaves[l].value - mean) * (leaves[l].value - mean);
  if (!(squares > 0)) return false;
  for (size_t f = 0; f < count; ++f) {
    double variance = 0;
    for (const Side& cell : cells_of(samples.features[f], leaves, f)) {
      double marginal = 0;
      for (size_t l = 0; l < leaves.size(); ++l) {
        if (volumes[l] > 0 && within(cell, leaves[l].box[f])) marginal += volumes[l] / masses[l][f] * (leaves[l].value - mean);
      }
      variance += cell.mass(samples.features[f]) * marginal * marginal;
    }
    shares[f] += variance / squares;
  }
  return true;
}

}  // namespace

std::vector<double> variance_shares(const Samples& samples, size_t trees) {
  std::vector<double> shares(samples.features.size());
  Rng rng(0);
  double counted = 0;
  for (size_t tree = 0; tree < trees; ++tree) {
    std::vector<size_t> rows(samples.values.size());
    for (auto& row : rows) row = rng.below(samples.values.size());
    std::vector<Leaf> leaves;
    grow(samples, rows, std::vector<Side>(samples.features.size()), leaves);
    if (add_shares(samples, leaves, shares)) counted += 1;
  }
  for (auto& share : shares) share /= std::max(counted, 1.0);
  return shares;
}

}  // namespace quasar::report
