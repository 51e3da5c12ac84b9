// What rounding holds between and during trials, of all graphs of a search together, within one limit. Results do not depend on
// what is held, and what is read or computed again.
#pragma once

#include <atomic>
#include <memory>

#include "quasar/rounding/memory/held_samples.hpp"
#include "quasar/rounding/memory/recent_cache.hpp"
#include "quasar/rounding/memory/shared_limit.hpp"
#include "quasar/rounding/rounded_layer.hpp"

namespace quasar::tune {

struct RoundingMemory {
  // `once`: one model is made, and nothing is kept for later ones.
  RoundingMemory(data::DatasetPtr all, size_t limit, bool once)
      : samples(std::make_shared<HeldSamples>(std::move(all), limit / 16)),
        moments(once ? 0 : limit / 8),
        rounded(once ? 0 : limit / 16),
        targets(limit / 4),
        frontiers(limit / 2) {}

  const std::shared_ptr<const HeldSamples> samples;
  RecentCache<Moments> moments;
  RecentCache<RoundedLayer> rounded;
  SharedLimit targets;            // float outputs of layers
  MemoryGate frontiers;           // values between layers
  std::atomic<size_t> users = 0;  // numbers that tell them apart in `moments` and `rounded`
};

}  // namespace quasar::tune
