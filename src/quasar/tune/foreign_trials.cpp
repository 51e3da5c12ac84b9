#include "quasar/tune/foreign_trials.hpp"

#include <cmath>

#include "quasar/base/names.hpp"
#include "quasar/search/enqueued.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {
namespace {

bool came_from_elsewhere(const search::Trial& trial) {
  return trial.state == search::State::complete && !trial.user_attributes.contains("config") && !trial.is_duplicate();
}

bool is_infinite(const search::Trial& trial) {
  const auto why = trial.user_attributes.find(search::attribute::error);
  return trial.state == search::State::failed && why != trial.user_attributes.end() &&
         (*why == search::infinite_value(INFINITY) || *why == search::infinite_value(-INFINITY));
}

std::string named(const std::vector<std::string>& numbers) {
  return (numbers.size() == 1 ? "trial " : "trials ") + joined(numbers) + " of the study";
}

}  // namespace

std::vector<std::string> words_on_foreign_trials(std::span<const search::Trial> trials) {
  std::vector<std::string> left, brought, infinite, out;
  for (const search::Trial& trial : trials) {
    if (search::is_enqueued(trial)) left.push_back(std::to_string(trial.number));
    if (came_from_elsewhere(trial)) brought.push_back(std::to_string(trial.number));
    if (is_infinite(trial)) infinite.push_back(std::to_string(trial.number));
  }
  if (!left.empty())
    out.push_back(named(left) +
                  ", enqueued by another program, did not run: no point of the search space has such values, or the " +
                  "search had ended before (--resume runs it then)");
  if (!brought.empty())
    out.push_back(named(brought) +
                  " came from another program: samplers learn from it, but no limit on trials counts it, and it is " +
                  "never the best, as no model can be made of it");
  if (!infinite.empty())
    out.push_back(named(infinite) + " got an infinite value from another program, with which nothing can be compared: " +
                  (infinite.size() == 1 ? "it counts as failed" : "they count as failed"));
  return out;
}

}  // namespace quasar::tune
