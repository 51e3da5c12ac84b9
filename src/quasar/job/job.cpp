#include "quasar/job/job.hpp"

namespace quasar::tune {

bool criterion_is_constraint(const Job& job) {
  if (!job.criterion) return false;
  const auto& parts = job.criterion->parts;
  return parts.size() > 1 || parts.front().metric != job.goals.objectives.front().metric;
}

}  // namespace quasar::tune
