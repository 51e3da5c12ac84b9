#include "quasar/strategy/story.hpp"

#include <cmath>

#include "quasar/base/digits.hpp"

namespace quasar::tune {
namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json to_json(const Story::Step& step) {
  Json out{{"step", step.name}};
  if (step.change) out["change"] = step.change->parameters;
  out["trial"] = step.trial;
  if (step.change) out["kept"] = step.change->kept;
  out["value"] = or_null(step.value);
  if (step.loss) {
    out["loss"] = std::isfinite(step.loss->value) ? Json(step.loss->value) : Json();
    out["float"] = step.loss->in_float;
  }
  return out;
}

Json to_json(const Story::InFloat& entry) {
  Json out{{"node", entry.node}, {"type", entry.type}};
  if (entry.quantized) out["quantized_gives"] = or_null(entry.quantized->gives);
  if (!entry.why.empty()) out["why"] = entry.why;
  if (entry.quantized) {
    for (const auto& [side, value] : entry.quantized->bounds.items()) out["quantized_gives_" + side] = value;
    if (!entry.quantized->given_up.empty()) out["given_up"] = entry.quantized->given_up;
  }
  if (entry.gained) out["gained"] = *entry.gained;
  if (entry.output_error) out["output_error"] = *entry.output_error;
  return out;
}

Json to_json(const Story::Sensitivity& entry) {
  Json out{{"node", entry.node}, {"op_type", entry.op_type}};
  for (const auto& [name, value] : entry.measures) out[name] = value;
  return out;
}

template <class T>
Json list_json(const std::vector<T>& entries) {
  Json out = Json::array();
  for (const auto& entry : entries) out.push_back(to_json(entry));
  return out;
}

std::string number(const Json& value) {
  if (!value.is_number()) return value.is_string() ? value.get<std::string>() : value.dump();
  return in_digits(value.get<double>(), 4);
}

// Everything that the report says of an operator besides which one it is: "output_error 0.0012, work 4096".
std::string facts_of(const Json& entry) {
  std::string out;
  for (const auto& [key, value] : entry.items()) {
    if (key == "node" || key == "op_type" || key == "type" || value.is_null()) continue;
    if (value.is_number() && !std::isfinite(value.get<double>())) continue;
    out += (out.empty() ? "" : ", ") + key + " " + number(value);
  }
  return out;
}

}  // namespace

std::vector<Story::Sensitivity> sensitivities(std::span<const UnitError> errors) {
  std::vector<Story::Sensitivity> out;
  for (const auto& error : errors) {
    out.push_back({error.unit.node,
                   error.unit.op_type,
                   {{"output_error", error.output_error}, {"noise_to_signal", error.noise_to_signal}, {"work", error.work}}});
  }
  return out;
}

Json to_json(const Story& story) {
  Json out{{"strategy", story.strategy}};
  if (!story.goal && story.budget.is_null()) return out;
  if (story.goal) out["goal"] = to_json(*story.goal);
  if (!story.budget.is_null()) out["budget"] = story.budget;
  out["steps"] = list_json(story.steps);
  out["float"] = list_json(story.in_float);
  out["ignored"] = story.ignored;
  if (story.sensitivity) out["sensitivity"] = list_json(*story.sensitivity);
  if (story.instrumented_models) out["instrumented_models"] = *story.instrumented_models;
  if (!story.sampler.empty()) out["sampler"] = story.sampler;
  return out;
}

void tell_story(const Log& log, const Story& story) {
  for (const auto& entry : story.in_float)
    tell(log, Level::debug, "left in " + entry.type + ": " + entry.node + " (" + facts_of(to_json(entry)) + ")");
  if (!story.sensitivity) return;
  for (const auto& entry : *story.sensitivity)
    tell(log, Level::debug, "sensitivity of " + entry.node + " (" + entry.op_type + "): " + facts_of(to_json(entry)));
}

}  // namespace quasar::tune
