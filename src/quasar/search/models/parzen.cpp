#include "quasar/search/models/parzen.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quasar/search/models/normal.hpp"

namespace quasar::search {
namespace {

// The larger of the distances to the neighbours (of the outermost: to the only one), at least 1/(n+4) so that few points do not
// fix the search; Bergstra et al. 2011. A number with steps has kernels of at least one step: narrower ones cannot leave their
// cell, and their density at its centre would say more than the cell holds.
std::vector<double> widths(size_t parameter, std::span<const Coordinates* const> observed, std::optional<uint64_t> cells) {
  std::vector<std::pair<double, size_t>> sorted;
  for (size_t m = 0; m < observed.size(); ++m) {
    if (const double x = (*observed[m])[parameter]; !std::isnan(x)) sorted.emplace_back(x, m);
  }
  std::ranges::sort(sorted);
  const size_t n = sorted.size();
  const double step = cells ? 1 / static_cast<double>(*cells) : 0;
  const double least = std::min(1.0, std::max(step, 1 / std::min(100.0, 4 + static_cast<double>(n))));
  std::vector<double> out(observed.size(), 1);
  for (size_t i = 0; i < n; ++i) {
    const double x = sorted[i].first;
    const double left = i > 0 ? x - sorted[i - 1].first : n > 1 ? 0 : x;
    const double right = i + 1 < n ? sorted[i + 1].first - x : n > 1 ? 0 : 1 - x;
    out[sorted[i].second] = std::clamp(std::max(left, right), least, 1.0);
  }
  return out;
}

}  // namespace

Parzen::Parzen(const Space& space, std::span<const Coordinates* const> observed) : space_(space), size_(observed.size()) {
  for (size_t j = 0; j < space.parameters().size(); ++j) kernels_.push_back(kernels(j, observed));
}

Parzen::Kernels Parzen::kernels(size_t parameter, std::span<const Coordinates* const> observed) const {
  const Distribution& distribution = *space_.parameters()[parameter].distribution;
  const auto cells = cardinality(distribution);
  const double n = static_cast<double>(std::max<size_t>(observed.size(), 1));
  Kernels out;
  out.categorical = std::holds_alternative<Categorical>(distribution);
  if (out.categorical) {
    const double k = static_cast<double>(*cells);
    out.log_hit = std::log((1 + 1 / n) / (1 + k / n));
    out.log_miss = std::log((1 / n) / (1 + k / n));
    out.log_uniform = -std::log(k);
  }
  const std::vector<double> sigma =
      out.categorical ? std::vector<double>(observed.size(), 1) : widths(parameter, observed, cells);
  for (size_t m = 0; m < observed.size(); ++m) {
    const double center = (*observed[m])[parameter];
    const bool there = !std::isnan(center);
    out.center.push_back(there ? center : out.categorical ? -1 : 0);
    out.precision.push_back(there && !out.categorical ? 1 / sigma[m] : 0);
    const double inside = there ? normal_below((1 - center) / sigma[m]) - normal_below(-center / sigma[m]) : 1;
    const bool normal = there && !out.categorical;
    out.log_norm.push_back(normal ? -std::log(inside * sigma[m] * std::sqrt(2 * std::numbers::pi)) : 0);
  }
  return out;
}

double Parzen::draw(size_t parameter, size_t component, Rng& rng) const {
  const Kernels& k = kernels_[parameter];
  const bool uniform = component == size_ || (k.categorical ? k.center[component] < 0 : k.precision[component] == 0);
  if (k.categorical) {
    const bool hit = !uniform && rng.uniform() < std::exp(k.log_hit) - std::exp(k.log_miss);
    return hit ? k.center[component] : static_cast<double>(rng.below(*cardinality(*space_.parameters()[parameter].distribution)));
  }
  if (uniform) return rng.uniform();
  double x = -1;
  while (x < 0 || x > 1) x = k.center[component] + rng.normal() / k.precision[component];
  return x;
}

Point Parzen::sample(Rng& rng) const {
  const size_t component = rng.below(size_ + 1);  // the last one is the uniform
  Point out;
  for (size_t j = 0; j < kernels_.size(); ++j) {
    const Parameter& p = space_.parameters()[j];
    if (!space_.is_active(p, out)) continue;
    out.set(p.name, p.pinned ? *p.pinned : from_unit(*p.distribution, draw(j, component, rng)));
  }
  return out;
}

double Parzen::log_density(const Coordinates& x) const {
  std::vector<double> logs(size_ + 1, 0.0);
  for (size_t j = 0; j < kernels_.size(); ++j) {
    const Kernels& k = kernels_[j];
    const double at = x[j];
    if (std::isnan(at)) continue;
    logs[size_] += k.log_uniform;
    for (size_t m = 0; m < size_; ++m) {
      const double z = (at - k.center[m]) * k.precision[m];
      const double choice = k.center[m] < 0 ? k.log_uniform : k.center[m] == at ? k.log_hit : k.log_miss;
      logs[m] += k.categorical ? choice : k.log_norm[m] - 0.5 * z * z;
    }
  }
  const double top = *std::max_element(logs.begin(), logs.end());
  double sum = 0;
  for (const double l : logs) sum += std::exp(l - top);
  return top + std::log(sum / static_cast<double>(size_ + 1));
}

}  // namespace quasar::search
