#include "quasar/worker/preparation.hpp"

namespace quasar::tune {

Preparation::Preparation(SearchToJoin& awaited, double seconds, std::stop_token outer)
    : watch_([this, &awaited] { return is_needless(awaited); }, seconds, std::move(outer)) {}

bool Preparation::is_needless(SearchToJoin& awaited) {
  if (done_) return false;
  try {
    reason_ = awaited.over();
  } catch (const LaunchGone& gone) {
    gone_ = gone;
  }
  return reason_ || gone_;
}

std::optional<std::string> Preparation::reason() const {
  if (!watch_.passed()) return std::nullopt;
  if (gone_) throw *gone_;
  return reason_;
}

}  // namespace quasar::tune
