#include <set>
#include <string_view>

#include "quasar/base/printable.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::report::writers {
namespace {

// A field as RFC 4180 writes it, without what would steer a terminal. A text that a spreadsheet would take for a formula gets an
// apostrophe before it, which spreadsheets do not show.
std::string field(const Json& value) {
  if (value.is_null()) return "";
  std::string text = printable(value.is_string() ? value.get<std::string>() : value.dump());
  if (value.is_string() && !text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos)
    text.insert(0, "'");
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
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

class Csv final : public Writer {
 public:
  std::string write(const std::vector<Json>& searches) const override {
    const auto metrics = names_in(searches, "metrics"), params = names_in(searches, "params");
    std::string out = searches.size() > 1 ? "search,trial,state" : "trial,state";
    for (const auto& objective : searches.front()["objectives"])
      out += "," + field("objective " + objective["name"].get<std::string>());
    for (const auto& name : metrics) out += "," + field(name);
    out += ",seconds,duplicate_of,error";
    for (const auto& name : params) out += "," + field(name);
    out += "\r\n";
    const size_t objectives = searches.front()["objectives"].size();
    for (size_t i = 0; i < searches.size(); ++i) {
      for (const auto& trial : searches[i]["trials"]) {
        if (searches.size() > 1) out += field(searches[i].value("name", std::to_string(i + 1))) + ",";
        out += trial["number"].dump() + "," + field(trial["state"]);
        for (size_t k = 0; k < objectives; ++k) out += "," + (k < trial["values"].size() ? field(trial["values"][k]) : "");
        for (const auto& name : metrics) out += "," + field(trial.value("metrics", Json::object()).value(name, Json()));
        for (const char* key : {"seconds", "duplicate_of", "error"}) out += "," + field(trial.value(key, Json()));
        for (const auto& name : params) out += "," + (trial["params"].contains(name) ? field(trial["params"][name].dump()) : "");
        out += "\r\n";
      }
    }
    return out;
  }
};

}  // namespace

Entry<Writer> csv() {
  return {"A table of all trials, for spreadsheets and scripts; parameters as JSON.", make_as<Csv, Writer>};
}

}  // namespace quasar::report::writers
