#include "quasar/sensitivity/group_errors.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/parallel.hpp"

namespace quasar::tune {
namespace {

using Groups = std::vector<GroupError>;

void measure(Groups& groups, const ToggledModel& model, const data::Dataset& samples, size_t threads, const Distance& distance) {
  const size_t units = model.units().size(), count = groups.size();
  std::vector<std::vector<Tensor>> references(samples.size());
  parallel_for(samples.size(), threads,
               [&](size_t i) { references[i] = model.outputs(samples.at(i), std::vector<bool>(units, false)); });
  std::vector<double> distances(samples.size() * count);
  parallel_for(distances.size(), threads, [&](size_t run) {
    const size_t i = run / count;
    const GroupError& group = groups[run % count];
    std::vector<bool> on(units, false);
    std::fill_n(on.begin() + static_cast<std::ptrdiff_t>(group.first), group.count, true);
    distances[run] = distance(references[i], model.outputs(samples.at(i), on));
  });
  for (size_t run = 0; run < distances.size(); run++)
    groups[run % count].error += distances[run] / static_cast<double>(samples.size());
}

Groups equal_groups(size_t units, size_t count) {
  Groups groups;
  for (size_t g = 0; g < count; g++) {
    const size_t first = g * units / count;
    groups.push_back({.first = first, .count = (g + 1) * units / count - first});
  }
  return groups;
}

// The halves of those that hurt most, taken out of `groups`.
Groups halves_of_the_worst(Groups& groups, size_t most) {
  std::ranges::stable_sort(groups, [](const auto& a, const auto& b) {
    return std::pair(a.count > 1, a.error) > std::pair(b.count > 1, b.error);  // what can be split first
  });
  Groups halves;
  size_t taken = 0;
  for (; taken < std::min(most, groups.size()) && groups[taken].count > 1; taken++) {
    const auto [first, count, error] = groups[taken];
    halves.push_back({.first = first, .count = count / 2});
    halves.push_back({.first = first + count / 2, .count = count - count / 2});
  }
  groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(taken));
  return halves;
}

}  // namespace

std::vector<GroupError> group_errors(const ToggledModel& model, const data::Dataset& samples, size_t most, size_t threads,
                                     const Distance& distance) {
  constexpr size_t at_first = 32, at_once = 16;
  const size_t units = model.units().size();
  Groups groups = equal_groups(units, units <= most ? units : std::min(at_first, most / 2));
  measure(groups, model, samples, threads, distance);
  for (size_t left = most - std::min(most, groups.size()); left >= 2;) {
    Groups halves = halves_of_the_worst(groups, std::min(at_once, left / 2));
    if (halves.empty()) break;
    measure(halves, model, samples, threads, distance);
    left -= halves.size();
    groups.insert(groups.end(), halves.begin(), halves.end());
  }
  std::ranges::sort(groups, {}, &GroupError::first);
  return groups;
}

std::vector<double> shared_out(const std::vector<GroupError>& groups, const std::vector<double>& noises) {
  std::vector<double> errors(noises.size());
  for (const auto& group : groups) {
    double sum = 0;
    for (size_t u = group.first; u < group.first + group.count; u++) sum += noises[u];
    for (size_t u = group.first; u < group.first + group.count; u++)
      errors[u] = group.error * std::sqrt(sum > 0 ? noises[u] / sum : 1 / static_cast<double>(group.count));
  }
  return errors;
}

}  // namespace quasar::tune
