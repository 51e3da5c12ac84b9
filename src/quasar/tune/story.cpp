#include "quasar/tune/story.hpp"

#include <cmath>

#include "quasar/base/digits.hpp"

namespace quasar::tune {
namespace {

std::string number(const Json& value) {
  if (!value.is_number()) return value.is_string() ? value.get<std::string>() : value.dump();
  return in_digits(value.get<double>(), 4);
}

// Everything that an entry says besides which operator it is: "output_error 0.0012, work 4096".
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

std::vector<std::string> story_lines(const Json& story) {
  std::vector<std::string> lines;
  if (!story.is_object()) return lines;
  const Json given = story.value("float", Json::array()), sensitivity = story.value("sensitivity", Json::array());
  for (const auto& entry : given)
    lines.push_back("left in " + entry["type"].get<std::string>() + ": " + entry["node"].get<std::string>() + " (" +
                    facts_of(entry) + ")");
  for (const auto& entry : sensitivity)
    lines.push_back("sensitivity of " + entry["node"].get<std::string>() + " (" + entry["op_type"].get<std::string>() +
                    "): " + facts_of(entry));
  return lines;
}

void tell_story(const Log& log, const Json& story) {
  for (const auto& line : story_lines(story)) tell(log, Level::debug, line);
}

}  // namespace quasar::tune
