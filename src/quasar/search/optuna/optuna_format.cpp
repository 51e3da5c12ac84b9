#include "quasar/search/optuna/optuna_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/system/calendar.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::optuna {
namespace {

constexpr std::array<const char*, 5> state_names = {"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};

bool reads_as_json(const std::string& text) {
  return !text.empty() && std::string_view("[{\"").find(text.front()) != std::string_view::npos;
}

Json stored(const Json& choice) {
  const bool quoted = choice.is_structured() || (choice.is_string() && reads_as_json(choice.get_ref<const std::string&>()));
  return quoted ? Json(text_of(choice)) : choice;
}

[[noreturn]] void no_distribution(const std::string& text) {
  throw Error("'" + text + "' is no distribution of a parameter");
}

// A bound or a step. Studies hold every number as a double, so whole ones end at 2^53.
double number_at(const Json& attributes, const char* key, bool whole, const std::string& text) {
  constexpr double most_exact = 9007199254740992.0;
  const auto found = attributes.find(key);
  const double number = found != attributes.end() && found->is_number() ? found->get<double>() : NAN;
  if (!std::isfinite(number) || (whole && (std::floor(number) != number || std::abs(number) > most_exact))) no_distribution(text);
  return number;
}

Integer integer_of(const Json& attributes, bool log, const std::string& text) {
  const auto number = [&](const char* key) { return static_cast<int64_t>(number_at(attributes, key, true, text)); };
  const Integer out{.low = number("low"), .high = number("high"), .step = number("step"), .log = log};
  if (out.step < 1 || out.low > out.high || (log && out.low < 1)) no_distribution(text);
  return out;
}

Real real_of(const Json& attributes, bool log, const std::string& text) {
  Real out{.low = number_at(attributes, "low", false, text), .high = number_at(attributes, "high", false, text), .log = log};
  if (!attributes.value("step", Json()).is_null()) out.step = number_at(attributes, "step", false, text);
  const bool counted = !out.step || (*out.step > 0 && (out.high - out.low) / *out.step < 9e15);
  if (!counted || out.low > out.high || (log && out.low <= 0)) no_distribution(text);
  return out;
}

}  // namespace

Json restored(const Json& choice) {
  if (!choice.is_string() || !reads_as_json(choice.get_ref<const std::string&>())) return choice;
  return json_in(choice.get_ref<const std::string&>()).value_or(choice);  // else a text of a study that Optuna made
}

std::string text_of(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_of(const Distribution& distribution) {
  Json out;
  if (const auto* list = std::get_if<Categorical>(&distribution)) {
    Json choices = Json::array();
    for (const Json& choice : list->choices) choices.push_back(stored(choice));
    out = {{"name", "CategoricalDistribution"}, {"attributes", {{"choices", choices}}}};
  } else if (const auto* whole = std::get_if<Integer>(&distribution)) {
    out = {{"name", "IntDistribution"},
           {"attributes", {{"log", whole->log}, {"step", whole->step}, {"low", whole->low}, {"high", whole->high}}}};
  } else {
    const Real& real = std::get<Real>(distribution);
    const Json step = real.step ? Json(*real.step) : Json();
    out = {{"name", "FloatDistribution"},
           {"attributes", {{"step", step}, {"low", real.low}, {"high", real.high}, {"log", real.log}}}};
  }
  return text_of(out);
}

Distribution distribution_of(const std::string& text) {
  const Json all = parse_json(text, "distribution");
  const Json name = all.is_object() ? all.value("name", Json()) : Json();
  const Json a = all.is_object() ? all.value("attributes", Json()) : Json();
  if (!a.is_object()) no_distribution(text);
  if (name == "CategoricalDistribution") {
    const Json choices = a.value("choices", Json());
    if (!choices.is_array() || choices.empty()) no_distribution(text);
    Categorical out;
    for (const Json& choice : choices) out.choices.push_back(restored(choice));
    return out;
  }
  const Json log = a.value("log", Json(false));
  if (!log.is_boolean()) no_distribution(text);
  if (name == "IntDistribution") return integer_of(a, log.get<bool>(), text);
  if (name == "FloatDistribution") return real_of(a, log.get<bool>(), text);
  no_distribution(text);
}

double number_of(const Distribution& distribution, const Json& value) {
  if (!std::holds_alternative<Categorical>(distribution)) return value.get<double>();
  return static_cast<double>(position_of(distribution, value).value());
}

Json value_of(const Distribution& distribution, double number, const std::string& what) {
  const auto fail = [&](const std::string& why) { throw Error(what + " is " + shown(number) + ", " + why); };
  const bool whole = std::floor(number) == number;
  if (const auto* list = std::get_if<Categorical>(&distribution)) {
    const size_t count = list->choices.size();
    if (!whole || !(number >= 0 && number < static_cast<double>(count)))
      fail("which is the position of none of its choices, 0 to " + std::to_string(count - 1));
    return list->choices[static_cast<size_t>(number)];
  }
  if (std::holds_alternative<Real>(distribution)) return number;
  if (!whole || !(std::abs(number) < 9e15)) fail("but must be a whole number");
  return static_cast<int64_t>(std::llround(number));
}

std::string shown(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return Json(number).dump();
}

const char* text_of(State state) {
  return state_names.at(static_cast<size_t>(state));
}

State state_of(const std::string& text) {
  const auto found = std::find(state_names.begin(), state_names.end(), text);
  if (found == state_names.end()) throw Error("unknown trial state " + text);
  return static_cast<State>(found - state_names.begin());
}

const char* text_of(Direction direction) {
  return direction == Direction::minimize ? "MINIMIZE" : "MAXIMIZE";
}

Direction direction_of(const std::string& text) {
  if (text == "MAXIMIZE") return Direction::maximize;
  if (text == "MINIMIZE" || text == "NOT_SET") return Direction::minimize;
  throw Error("unknown direction " + text);
}

std::string text_of(Time time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = whole.time_since_epoch().count();
  const std::tm local = in_local_time(seconds);
  std::array<char, 64> out{};
  const size_t length = std::strftime(out.data(), out.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::snprintf(out.data() + length, out.size() - length, ".%06lld", static_cast<long long>((time - whole).count()));
  return out.data();
}

namespace {

constexpr const char* long_name_key = "parameter";

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

}  // namespace

size_t characters_of(const std::string& name) {
  return static_cast<size_t>(std::ranges::count_if(name, begins_character));
}

std::string short_name_of(const std::string& name) {
  const std::string mark = "#" + hash_of(name);
  size_t left = longest_name - mark.size() + 1;
  const auto end = std::ranges::find_if(name, [&](char byte) { return begins_character(byte) && --left == 0; });
  return std::string(name.begin(), end) + mark;
}

std::string with_long_name(const std::string& distribution, const std::string& name) {
  Json all = parse_json(distribution, "distribution");
  all[long_name_key] = name;
  return text_of(all);
}

std::optional<std::string> long_name_in(const std::string& distribution) {
  const Json all = parse_json(distribution, "distribution");
  const auto found = all.find(long_name_key);
  return all.is_object() && found != all.end() && found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
}

void expect_storable(const std::string& what, const std::string& name) {
  if (name.find('\0') != std::string::npos)
    throw Error(what + " is " + text_of(Json(name)) + ", but names in databases must not hold a NUL character");
}

Time time_of(const std::string& text) {
  std::tm local{};
  double seconds = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%d %d:%d:%lf", &local.tm_year, &local.tm_mon, &local.tm_mday, &local.tm_hour,
                  &local.tm_min, &seconds) != 6) {
    throw Error("'" + text + "' is no time");
  }
  const auto within = [](int value, int low, int high) { return value >= low && value <= high; };
  const bool day = within(local.tm_year, 1900, 9999) && within(local.tm_mon, 1, 12) && within(local.tm_mday, 1, 31);
  if (!day || !within(local.tm_hour, 0, 23) || !within(local.tm_min, 0, 59) || !(seconds >= 0 && seconds < 62))
    throw Error("'" + text + "' is no time");
  local.tm_year -= 1900;
  local.tm_mon -= 1;
  local.tm_isdst = -1;
  const auto minute = std::chrono::seconds(std::mktime(&local));
  return Time(minute) + std::chrono::microseconds(std::llround(seconds * 1e6));
}

}  // namespace quasar::search::optuna
