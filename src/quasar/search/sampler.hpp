// Samplers: which point to try next. One file each in samplers/.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "quasar/base/api.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

// Expected cost of trying a point, in any unit; an empty function: all the same.
using Cost = std::function<double(const Point&)>;

// What a sampler may look at. All of it outlives the call.
struct History {
  const Space& space;
  std::span<const Trial> trials;          // all of the study by number, running ones and those of other spaces too
  std::span<const Direction> directions;  // one per objective
  const Cost& cost;
  uint64_t seed = 0;  // the study's
};

// One object serves one space; between calls the trials only grow in number or finish. The answer depends on the arguments only.
class QUASAR_API Sampler {
 public:
  virtual ~Sampler() = default;

  // Throws Error for a space that the sampler cannot handle; called before anything runs.
  virtual void check(const Space&) const {}

  // Whether it can serve a study with several objectives.
  virtual bool takes_several_objectives() const { return true; }

  // Whether it tries every point of the space once, so that nothing else needs to end the search.
  virtual bool enumerates() const { return false; }

  // nullopt: the space is exhausted. `rng` is seeded from the study's seed and the trial's number.
  virtual std::optional<Point> next(const History& history, Rng& rng) = 0;
};

// Throws Error, which names samplers that can, when the study has several objectives and the sampler takes only one.
QUASAR_API void check_objectives(const Sampler& sampler, std::span<const Direction> directions);

}  // namespace quasar::search

namespace quasar::search::samplers {
QUASAR_API const Table<Sampler>& table();
}
