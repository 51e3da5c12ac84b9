#include "quasar/tune/foreign_trials.hpp"

#include "quasar/base/names.hpp"
#include "quasar/search/enqueued.hpp"

namespace quasar::tune {
namespace {

// A search of Quasar's notes the configuration of whatever it completes.
bool came_from_elsewhere(const search::Trial& trial) {
  return trial.state == search::State::complete && !trial.user_attributes.contains("config") && !trial.is_duplicate();
}

std::string named(const std::vector<std::string>& numbers) {
  return (numbers.size() == 1 ? "trial " : "trials ") + joined(numbers) + " of the study";
}

}  // namespace

std::vector<std::string> words_on_foreign_trials(std::span<const search::Trial> trials) {
  std::vector<std::string> left, brought, out;
  for (const search::Trial& trial : trials) {
    if (search::is_enqueued(trial)) left.push_back(std::to_string(trial.number));
    if (came_from_elsewhere(trial)) brought.push_back(std::to_string(trial.number));
  }
  if (!left.empty())
    out.push_back(named(left) +
                  ", enqueued by another program, did not run: no point of the search space has such values, or the " +
                  "search had ended before (--resume runs it then)");
  if (!brought.empty())
    out.push_back(named(brought) +
                  " came from another program: samplers learn from it and limits on trials count it, but it is " +
                  "never the best, as no model can be made of it");
  return out;
}

}  // namespace quasar::tune
