#include "quasar/runtime/latency.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/runtime/runner.hpp"

namespace quasar::runtime {
namespace {

constexpr size_t warm_up_runs = 5;   // caches, branch predictors, memory plan
constexpr size_t samples_held = 16;  // read once, outside of the timed part
constexpr size_t fewest_runs = 20;
constexpr double short_run = 5;   // milliseconds
constexpr double settled = 0.02;  // the median's interval, as a share of it

double run_ms(const Runner& session, const data::Sample& sample) {
  constexpr double milliseconds = 1000;
  return session.seconds_of_run(sample) * milliseconds;
}

// The 95 % interval of the median of sorted values.
std::pair<double, double> interval_of_median(const std::vector<double>& sorted) {
  const double n = static_cast<double>(sorted.size()), reach = 1.96 * std::sqrt(n) / 2;
  const auto at = [&](double rank) { return sorted[static_cast<size_t>(std::clamp(rank, 0.0, n - 1))]; };
  return {at(std::floor(n / 2 - reach)), at(std::ceil(n / 2 + reach))};
}

std::vector<data::Sample> first_samples(const data::Dataset& samples) {
  if (samples.size() == 0) throw Error("latency needs at least one sample, but " + samples.source() + " has none");
  std::vector<data::Sample> held;
  for (size_t i = 0; i < std::min(samples.size(), samples_held); ++i) held.push_back(samples.at(i));
  return held;
}

}  // namespace

// The same for all: a first run that counts beside second ones would be the slower by what lies in the caches.
bool run_twice(const std::vector<std::vector<double>>& times) {
  return std::ranges::all_of(times, [](const std::vector<double>& of_model) { return median_of(of_model) <= short_run; });
}

bool is_settled(std::vector<double> times) {
  if (times.size() < fewest_runs) return false;
  std::sort(times.begin(), times.end());
  const auto [low, high] = interval_of_median(times);
  return high - low <= settled * times[times.size() / 2];
}

double median_of(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

Latency latency_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 9 / 10], times.size()};
}

Ratio ratio_of(std::span<const double> times, std::span<const double> others) {
  std::vector<double> ratios;
  for (size_t i = 0; i < times.size(); ++i) ratios.push_back(times[i] / others[i]);
  std::sort(ratios.begin(), ratios.end());
  const auto [low, high] = interval_of_median(ratios);
  return {ratios[ratios.size() / 2], low, high};
}

namespace {

// Each model's ratio to the first; of one model alone, its times.
bool all_settled(const std::vector<std::vector<double>>& times) {
  if (times.size() == 1) return is_settled(times.front());
  return times.front().size() >= fewest_runs && std::ranges::all_of(times, [&](const std::vector<double>& of_model) {
           const Ratio ratio = ratio_of(of_model, times.front());
           return ratio.high - ratio.low <= settled * ratio.median;
         });
}

// On several threads, `after_another` model once the threads of that one have gone to sleep.
double ms_in_a_row(const Runner& session, const data::Sample& sample, bool after_another) {
  constexpr double others_wait = 0.04, counted = 0.01, longest = 0.03;
  constexpr size_t fewest = 5;
  const Stopwatch watch;
  while (after_another && watch.seconds() < others_wait) session.run(sample);
  const double begun = watch.seconds();
  std::vector<double> times;
  do times.push_back(run_ms(session, sample));
  while (watch.seconds() < begun + (times.size() < fewest ? longest : counted));
  return median_of(std::move(times));
}

}  // namespace

std::vector<std::vector<double>> times_in_turn(std::span<const graph::Model* const> models, const data::Dataset& samples,
                                               const Effort& effort, const Device& device) {
  const std::vector<data::Sample> held = first_samples(samples);
  std::vector<Runner> sessions;
  const Device timed_on = has_times(device.library) ? device : Device();
  for (const graph::Model* model : models) {
    sessions.emplace_back(*model, RunnerOptions{.device = timed_on, .exact_sums = false, .threads = effort.threads});
  }
  std::vector<std::vector<double>> times(models.size());
  const Stopwatch watch;
  const auto time_left = [&](double seconds) { return watch.seconds() < seconds; };
  for (size_t i = 0; i < warm_up_runs && (i == 0 || time_left(effort.seconds / 2)); ++i) {
    for (size_t k = 0; k < sessions.size(); ++k) times[k].push_back(run_ms(sessions[k], held[i % held.size()]));
  }
  const bool twice = effort.threads == 1 && run_twice(times);
  for (auto& of_model : times) of_model.clear();
  const auto enough = [&] {
    const size_t turns = times.front().size();
    if (turns == 0) return false;
    if (!time_left(effort.seconds)) return true;
    return !time_left(effort.at_least) && (turns >= effort.turns || all_settled(times));
  };
  for (size_t i = 0; !enough(); ++i) {
    for (size_t j = 0; j < sessions.size(); ++j) {
      const data::Sample& sample = held[i % held.size()];
      if (effort.threads > 1) {  // there and back: the last model of a turn is the first of the next one, and need not wait
        const size_t k = i % 2 == 0 ? j : sessions.size() - 1 - j;
        times[k].push_back(ms_in_a_row(sessions[k], sample, i == 0 || j > 0));
        continue;
      }
      const double first = run_ms(sessions[j], sample);
      times[j].push_back(twice ? run_ms(sessions[j], sample) : first);
    }
  }
  return times;
}

Latency latency(const graph::Model& model, const data::Dataset& samples, const Effort& effort, const Device& device) {
  const std::array models{&model};
  return latency_of(times_in_turn(models, samples, effort, device).front());
}

}  // namespace quasar::runtime
