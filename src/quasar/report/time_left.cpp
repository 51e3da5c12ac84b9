#include "quasar/report/time_left.hpp"

#include <algorithm>

namespace quasar::report {

void TimeLeft::hear(const search::Event& event) {
  if (event.counts.finished() < finished_) *this = TimeLeft();  // a new stage, whose trials cost something else
  finished_ = event.counts.finished();
  total_ = event.total;
  if (event.kind != search::Event::Kind::finished) return;
  ++heard_;
  if (event.trial.is_duplicate()) return;
  ++executed_;
  cost_ += event.trial.seconds().value_or(0);
}

// What trials cost that were executed, times how many of those to come will be, over what runs side by side.
std::optional<double> TimeLeft::seconds() const {
  if (!total_ || executed_ == 0 || finished_ >= *total_) return std::nullopt;
  const double to_come = static_cast<double>(*total_ - finished_);
  const double share = static_cast<double>(executed_) / static_cast<double>(heard_);
  const double beside = std::max(1.0, cost_ / std::max(watch_.seconds(), 1e-3));
  return to_come * share * cost_ / static_cast<double>(executed_) / beside;
}

}  // namespace quasar::report
