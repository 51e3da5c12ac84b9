#include "quasar/base/plugin.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/data/dataset.hpp"

namespace quasar::data {
namespace {

constexpr const char* names[] = {"calibration", "evaluation", "holdout"};

// The number of samples of one part; nothing for `rest`.
std::optional<size_t> count_of_part(const Options& options, const std::string& name, bool may_be_none) {
  if (!options.has(name)) return 0;
  const Json& value = options.json(name);
  if (value == "rest") return std::nullopt;
  const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  if (!whole || (value == 0 && !may_be_none)) {
    throw Error("split: '" + name + "' is " + value.dump() + ", but must be a number of samples or rest");
  }
  return value.get<size_t>();
}

std::vector<size_t> slice(const std::vector<size_t>& order, size_t from, size_t count) {
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

Splits split(DatasetPtr all, const Json& description) {
  const std::vector<OptionSpec> specs = {{names[0], nullptr, "samples to calibrate on, or rest"},
                                         {names[1], nullptr, "samples to score candidates on, or rest"},
                                         {names[2], nullptr, "samples for the winner only, or rest; left out: none"},
                                         {"seed", 0, "of the permutation", 0}};
  const Options options(specs, description, "split");
  const size_t available = all->size();
  size_t counts[3] = {}, taken = 0;
  int rest = -1;
  std::string wanted;
  for (int part = 0; part < 3; ++part) {
    if (part < 2 && !options.has(names[part])) throw Error(std::string("split: '") + names[part] + "' is missing");
    const auto count = count_of_part(options, names[part], part == 2);
    if (!count && rest >= 0)
      throw Error(std::string("split: only one part may be rest, not '") + names[rest] + "' and '" + names[part] + "'");
    if (!count) rest = part;
    counts[part] = count.value_or(0);
    if (__builtin_add_overflow(taken, counts[part], &taken)) taken = SIZE_MAX;
    if (counts[part] > 0) wanted += (wanted.empty() ? "" : " + ") + std::string(names[part]) + " " + std::to_string(counts[part]);
  }
  const bool starved = (rest == 0 || rest == 1) && taken >= available;
  if (taken > available || starved) {
    throw Error("split: " + wanted + (starved ? " leaves nothing for " + std::string(names[rest]) + ": " : " is too much: ") +
                all->source() + " holds " + std::to_string(available) + " samples");
  }
  if (rest >= 0) counts[rest] = available - taken;
  const uint64_t seed = options.has("seed") ? static_cast<uint64_t>(options.integer("seed")) : 0;
  const std::vector<size_t> order = Rng(seed).permutation(available);
  Splits splits;
  splits.calibration = subset(all, slice(order, 0, counts[0]));
  splits.evaluation = subset(all, slice(order, counts[0], counts[1]));
  if (counts[2] > 0) splits.holdout = subset(all, slice(order, counts[0] + counts[1], counts[2]));
  return splits;
}

}  // namespace quasar::data
