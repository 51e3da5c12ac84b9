#include "quasar/rounding/judges.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quasar::tune {
namespace {

constexpr size_t at_each_end = 2;

// In an order whose beginnings are spread over the whole: steps by the golden section.
std::vector<size_t> scattered(const std::vector<size_t>& samples) {
  const size_t size = samples.size();
  size_t step = std::max<size_t>(1, static_cast<size_t>(0.618 * static_cast<double>(size)));
  while (std::gcd(step, size) > 1) step++;
  std::vector<size_t> out;
  for (size_t i = 0; i < size; i++) out.push_back(samples[i * step % size]);
  return out;
}

}  // namespace

std::vector<size_t> spread_over(size_t size, size_t count) {
  count = std::min(size, count);
  std::vector<size_t> out;
  for (size_t i = 0; i < count; i++) out.push_back(i * size / count);
  return out;
}

std::vector<Judge> judges(const std::vector<Reach>& reaches, size_t most) {
  std::vector<size_t> all(reaches.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<Judge> out;
  if (all.size() <= 2 * at_each_end) {
    for (const size_t sample : scattered(all)) out.push_back({sample});
    return out;
  }
  std::vector<size_t> rest = all;
  const auto take = [&](const auto& before) {
    std::ranges::stable_sort(rest, before);
    for (size_t i = 0; i < at_each_end; i++) out.push_back({rest[i]});
    rest.erase(rest.begin(), rest.begin() + at_each_end);
  };
  take([&](size_t a, size_t b) { return reaches[a].high > reaches[b].high; });
  take([&](size_t a, size_t b) { return reaches[a].low < reaches[b].low; });
  // Almost the same ones whichever samples are the extremes: the float model then runs on few samples for many values.
  std::vector<size_t> chosen;
  for (const size_t sample : scattered(spread_over(all.size(), most))) {
    const bool is_extreme = std::ranges::any_of(out, [&](const Judge& judge) { return judge.sample == sample; });
    if (!is_extreme && out.size() + chosen.size() < std::max(most, out.size() + 1)) chosen.push_back(sample);
  }
  const double weight = static_cast<double>(rest.size()) / static_cast<double>(chosen.size());
  for (const size_t sample : chosen) out.push_back({sample, weight});
  return out;
}

double certain_gain(std::span<const double> gains, double errors) {
  const auto count = static_cast<double>(gains.size());
  double halves[2] = {0, 0};
  for (size_t i = 0; i < gains.size(); i++) halves[i % 2] += gains[i];
  const double sum = halves[0] + halves[1];
  if (gains.size() < 2 || halves[0] <= 0 || halves[1] <= 0) return 0;
  double squares = 0;
  for (const double gain : gains) squares += std::pow(gain - sum / count, 2);
  return sum > errors * std::sqrt(squares * count / (count - 1)) ? sum : 0;
}

}  // namespace quasar::tune
