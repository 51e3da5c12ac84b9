#include "quasar/search/pruner.hpp"

#include <numeric>

namespace quasar::search {

double mean_of(std::span<const double> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

}  // namespace quasar::search
