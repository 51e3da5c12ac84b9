#include <algorithm>
#include <set>
#include <string_view>

#include "quasar/base/printable.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::report::writers {
namespace {

// A field as RFC 4180 writes it, without what would steer a terminal.
std::string quoted(const std::string& field) {
  const std::string text = printable(field);
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// A text that a spreadsheet would take for a formula gets an apostrophe before it, which spreadsheets do not show.
std::string field(const Json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return quoted(value.dump());
  const std::string text = value.get<std::string>();
  const bool formula = !text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos;
  return quoted(formula ? "'" + text : text);
}

// Names of all that the trials of all searches have in `part`, in the order in which they first appear.
std::vector<std::string> names_in(const std::vector<Json>& searches, const char* part) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const auto& contents : searches) {
    for (const auto& trial : contents["trials"]) {
      const Json values = trial.value(part, Json::object());
      for (const auto& [name, value] : values.items()) {
        if (known.insert(name).second) names.push_back(name);
      }
    }
  }
  return names;
}

// Of all searches, in the order in which they first appear.
std::vector<std::string> objectives_in(const std::vector<Json>& searches) {
  std::vector<std::string> names;
  for (const auto& contents : searches) {
    for (const auto& objective : contents["objectives"]) {
      const std::string name = objective["name"];
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

// Each value in the column of its objective, whichever place that has in this search.
std::string values_of(const Json& trial, const Json& objectives, const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) {
    out += ",";
    for (size_t k = 0; k < objectives.size() && k < trial["values"].size(); ++k) {
      if (objectives[k]["name"] == name) out += field(trial["values"][k]);
    }
  }
  return out;
}

struct Columns {
  std::vector<std::string> objectives, metrics, facts, params;
};

Columns columns_of(const std::vector<Json>& searches) {
  Columns out{
      objectives_in(searches), names_in(searches, "metrics"), {"seconds", "duplicate_of", "error"}, names_in(searches, "params")};
  const auto misses = [](const Json& trial) { return trial.contains("violation"); };
  const auto has_misses = [&](const Json& contents) { return std::ranges::any_of(contents["trials"], misses); };
  if (std::ranges::any_of(searches, has_misses)) out.facts.emplace_back("violation");
  return out;
}

class Csv final : public Writer {
 public:
  std::string write(const std::vector<Json>& searches) const override {
    const Columns columns = columns_of(searches);
    std::string out = searches.size() > 1 ? "search,trial,state" : "trial,state";
    for (const auto& name : columns.objectives) out += "," + field("objective " + name);
    for (const auto* names : {&columns.metrics, &columns.facts, &columns.params}) {
      for (const auto& name : *names) out += "," + field(name);
    }
    out += "\r\n";
    for (size_t i = 0; i < searches.size(); ++i) {
      const std::string search = searches.size() > 1 ? field(searches[i].value("name", std::to_string(i + 1))) + "," : "";
      for (const auto& trial : searches[i]["trials"]) out += search + line_of(trial, searches[i]["objectives"], columns);
    }
    return out;
  }

 private:
  static std::string line_of(const Json& trial, const Json& objectives, const Columns& columns) {
    std::string out = trial["number"].dump() + "," + field(trial["state"]) + values_of(trial, objectives, columns.objectives);
    const Json metrics = trial.value("metrics", Json::object());
    for (const auto& name : columns.metrics) out += "," + field(metrics.value(name, Json()));
    for (const auto& key : columns.facts) out += "," + field(trial.value(key, Json()));
    for (const auto& name : columns.params)
      out += "," + (trial["params"].contains(name) ? quoted(trial["params"][name].dump()) : "");
    return out + "\r\n";
  }
};

}  // namespace

Entry<Writer> csv() {
  return {"A table of all trials, for spreadsheets and scripts; parameters as JSON.", make_as<Csv, Writer>};
}

}  // namespace quasar::report::writers
