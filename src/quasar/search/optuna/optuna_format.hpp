// How Optuna writes values, distributions and times into its relational schema (version 12); checked against Optuna 5.0.
//
// Optuna's choices are null, true/false, numbers and texts. Any other choice, and a text that could be mistaken for one, is
// stored as the text of its JSON: [3000, 0.1] as "[3000,0.1]".
#pragma once

#include <optional>
#include <string>

#include "quasar/search/trial.hpp"

namespace quasar::search::optuna {

// Attributes of a study whose names begin so are Optuna's own, and stand in a table of their own. Among them: what the objectives
// are called, a list of texts.
inline constexpr const char* system_prefix = "study:";
inline constexpr const char* metric_names = "study:metric_names";

// JSON text; bytes that are not UTF-8 are replaced, as messages of exceptions may hold any.
std::string text_of(const Json& value);

// {"name": "CategoricalDistribution", "attributes": {"choices": […]}} and so on.
std::string text_of(const Distribution& distribution);
Distribution distribution_of(const std::string& text);

// What the column trial_params.param_value holds: the position of a choice, otherwise the number itself.
double number_of(const Distribution& distribution, const Json& value);
// `what` begins the message for a number that stands for no value.
Json value_of(const Distribution& distribution, double number, const std::string& what);

// For messages: "0.5", "inf", "nan".
std::string shown(double number);

// A choice as Optuna's users give it, in a trial that they enqueue: it stands as the text of its JSON where choices do.
Json restored(const Json& choice);

const char* text_of(State state);  // "RUNNING" …
State state_of(const std::string& text);
const char* text_of(Direction direction);  // "MINIMIZE", "MAXIMIZE"
Direction direction_of(const std::string& text);

// Local time, "2026-01-31 23:59:59.123456".
std::string text_of(Time time);
Time time_of(const std::string& text);

// Throws Error for a name that some database would cut short. `what` begins the message: "study_name".
void expect_storable(const std::string& what, const std::string& name);

// Names beyond longest_name: the beginning with a hash of the whole stands in the column, and the whole beside the distribution,
// as a key that Optuna does not look at.
size_t characters_of(const std::string& name);
std::string short_name_of(const std::string& name);
std::string with_long_name(const std::string& distribution, const std::string& name);
std::optional<std::string> long_name_in(const std::string& distribution);

}  // namespace quasar::search::optuna
