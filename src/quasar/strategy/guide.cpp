#include "quasar/strategy/guide.hpp"

#include <cmath>

#include "quasar/base/names.hpp"

namespace quasar::tune {

bool Guide::nearer(const search::Trial& a, const search::Trial& b) {
  const Measures x = measures_of(job_.goals, a), y = measures_of(job_.goals, b);
  for (const auto* one : {&x, &y}) lost_ = lost_ || (!one->empty() && !one->contains(metric));
  if (lost_) return loss_of(*job_.criterion, x, baseline_) < loss_of(*job_.criterion, y, baseline_);
  const auto distance = [](const Measures& measures) { return measures.contains(metric) ? measures.at(metric) : HUGE_VAL; };
  return distance(x) < distance(y);
}

std::string Guide::told(bool locally) const {
  std::vector<std::string> means;
  if (lost_) means.push_back("repairs are judged by " + job_.goals.objectives.front().metric + " instead of " + metric);
  if (locally) means.emplace_back("operators are ranked by the noise at their own outputs");
  return "quantized models' outputs cannot be compared with the float model's (their number depends on the data, or they are not "
         "finite): " +
         joined(means);
}

}  // namespace quasar::tune
