#include "quasar/tune/told_limits.hpp"

namespace quasar::tune {
namespace {

Json limits_in(const search::Event& event, std::optional<search::Time> until) {
  constexpr uint64_t endless = uint64_t{1} << 53;
  const bool is_limited = event.total && *event.total < endless;
  return {{"stage", event.trial.user_attributes.value(search::attribute::stage, std::string())},
          {"total", is_limited ? Json(*event.total) : Json()},
          {"until_us", until ? Json(until->time_since_epoch().count()) : Json()}};
}

}  // namespace

search::Listener telling_limits(search::Study& study, std::optional<Deadline::Clock::time_point> end, search::Listener next) {
  std::optional<search::Time> until;
  if (end) until = search::now() + std::chrono::duration_cast<search::Time::duration>(*end - Deadline::Clock::now());
  return [&study, until, next = std::move(next), told = Json()](const search::Event& event) mutable {
    if (next) next(event);
    Json now = event.elsewhere ? told : limits_in(event, until);
    if (now == told) return;
    try {
      study.set_attribute(limits_attribute, now);
      told = std::move(now);
    } catch (const Error&) {  // the next trial tells it, or says what is wrong with the storage
    }
  };
}

}  // namespace quasar::tune
