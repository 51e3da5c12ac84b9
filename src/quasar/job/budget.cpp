#include "quasar/job/budget.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "quasar/base/as_written.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/job/precision.hpp"

namespace quasar::tune {
namespace {

struct QuantityUnit {
  const char* name;
  double times;
};
constexpr std::array<QuantityUnit, 8> units_of_size = {
    {{"bytes", 1}, {"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}}};
constexpr std::array<QuantityUnit, 3> units_of_time = {{{"us", 1e-3}, {"ms", 1}, {"s", 1e3}}};

// A share of what float has, or a quantity in the unit of `times` 1.
struct Amount {
  double value = 0;
  bool is_share = true;
};

template <size_t N>
Amount amount_of(const Json& word, const std::string& key, const std::array<QuantityUnit, N>& units, const std::string& example) {
  const std::string how = "give a share of the float model's, such as 0.5, or a quantity, such as '" + example + "'";
  if (word.is_number()) {
    const double share = word.get<double>();
    if (share > 0 && share <= 1) return {share, true};
    throw Error(key + " is " + as_written(word) + ", but a share must be above 0 and at most 1; " + how);
  }
  if (!word.is_string()) throw Error(key + " is " + as_written(word) + "; " + how);
  std::string text = word.get<std::string>();
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  Amount out{.is_share = false};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.value);
  const size_t read = static_cast<size_t>(end - text.data()), begin = text.find_first_not_of(' ', read);
  if (error != std::errc() || !std::isfinite(out.value))
    throw Error(key + " is '" + text + "', which begins with no number; " + how);
  if (out.value <= 0) throw Error(key + " is '" + text + "', but must be above 0; " + how);
  const std::string unit = begin == std::string::npos ? "" : text.substr(begin);
  std::vector<std::string> names;
  for (const auto& known : units) {
    names.emplace_back(known.name);
    if (normalized(unit) == normalized(known.name)) return {out.value * known.times, false};
  }
  throw Error(key + " is '" + text + "', which has " + (unit.empty() ? "no unit" : "the unknown unit '" + unit + "'") +
              "; units: " + joined(names) + did_you_mean(unit, names) + "; " + how);
}

}  // namespace

const std::vector<std::string>& budget_precisions() {
  static const std::vector<std::string> all{"int4", quantized, "int16", float16, in_float};
  return all;
}

namespace {

std::vector<std::string> precisions_of(const Json& words) {
  if (!words.is_array())
    throw Error("budget.precisions is " + as_written(words) + ", but must be a list, such as [int4, quantized, float32]");
  std::vector<std::string> out;
  for (const Json& word : words) {
    const std::string name = word.is_string() ? word.get<std::string>() : as_written(word);
    const auto& known = budget_precisions();
    if (std::ranges::find(known, name) == known.end())
      throw Error("budget.precisions: unknown precision '" + name + "'; known: " + joined(known) + did_you_mean(name, known));
    if (std::ranges::find(out, name) != out.end()) throw Error("budget.precisions names " + name + " twice");
    out.push_back(name);
  }
  if (std::ranges::find(out, quantized) == out.end() || out.size() < 2)
    throw Error("budget.precisions is " + as_written(words) + ", but must hold quantized and at least one more");
  return out;
}

}  // namespace

namespace {

// bytes or latency.
std::string cost_made_small(const Json& words) {
  const std::vector<std::string> costs{"bytes", "latency"};
  if (!words.contains("minimize")) return words.contains("bytes") && !words.contains("latency") ? costs[1] : costs[0];
  const Json& word = words.at("minimize");
  const std::string name = word.is_string() ? word.get<std::string>() : as_written(word);
  if (std::ranges::find(costs, name) == costs.end())
    throw Error("budget.minimize is " + as_written(word) + ", but must be one of " + joined(costs) + did_you_mean(name, costs));
  return name;
}

}  // namespace

std::optional<AccuracyBudget> accuracy_of_budget(const Json& words) {
  if (!words.is_object() || !words.contains("accuracy")) return std::nullopt;
  const Json& criterion = words.at("accuracy");
  if (!criterion.is_object())
    throw Error(
        "budget.accuracy is " + as_written(criterion) +
        ", but must be a mapping with the keys of accuracy_criterion, such as {criterion: relative, tolerable_loss: 0.01}");
  const bool in_milliseconds = words.contains("latency") && words.at("latency").is_string();
  const std::string cost = cost_made_small(words);
  return AccuracyBudget{
      criterion, Json::array({{{"metric", cost == "latency" && !in_milliseconds ? std::string("relative_latency") : cost}}})};
}

Budget parse_budget(const Json& words, const std::function<uintmax_t()>& float_bytes) {
  static const std::vector<std::string> known{"bytes", "latency", "accuracy", "minimize", "precisions", "groups"};
  if (!words.is_object())
    throw Error("budget is " + as_written(words) + ", but must be a mapping, such as {bytes: 0.3} or {latency: 4 ms}");
  Budget out;
  for (const auto& [name, value] : words.items()) {
    if (name == "bytes") {
      const Amount amount = amount_of(value, "budget.bytes", units_of_size, "12 MB");
      const auto whole = static_cast<double>(float_bytes());
      if (!amount.is_share && amount.value > whole)
        throw Error("budget.bytes is " + as_written(value) + ", more than the float model's " + in_digits(whole, 10) + " bytes");
      out.bytes = std::floor(amount.is_share ? amount.value * whole : amount.value);
    } else if (name == "latency") {
      const Amount amount = amount_of(value, "budget.latency", units_of_time, "4 ms");
      (amount.is_share ? out.relative_latency : out.milliseconds) = amount.value;
    } else if (name == "accuracy") {
      out.least = cost_made_small(words);
    } else if (name == "minimize") {
      if (!words.contains("accuracy"))
        throw Error("budget.minimize is about the costs that budget.accuracy leaves; without it the loss is made small");
    } else if (name == "precisions") {
      out.precisions = precisions_of(value);
    } else if (name == "groups") {
      if (!value.is_number_integer() || value < 2 || value > 1000)
        throw Error("budget.groups is " + as_written(value) + ", but must be a whole number from 2 to 1000");
      out.groups = value.get<size_t>();
    } else {
      throw Error("unknown key 'budget." + name + "'" + known_names(name, known));
    }
  }
  if (!out.weighs_bytes() && !out.weighs_latency())
    throw Error("budget says neither bytes nor latency nor accuracy; give one of them, such as {bytes: 0.3}");
  return out;
}

std::vector<Constraint> constraints_of(const Budget& budget) {
  std::vector<Constraint> out;
  if (budget.bytes) out.push_back({"bytes", Bound::max, *budget.bytes});
  if (budget.milliseconds) out.push_back({"latency", Bound::max, *budget.milliseconds});
  if (budget.relative_latency) out.push_back({"relative_latency", Bound::max, *budget.relative_latency});
  return out;
}

}  // namespace quasar::tune
