#include "quasar/report/trial_words.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "quasar/base/digits.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/job/precision.hpp"

namespace quasar::report {
namespace {

std::string outcome_of(const search::Trial& trial, const std::string& objective) {
  switch (trial.state) {
    case search::State::complete: {
      const std::string value = trial.values.empty() ? "" : objective + " " + in_digits(trial.values.front(), 6);
      if (trial.is_duplicate()) return value + ", the same model as trial " + trial.user_attributes["duplicate_of"].dump();
      return value + (trial.is_candidate() ? ", a candidate" : "");
    }
    case search::State::failed: {
      std::string why = trial.user_attributes.value("error", std::string("no reason known"));
      std::ranges::replace(why, '\n', ' ');
      return "failed: " + why;
    }
    case search::State::pruned:
      return "pruned " + trial.user_attributes.value("pruned", std::string()) +
             (trial.values.empty() ? "" : ", " + objective + " " + in_digits(trial.values.front(), 6));
    case search::State::running:
      return "started";
    case search::State::waiting:
      return "interrupted: --resume tries it again";
  }
  return "";
}

// Operators that are quantized like the others are counted: a large model has thousands.
std::string params_in_words(const search::Trial& trial) {
  std::string text;
  size_t usual = 0;
  for (const auto& [name, value] : trial.point.values()) {
    if (name.starts_with(tune::precision_of("")) && value == tune::quantized) {
      usual++;
      continue;
    }
    text += (text.empty() ? "" : " ") + name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (usual > 0) text += (text.empty() ? "(" : " (") + std::to_string(usual) + " nodes quantized)";
  return text;
}

}  // namespace

std::string in_words(const search::Trial& trial, const std::string& objective) {
  return printable_message(outcome_of(trial, objective));
}

std::string line_of(const search::Event& event, const std::string& objective) {
  const search::Trial& trial = event.trial;
  std::ostringstream out;
  out << "trial " << trial.number << " ";
  if (event.kind == search::Event::Kind::started) {
    out << "started: ";
  } else {
    out << in_words(trial, objective) << " (" << std::fixed << std::setprecision(3) << trial.seconds().value_or(0) << " s); ";
  }
  out << printable_message(params_in_words(trial));
  return out.str();
}

}  // namespace quasar::report
