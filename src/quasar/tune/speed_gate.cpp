#include "quasar/tune/speed_gate.hpp"

#include "quasar/base/digits.hpp"
#include "quasar/runtime/latency.hpp"
#include "quasar/studies/attributes.hpp"

namespace quasar::tune {

SpeedGate decide_speed(const std::vector<std::vector<double>>& times, double factor, size_t operators) {
  const double planned = runtime::ratio_of(times[1], times[0]).median;
  SpeedGate out{.planned = planned, .gated = planned, .told = {}};
  out.told = "as planned a run takes " + in_digits(planned, 3) + " × the float model's time";
  const runtime::Ratio of_planned = runtime::ratio_of(times.back(), times[1]);
  const double gated = runtime::ratio_of(times.back(), times[0]).median;
  if (of_planned.median * factor > 1 || gated >= planned) {
    out.told += "; no operators in float make it faster by " + in_digits(100 * (factor - 1), 3) + " %";
  } else if (of_planned.high >= 1) {
    out.told += "; the machine is too noisy to decide whether operators in float make it faster";
  } else {
    out.gated = gated;
    out.told += ", with " + std::to_string(operators) + (operators == 1 ? " operator" : " operators") + " in float " +
                in_digits(gated, 3) + " ×: they stay in float (speed_gate)";
  }
  return out;
}

Json to_json(const SpeedGate& gate) {
  return {{"regions", gate.regions},
          {"planned", gate.planned},
          {"gated", gate.gated},
          {"form_times", gate.form_times},
          {"slower_forms", gate.slower_forms},
          {"idle_forms", gate.idle_forms},
          {"saturation", gate.saturation},
          {"told", gate.told}};
}

std::optional<SpeedGate> decided_speed(const search::Study& study) {
  const Json facts = study.user_attributes().value(speed_attribute, Json());
  if (facts.is_null()) return std::nullopt;
  return SpeedGate{.regions = facts.at("regions"),
                   .planned = facts.at("planned"),
                   .gated = facts.at("gated"),
                   .form_times = facts.value("form_times", std::map<std::string, double>{}),
                   .slower_forms = facts.value("slower_forms", std::set<std::string>{}),
                   .idle_forms = facts.value("idle_forms", std::set<std::string>{}),
                   .saturation = facts.value("saturation", ""),
                   .told = facts.at("told")};
}

namespace {

// In times of the float model; 1: it was not measured.
double time_of(const SpeedGate& gate, const std::string& form) {
  const auto found = gate.form_times.find(form);
  return found == gate.form_times.end() ? 1 : found->second;
}

}  // namespace

void apply(const SpeedGate& gate, Spaces& spaces) {
  for (const auto& form : gate.slower_forms) spaces.leave_out(form, "is slower than float");
  for (const auto& form : gate.idle_forms) spaces.leave_out(form, "quantizes hardly anything beside what stays in float");
  spaces.form_times = gate.form_times;
  constexpr double half = 0.5, worth_it = 0.9;
  const double usual = spaces.calibration.empty() ? 1 : time_of(gate, Spaces::form_of(spaces.calibration.front()));
  for (const auto& [form, time] : gate.form_times) {
    if (usual < worth_it && 1 - time < half * (1 - usual)) spaces.lesser_forms.insert(form);
  }
  if (!gate.saturation.empty()) spaces.hold("saturation", gate.saturation);
  for (const auto& [first, nodes] : gate.regions) spaces.hold(region_of(first), nodes);
}

}  // namespace quasar::tune
