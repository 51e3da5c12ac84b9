#include "quasar/search/optuna_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "quasar/base/error.hpp"

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

Json restored(const Json& choice) {
  if (!choice.is_string() || !reads_as_json(choice.get_ref<const std::string&>())) return choice;
  const Json parsed = Json::parse(choice.get_ref<const std::string&>(), nullptr, false);
  return parsed.is_discarded() ? choice : parsed;  // a text of a study that Optuna made
}

}  // namespace

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
  const std::string name = all.at("name");
  const Json& a = all.at("attributes");
  if (name == "CategoricalDistribution") {
    Categorical out;
    for (const Json& choice : a.at("choices")) out.choices.push_back(restored(choice));
    return out;
  }
  if (name == "IntDistribution")
    return Integer{.low = a.at("low"), .high = a.at("high"), .step = a.at("step"), .log = a.at("log")};
  if (name != "FloatDistribution") throw Error("unknown distribution " + text);
  Real out{.low = a.at("low"), .high = a.at("high"), .log = a.at("log")};
  if (!a.at("step").is_null()) out.step = a.at("step").get<double>();
  return out;
}

double number_of(const Distribution& distribution, const Json& value) {
  if (!std::holds_alternative<Categorical>(distribution)) return value.get<double>();
  return static_cast<double>(position_of(distribution, value).value());
}

Json value_of(const Distribution& distribution, double number) {
  if (const auto* list = std::get_if<Categorical>(&distribution)) return list->choices.at(static_cast<size_t>(number));
  if (std::holds_alternative<Integer>(distribution)) return static_cast<int64_t>(std::llround(number));
  return number;
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
  return text == "MAXIMIZE" ? Direction::maximize : Direction::minimize;
}

std::string text_of(Time time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t seconds = whole.time_since_epoch().count();
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 64> out{};
  const size_t length = std::strftime(out.data(), out.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::snprintf(out.data() + length, out.size() - length, ".%06lld", static_cast<long long>((time - whole).count()));
  return out.data();
}

Time time_of(const std::string& text) {
  std::tm local{};
  double seconds = 0;
  if (std::sscanf(text.c_str(), "%d-%d-%d %d:%d:%lf", &local.tm_year, &local.tm_mon, &local.tm_mday, &local.tm_hour,
                  &local.tm_min, &seconds) != 6) {
    throw Error("not a time: " + text);
  }
  local.tm_year -= 1900;
  local.tm_mon -= 1;
  local.tm_isdst = -1;
  const auto minute = std::chrono::seconds(std::mktime(&local));
  return Time(minute) + std::chrono::microseconds(std::llround(seconds * 1e6));
}

}  // namespace quasar::search::optuna
