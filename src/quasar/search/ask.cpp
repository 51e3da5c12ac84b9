#include "quasar/search/ask.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"

namespace quasar::search {

std::optional<Trial> ask(Study& study, const Space& space, Sampler& sampler, uint64_t seed) {
  sampler.check(space);
  check_objectives(sampler, study.directions());
  if (const auto again = study.waiting(space, ""); !again.empty()) return study.resume(again.front(), space, "");
  const Cost none;
  const uint64_t number = study.trials().empty() ? 0 : static_cast<uint64_t>(study.trials().back().number) + 1;
  constexpr uint64_t most_attempts = 1000;
  for (uint64_t attempt = 1; attempt <= most_attempts; ++attempt) {  // as run() does
    Rng rng(seed_of(seed_of(seed, number), attempt));
    const auto point = sampler.next({space, study.trials(), study.directions(), none, seed}, rng);
    if (!point) return std::nullopt;
    if (space.refused(*point).empty()) return study.start(space, *point);
  }
  throw Error("of " + std::to_string(most_attempts) + " points that the sampler gave the search space refuses all");
}

const Trial& tell(Study& study, Trial trial, std::vector<double> values, std::vector<double> constraints) {
  const size_t objectives = study.directions().size();
  if (!values.empty() && values.size() != objectives) {
    throw Error("trial " + std::to_string(trial.number) + " has " + std::to_string(values.size()) +
                " values, but the study has " + std::to_string(objectives) + " objectives");
  }
  for (const double value : values) check_value(value, "a value");
  trial.state = values.empty() ? State::failed : State::complete;
  trial.values = std::move(values);
  if (!constraints.empty()) trial.set_constraints(std::move(constraints));
  return study.finish(std::move(trial));
}

}  // namespace quasar::search
