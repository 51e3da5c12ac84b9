#include "quasar/strategy/budget/better.hpp"

#include <algorithm>

#include "quasar/strategy/budget/loss.hpp"

namespace quasar::tune {

void Better::see(const search::Trial& trial) {
  least_ = std::min(least_, trial.values.front());
}

bool Better::is_better(const search::Trial& one, const search::Trial& other) const {
  constexpr double alike = 0.005;
  const std::string& least = context_.job.budget->least;
  const double as_good = (least == "latency" ? 1 + alike : 1) * least_;
  const double cost = std::max(one.values.front(), as_good), before = std::max(other.values.front(), as_good);
  if (!least.empty() && cost != before) return cost < before;
  return lost_by(one, context_) < lost_by(other, context_);
}

}  // namespace quasar::tune
