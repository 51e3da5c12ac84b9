#include "quasar/tune/speed_gate.hpp"

#include <algorithm>
#include <functional>

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

std::map<std::string, std::vector<std::string>> regions_of(const graph::Model& model, const std::set<std::string>& nodes) {
  const graph::Index index(model);
  std::map<std::string, std::string> first;  // node -> the first of its region
  const std::function<std::string(const std::string&)> root = [&](const std::string& name) {
    return first.at(name) == name ? name : root(first.at(name));
  };
  std::vector<std::string> order;
  for (const auto& node : model.nodes) {
    if (!nodes.contains(node.name)) continue;
    order.push_back(node.name);
    first[node.name] = node.name;
    for (const auto& input : node.inputs) {
      const graph::Node* producer = index.producer(input);
      if (producer == nullptr || !first.contains(producer->name)) continue;
      const std::string a = root(node.name), b = root(producer->name);
      const bool a_first = std::ranges::find(order, a) < std::ranges::find(order, b);
      first[a_first ? b : a] = a_first ? a : b;
    }
  }
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& name : order) out[root(name)].push_back(name);
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
          {"on_all", gate.on_all ? Json(*gate.on_all) : Json()},
          {"told", gate.told}};
}

std::optional<SpeedGate> decided_speed(const search::Study& study) {
  const Json facts = study.user_attributes().value(speed_attribute, Json());
  if (facts.is_null()) return std::nullopt;
  const Json on_all = facts.value("on_all", Json());
  return SpeedGate{.regions = facts.at("regions"),
                   .planned = facts.at("planned"),
                   .gated = facts.at("gated"),
                   .form_times = facts.value("form_times", std::map<std::string, double>{}),
                   .slower_forms = facts.value("slower_forms", std::set<std::string>{}),
                   .idle_forms = facts.value("idle_forms", std::set<std::string>{}),
                   .saturation = facts.value("saturation", ""),
                   .on_all = on_all.is_null() ? std::nullopt : std::optional(on_all.get<double>()),
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
