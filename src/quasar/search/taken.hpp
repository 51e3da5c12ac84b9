// The points of a finite space that need no further trial: what samplers must not repeat.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "quasar/search/sampler.hpp"

namespace quasar::search {

class Taken {
 public:
  // Indices of the points that are running, finished or refused by the space; interrupted trials and those of earlier studies
  // do not count. Looks only at trials that came since the
  // last call, so that asking stays cheap in a long study.
  const std::unordered_set<uint64_t>& update(const History& history);

  // As of the last update.
  bool contains(uint64_t index) const { return indices_.contains(index); }

  // One of the others below `size`, uniformly; there must be one.
  uint64_t draw_free(uint64_t size, Rng& rng) const;

 private:
  std::unordered_set<uint64_t> indices_;
  size_t seen_ = 0;
};

}  // namespace quasar::search
